"""Ranked search: a query that is planned, and a snapshot's views in; one page of hits out.

Each plan is a way to find the first hits of a *rung* (`paging`):

lexical     the ranking by terms (`ranking`)
dense       units by how near their vectors are to the query's (`dense`); exact, so it has one rung
hybrid      both, fused by score
structural  the ranking by terms, fused with itself as far as the seeds and what these are related to
            (`expansion`)

A `Selection` narrows what is found, never what is counted. Nothing here embeds, loads a model, or looks at
anything but the views: equal questions to equal snapshots have equal answers.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from nibd.query import dense, fusion, paging
from nibd.query.expansion import Expansion, Related, expand
from nibd.query.filters import Selection
from nibd.query.hits import Hit
from nibd.query.planning import Plan, Planned
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.groups import QueryTerms
from nibd.query.ranking.rank import Explanation, Ranking, rank
from nibd.stores.bitmap import Bitmap
from nibd.stores.dense import DenseStore
from nibd.stores.structure import StoredUnit, StructureStore
from nibd.stores.types import Level

FILE_NEARNESS, UNIT_NEARNESS = 3.0, 0.3
"""What the nearest vector adds to the score of its file, or of its unit, in the ranking by terms: as much as
three kinds of evidence. What set it is in docs/decisions/0016-what-is-embedded.md."""
FEW_FILES = 500
"""The vectors of a selection of so many files are looked for among its own; else among all, and left out."""


class Views(Protocol):
    """What a snapshot has. Only what a plan needs is asked for."""

    @property
    def structure(self) -> StructureStore: ...
    @property
    def listing(self) -> Bitmap: ...
    @property
    def tree(self) -> Tree: ...
    @property
    def dense(self) -> tuple[DenseStore, Bitmap] | None:
        """`None` of a tree without a text."""
        ...

    @property
    def related(self) -> Related: ...


@dataclass(frozen=True, slots=True)
class Question:
    """`vector` is the query's, for plans that need one: an array of float32."""

    query: str
    planned: Planned
    level: Level | None
    k: int
    offset: int = 0
    within: Selection | None = None
    vector: Any = None


@dataclass(slots=True)
class Trace:
    """What was done: milliseconds and candidates by stage, over all rungs, and how many of these there were.

    `ranking` is the explanation of the first ranking by terms, with its `terms`; `expansion` tells of the
    relations that were followed; `rankings` are all, first to last. `nearness` is that of hits, by address.
    """

    milliseconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    candidates: dict[str, int] = field(default_factory=dict)
    rungs: int = 0
    ranking: Explanation | None = None
    terms: QueryTerms | None = None
    expansion: Expansion | None = None
    rankings: list[Ranking] = field(default_factory=list)
    nearness: dict[object, Nearness] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.milliseconds[name] += (time.perf_counter() - started) * 1000

    def ranked(self, ranking: Ranking) -> None:
        told = ranking.explanation
        for stage, took in told.milliseconds.items():
            self.milliseconds[stage] += took
        self.candidates["lexical"] = told.counts["candidates"]
        self.ranking = self.ranking or told
        self.terms = self.terms or ranking.terms
        self.rankings.append(ranking)

    def near(self, hits: Sequence[Hit], nearest: Sequence[Hit], weight: float | None) -> None:
        """Of `hits`, those among the `nearest`; `weight` is theirs in fusion (`None`: nothing was fused)."""
        part = {} if weight is None else fusion.stretched(nearest)
        by_key = {hit.address_key: (rank, hit.score) for rank, hit in enumerate(nearest, start=1)}
        for hit in hits:
            key = hit.address_key
            if key in by_key:
                rank, cosine = by_key[key]
                added = cosine if weight is None else weight * part[key]
                self.nearness.setdefault(key, Nearness(cosine, rank, added))


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a hit's vector is to the query's: its cosine, its rank among the nearest from 1, and what that
    added to the score."""

    cosine: float
    rank: int
    added: float


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits, and how it came about."""

    hits: Sequence[Hit]
    trace: Trace

    @property
    def evidence(self) -> Sequence[Mapping[str, float] | None]:
        """Of each hit, `None` of one that the ranking by terms does not have."""
        known: dict[object, Mapping[str, float]] = {}
        for ranking in self.trace.rankings:
            for hit, evidence in zip(ranking.hits, ranking.evidence(), strict=True):
                known.setdefault(hit.address_key, evidence)
        return [known.get(hit.address_key) for hit in self.hits]

    @property
    def nearness(self) -> Sequence[Nearness | None]:
        """Of each hit, `None` of one that is not among the nearest that were looked at."""
        return [self.trace.nearness.get(hit.address_key) for hit in self.hits]


