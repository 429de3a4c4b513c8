"""Units of text that no grammar here reads: overlapping windows, and sections of Markdown.

Windows and sections are whole lines, one level under the file, and together cover all of it. A
*section* runs from a heading to the next heading of any depth; its qualified name is the path of
headings down to it. A section too long for one window is several, which overlap as windows do and
share its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from nibd.repair.syntax.units import MAX_NAME_CHARACTERS, MAX_QUALIFIED_CHARACTERS, file_unit
from nibd.stores.types import Level, Unit

WINDOW_LINES = 50
WINDOW_STEP = 40
SECTION = "section"
"""The kind of a unit that is one."""
SECTION_LINES = 80
"""A section is cut into windows when it is longer than this."""

MAX_HEADING_CHARACTERS = 1_000
MAX_HEADING_LINES = 5
"""A paragraph this long that is underlined is no heading."""

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_SETEXT = re.compile(r" {0,3}(?:(=)=*|(-)-*)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_NOT_PARAGRAPH = re.compile(r"\s*$| {4}|\t| {0,3}(?:[-+*>|]|\d{1,9}[.)]|#{1,6}(?:\s|$))")

_Heading = tuple[int, int, str]
"""(index of its first line, depth 1 to 6, text)"""


def window_units(content: bytes) -> tuple[Unit, ...]:
    """Cut text into windows of `WINDOW_LINES`, each `WINDOW_STEP` after the last."""
    offsets = _line_offsets(content)
    windows = [_unit("window", "", "", lines, offsets) for lines in _windows(0, len(offsets) - 1)]
    return (file_unit(content), *windows)


def section_units(content: bytes) -> tuple[Unit, ...]:
    """Cut Markdown at its headings; what stands before the first has no name."""
    offsets = _line_offsets(content)
    units = [file_unit(content)]
    for first, last, path in _sections(content, len(offsets) - 1):
        parts = [(first, last)] if last - first <= SECTION_LINES else _windows(first, last)
        qualified = " > ".join(path)[:MAX_QUALIFIED_CHARACTERS]
        name = path[-1] if path else ""
        units += [_unit(SECTION, name, qualified, lines, offsets) for lines in parts]
    return tuple(units)


def _line_offsets(content: bytes) -> list[int]:
    """Where each line starts, and the end. Lines end at `\\n` only, so `splitlines` won't do."""
    offsets = [0]
    for line in content.split(b"\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    offsets[-1] -= 1
    return offsets if len(offsets) < 2 or offsets[-1] > offsets[-2] else offsets[:-1]


def _windows(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield windows over the lines `first` up to, not including, `last`; the last one ends there."""
    while first < last:
        end = min(first + WINDOW_LINES, last)
        yield first, end
        if end == last:
            return
        first += WINDOW_STEP


def _unit(kind: str, name: str, qualified: str, lines: tuple[int, int], offsets: list[int]) -> Unit:
    first, last = lines
    return Unit(
        level=Level.CALLABLE,
        kind=kind,
        name=name,
        qualified=qualified,
        start_line=first + 1,
        end_line=last,
        start_byte=offsets[first],
        end_byte=offsets[last],
        header_end_line=first + 1,
        parent=0,
    )


def _sections(content: bytes, lines: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (first line, line after the last, path of headings)."""
    headings = list(_headings(content.decode("utf-8", "replace").split("\n")))
    if lines and (not headings or headings[0][0] > 0):
        yield 0, headings[0][0] if headings else lines, ()
    path: list[tuple[int, str]] = []
    for (first, depth, text), (after, _, _) in pairwise([*headings, (lines, 0, "")]):
        while path and path[-1][0] >= depth:
            path.pop()
        path.append((depth, text))
        yield first, after, tuple(name for _, name in path)


def _headings(lines: list[str]) -> Iterator[_Heading]:
    """Yield the headings outside fenced code and front matter."""
    fence = ""
    paragraph: int | None = None
    for index in range(_after_front_matter(lines), len(lines)):
        line = lines[index].rstrip("\r")[:MAX_HEADING_CHARACTERS]
        if fence:
            fence = "" if _closes(fence, line) else fence
        elif opening := _FENCE.match(line):
            fence, paragraph = opening[1], None
        elif atx := _ATX.match(line):
            paragraph = None
            yield index, len(atx[1]), _heading_text(atx[2])
        elif paragraph is not None and (setext := _SETEXT.match(line)):
            yield paragraph, 1 if setext[1] == "=" else 2, _heading_text(" ".join(lines[paragraph:index]))
            paragraph = None
        elif _NOT_PARAGRAPH.match(line):
            paragraph = None
        elif paragraph is None or index - paragraph >= MAX_HEADING_LINES:
            paragraph = index


def _after_front_matter(lines: list[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at].rstrip() in ("---", "...")), 0)


def _closes(fence: str, line: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _heading_text(text: str) -> str:
    text = text.strip()
    closing = text.rstrip("#")
    if not closing or closing[-1] in " \t":
        text = closing
    return " ".join(text.split())[:MAX_NAME_CHARACTERS]
