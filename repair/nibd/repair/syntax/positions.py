"""Between offsets into a text and the positions of the Language Server Protocol.

A *position* is a line and a character, both from 0. A line ends at `\\n`, `\\r\\n` or `\\r`, whatever Git and
units take for a line. Characters count in units of the encoding that server and client agreed on: bytes
(`utf-8`), 16-bit units (`utf-16`, what servers speak unless told otherwise) or code points (`utf-32`).

Only characters of several bytes make offsets and characters differ. They are found once for the text, and
how many bytes each has beyond its units is added up, so that every conversion is a binary search. Bytes
that are no UTF-8 count as a character each.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

_LINE_END = re.compile(rb"\r\n|\n|\r")
_OF_SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_UNITS = {"utf-16": {2: 1, 3: 1, 4: 2}, "utf-32": {2: 1, 3: 1, 4: 1}}
"""Units of a character by the number of its bytes."""


class Positions:
    """Positions in one text. What lies beyond a line's or the text's end is taken for that end."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._excesses: dict[str, Sequence[int]] = {}

    def to_lsp(self, byte_offset: int, encoding: str = "utf-16") -> tuple[int, int]:
        """The position of an offset; inside a character or a line's end, where that begins."""
        offset = min(max(byte_offset, 0), len(self.content))
        starts, ends = self._lines
        line = bisect_right(starts, offset) - 1
        start = starts[line]
        offset = min(offset, ends[line])
        if encoding == "utf-8":
            return line, self._character_start(offset) - start
        excess = self._excess(encoding)
        before = self._characters_before(self._character_start(offset))
        beyond = excess[before] - excess[self._characters_before(start)]
        return line, self._character_start(offset) - start - beyond

    def to_byte(self, line: int, character: int, encoding: str = "utf-16") -> int:
        """The offset of a position; inside a character, where that begins."""
        starts, ends = self._lines
        if line < 0 or line >= len(starts):
            return 0 if line < 0 else len(self.content)
        start, end = starts[line], ends[line]
        character = max(character, 0)
        if encoding == "utf-8":
            return self._character_start(min(start + character, end))
        excess, character_ends = self._excess(encoding), self._characters[1]
        first = self._characters_before(start)
        base = start - excess[first]

        def units(index: int) -> int:
            """Of the line, up to and with this character."""
            return character_ends[index] - base - excess[index + 1]

        passed = bisect_right(range(first, self._characters_before(end)), character, key=units) + first
        return self._character_start(min(base + character + excess[passed], end))

    @cached_property
    def _lines(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where each line starts, and where it ends, without what ends it."""
        starts, ends = array("q", [0]), array("q")
        for found in _LINE_END.finditer(self.content):
            ends.append(found.start())
            starts.append(found.end())
        ends.append(len(self.content))
        return starts, ends

    @cached_property
    def _characters(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where each character of several bytes starts and ends."""
        starts, ends = array("q"), array("q")
        if not self.content.isascii():
            for found in _OF_SEVERAL_BYTES.finditer(self.content):
                starts.append(found.start())
                ends.append(found.end())
        return starts, ends

    def _characters_before(self, offset: int) -> int:
        """How many characters of several bytes end at an offset or before."""
        return bisect_right(self._characters[1], offset)

    def _character_start(self, offset: int) -> int:
        starts, ends = self._characters
        index = bisect_left(starts, offset) - 1
        return starts[index] if index >= 0 and ends[index] > offset else offset

    def _excess(self, encoding: str) -> Sequence[int]:
        """At `i`: by how much the first `i` characters of several bytes have more bytes than units."""
        if encoding not in self._excesses:
            units = _UNITS[encoding]
            sizes = (end - start for start, end in zip(*self._characters, strict=True))
            excess = accumulate((size - units[size] for size in sizes), initial=0)
            self._excesses[encoding] = array("q", excess)
        return self._excesses[encoding]
