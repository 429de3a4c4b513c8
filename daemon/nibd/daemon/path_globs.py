"""Patterns of paths that narrow a search: Git's own, as in .gitignore.

A pattern without a slash (but at its end) is of a name in any folder, another of a path from the top. One
that is of a folder is of all below it. `!` before a pattern takes away. A path passes when one of the
patterns without `!` is of it, or there are none, and none with `!` is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from nibd.repair.git.wildmatch import PathPattern, parse_pattern


class GlobError(ValueError):
    """A pattern can match nothing."""


@dataclass(frozen=True, slots=True)
class PathGlobs:
    wanted: tuple[PathPattern, ...]
    unwanted: tuple[PathPattern, ...]

    @staticmethod
    def parse(globs: Iterable[str]) -> PathGlobs:
        """Raises `GlobError`."""
        patterns = [_parsed(glob) for glob in globs]
        return PathGlobs(
            tuple(pattern for pattern in patterns if not pattern.negative),
            tuple(pattern for pattern in patterns if pattern.negative),
        )

    def accept(self, path: bytes) -> bool:
        if self.wanted and not any(_is_of(pattern, path) for pattern in self.wanted):
            return False
        return not any(_is_of(pattern, path) for pattern in self.unwanted)


def _parsed(glob: str) -> PathPattern:
    pattern = parse_pattern(os.fsencode(glob))
    if not pattern.text or pattern.pieces is None:
        raise GlobError(f"{glob!r} matches no path: it is empty, or a bracket or a backslash is left open")
    return pattern


def _is_of(pattern: PathPattern, path: bytes) -> bool:
    """Whether it matches the path, or a folder that the path lies in."""
    if pattern.matches(path, is_folder=False):
        return True
    end = path.find(b"/")
    while end >= 0:
        if pattern.matches(path[:end], is_folder=True):
            return True
        end = path.find(b"/", end + 1)
    return False
