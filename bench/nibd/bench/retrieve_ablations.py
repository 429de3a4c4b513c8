"""What each kind of evidence and each penalty of the ranking is worth: ranked without it, paired.

A difference below 0 is what is lost without it. Files are ranked at L0, symbols among units at any level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nibd.bench.charts import Bars
from nibd.bench.intervals import Estimate, paired, texts
from nibd.bench.page import Table
from nibd.bench.report import Report
from nibd.bench.retrieve_answers import names_of, of_files, of_symbols, paths_of
from nibd.bench.retrieve_plans import within
from nibd.bench.retrieve_rows import Question, halves
from nibd.bench.retrieve_views import Opened
from nibd.query.hits import Hit
from nibd.query.ranking import weights
from nibd.query.ranking.evidence import Evidence
from nibd.query.ranking.rank import rank
from nibd.stores.types import Level

WHOLE = "nothing"
FEATURES: Mapping[str, frozenset[str]] = {
    WHOLE: frozenset(),
    **{f"evidence: {kind.value}": frozenset({kind.value}) for kind in Evidence},
    **{f"penalty: {name}": frozenset({name}) for name in weights.PENALTIES},
    "all penalties": frozenset(weights.PENALTIES),
}
FIGURES = ("file R@10", "nDCG@10", "symbol R@10")


@dataclass(frozen=True, slots=True)
class Ablated:
    """A question's figures, by what was left out."""

    question: Question
    without: Mapping[str, Mapping[str, float]]


def ablated(opened: Opened, question: Question) -> Ablated:
    inside = within(opened, question)

    def figures(without: frozenset[str]) -> dict[str, float]:
        def ranked(level: Level | None) -> list[Hit]:
            return rank(opened.tree, question.query, level, 10, within=inside, without=without).hits

        found = of_files(paths_of(ranked(Level.FILE)), question.files)
        found |= of_symbols(names_of(ranked(None)), question.symbols, "symbol") if question.symbols else {}
        return {name: found[name] for name in FIGURES if name in found}

    return Ablated(question, {name: figures(left_out) for name, left_out in FEATURES.items()})


def lost(answers: Iterable[Ablated], feature: str, figure: str) -> Estimate | None:
    """Without the feature, less with all."""
    having = [each for each in answers if figure in each.without[WHOLE]]
    old, new = ({a.question.id: a.without[name][figure] for a in having} for name in (WHOLE, feature))
    return paired(old, new, {a.question.id: a.question.repository for a in having})


def report_ablations(title: str, answers: Sequence[Ablated], report: Report) -> None:
    report.details[f"{title}: ablations"] = [
        {"id": each.question.id, "repository": each.question.repository, "without": each.without}
        for each in answers
    ]
    features = [name for name in FEATURES if name != WHOLE]
    found = {figure: [lost(answers, feature, figure) for feature in features] for figure in FIGURES}
    parts = halves(answers)
    rows = []
    for at, feature in enumerate(features):
        cells = []
        for figure in FIGURES:
            by_half = texts((lost(half, feature, figure) for half in parts), "+")
            cells.append(f"{value.signed()}; halves {by_half}" if (value := found[figure][at]) else "-")
        rows.append([feature, *cells])
        told = ", ".join(f"{f} {cell}" for f, cell in zip(FIGURES, cells, strict=True))
        report.add(f"{title}: without {feature}", told)
    report.parts.append(Table(f"{title}: what is lost without", ("left out", *FIGURES), rows))
    report.parts.append(
        Bars(f"{title}: file R@10 without", features, {"difference": found["file R@10"]}, flat=True)
    )
