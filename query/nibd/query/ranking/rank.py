"""Ranked search: a query and a snapshot in, files or source units in order out.

Steps: understand the query; make terms of it that the tree has; find candidates; count the terms in their
texts; gather evidence for each file; sum it up. At L0 that is the answer. Units are ranked within the best
files by their own text and their file's score; units of one file with one name are folded into the best.
An issue asks for what is to be changed: units that define nothing and tests come after the others, and
those of files with penalties lower than their file alone would have them.

Scores are comparable within one answer only, and may be below 0. Ties go by address. A tree and a query
decide every bit of an answer, whatever tree was there before. Nothing is kept or logged here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from nibd.query.filters import Selection
from nibd.query.hits import Hit
from nibd.query.ranking import sums, text_scores, weights
from nibd.query.ranking.candidates import Named, Tree, candidates, named
from nibd.query.ranking.counts import Counted, Ints, count
from nibd.query.ranking.evidence import Evidence, Found, own_evidence
from nibd.query.ranking.groups import ALL, PROSE, TITLE, WORDS, Floats, QueryTerms, query_terms
from nibd.query.ranking.later_units import is_later
from nibd.query.ranking.path_classes import asked_for, path_classes
from nibd.query.ranking.spreading import spread
from nibd.query.ranking.understanding import Shape, Understood, understand
from nibd.stores.lexical import Population
from nibd.stores.types import Level, RepoPath, Unit

EXPLAINED_TERMS = 24
MORE_UNITS = 3


@dataclass(slots=True)
class Explanation:
    """How an answer came about."""

    shape: str = ""
    terms: list[tuple[str, float]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """`ended` when there would be no more hits however wide the search. `terms` are the query's.

    `evidence` works out, by hit, its evidence by kind, penalties below 0: few ask.
    """

    hits: list[Hit]
    explanation: Explanation
    ended: bool
    terms: QueryTerms
    evidence: Callable[[], list[dict[str, float]]]


def rank(
    tree: Tree,
    query: str,
    level: Level | None,
    k: int,
    *,
    within: Selection | None = None,
    widening: int = 1,
    without: frozenset[str] = frozenset(),
) -> Ranking:
    """The first `k` hits: files at L0, else units of a level, or of any (`None`).

    Only what `within` has is ranked, among `widening` times as many candidates as usual. `without` names
    kinds of evidence and classes with a penalty that are not to count, to see what each is worth. Raises
    `StoreError`, or its kinds for what is damaged.
    """
    most_files = weights.FILES_OF_UNITS * widening
    clock = _Clock()
    understood = understand(query)
    clock.stage("understand")
    terms = query_terms(understood, tree.generation)
    clock.stage("terms")
    mentioned = named(tree, understood)
    clock.stage("names")
    found = candidates(tree, understood, terms, mentioned, widening, within)
    clock.stage("candidates")
    counted = count(found.files, terms, tree.facts)
    clock.stage("counts")
    ranked = _Files(tree, understood, terms, counted, mentioned, without)
    clock.stage("evidence")
    if level is Level.FILE:
        order = _by_path(counted, ranked.scores)[:k] if within is None or within.has_kind("file") else []
        places = [(at, 0, float(ranked.scores[at])) for at in order]
    else:
        places = ranked.units(_Wanted(level, within), k, most_files)
    hits = [ranked.hit(*place) for place in places]
    clock.stage("order")
    counts = {**found.ways, "candidates": len(found.files), "units": len(counted.file_of)}
    counts |= {"terms": terms.count, "groups": terms.found}
    explanation = Explanation(
        understood.shape.value,
        [(group.text, group.importance) for group in terms.groups[:EXPLAINED_TERMS]],
        counts,
        clock.milliseconds,
    )
    ended = found.ended and (level is Level.FILE or len(found.files) <= most_files)

    def evidence() -> list[dict[str, float]]:
        return [ranked.explained(at) for at, _, _ in places]

    return Ranking(hits, explanation, ended, terms, evidence)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which units are looked for."""

    level: Level | None
    within: Selection | None

    def __call__(self, unit: Unit) -> bool:
        is_at_level = self.level is None or unit.level is self.level
        return is_at_level and (self.within is None or self.within.has_kind(unit.kind))

    @property
    def is_any(self) -> bool:
        return self.within is None or not self.within.kinds


