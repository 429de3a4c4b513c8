"""What a session of the life cycle's bench asks, and the answers by which two ways of asking are compared.

A session asks for one text by terms and, where there is a dense view, by meaning too; then where two names
are defined. Sessions take turns among texts and names of the tree itself, the same for the same tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nibd.query.comparison import Side, queries
from nibd.query.hits import Hit
from nibd.stores.types import Level

QUERIES = 100
NAMES_A_SESSION = 2
HITS = 10
LEAST_LETTERS = 5

Places = list[list[str | int]]
"""Of one answer: path, first and last line of each hit."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One session's."""

    query: str
    names: tuple[str, ...]


def sessions(tree: Side) -> list[Asked]:
    """Some tens of them, to be asked in turns."""
    texts = queries(tree, 2 * QUERIES)[:QUERIES]
    names = _names(tree)
    if not texts or not names:
        return []
    return [Asked(text, _turn(names, number)) for number, text in enumerate(texts)]


def places(hits: Sequence[Hit]) -> Places:
    return [[hit.path.decode(errors="replace"), hit.start_line, hit.end_line] for hit in hits]


def _names(tree: Side) -> list[str]:
    """Of callables, spread over the tree's files."""
    rows = list(tree.listing)
    rows = rows[:: max(1, len(rows) // (4 * QUERIES))]
    units = (unit for row, file in tree.structure.files(rows) for unit in tree.structure.units(file, row))
    told = (u.name for u in units if u.level is Level.CALLABLE and len(u.name) >= LEAST_LETTERS)
    return list(dict.fromkeys(told))


def _turn(names: Sequence[str], number: int) -> tuple[str, ...]:
    first = number * NAMES_A_SESSION
    return tuple(names[(first + at) % len(names)] for at in range(NAMES_A_SESSION))
