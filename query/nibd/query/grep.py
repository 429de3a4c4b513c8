"""Searching files for a pattern: candidates in the order of paths in, one page of what matches out.

Files are searched one after the other, and lines in their order, so a page is a stretch of one fixed
sequence. A search ends when the page is full, or when there is no more time: then it says which file is the
next one to search, and what it found up to there is whole. Each file that could not be searched is counted by
reason.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nibd.query.matching import Match, Shown, around, matches, shown
from nibd.query.pattern import Pattern
from nibd.stores.types import FileVersion, RepoPath

OUT_OF_TIME = "out_of_time"
"""Why a file was not searched which alone takes longer than there was time."""


class Mode(StrEnum):
    """What is listed: matching lines, files with how many of their lines match, or files alone."""

    LINES = "lines"
    COUNT = "count"
    FILES = "files"


class OutOfTimeError(Exception):
    """Raised by whoever is asked whether a search may go on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A page: `k` lines (or files) after the first `offset`. `context` lines are shown around each."""

    pattern: Pattern
    mode: Mode
    k: int
    offset: int = 0
    context: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A matching line (`column` in characters from 1, `end_column` past the end of its first match), or,
    without a line, a file with matches and their `count`."""

    file: FileVersion
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    shown: Shown | None = None
    before: tuple[Shown, ...] = ()
    after: tuple[Shown, ...] = ()
    count: int | None = None


@dataclass(slots=True)
class Page:
    """What a search found. `next_offset` is where the next page begins, `None` when nothing more was seen;
    `stopped_at` the file that there was no time for. `unread` counts files by why they were not searched."""

    found: list[Found] = field(default_factory=list)
    next_offset: int | None = None
    searched: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    stopped_at: RepoPath | None = None


Text = bytes | str
"""What is to be searched of a file, or why nothing is."""
Ranges = Sequence[tuple[int, int]]
"""Lines, first and last of each, ascending and apart."""


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Any ranges of lines, as `Ranges`."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def search(
    asked: Asked,
    files: Iterable[FileVersion],
    accept: Callable[[FileVersion], bool],
    read: Callable[[FileVersion], Text],
    pause: Callable[[], None],
    lines: Callable[[FileVersion], Ranges] | None = None,
) -> Page:
    """Search those of `files` that are accepted, in the order given; of each all lines, or these `lines`.

    `pause` is called often, and raises `OutOfTimeError` to end it.
    """
    page = Page()
    left_out = asked.offset
    for at, file in enumerate(files):
        try:
            pause()
            if not accept(file):
                continue
            text = read(file)
            if isinstance(text, str):
                page.unread[text] += 1
                continue
            within = None if lines is None else lines(file)
            wanted = asked.k - len(page.found) + 1
            counted, found = _in_file(asked, file, text, within, left_out, wanted, pause)
        except OutOfTimeError:
            if at > 0:
                page.stopped_at = file.path
                break
            page.unread[OUT_OF_TIME] += 1  # else whoever goes on from here would never get further
            continue
        page.searched += 1
        left_out -= min(left_out, counted)
        page.found += found
        if len(page.found) > asked.k:
            del page.found[asked.k :]
            page.next_offset = asked.offset + asked.k
            break
    return page


def _in_file(
    asked: Asked,
    file: FileVersion,
    text: bytes,
    within: Ranges | None,
    left_out: int,
    most: int,
    pause: Callable[[], None],
) -> tuple[int, list[Found]]:
    """What is to be listed of one file after the first `left_out`, no more than `most`; and how much there
    is, as far as it was counted."""
    found: list[Found] = []
    count = 0
    for match in matches(asked.pattern, text, pause):
        if within is not None and not _is_in(match.line, within):
            continue
        count += 1
        if asked.mode is Mode.FILES:
            break
        if asked.mode is Mode.LINES and count > left_out:
            found.append(_line(asked, file, text, match))
            if len(found) == most:
                break
    if asked.mode is Mode.LINES or count == 0:
        return count, found
    listed = Found(file, count=count if asked.mode is Mode.COUNT else None)
    return 1, [listed] if left_out == 0 else []


def _is_in(line: int, ranges: Ranges) -> bool:
    at = bisect_right(ranges, (line, sys.maxsize)) - 1
    return at >= 0 and line <= ranges[at][1]


def _line(asked: Asked, file: FileVersion, text: bytes, match: Match) -> Found:
    before, after = around(text, match, asked.context)
    return Found(
        file,
        line=match.line,
        column=_characters(text, match.start, match.match_start) + 1,
        end_column=_characters(text, match.start, match.match_end) + 1,
        shown=shown(text, match.start, match.end, match.match_start),
        before=tuple(before),
        after=tuple(after),
    )


def _characters(text: bytes, start: int, end: int) -> int:
    return len(text[start:end].decode("utf-8", "replace"))
