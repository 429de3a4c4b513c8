"""Fusion: one ranking from several. Nothing else in nibd fuses.

Two ways. *By rank* (`fuse`), where scores say nothing beyond their order: a unit's fused score is the sum of
1 / (60 + rank) over the lists that have it, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009). *By
score* (`fuse_scores`), where they say how far ahead a hit of the first list is: those of the second are
stretched from 1, its first, to 0, its last, and added to them, times a weight. By rank a first hit that is
far ahead would count no more than one that is hardly better.

Units are told apart by address, which also breaks ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum

from nibd.query.hits import Hit

RANK_CONSTANT = 60

_Key = tuple[bytes, int, int, str]


def fuse(rankings: Iterable[Sequence[Hit]], k: int) -> list[Hit]:
    """The `k` best of `rankings`, each best first; `score` is the fused one. Their order means nothing, nor
    do their scores."""
    hits: dict[_Key, Hit] = {}
    parts: dict[_Key, list[float]] = {}
    for ranking in rankings:
        keys = dict.fromkeys(hit.address_key for hit in ranking)  # a unit counts once a list
        for rank, key in enumerate(keys, start=1):
            parts.setdefault(key, []).append(1 / (RANK_CONSTANT + rank))
        for hit in ranking:
            hits.setdefault(hit.address_key, hit)
    # fsum: exact, so that the order of the lists can't change a bit.
    return _best(hits, {key: fsum(values) for key, values in parts.items()}, k)


def fuse_scores(first: Sequence[Hit], second: Sequence[Hit], weight: float, k: int) -> list[Hit]:
    """The `k` best of two rankings, each best first, by the score of `first` and `weight` times that of
    `second`, stretched. What `first` has not counts as its last hit, what `second` has not as its last."""
    hits = {hit.address_key: hit for hit in (*reversed(second), *reversed(first))}
    scores = {hit.address_key: hit.score for hit in reversed(first)}
    added = stretched(second)
    last = first[-1].score if first else 0.0
    return _best(hits, {key: scores.get(key, last) + weight * added.get(key, 0.0) for key in hits}, k)


def stretched(ranking: Sequence[Hit]) -> dict[_Key, float]:
    """The scores of a ranking, from 1 to 0; all 1 where all are equal."""
    if not ranking:
        return {}
    high, low = ranking[0].score, ranking[-1].score
    return {
        hit.address_key: (hit.score - low) / (high - low) if high > low else 1.0 for hit in reversed(ranking)
    }


def _best(hits: Mapping[_Key, Hit], scores: Mapping[_Key, float], k: int) -> list[Hit]:
    best = sorted(scores, key=lambda key: (-scores[key], key))[:k]
    return [replace(hits[key], score=scores[key]) for key in best]