def search(views: Views, question: Question) -> Found:
    """Raises `StoreError`, or its kinds for what is damaged."""
    trace = Trace()
    find = _FINDERS[question.planned.plan]

    def rung(widening: int, most: int) -> paging.Rung[Hit]:
        trace.rungs += 1
        return find(views, question, trace, widening, most)

    return Found(paging.page(rung, question.offset, question.k), trace)


def _lexical(views: Views, question: Question, trace: Trace, widening: int, most: int) -> paging.Rung[Hit]:
    ranking = _ranked(views, question, trace, widening, most)
    return paging.Rung(ranking.hits, ranking.ended)


def _dense(views: Views, question: Question, trace: Trace, widening: int, most: int) -> paging.Rung[Hit]:
    nearest = _nearest(views, question, trace, most)
    trace.near(nearest, nearest, None)
    return paging.Rung(nearest, ended=True)


def _hybrid(views: Views, question: Question, trace: Trace, widening: int, most: int) -> paging.Rung[Hit]:
    depth = question.planned.widths.fused * widening
    ranking = _ranked(views, question, trace, widening, depth)
    nearest = _nearest(views, question, trace, depth)
    with trace.stage("fusion"):
        weight = FILE_NEARNESS if question.level is Level.FILE else UNIT_NEARNESS
        hits = fusion.fuse_scores(ranking.hits, nearest, weight, most)
        trace.near(hits, nearest, weight)
    ended = ranking.ended and max(len(ranking.hits), len(nearest)) < depth
    return paging.Rung(hits, ended)


def _structural(views: Views, question: Question, trace: Trace, widening: int, most: int) -> paging.Rung[Hit]:
    widths = question.planned.widths
    depth = widths.fused * widening
    ranking = _ranked(views, question, trace, widening, depth)
    seeds = ranking.hits[: widths.seeds]
    with trace.stage("relations"):
        expansion = expand(views.related, seeds, question.level, question.within, widths)
    trace.expansion = trace.expansion or expansion
    trace.candidates["relations"] = expansion.looked_at
    with trace.stage("fusion"):
        hits = fusion.fuse([ranking.hits, [*seeds, *expansion.hits]], most)
    return paging.Rung(hits, ranking.ended and len(ranking.hits) < depth)


_FINDERS = {
    Plan.LEXICAL: _lexical,
    Plan.DENSE: _dense,
    Plan.HYBRID: _hybrid,
    Plan.STRUCTURAL: _structural,
}


def _ranked(views: Views, question: Question, trace: Trace, widening: int, most: int) -> Ranking:
    wider = widening * question.planned.widths.widening
    ranking = rank(views.tree, question.query, question.level, most, within=question.within, widening=wider)
    trace.ranked(ranking)
    return ranking


def _nearest(views: Views, question: Question, trace: Trace, most: int) -> list[Hit]:
    held = views.dense
    if held is None:
        return []
    store, rows = held
    structure, within = views.structure, question.within
    listing = within.rows if within else views.listing
    # A file is as near as its best unit.
    with_text = structure.files_with_text if question.level is Level.FILE else structure.with_text

    def units(wanted: Sequence[int]) -> Mapping[int, Sequence[Hit]]:
        found = {
            row: [unit_hit(unit, 0.0) for unit in with_text(listing, text)]
            for row, text in store.texts(wanted).items()
        }
        return found if within is None else {row: _of_kinds(hits, within) for row, hits in found.items()}

    with trace.stage("dense"):
        if within is not None and len(within.paths) <= FEW_FILES:
            texts = {text for _, text in structure.text_ids(within.rows)}
            rows = Bitmap.of(row for row in store.rows(texts).values() if row in rows)
        trace.candidates["dense"] = len(rows)
        return dense.search(store, rows, question.vector, most, units=units, level=question.level)


def _of_kinds(hits: Sequence[Hit], within: Selection) -> Sequence[Hit]:
    return [hit for hit in hits if within.has_kind(hit.kind)]


def unit_hit(unit: StoredUnit, score: float) -> Hit:
    return Hit(
        path=unit.file.path,
        start_line=unit.start_line,
        end_line=unit.end_line,
        kind=unit.kind,
        name=unit.qualified,
        level=unit.level,
        language=unit.file.language,
        blob=unit.file.blob,
        score=score,
    )
