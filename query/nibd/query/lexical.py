"""Ranked text search over a lexical generation, with scores that do not depend on its history.

The score of a document d for a query is

    sum over fields f, over distinct query terms t, of
        weight(f) * times(t) * idf(f, t) * count * (k1 + 1) / (count + norm(f, d))

    idf(f, t)  = ln(1 + (N - n + 0.5) / (n + 0.5))        as in Lucene
    norm(f, d) = k1 * (1 - b + b * length(f, d) / average length of f)

where N is the population's live documents, n those that have t in f, `count` how often d has t in
f, and `times(t)` how often the query has t (linear, as in Lucene), or the weight that the caller gives
t. Every other number is an exact integer from the facts or the generation's totals, and the sum is
always taken in the same order, so equal trees give equal bits, whichever commits led there. Ties are
broken by address.

Tantivy finds the candidates. Its own score can't be the answer: its N, n and average count deleted
documents, and it rounds lengths down to a few hundred steps. But it can be made an upper bound. Its
N', n' and average' can be read, so each term is given the weight

    weight(f) * times(t) * idf(f, t) / idf'(f, t) * max(1, average(f) / average'(f))

The first quotient puts the exact idf in the place of Tantivy's. For the rest, let norm' be Tantivy's
norm with its rounded length, length' <= length. Then

    (count + norm) / (count + norm') >= min(1, norm / norm') >= min(1, average' / average)

since norm' <= k1 * (1 - b + b * length / average'). So with these weights Tantivy's score of every
document is at least the exact one, but for the rounding of its 32-bit arithmetic, which the number
of terms bounds. (Where a term is in nearly all of millions of documents, 32 bits make idf' zero; the
greatest score such a term can give is added to every bound instead.)

Candidates come by falling upper bound and are scored exactly one by one. Once k are found whose exact
scores are all above the bound of the next, no document that was not seen can be among the first k,
not even by winning a tie. If the list ends before that, a longer one is taken.

Who only asks *which* documents the first k are need not score them all. With the averages as a = average(f)
/ average'(f), and as Tantivy rounds no length down by more than a ninth, in the same way

    (count + norm') / (count + norm) >= min(1, norm' / norm) >= min(1, 8/9 * a)

so the exact score is at least min(1, 8/9 * a) / max(1, a) of Tantivy's, with the field where that is least.
What is above the bound of the candidate after the first k even so, is surely among the first k.
"""

from __future__ import annotations

import math
import struct
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nibd.query.filters import Selection
from nibd.query.lexical_scores import K1, Scorer, WeightedTerm, idf
from nibd.stores.facts import FactStore
from nibd.stores.lexical import Candidate, Field, LexicalGeneration, Located, Population
from nibd.stores.lexical_documents import level_population
from nibd.stores.terms import tokenize
from nibd.stores.types import Address, BlobId, Level, RepoPath

FIELD_WEIGHTS: Mapping[Field, float] = {Field.BODY: 1.0, Field.NAME: 2.0, Field.PATH: 1.0}

FIRST_CANDIDATES = 64
CANDIDATES_PER_HIT = 4
WIDENING = 8
"""The first list is of `CANDIDATES_PER_HIT` times k documents, `FIRST_CANDIDATES` at least; one that
ends too early is followed by one `WIDENING` times as long."""

FEW_PATHS = 500
"""Tantivy looks for a selection of no more files among documents; of more, each candidate is looked at."""

LEAST_LENGTH = 8 / 9
"""What is left, at least, of a length that Tantivy has rounded: from 40 on in 8 steps to each doubling."""
FLOAT32_ROUNDING = 2.0**-23
_FLOAT32 = struct.Struct("f")
ROUNDINGS_PER_TERM = 16
"""Twice the unit of rounding, and more operations than Tantivy applies to a term before it adds it."""


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A unit (or, at L0, a file) with its exact score. `ordinal` is the unit's in its file's facts."""

    address: Address
    blob: BlobId
    language: str
    ordinal: int
    score: float

    @property
    def path(self) -> RepoPath:
        return self.address.path


@dataclass(frozen=True, slots=True)
class _Plan:
    """A query against one generation. `terms` by field, in the order of summing.

    A document's exact score is at most `slope` times its weighted Tantivy score, plus `unbounded`, and at
    least `least` times that score.
    """

    terms: Mapping[Field, list[WeightedTerm]]
    weights: Mapping[tuple[Field, str], float]
    slope: float
    unbounded: float
    least: float

    def bound(self, candidate: Candidate) -> float:
        return candidate.score * self.slope + self.unbounded


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query against one generation, ready to be answered. `listed` gives so many candidates, best first."""

    plan: _Plan
    scorer: Scorer
    within: Selection | None
    listed: Callable[[int], list[Candidate]]


def search(
    generation: LexicalGeneration,
    facts: FactStore,
    query: str | Mapping[str, float],
    level: Level | None,
    k: int,
    *,
    offset: int = 0,
    within: Selection | None = None,
) -> list[LexicalHit]:
    """Rank units of a level (of any level: `None`) or, at L0, files: hits `offset` to `offset + k`.

    The query is a text, or terms with their weights. Only what `within` has is ranked; the statistics stay
    those of all. A query without a term has no hits. Raises `StoreError`, or
    `CorruptFacts` and `CorruptStore` when what is stored is damaged.
    """
    asked = _asked(generation, facts, query, level, within)
    if asked is None or k <= 0:
        return []
    wanted = offset + k
    limit = _first_limit(wanted)
    return _hits(_best(asked, wanted, asked.listed(limit), limit)[offset:])


