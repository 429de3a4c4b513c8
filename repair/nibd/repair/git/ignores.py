"""Files of ignore patterns, in the syntax and with the precedence of .gitignore.

The last pattern that matches decides, the file nearest to the path before those above it. What is
below an ignored folder is ignored, whatever later patterns say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nibd.repair.git.pattern_list import PatternList
from nibd.repair.git.wildmatch import parse_pattern

UTF8_BOM = b"\xef\xbb\xbf"


def parse_ignores(data: bytes) -> PatternList:
    """The patterns of one file, in its order; of equal ones only the last, which alone can decide."""
    lines = data.removeprefix(UTF8_BOM).split(b"\n")
    texts = (_trimmed(line.removesuffix(b"\r")) for line in lines if not line.startswith(b"#"))
    patterns = [parse_pattern(text) for text in texts if text]
    last = {(each.text, each.only_folders, each.name_only): at for at, each in enumerate(patterns)}
    return PatternList([patterns[at] for at in sorted(last.values())])


def _trimmed(line: bytes) -> bytes:
    """Without spaces at the end, but for those after a backslash."""
    end = at = 0
    while at < len(line):
        at += 2 if line[at : at + 1] == b"\\" else 1
        if line[at - 1 : at] != b" " or line[at - 2 : at - 1] == b"\\":
            end = at
    return line[:end]


def folders_of(path: bytes) -> Iterator[bytes]:
    """Folders that hold `path`, from the top (`b""`) down, each but the top with a slash at its end."""
    yield b""
    at = path.find(b"/")
    while at >= 0:
        yield path[: at + 1]
        at = path.find(b"/", at + 1)


class Ignores:
    """Ignore files by folder, under patterns that outrank them all (`first`)."""

    def __init__(
        self, by_folder: Mapping[bytes, PatternList], first: PatternList | None = None
    ) -> None:
        self._by_folder = {folder: patterns for folder, patterns in by_folder.items() if patterns}
        self._first = first or PatternList(())
        self._known: dict[bytes, bool] = {}

    def ignores(self, path: bytes) -> bool:
        """Whether the file at `path` is ignored."""
        if not self._by_folder and not self._first:
            return False
        for folder in folders_of(path):
            if folder and self._ignores_folder(folder):
                return True
        return self._verdict(path, is_folder=False)

    def _ignores_folder(self, folder: bytes) -> bool:
        """By its own name alone: the folders above were asked before."""
        known = self._known.get(folder)
        if known is None:
            known = self._known[folder] = self._verdict(folder[:-1], is_folder=True)
        return known

    def _verdict(self, path: bytes, *, is_folder: bool) -> bool:
        found = _decided(self._first, path, is_folder=is_folder)
        if found is not None:
            return found
        for folder in reversed(list(folders_of(path))):
            patterns = self._by_folder.get(folder)
            if patterns:
                found = _decided(patterns, path[len(folder) :], is_folder=is_folder)
                if found is not None:
                    return found
        return False


def _decided(patterns: PatternList, path: bytes, *, is_folder: bool) -> bool | None:
    """What the last pattern that matches says; `None` when none does."""
    position = next(patterns.matching(path, is_folder=is_folder), None)
    return None if position is None else not patterns.patterns[position].negative
