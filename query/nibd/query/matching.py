"""The lines of one text that a pattern matches, and how a line is shown.

A text is a file's content decoded to UTF-8, with `\\n` for `\\r\\n`. It is searched in slices of whole lines,
so that whoever has no more time is never far from being asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nibd.query.pattern import Pattern

SLICE_BYTES = 64 << 10
LINES_BETWEEN = 256
SHOWN_BYTES = 400
SHOWN_BEFORE_BYTES = 100


@dataclass(frozen=True, slots=True)
class Match:
    """A line with a match: its number and bounds, and the bounds of its first match, in bytes."""

    line: int
    start: int
    end: int
    match_start: int
    match_end: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A line as text; `is_cut` when it was too long, and is what stands around the match or the start."""

    text: str
    is_cut: bool


def normalized(content: bytes) -> bytes:
    """Decoded text as it is searched."""
    return content.replace(b"\r\n", b"\n") if b"\r" in content else content


def matches(pattern: Pattern, text: bytes, pause: Callable[[], None] = lambda: None) -> Iterator[Match]:
    """The matching lines in order, each once. `pause` is called now and then, and may raise."""
    search = pattern.regex.search
    line, counted = 1, 0
    begin = 0
    while begin < len(text):
        limit = _slice_end(text, begin)
        pause()
        for _ in range(LINES_BETWEEN):
            found = search(text, begin, limit) if begin < limit else None
            if found is None or _is_behind(text, found.start(), limit):
                begin = limit
                break
            first, last = found.span()
            start, end = line_bounds(text, first)
            line += text.count(b"\n", counted, start)
            counted = start
            yield Match(line, start, end, first, last)
            begin = end + 1


def line_bounds(text: bytes, at: int) -> tuple[int, int]:
    """Where the line around a place begins, and where its line end stands."""
    end = text.find(b"\n", at)
    return text.rfind(b"\n", 0, at) + 1, len(text) if end < 0 else end


def shown(text: bytes, start: int, end: int, match: int) -> Shown:
    """A line of a text; `match` is where what has to be seen of it begins."""
    if end - start <= SHOWN_BYTES:
        return Shown(text[start:end].decode("utf-8", "replace"), is_cut=False)
    first = max(start, min(match - SHOWN_BEFORE_BYTES, end - SHOWN_BYTES))
    return Shown(text[first : first + SHOWN_BYTES].decode("utf-8", "ignore"), is_cut=True)


def around(text: bytes, match: Match, lines: int) -> tuple[list[Shown], list[Shown]]:
    """Up to so many lines before a matching line, and after it."""
    before: list[Shown] = []
    start = match.start
    while start > 0 and len(before) < lines:
        start, end = line_bounds(text, start - 1)
        before.append(shown(text, start, end, start))
    after: list[Shown] = []
    end = match.end
    while end + 1 < len(text) and len(after) < lines:
        start, end = line_bounds(text, end + 1)
        after.append(shown(text, start, end, start))
    return before[::-1], after


def _slice_end(text: bytes, begin: int) -> int:
    end = text.find(b"\n", begin + SLICE_BYTES)
    return len(text) if end < 0 else end + 1


def _is_behind(text: bytes, at: int, limit: int) -> bool:
    """Whether an empty match at the end of a slice is of the next line, or of none at the end of the text."""
    return at == limit and text[limit - 1 : limit] == b"\n"