def first_documents(
    generation: LexicalGeneration,
    facts: FactStore,
    query: Mapping[str, float],
    level: Level | None,
    k: int,
    *,
    within: Selection | None = None,
) -> list[Located]:
    """The documents of the first `k` hits of `search`, in no order: as few as can be are scored for it."""
    asked = _asked(generation, facts, query, level, within)
    if asked is None or k <= 0:
        return []
    limit = _first_limit(k)
    found = asked.listed(limit)
    sure = _surely_first(asked.plan, found, k, limit) if within is None else 0
    rest = _best(asked, k - sure, found, limit, sure)
    return [*(candidate.located() for candidate in found[:sure]), *(located for _, located in rest)]


def _asked(
    generation: LexicalGeneration,
    facts: FactStore,
    query: str | Mapping[str, float],
    level: Level | None,
    within: Selection | None,
) -> _Asked | None:
    """`None` where there are no hits: without a term, or a file to look at."""
    population = level_population(level)
    times = Counter(tokenize(query)) if isinstance(query, str) else query
    plan = _plan(generation, population, times)
    if not plan.weights or (within is not None and not within.paths):
        return None
    scorer = Scorer(population, generation.totals(population), facts, plan.terms)
    at_level = within.only_level if level is None and within is not None else level
    if population is Population.FILES:
        at_level = None
    few = within.paths if within is not None and len(within.paths) <= FEW_PATHS else None

    def listed(limit: int) -> list[Candidate]:
        return generation.candidates(population, plan.weights, at_level, limit, few)

    return _Asked(plan, scorer, within, listed)


def _first_limit(wanted: int) -> int:
    return max(FIRST_CANDIDATES, CANDIDATES_PER_HIT * wanted)


def _surely_first(plan: _Plan, found: Sequence[Candidate], k: int, limit: int) -> int:
    """How many of the list of `limit` candidates are among the first `k`, whatever their exact scores."""
    if len(found) <= k:
        return len(found) if len(found) < limit else 0
    most = plan.bound(found[k])
    return next((at for at in range(k) if found[at].score * plan.least <= most), k)


def _best(
    asked: _Asked, wanted: int, found: list[Candidate], limit: int, seen: int = 0
) -> list[tuple[_Order, Located]]:
    """The first `wanted`, but for the first `seen` candidates; `found` is the list of `limit` candidates."""
    best: list[tuple[_Order, Located]] = []  # their orders are distinct
    while True:
        for candidate in found[seen:]:
            if len(best) == wanted and (not best or -best[-1][0][0] > asked.plan.bound(candidate)):
                return best
            located = candidate.located()
            if asked.within is not None and not asked.within.has(located.address):
                continue
            insort(best, (_order(located, asked.scorer.score(located)), located))
            del best[wanted:]
        if len(found) < limit:
            return best
        # Equal scores are listed in the order of documents, so a longer list begins with this one.
        seen, limit = len(found), limit * WIDENING
        found = asked.listed(limit)


_Order = tuple[float, tuple[bytes, int, int, str], int]


def _order(located: Located, score: float) -> _Order:
    """Best first; equal scores by address, and units with one address as their file has them."""
    return (-score, located.address.key, located.ordinal)


def _hits(best: Iterable[tuple[_Order, Located]]) -> list[LexicalHit]:
    return [
        LexicalHit(located.address, located.blob, located.language, located.ordinal, -order[0])
        for order, located in best
    ]


def _plan(generation: LexicalGeneration, population: Population, times: Mapping[str, float]) -> _Plan:
    """Weigh the terms that some live document has in some field; the others add nothing."""
    terms: dict[Field, list[WeightedTerm]] = {}
    weights: dict[tuple[Field, str], float] = {}
    unbounded, least = 0.0, 1.0
    totals = generation.totals(population)
    for field in Field:
        for term in sorted(times):
            frequency = generation.document_frequency(population, field, term)
            if frequency == 0:
                continue
            exact = idf(totals.documents, frequency)
            weight = FIELD_WEIGHTS[field] * times[term]
            weighted = WeightedTerm(term, weight * exact * (K1 + 1.0))
            terms.setdefault(field, []).append(weighted)
            inner = generation.statistics(population, field, term)
            counted = generation.counted_frequency(population, field, term)
            inner_idf = tantivy_idf(inner.documents, counted)
            if inner_idf == 0.0:
                unbounded += weighted.factor
                inner_idf = exact
            averages = totals.average(field) / inner.average_length
            weights[field, term] = weight * exact / inner_idf * max(1.0, averages)
            least = min(least, min(1.0, LEAST_LENGTH * averages) / max(1.0, averages))
    slope = 1.0 + (len(weights) + ROUNDINGS_PER_TERM) * FLOAT32_ROUNDING
    return _Plan(terms, weights, slope, unbounded, least / slope)


@lru_cache(maxsize=1 << 12)
def tantivy_idf(documents: int, frequency: int) -> float:
    """Tantivy's idf, in its 32-bit steps: far from the exact one for terms that are nearly everywhere."""
    ratio = _float32(_float32(_float32(documents - frequency) + 0.5) / _float32(_float32(frequency) + 0.5))
    return _float32(math.log(_float32(1.0 + ratio)))


def _float32(value: float) -> float:
    rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    return rounded
