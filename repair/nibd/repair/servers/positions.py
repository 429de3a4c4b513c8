"""Between offsets into a file's text and a server's positions (line and character, both from 0).

A character is a byte of UTF-8 or a unit of UTF-16, as negotiated. Lines end where the *server* thinks so
(`Driver.line_ends`): some take a lone `\\r` for an end, which to Git and to nibd's own lines is none.
ASCII lines, nearly all, are counted without decoding.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable

from nibd.repair.servers.driver import UTF_8


class Lines:
    """The lines of one text (UTF-8, as `nibd.repair.text` decodes it)."""

    def __init__(self, content: bytes, encoding: str, line_ends: Iterable[str] = ("\n",)) -> None:
        ends = sorted((end.encode() for end in {"\r\n", *line_ends}), key=len, reverse=True)
        pattern = b"\n" if set(line_ends) == {"\n"} else b"|".join(map(re.escape, ends))
        self._content = content
        self._counts_bytes = encoding == UTF_8 or content.isascii()
        self._starts = [0, *(match.end() for match in re.finditer(pattern, content))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and character of a byte offset, which stands on a character's beginning."""
        line = bisect.bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        if self._counts_bytes:
            return line, offset - start
        return line, _units(self._content[start:offset])

    def offset(self, line: int, character: int) -> int:
        """The byte offset of a position; one beyond the line's or the text's end gives that end."""
        if line >= len(self._starts):
            return len(self._content)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._content)
        if self._counts_bytes:
            return min(start + character, end)
        text = self._content[start:end]
        if text.isascii():
            return min(start + character, end)
        encoded = text.decode("utf-8").encode("utf-16-le")[: 2 * character]
        return start + len(encoded.decode("utf-16-le", "ignore").encode("utf-8"))


def _units(text: bytes) -> int:
    """UTF-16 units of a piece of UTF-8."""
    return len(text) if text.isascii() else len(text.decode("utf-8").encode("utf-16-le")) // 2
