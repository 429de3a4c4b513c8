"""What a ranking is worth: where in it the known answers stand, taken together over questions."""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nibd.bench.report import Report, p95
from nibd.bench.retrieve_rows import Question

FIRST = (1, 5, 10, 20)
BOOTSTRAPS = 2000


@dataclass(frozen=True, slots=True)
class Answered:
    """A question's figures by name; what the first and the second time it was asked took.

    `processor_ms` is the part in which the process computed: what another process takes away is not in it.
    """

    question: Question
    figures: Mapping[str, float]
    milliseconds: tuple[float, float]
    processor_ms: tuple[float, float]
    stages: Mapping[str, float] = field(default_factory=dict)
    candidates: float = 0.0


def of_files(ranked: Sequence[str], wanted: Collection[str]) -> dict[str, float]:
    """`ranked` files, each once; recall, whether all are found, reciprocal rank and nDCG, all binary."""
    places = {path: at for at, path in enumerate(ranked)}
    found = [places.get(path, math.inf) for path in wanted]
    first = min(found)
    gained = sum(1 / math.log2(at + 2) for at in found if at < 10)
    ideal = sum(1 / math.log2(at + 2) for at in range(min(10, len(found))))
    figures = {f"file R@{k}": sum(at < k for at in found) / len(found) for k in FIRST}
    return figures | {
        "success@10": float(all(at < 10 for at in found)),
        "MRR": 0.0 if first == math.inf else 1 / (1 + first),
        "nDCG@10": gained / ideal,
    }


def of_symbols(
    ranked: Sequence[tuple[str, str]], wanted: Collection[tuple[str, str]], name: str
) -> dict[str, float]:
    """Recall of (file, name) among the first units."""
    if not wanted:
        return {}
    return {f"{name} R@{k}": sum(each in ranked[:k] for each in wanted) / len(wanted) for k in FIRST}


def report_answers(title: str, answered: Sequence[Answered], report: Report) -> None:
    """All, each half, each language and category, with intervals over repositories, and latency."""
    report.details[title] = [
        {
            "id": each.question.id, "repository": each.question.repository, "figures": dict(each.figures),
            "milliseconds": each.milliseconds, "processor_ms": each.processor_ms,
            "candidates": each.candidates,
        }
        for each in answered
    ]  # fmt: skip
    if not answered:
        report.add(title, "no row")
        return
    for name in dict.fromkeys(name for each in answered for name in each.figures):
        halves = [_mean([a for a in answered if a.question.half == half], name) for half in (0, 1)]
        low, high = _interval(answered, name)
        of_halves = " / ".join("-" if value is None else f"{value:.3f}" for value in halves)
        value = f"{_mean(answered, name):.3f} ({low:.3f} to {high:.3f}); halves {of_halves}"
        report.add(f"{title}: {name}", value)
    _report_groups(f"{title}: file R@10 by language", answered, "file R@10", _language, report)
    _report_groups(f"{title}: nDCG@10 by category", answered, "nDCG@10", _category, report)
    for at, when in enumerate(("first", "again")):
        for what in ("milliseconds", "processor_ms"):
            took = [getattr(each, what)[at] for each in answered]
            value = f"p50 {statistics.median(took):.1f} ms, p95 {p95(took):.1f} ms"
            name = "latency" if what == "milliseconds" else "processor time"
            report.add(f"{title}: {name}, asked {when}", value)
    stages = sorted({name for each in answered for name in each.stages})
    medians = [f"{s} {statistics.median(each.stages[s] for each in answered):.1f}" for s in stages]
    report.add(f"{title}: stages, p50 in ms", ", ".join(medians))
    among = statistics.mean(each.candidates for each in answered)
    report.add(f"{title}: wanted files among the candidates", f"{among:.3f}")


def _report_groups(
    row: str, answered: Sequence[Answered], name: str, key: Callable[[Question], str], report: Report
) -> None:
    groups: defaultdict[str, list[Answered]] = defaultdict(list)
    for each in answered:
        groups[key(each.question)].append(each)
    if len(groups) > 1:
        values = [f"{group} {_mean(groups[group], name):.3f}" for group in sorted(groups)]
        report.add(row, ", ".join(values))


def _mean(answered: Sequence[Answered], name: str) -> Any:
    values = [each.figures[name] for each in answered if name in each.figures]
    return statistics.mean(values) if values else None


def _interval(answered: Sequence[Answered], name: str) -> tuple[float, float]:
    """95%, by drawing repositories."""
    by_repository: defaultdict[str, list[float]] = defaultdict(list)
    for each in answered:
        if name in each.figures:
            by_repository[each.question.repository].append(each.figures[name])
    groups = list(by_repository.values())
    source = random.Random(20240102)
    means = []
    for _ in range(BOOTSTRAPS):
        drawn = [value for group in source.choices(groups, k=len(groups)) for value in group]
        means.append(statistics.mean(drawn))
    means.sort()
    return means[BOOTSTRAPS // 40], means[-BOOTSTRAPS // 40]


def _language(question: Question) -> str:
    return question.language


def _category(question: Question) -> str:
    return question.category
