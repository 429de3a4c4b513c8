"""What policies cost in tokens and give in answers, together over issues, paired with `grep-read`.

AnswerRecall@5 is the share of an issue's files that are among the five answered. A policy *counts* if the
lower end of the 95% interval of its difference to `grep-read` is at least -0.05. Shares of tokens are those
of all trajectories together, of one policy over those of the other.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from nibd.bench.charts import Bars
from nibd.bench.intervals import Estimate, mean, paired, ratio
from nibd.bench.page import Table
from nibd.bench.report import Report
from nibd.bench.retrieve_rows import Question
from nibd.bench.trajectory import Policy, Trajectory

GATE = -0.05
PROMPT = "prompt tokens"
TOKENS: Mapping[str, Callable[[Trajectory], int]] = {
    PROMPT: lambda run: run.prompt,
    "prompt tokens beyond a prefix cache": lambda run: run.fresh,
    "tokens written": lambda run: run.written,
}
MEANS: Mapping[str, Callable[[Trajectory], int]] = {
    "turns": lambda run: run.turns,
    "greps": lambda run: run.greps,
    "reads": lambda run: run.reads,
    PROMPT: lambda run: run.prompt,
    "largest prompt": lambda run: run.largest,
    "packet": lambda run: run.packet,
}
HEAD = ("policy", "AnswerRecall@5", "less grep-read", "counts", "share of prompt tokens", *MEANS)
NOTE = (
    "Of a scripted agent, not of a language model: how it looks, reads and answers is fixed (docs/bench.md). "
    "Shares are of all tokens of the trajectories, against grep-read."
)


@dataclass(frozen=True, slots=True)
class Run:
    """One issue, by policy."""

    question: Question
    by_policy: Mapping[Policy, Trajectory]

    def recall(self, policy: Policy) -> float:
        wanted = self.question.files
        return len({*wanted} & {*self.by_policy[policy].answer}) / len(wanted)


def report_runs(title: str, runs: Sequence[Run], report: Report) -> None:
    report.details[title] = [
        {
            "id": run.question.id, "repository": run.question.repository, "language": run.question.language,
            "wanted": run.question.files,
            "policies": {
                policy.value: asdict(trajectory) | {"AnswerRecall@5": run.recall(policy)}
                for policy, trajectory in run.by_policy.items()
            },
        }
        for run in runs
    ]  # fmt: skip
    if not runs:
        report.add(title, "no issue")
        return
    for policy in Policy:
        _report_policy(title, runs, policy, report)
    compact = share(runs, Policy.COMPACT, Policy.EAGER, TOKENS[PROMPT])
    if compact:
        report.add(f"{title}: compact over eager, {PROMPT}", compact.text(2))
    rows = [_row(runs, policy) for policy in Policy]
    report.parts.append(Table(f"{title}: {len(runs)} issues, scripted agent", HEAD, rows, NOTE))
    policies = [policy.value for policy in Policy]
    recalls = [_recall(runs, policy) for policy in Policy]
    report.parts.append(Bars(f"{title}: AnswerRecall@5 of the scripted agent", policies, {"recall": recalls}))
    shares = {
        name: [share(runs, policy, Policy.GREP_READ, of) for policy in Policy] for name, of in TOKENS.items()
    }
    report.parts.append(Bars(f"{title}: tokens, as a share of grep-read's", policies, shares))
    _report_languages(title, runs, report)


def difference(runs: Sequence[Run], policy: Policy, base: Policy = Policy.GREP_READ) -> Estimate | None:
    """Of AnswerRecall@5, paired by issue."""
    old, new = ({run.question.id: run.recall(each) for run in runs} for each in (base, policy))
    return paired(old, new, {run.question.id: run.question.repository for run in runs})


def share(
    runs: Sequence[Run], policy: Policy, base: Policy, of: Callable[[Trajectory], int]
) -> Estimate | None:
    return ratio(
        (run.question.repository, of(run.by_policy[policy]), of(run.by_policy[base])) for run in runs
    )


def _report_policy(title: str, runs: Sequence[Run], policy: Policy, report: Report) -> None:
    name = f"{title}: {policy.value}"
    report.add(f"{name}: AnswerRecall@5", _text(_recall(runs, policy)))
    work = ", ".join(f"{what} {value:.1f}" for what, value in _means(runs, policy).items())
    report.add(f"{name}: means", work)
    if policy is Policy.GREP_READ:
        return
    apart = difference(runs, policy)
    if apart:
        report.add(
            f"{name} less grep-read, AnswerRecall@5", apart.signed(), f"95% from {GATE}", counts(apart)
        )
    for what, count in TOKENS.items():
        report.add(f"{name} over grep-read, {what}", _text(share(runs, policy, Policy.GREP_READ, count), 2))


def _row(runs: Sequence[Run], policy: Policy) -> list[str]:
    means = _means(runs, policy)
    apart, prompt = difference(runs, policy), share(runs, policy, Policy.GREP_READ, TOKENS[PROMPT])
    compared = ["", "", ""]
    if apart and policy is not Policy.GREP_READ:
        compared = [apart.signed(), "yes" if counts(apart) else "no", _text(prompt, 2)]
    numbers = [f"{value:.1f}" for value in means.values()]
    return [policy.value, _text(_recall(runs, policy)), *compared, *numbers]


def _means(runs: Sequence[Run], policy: Policy) -> dict[str, float]:
    of = [run.by_policy[policy] for run in runs]
    return {name: statistics.mean(take(each) for each in of) for name, take in MEANS.items()}


def counts(apart: Estimate) -> bool:
    """The gate."""
    return apart.low >= GATE


def _text(estimate: Estimate | None, digits: int = 3) -> str:
    return estimate.text(digits) if estimate else "-"


def _recall(runs: Sequence[Run], policy: Policy) -> Estimate | None:
    return mean((run.question.repository, run.recall(policy)) for run in runs)


def _report_languages(title: str, runs: Sequence[Run], report: Report) -> None:
    languages = sorted({run.question.language for run in runs})
    if len(languages) < 2:
        return
    rows = []
    for language in languages:
        of = [run for run in runs if run.question.language == language]
        cells = [f"{statistics.mean(run.recall(policy) for run in of):.3f}" for policy in Policy]
        for policy in (Policy.EAGER, Policy.COMPACT):
            found = share(of, policy, Policy.GREP_READ, TOKENS[PROMPT])
            cells.append(f"{found.value:.2f}" if found else "")
        rows.append([language, str(len(of)), *cells])
    head = ("language", "issues", *(f"{p.value}: recall" for p in Policy), "eager: share", "compact: share")
    report.parts.append(Table(f"{title}: by language", head, rows))
