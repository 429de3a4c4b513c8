"""Pages of one order, which no page's size or place changes.

How a ranking scores depends on how many candidates it looks at: evidence is measured against the best of
them, and lists that are fused end somewhere. So the order is put together from *rungs*: all that is found
with the usual width, then, for whoever asks further, what is found besides with eight times the width, and so
on.
The first pages cost what they always did, and every page belongs to the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

RUNG = 8
RUNGS = 4
MAX_REACH = 1000
"""`offset` and `k` together: no order is told further."""


class Keyed(Protocol):
    @property
    def address_key(self) -> Hashable: ...


T = TypeVar("T", bound=Keyed)


@dataclass(frozen=True, slots=True)
class Rung(Generic[T]):
    """What one width finds, best first. `ended` when a greater width can find no more."""

    hits: Sequence[T]
    ended: bool


def page(find: Callable[[int, int], Rung[T]], offset: int, k: int) -> list[T]:
    """Hits `offset` to `offset + k`. `find(widening, most)` gives the first `most` hits of a rung."""
    wanted = offset + k
    hits: dict[Hashable, T] = {}
    for rung in range(RUNGS):
        # Of what comes again from lower rungs nothing counts: ask for so many more.
        found = find(RUNG**rung, wanted + len(hits))
        for hit in found.hits:
            hits.setdefault(hit.address_key, hit)
        if len(hits) >= wanted or found.ended:
            break
    return list(hits.values())[offset:wanted]
