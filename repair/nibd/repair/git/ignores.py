"""Files of ignore patterns, in the syntax and with the precedence of .gitignore.

The last pattern that matches decides, the file nearest to the path before those above it. What is
below an ignored folder is ignored, whatever later patterns say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nibd.repair.git.wildmatch import PathPattern, parse_pattern

UTF8_BOM = b"\xef\xbb\xbf"


def parse_ignores(data: bytes) -> tuple[PathPattern, ...]:
    """The patterns of one file, in its order."""
    lines = data.removeprefix(UTF8_BOM).split(b"\n")
    texts = (_trimmed(line.removesuffix(b"\r")) for line in lines if not line.startswith(b"#"))
    return tuple(parse_pattern(text) for text in texts if text)


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
        self, by_folder: Mapping[bytes, Sequence[PathPattern]], first: Sequence[PathPattern] = ()
    ) -> None:
        self._by_folder = {folder: patterns for folder, patterns in by_folder.items() if patterns}
        self._first = first
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
        for pattern in reversed(self._first):
            if pattern.matches(path, is_folder=is_folder):
                return not pattern.negative
        for folder in reversed(list(folders_of(path))):
            for pattern in reversed(self._by_folder.get(folder, ())):
                if pattern.matches(path[len(folder) :], is_folder=is_folder):
                    return not pattern.negative
        return False
