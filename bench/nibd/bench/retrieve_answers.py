"""What one answer is worth: where in it the known files and symbols stand."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nibd.bench.retrieve_names import last_component
from nibd.bench.retrieve_plans import Asker
from nibd.bench.retrieve_rows import Question
from nibd.query.hits import Hit
from nibd.stores.types import Level

FIRST = (1, 5, 10, 20)
FILES = 100
UNITS = 60
PAGE = 10


@dataclass(frozen=True, slots=True)
class Answered:
    """A question's figures by name under one plan; what a page took when it was first and again asked for.

    `processor_ms` is the part in which the process computed: what other processes take away is not in it.
    `plan` is what was asked for, `chosen` what was planned. `stages` are of the second time.
    """

    question: Question
    plan: str
    form: str
    chosen: str
    figures: Mapping[str, float]
    milliseconds: tuple[float, float]
    processor_ms: tuple[float, float]
    stages: Mapping[str, float]


def answered(asker: Asker, question: Question) -> Answered:
    first, again = (asker.ask(question, Level.FILE, PAGE) for _ in range(2))
    figures = of_files(paths_of(asker.ask(question, Level.FILE, FILES).hits), question.files)
    units = asker.ask(question, None, UNITS).hits
    by_unit = of_files(list(dict.fromkeys(paths_of(units))), question.files)
    figures |= {f"file by unit R@{k}": by_unit[f"file R@{k}"] for k in FIRST}
    if question.symbols:
        figures |= of_symbols(names_of(units), question.symbols, "symbol")
        named = [hit for hit in units if hit.level is not Level.FILE]
        figures |= of_symbols(names_of(named), question.symbols, "symbol, no files,")
    return Answered(
        question, asker.plan, again.form.value, again.plan.value, figures,
        (first.milliseconds, again.milliseconds), (first.processor_ms, again.processor_ms), again.stages,
    )  # fmt: skip


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


def paths_of(hits: Sequence[Hit]) -> list[str]:
    return [hit.path.decode(errors="replace") for hit in hits]


def names_of(hits: Sequence[Hit]) -> list[tuple[str, str]]:
    return [(hit.path.decode(errors="replace"), last_component(hit.name)) for hit in hits]
