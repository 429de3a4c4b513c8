"""A second look at the first hits: their order by the scores of a reranker.

The first `DEPTH` hits of a plan's order are scored, whatever page is asked for, so that pages are of one
order here too; the others follow as they were. Who scores, and where, is the caller's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nibd.query.hits import Hit
from nibd.query.search import Found

DEPTH = 20
TEXT_CHARACTERS = 4000
"""No cross-encoder reads more of a unit."""


def text_of(hit: Hit, text: str) -> str:
    """What of a hit is scored: where it is, its name, and its lines."""
    path = hit.path.decode(errors="replace")
    return f"{path} {hit.name}\n{text}"[:TEXT_CHARACTERS]


def reranked(found: Found, scores: Sequence[float]) -> Found:
    """The hits, of which the first ones have these scores, in their order; equal ones by address."""
    first = range(len(scores))
    order = sorted(first, key=lambda at: (-scores[at], found.hits[at].address_key))
    order += range(len(scores), len(found.hits))
    return replace(found, hits=[found.hits[at] for at in order])


def cut(found: Found, offset: int, k: int) -> Found:
    """A page of what begins with the first hit."""
    return replace(found, hits=found.hits[offset : offset + k])
