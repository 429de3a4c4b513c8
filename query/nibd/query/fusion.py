"""Reciprocal rank fusion: one ranking from several. Nothing else in nibd fuses.

A unit's fused score is the sum of 1 / (60 + rank) over the lists that have it, ranks from 1 (Cormack,
Clarke and Büttcher, SIGIR 2009). Units are told apart by address, which also breaks ties, so the order of
the lists, and scores within a list beyond their order, mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import fsum

from nibd.query.hits import Hit

RANK_CONSTANT = 60


def fuse(rankings: Iterable[Sequence[Hit]], k: int) -> list[Hit]:
    """The `k` best of `rankings`, each best first; `score` is the fused one."""
    hits: dict[tuple[bytes, int, int, str], Hit] = {}
    parts: dict[tuple[bytes, int, int, str], list[float]] = {}
    for ranking in rankings:
        keys = dict.fromkeys(hit.address_key for hit in ranking)  # a unit counts once a list
        for rank, key in enumerate(keys, start=1):
            parts.setdefault(key, []).append(1 / (RANK_CONSTANT + rank))
        for hit in ranking:
            hits.setdefault(hit.address_key, hit)
    # fsum: exact, so that the order of the lists can't change a bit.
    scores = {key: fsum(values) for key, values in parts.items()}
    best = sorted(scores, key=lambda key: (-scores[key], key))[:k]
    return [replace(hits[key], score=scores[key]) for key in best]
