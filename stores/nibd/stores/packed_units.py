"""The units of one file as facts keep them: JSON rows, compressed.

An answer shows few of a file's units, and making one takes longer than reading its row. So units that are
kept in memory are rows until somebody asks for them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, overload

from nibd.stores.types import Level, Unit

_COLUMNS = tuple(field.name for field in fields(Unit))


def pack_units(units: Sequence[Unit]) -> bytes:
    rows = [[getattr(unit, column) for column in _COLUMNS] for unit in units]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 1)


def unpack_units(column: bytes, damaged: Callable[[], Exception] = ValueError) -> KeptUnits:
    """Raises `ValueError` or `zlib.error` for what `pack_units` has not made; nothing gives no units.

    A row is made a unit when it is asked for: what `damaged` gives is raised then where it is none.
    """
    rows = json.loads(zlib.decompress(column)) if column else []
    if not isinstance(rows, list):
        raise ValueError("units are a list")
    return KeptUnits(rows, damaged)


class KeptUnits(Sequence[Unit]):
    """Units that are made when they are asked for. For several threads: who makes one makes it equal."""

    __slots__ = ("_damaged", "_units")

    def __init__(self, rows: list[Any], damaged: Callable[[], Exception]) -> None:
        self._units = rows
        self._damaged = damaged

    def __len__(self) -> int:
        return len(self._units)

    @overload
    def __getitem__(self, at: int) -> Unit: ...
    @overload
    def __getitem__(self, at: slice) -> list[Unit]: ...
    def __getitem__(self, at: int | slice) -> Unit | list[Unit]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        found = self._units[at]
        if isinstance(found, Unit):
            return found
        try:
            level, *rest = found
            unit = self._units[at] = Unit(Level(level), *rest)
        except (TypeError, ValueError) as error:
            raise self._damaged() from error
        return unit

    def __iter__(self) -> Iterator[Unit]:
        return (self[at] for at in range(len(self._units)))
