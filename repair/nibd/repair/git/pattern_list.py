"""Many patterns against many paths: which of a file's patterns match, without trying each of them.

What a pattern matches holds the pattern's *pieces* (see `wildmatch`), so only patterns of which the
path holds something are tried:

    literal    without any special character: looked up by the whole path or name
    keyed      under one short stretch of its pieces (its *key*), looked up by each stretch of the path
    general    without a piece (`*`, `[ab]?`), or with pieces that very many others have: always tried

A key is shared by at most `MOST_PER_KEY` patterns, so the tries for a path are bounded by its length
and the number of general patterns, and who reads hostile files can refuse a list by the latter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nibd.repair.git.wildmatch import PathPattern

KEY_BYTES = 4
MOST_PER_KEY = 8
SHORT_LIST = 16
"""Up to so many patterns are simply tried one after the other, which is faster."""


class PatternList:
    """Patterns in the order of their file. Immutable."""

    def __init__(self, patterns: Sequence[PathPattern]) -> None:
        self.patterns = tuple(patterns)
        self._is_short = len(self.patterns) <= SHORT_LIST
        self._by_name, self._by_path = _Lookup(), _Lookup()
        for position, pattern in enumerate(() if self._is_short else self.patterns):
            (self._by_name if pattern.name_only else self._by_path).add(position, pattern)

    def __len__(self) -> int:
        return len(self.patterns)

    @property
    def general(self) -> int:
        """How many patterns are tried for each path, whatever it is."""
        return len(self._by_name.general) + len(self._by_path.general)

    def matching(self, path: bytes, *, is_folder: bool) -> Iterator[int]:
        """Positions of the patterns that match, the last first. `path` is as `PathPattern.matches` has it."""
        for position in self._candidates(path):
            if self.patterns[position].matches(path, is_folder=is_folder):
                yield position

    def _candidates(self, path: bytes) -> Sequence[int]:
        if self._is_short:
            return range(len(self.patterns) - 1, -1, -1)
        found = self._by_name.candidates(path.rpartition(b"/")[2]) | self._by_path.candidates(path)
        return sorted(found, reverse=True)


class _Lookup:
    """Positions of patterns by what a subject has to hold."""

    def __init__(self) -> None:
        self.general: list[int] = []
        self._literal: dict[bytes, list[int]] = {}
        self._keyed: dict[bytes, list[int]] = {}
        self._lengths: set[int] = set()

    def add(self, position: int, pattern: PathPattern) -> None:
        if pattern.pieces is None:
            return
        if pattern.literal is not None:
            self._literal.setdefault(pattern.literal, []).append(position)
            return
        key = min(_keys(pattern.pieces), key=self._costs, default=None)
        if key is None or len(self._keyed.get(key, ())) >= MOST_PER_KEY:
            self.general.append(position)
        else:
            self._keyed.setdefault(key, []).append(position)
            self._lengths.add(len(key))

    def candidates(self, subject: bytes) -> set[int]:
        found = {*self.general, *self._literal.get(subject, ())}
        for length in self._lengths:
            for at in range(len(subject) - length + 1):
                keyed = self._keyed.get(subject[at : at + length])
                if keyed:
                    found.update(keyed)
        return found

    def _costs(self, key: bytes) -> tuple[int, int]:
        """Least is best: shared by few, then long."""
        return len(self._keyed.get(key, ())), -len(key)


def _keys(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Stretches of the pieces, of `KEY_BYTES` where a piece has as many."""
    for piece in pieces:
        for at in range(max(1, len(piece) - KEY_BYTES + 1)):
            yield piece[at : at + KEY_BYTES]