class _Files:
    """The candidates with their scores."""

    def __init__(
        self,
        tree: Tree,
        understood: Understood,
        terms: QueryTerms,
        counted: Counted,
        mentioned: Named,
        without: frozenset[str],
    ) -> None:
        self._tree, self._terms, self._counted = tree, terms, counted
        self._shape, self._asked = understood.shape, asked_for(understood.title)
        self._mentioned = mentioned
        self._defined = mentioned.units if self._shape is Shape.SYMBOL else {}
        files = counted.files
        classes = [path_classes(file.path, file.language) for file in files]
        ordinary = [not each & weights.NOT_ORDINARY for each in classes]
        self._penalties = sums.penalties(classes, self._asked | without)

        def counting(found: Found) -> Found:
            return sums.relative({k: v * (k.value not in without) for k, v in found.items()}, ordinary)

        self._totals = tree.generation.totals(Population.UNITS)
        self._unit_terms = text_scores.unit_terms(counted, self._totals, terms)
        own = counting(own_evidence(tree, terms, counted, self._unit_terms, mentioned))
        strength = sums.file_scores(own, self._penalties)
        self._evidence: Found = {**own, **counting(spread(tree, files, strength))}
        self.scores = sums.file_scores(self._evidence, self._penalties)
        self._units: dict[int, Sequence[Unit]] = {}

    def units(self, wanted: _Wanted, k: int, most_files: int) -> list[tuple[int, int, float]]:
        """The best units as (file, ordinal, score), folded by name."""
        best = (at for at in _by_path(self._counted, self.scores) if wanted.is_any or self._has(at, wanted))
        numbers, scores = self._unit_scores(np.sort(np.array(list(islice(best, most_files)), np.int64)))
        found = self._first(
            numbers, scores, lambda at, unit: wanted(unit) and not self._is_later(at, unit), k
        )
        if len(found) < k:
            later = self._first(
                numbers, scores - weights.LATER, lambda at, unit: wanted(unit) and self._is_later(at, unit), k
            )
            found |= {name: place for name, place in later.items() if name not in found}
        return list(found.values())[:k]

    def _is_later(self, number: int, unit: Unit) -> bool:
        return self._shape is Shape.ISSUE and is_later(
            unit, self._asked, self._key(number) in self._mentioned.units
        )

    def _first(
        self, numbers: Ints, scores: Floats, wanted: Callable[[int, Unit], bool], k: int
    ) -> dict[Hashable, tuple[int, int, float]]:
        """The best units that are wanted, at least `k` where there are as many."""
        some = MORE_UNITS * k
        while True:
            kept = self._kept(numbers, scores, wanted, some)
            if len(kept) >= k or some >= len(numbers):
                return kept
            some *= MORE_UNITS

    def _has(self, at: int, wanted: _Wanted) -> bool:
        return any(map(wanted, self._of_file(at)))

    def hit(self, at: int, ordinal: int, score: float) -> Hit:
        file, unit = self._counted.files[at], self._of_file(at)[ordinal]
        return Hit(
            file.path, unit.start_line, unit.end_line, unit.kind, unit.qualified, unit.level, file.language,
            file.blob, score,
        )  # fmt: skip

    def explained(self, at: int) -> dict[str, float]:
        found = {kind.value: float(self._evidence[kind][at]) for kind in Evidence}
        taken = {name: -value for name, value in self._penalties[at].items()}
        return {"file": float(self.scores[at])} | {k: v for k, v in (found | taken).items() if v}

    def _unit_scores(self, files: Ints) -> tuple[Ints, Floats]:
        """Units of these files that have a term of the query or are told by a place, and their scores."""
        counted, terms = self._counted, self._terms
        chosen = np.zeros(len(counted.files), bool)
        chosen[files] = True
        inside = self._unit_terms.of(chosen[counted.file_of])
        weighed = text_scores.weighed(inside, counted, self._totals, weights.UNIT_B)
        has_prose = bool(terms.importance[PROSE].any())
        text, prose, title = (
            text_scores.unit_scores(weighed, terms.importance[each], len(counted.file_of), weights.UNIT_K1)
            for each in (ALL, PROSE if has_prose else WORDS, TITLE)
        )
        numbers = text_scores.distinct(weighed.units)
        if self._mentioned.places:
            numbers = np.union1d(numbers, self._told(files))
        of_files = self.scores[counted.file_of[numbers]]
        told = self._defined or self._mentioned.places
        defined = np.array([self._definition(int(number)) for number in numbers] if told else 0.0)
        scores = sums.unit_scores(text[numbers], prose[numbers], title[numbers], of_files, defined)
        if self._shape is Shape.ISSUE:
            scores -= weights.UNIT_POINT * sums.points(self._penalties)[counted.file_of[numbers]]
        return numbers, scores

    def _told(self, files: Ints) -> Ints:
        """Units of these files that a frame or a line tells."""
        counted = self._counted
        at_path = {counted.files[at].path: int(counted.first[at]) for at in files}
        told = [at_path[path] + ordinal for path, ordinal in self._mentioned.places if path in at_path]
        return np.array([number for number in told if counted.unit_lengths[number] > 0], np.int64)

    def _definition(self, number: int) -> float:
        key = self._key(number)
        score = weights.PLACE * self._mentioned.places.get(key, 0.0)
        if self._shape is Shape.SYMBOL:
            score += self._defined.get(key, 0.0) + weights.QUALIFIED * (key in self._mentioned.qualified)
        return score

    def _key(self, number: int) -> tuple[RepoPath, int]:
        at = int(self._counted.file_of[number])
        return self._counted.files[at].path, number - int(self._counted.first[at])

    def _kept(
        self, numbers: Ints, scores: Floats, wanted: Callable[[int, Unit], bool], some: int
    ) -> dict[Hashable, tuple[int, int, float]]:
        """The first `some` units, and those that equal the last; in order, those wanted, folded."""
        order = np.argsort(-scores, kind="stable")
        last = scores[order[min(some, len(order)) - 1]] if len(order) else 0.0
        looked_at = order[: int(np.searchsorted(-scores[order], -last, side="right"))]
        found = []
        for place in looked_at:
            at = int(self._counted.file_of[numbers[place]])
            ordinal = int(numbers[place] - self._counted.first[at])
            unit = self._of_file(at)[ordinal]
            if wanted(int(numbers[place]), unit):
                address = (self._counted.files[at].path, unit.start_line, unit.end_line, unit.kind, ordinal)
                found.append((-float(scores[place]), address, at, unit.qualified))
        best: dict[Hashable, tuple[int, int, float]] = {}
        for score, address, at, qualified in sorted(found):
            ordinal = address[-1]
            best.setdefault((at, qualified, 0 if qualified else ordinal), (at, ordinal, -score))
        return best

    def _of_file(self, at: int) -> Sequence[Unit]:
        if at not in self._units:
            file = self._counted.files[at]
            self._units[at] = self._tree.facts.recent_units(file.blob, file.language)
        return self._units[at]


def _by_path(counted: Counted, scores: Floats) -> list[int]:
    """Files best first; they stand in path order, which is that of their addresses."""
    return [int(at) for at in np.argsort(-scores, kind="stable")]


class _Clock:
    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.milliseconds[name] = (now - self._last) * 1000
        self._last = now
