"""Objects as Git stores them, by id: what both ways of reading hand over.

An object is its kind and its raw bytes; why one can't be had is part of the answer, not an
exception, since for a blob it is an ordinary thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from nibd.repair.git.types import Absence


@dataclass(frozen=True, slots=True)
class RawObject:
    """`kind` is blob, tree, commit or tag."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Header:
    """An object's kind and its length in bytes."""

    kind: str
    size_bytes: int


class Objects(Protocol):
    """An object database. It looks again for what it doesn't have before it says so."""

    def get(self, oid: str) -> RawObject | Absence: ...

    def get_many(self, oids: Iterable[str]) -> Iterator[RawObject | Absence]:
        """One answer for each id, in order."""
        ...

    def header(self, oid: str) -> Header | Absence: ...

    def close(self) -> None: ...
