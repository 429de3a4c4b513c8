"""What plans find, together over questions, with intervals over repositories, and against one another."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from nibd.bench.charts import Bars
from nibd.bench.intervals import Estimate, mean, paired, texts
from nibd.bench.page import Table
from nibd.bench.report import Report, p95
from nibd.bench.retrieve_answers import Answered
from nibd.bench.retrieve_rows import halves

COMPARED = ("file R@10", "success@10", "MRR", "nDCG@10", "file by unit R@10", "symbol R@10")
GROUPS: Mapping[str, Callable[[Answered], str]] = {
    "language": lambda each: each.question.language,
    "category": lambda each: each.question.category,
    "query type": lambda each: each.form,
}
SHOWN = ("file R@1", "file R@5", "file R@10", "file R@20", "success@10", "MRR", "nDCG@10", "symbol R@10")


def report_answers(title: str, answers: Sequence[Answered], report: Report) -> None:
    """Each plan by itself, its halves, groups and latency; then the plans in pairs."""
    report.details[title] = [
        {
            "id": each.question.id, "repository": each.question.repository, "plan": each.plan,
            "form": each.form, "chosen": each.chosen, "figures": dict(each.figures),
            "milliseconds": each.milliseconds, "processor_ms": each.processor_ms, "stages": dict(each.stages),
        }
        for each in answers
    ]  # fmt: skip
    if not answers:
        report.add(title, "no row")
        return
    plans = {name: [a for a in answers if a.plan == name] for name in dict.fromkeys(a.plan for a in answers)}
    for plan, of in plans.items():
        name = title if len(plans) == 1 else f"{title}, {plan}"
        _report_figures(name, of, report)
        _report_latency(name, of, report)
    _report_plans(title, plans, report)
    for group, key in GROUPS.items():
        _report_groups(title, plans, group, key, report)
    _report_stages(title, plans, report)
    _report_pairs(title, plans, report)


def estimate(answers: Iterable[Answered], figure: str) -> Estimate | None:
    return mean(
        (each.question.repository, each.figures[figure]) for each in answers if figure in each.figures
    )


def difference(old: Iterable[Answered], new: Iterable[Answered], figure: str) -> Estimate | None:
    """Of the questions that both answer, paired."""
    earlier, later = (
        {each.question.id: each for each in answers if figure in each.figures} for answers in (old, new)
    )
    return paired(
        {question: each.figures[figure] for question, each in earlier.items()},
        {question: each.figures[figure] for question, each in later.items()},
        {question: each.question.repository for question, each in earlier.items()},
    )


def shown(value: Estimate | None, digits: int = 3) -> str:
    return value.text(digits) if value else "-"


def _report_figures(title: str, answers: Sequence[Answered], report: Report) -> None:
    for name in dict.fromkeys(name for each in answers for name in each.figures):
        by_half = texts(estimate(half, name) for half in halves(answers))
        report.add(f"{title}: {name}", f"{shown(estimate(answers, name))}; halves {by_half}")


def _report_latency(title: str, answers: Sequence[Answered], report: Report) -> None:
    for at, when in enumerate(("first", "again")):
        for what, name in (("milliseconds", "latency"), ("processor_ms", "processor time")):
            took = [getattr(each, what)[at] for each in answers]
            value = f"p50 {statistics.median(took):.1f} ms, p95 {p95(took):.1f} ms"
            report.add(f"{title}: {name}, asked {when}", value)
    medians = [f"{stage} {p50:.1f}" for stage, (p50, _) in stages(answers).items()]
    report.add(f"{title}: stages, p50 in ms", ", ".join(medians))


def stages(answers: Sequence[Answered]) -> dict[str, tuple[float, float]]:
    """Median and p95 of each stage, in the order of the stages."""
    names = dict.fromkeys(name for each in answers for name in each.stages)
    took = {name: [each.stages.get(name, 0.0) for each in answers] for name in names}
    return {name: (statistics.median(values), p95(values)) for name, values in took.items()}


def _report_plans(title: str, plans: Mapping[str, Sequence[Answered]], report: Report) -> None:
    found = [name for name in SHOWN if any(name in each.figures for of in plans.values() for each in of)]
    rows = [
        [plan, str(len(of)), *(shown(estimate(of, name)) for name in found)] for plan, of in plans.items()
    ]
    report.parts.append(Table(f"{title}: what is found", ("plan", "questions", *found), rows))
    bars = {plan: [estimate(of, name) for name in found] for plan, of in plans.items()}
    report.parts.append(Bars(f"{title}: what is found", found, bars))


def _report_groups(
    title: str,
    plans: Mapping[str, Sequence[Answered]],
    group: str,
    key: Callable[[Answered], str],
    report: Report,
) -> None:
    names = sorted({key(each) for of in plans.values() for each in of})
    if len(names) < 2:
        return
    bars, rows = {}, []
    for plan, of in plans.items():
        within = [[each for each in of if key(each) == name] for name in names]
        bars[plan] = [estimate(each, "file R@10") for each in within]
        for name, each in zip(names, within, strict=True):
            cells = [shown(estimate(each, figure)) for figure in ("file R@10", "nDCG@10", "symbol R@10")]
            rows.append([name, plan, str(len(each)), *cells])
        for figure in ("file R@10", "nDCG@10"):
            values = [(name, estimate(each, figure)) for name, each in zip(names, within, strict=True)]
            text = ", ".join(f"{name} {value.value:.3f}" for name, value in values if value)
            report.add(f"{title}, {plan}: {figure} by {group}", text)
    report.parts.append(Bars(f"{title}: file R@10 by {group}", names, bars))
    head = (group, "plan", "questions", "file R@10", "nDCG@10", "symbol R@10")
    report.parts.append(Table(f"{title}: by {group}", head, sorted(rows)))


def _report_stages(title: str, plans: Mapping[str, Sequence[Answered]], report: Report) -> None:
    rows = []
    for plan, of in plans.items():
        whole = [each.milliseconds[1] for each in of]
        rows.append([plan, "all", f"{statistics.median(whole):.2f}", f"{p95(whole):.2f}"])
        rows += [[plan, name, f"{p50:.2f}", f"{top:.2f}"] for name, (p50, top) in stages(of).items()]
    head = ("plan", "stage", "p50, ms", "p95, ms")
    report.parts.append(Table(f"{title}: latency of a page of ten files, asked again", head, rows))


def _report_pairs(title: str, plans: Mapping[str, Sequence[Answered]], report: Report) -> None:
    rows = []
    for old, new in combinations(plans, 2):
        for figure in COMPARED:
            found = difference(plans[old], plans[new], figure)
            if found:
                parts = zip(halves(plans[old]), halves(plans[new]), strict=True)
                by_half = texts((difference(*part, figure) for part in parts), "+")
                report.add(f"{title}: {new} less {old}, {figure}", f"{found.signed()}; halves {by_half}")
                rows.append([f"{new} less {old}", figure, found.signed(), by_half, str(found.count)])
    if rows:
        head = ("plans", "figure", "difference, paired", "halves", "questions")
        report.parts.append(Table(f"{title}: plans against one another", head, rows))
