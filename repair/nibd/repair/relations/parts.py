"""When a first build gives out what it has so far: soon, and then more and more seldom.

A part costs a bitmap here and a publication elsewhere, whatever its size, so there are `MAX_PARTS` at most:
the first after `FIRST_PART_S`, each next one after twice as long as the one before.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import FileRelations
from nibd.stores.relations import ResolutionId

FIRST_PART_S = 1.0
MAX_PARTS = 8


@dataclass(frozen=True, slots=True)
class Totals:
    """Of a resolution: of `unknown` ones of the `sites` nothing is known, unbuilt ones included."""

    files: int = 0
    sites: int = 0
    unknown: int = 0

    def plus(self, files: Iterable[FileRelations], sign: int = 1) -> Totals:
        files = list(files)
        return Totals(
            self.files + sign * len(files),
            self.sites + sign * sum(len(file.relations) for file in files),
            self.unknown + sign * sum(file.unknown for file in files),
        )

    def together(self, other: Totals) -> Totals:
        return Totals(self.files + other.files, self.sites + other.sites, self.unknown + other.unknown)

    def plus_packed(self, records: Iterable[RelationRecord], sign: int = 1) -> Totals:
        records = list(records)
        return Totals(
            self.files + sign * len(records),
            self.sites + sign * sum(record.sites for record in records),
            self.unknown + sign * sum(record.unknown for record in records),
        )


NOTHING = Totals()


@dataclass(frozen=True, slots=True)
class Part:
    """A resolution that lacks files: of the files and sites that there are, `done` have been asked about."""

    resolution: ResolutionId
    records: Bitmap
    done: Totals
    files: int
    sites: int


class Parts:
    """The clock of one build, which begins now."""

    def __init__(self) -> None:
        self._pause_s = FIRST_PART_S
        self._due = time.monotonic() + self._pause_s
        self._left = MAX_PARTS

    def is_due(self) -> bool:
        """Whether a part is to be given out now; each is asked for once."""
        now = time.monotonic()
        if not self._left or now < self._due:
            return False
        self._left -= 1
        self._pause_s *= 2
        self._due = now + self._pause_s
        return True
