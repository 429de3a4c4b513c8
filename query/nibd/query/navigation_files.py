"""A file of a tree as navigation sees it: text, lines, and the names of places in it.

Lines and columns count from 1; a column counts characters, as people and most editors do. Lines end at
`\\n`, as for units. Offsets are into the file's *text*, as those of units and sites are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from nibd.stores.types import FileVersion, Level, RepoPath, Unit

_WORD = re.compile(r"[\w$]+")
MAX_OWN_NAMES = 32
"""Occurrences of a unit's name in its header that are looked at."""

Key = tuple[str, int]
"""Names a unit within its file: qualified name, and ordinal (from 0) among those of that name."""


class Symbols(Protocol):
    """Both ways between offsets of one file and (qualified, ordinal, name, nth): what `Target` says."""

    def at(self, byte_offset: int) -> tuple[str, int, str, int]:
        """The innermost unit around an offset and the word there; without one, name `""` and nth 0."""
        ...

    def position(self, qualified: str, ordinal: int, name: str, nth: int) -> tuple[int, int] | None:
        """Where that word starts and ends, or the unit when the name is empty; `None`: not in this file."""
        ...


class SourceText:
    """The text of one blob in one language. Nothing of it depends on its path."""

    def __init__(self, content: bytes, units: Sequence[Unit], symbols: Symbols) -> None:
        self.content = content
        self.units = units
        self.symbols = symbols

    @cached_property
    def keys(self) -> list[Key]:
        """The key of each unit, by its position in `units`."""
        seen: Counter[str] = Counter()
        keys = []
        for unit in self.units:
            keys.append((unit.qualified, seen[unit.qualified]))
            seen[unit.qualified] += 1
        return keys

    @cached_property
    def indexes(self) -> dict[Key, int]:
        return {key: index for index, key in enumerate(self.keys)}

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer(rb"\n", self.content))]

    @property
    def lines(self) -> int:
        """How many there are; an empty last one counts, since a cursor can stand there."""
        return len(self._line_starts)

    def line_of(self, byte: int) -> int:
        return bisect_right(self._line_starts, byte)

    def place(self, byte: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = self.line_of(byte)
        before = self.content[self._line_starts[line - 1] : byte]
        return line, len(before.decode("utf-8", "replace")) + 1

    def offset(self, line: int, col: int) -> int | None:
        """The offset of a line and column; `None` when the text has no such place."""
        if not 0 < line <= self.lines:
            return None
        end = self._line_starts[line] if line < self.lines else len(self.content)
        start = self._line_starts[line - 1]
        text = self.content[start:end].decode("utf-8", "replace").rstrip("\r\n")
        if not 0 < col <= len(text) + 1:
            return None
        return start + len(text[: col - 1].encode())

    def line_text(self, line: int) -> bytes:
        return self.range_text(line, line)

    def range_text(self, first: int, last: int) -> bytes:
        """Lines, both included; the last may be beyond the end."""
        end = self._line_starts[last] if last < self.lines else len(self.content)
        return self.content[self._line_starts[first - 1] : end]

    def unit_at(self, byte: int) -> int:
        """The innermost unit around an offset."""
        return self.indexes[self.symbols.at(byte)[:2]]

    def own_names(self, index: int) -> list[tuple[str, int, int]]:
        """Where a unit's header has the unit's own name: (word, nth, offset), in the order of the text.

        Mostly once; a doc comment or a decorator (`@f.setter`) can name it too.
        """
        unit = self.units[index]
        for word in _own_words(unit):
            found = []
            for nth in range(MAX_OWN_NAMES):
                at = self.symbols.position(*self.keys[index], word, nth)
                if at is None or self.line_of(at[0]) > unit.header_end_line:
                    break
                found.append((word, nth, at[0]))
            if found:
                return found
        return []

    def is_own_name(self, index: int, name: str, byte: int) -> bool:
        """Whether what a target names at an offset of a unit is the unit."""
        unit = self.units[index]
        return name in _own_words(unit) and self.line_of(byte) <= unit.header_end_line


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A path of a tree with its text."""

    version: FileVersion
    text: SourceText

    @property
    def path(self) -> RepoPath:
        return self.version.path


TreeFiles = Callable[[RepoPath], TreeFile | None]
"""Opens a tree's file; `None` when the tree has none at the path, or its text can't be had."""


def _own_words(unit: Unit) -> list[str]:
    """How a unit's text may write its name: `operator<` and `~Job` are no words as they are."""
    if unit.level is Level.FILE or not unit.name:
        return []
    return [unit.name, *_WORD.findall(unit.name)[-1:]]
