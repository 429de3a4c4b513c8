"""Ranking by meaning: the units of a snapshot whose text's vector is nearest to the query's.

The store ranks *rows*, one for each distinct text; one text may stand at several addresses (a copied
function), or at none of the level that is asked for. So rows are fetched until `k` hits are certain: the
store's answer ends where the score falls strictly below its last, so no unseen row can have a hit among
those that are kept. A file is as near as its best unit: at L0 whoever calls gives the file for each of
them, and its best hit counts. Hits are in the order of (-score, address).

Whoever calls gives the query's vector and knows which units a row stands for. Nothing here embeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from nibd.query.hits import Hit
from nibd.stores.bitmap import Bitmap
from nibd.stores.types import Level

UnitsOfRows = Callable[[Sequence[int]], Mapping[int, Sequence[Hit]]]
"""The units of the snapshot whose text has one of these rows, as hits whose score is yet to be set."""


class VectorSearch(Protocol):
    """What is asked of a store; `nibd.stores.dense.DenseStore` is one."""

    def search(self, rows: Bitmap, query: Any, k: int, /) -> tuple[Any, Any]:
        """Arrays of all rows with at least the k-th best score, and their scores, best first."""


def search(
    store: VectorSearch, rows: Bitmap, query: Any, k: int, *, units: UnitsOfRows, level: Level | None = None
) -> list[Hit]:
    """The `k` best units of `level` (None: of every level) among those of `rows`. `query` is a vector."""
    total, wanted = len(rows), k
    hits: dict[object, Hit] = {}
    seen = 0
    while k > 0 and seen < total:
        found, scores = store.search(rows, query, min(wanted, total))
        # What came before comes again, first and in an order of its own up to ties: only the rest is new,
        # and all of it is further away.
        new = _hits(found.tolist()[seen:], scores.tolist()[seen:], units, level)
        for hit in sorted(new, key=lambda hit: (-hit.score, hit.address_key, hit.name)):
            hits.setdefault(hit.address_key, hit)
        seen = len(found)
        if len(hits) >= k:
            break
        wanted = max(seen, wanted) * 2
    return list(hits.values())[:k]


def _hits(rows: list[int], scores: list[float], units: UnitsOfRows, level: Level | None) -> list[Hit]:
    at = units(rows)
    return [
        replace(unit, score=score)
        for row, score in zip(rows, scores, strict=True)
        for unit in at.get(row, ())
        if level is None or unit.level is level
    ]
