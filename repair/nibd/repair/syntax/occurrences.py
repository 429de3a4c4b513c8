"""Names for places in a file that stay when text moves: the nth occurrence of a word in a unit's own text.

A *word* is what could be an identifier in any language, keywords and numbers included. The own text of a
unit is its range without those of nested units, so an edit elsewhere in the file changes nothing here. A
unit is told from others of the same qualified name by its ordinal among them, in the order of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nibd.repair.extract import own_ranges
from nibd.stores.types import Unit

_WORD = re.compile(rb"(?:(?<![\w$\x80-\xff])r#|#)?[\w$\x80-\xff]+")
"""`#name` is a private name of JavaScript, `r#name` a raw one of Rust."""
_JOINERS = "\u200c\u200d"


def flat_own_ranges(units: Sequence[Unit]) -> list[tuple[int, int, int]]:
    """The own ranges of all units as (start, end, ordinal), in the order of the text."""
    return sorted(
        (start, end, ordinal) for ordinal, ranges in enumerate(own_ranges(units)) for start, end in ranges
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one unit's own text, in order. `nth` counts those of the same name before each."""

    starts: list[int]
    ends: list[int]
    names: list[str]
    nth: list[int]
    by_name: dict[str, list[int]]


class FileSymbols:
    """Both ways between byte offsets of one file and (qualified, ordinal, name, nth).

    The words of a unit are looked for when it is first asked about.
    """

    def __init__(self, content: bytes, units: Sequence[Unit]) -> None:
        self._content = content
        self._units = units
        self._ranges = flat_own_ranges(units)
        self._starts = [start for start, _, _ in self._ranges]
        self._by_qualified: dict[str, list[int]] = defaultdict(list)
        self._ordinals: list[int] = []
        for index, unit in enumerate(units):
            same = self._by_qualified[unit.qualified]
            self._ordinals.append(len(same))
            same.append(index)
        self._own: dict[int, list[tuple[int, int]]] = {}
        self._words: dict[int, _Words] = {}

    def at(self, byte_offset: int) -> tuple[str, int, str, int]:
        """The innermost unit around an offset and the word there; without one, name `""` and nth 0."""
        index = self._unit_at(byte_offset)
        key = (self._units[index].qualified, self._ordinals[index])
        words = self._words_of(index)
        word = bisect_right(words.starts, byte_offset) - 1
        if word < 0 or words.ends[word] <= byte_offset:
            return (*key, "", 0)
        return (*key, words.names[word], words.nth[word])

    def position(self, qualified: str, ordinal: int, name: str, nth: int) -> tuple[int, int] | None:
        """Where that word starts and ends, or the unit when the name is empty; `None`: not in this file."""
        same = self._by_qualified.get(qualified, [])
        if not 0 <= ordinal < len(same):
            return None
        index = same[ordinal]
        if not name:
            return (self._units[index].start_byte, self._units[index].end_byte)
        words = self._words_of(index)
        found = words.by_name.get(name, [])
        if not 0 <= nth < len(found):
            return None
        return (words.starts[found[nth]], words.ends[found[nth]])

    def _unit_at(self, offset: int) -> int:
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return 0
        _, end, index = self._ranges[at]
        return index if offset < end else 0

    def _words_of(self, index: int) -> _Words:
        if index not in self._words:
            if not self._own:
                self._own = _by_unit(self._ranges)
            self._words[index] = _words(self._content, self._own.get(index, []))
        return self._words[index]


def _by_unit(ranges: Sequence[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
    own: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for start, end, index in ranges:
        own[index].append((start, end))
    return own


def _words(content: bytes, own: Sequence[tuple[int, int]]) -> _Words:
    words = _Words([], [], [], [], {})
    for start, end, name in _found(content, own):
        same = words.by_name.setdefault(name, [])
        words.nth.append(len(same))
        same.append(len(words.starts))
        words.starts.append(start)
        words.ends.append(end)
        words.names.append(name)
    return words


def _found(content: bytes, own: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    for range_start, range_end in own:
        for match in _WORD.finditer(content, range_start, range_end):
            text = match[0]
            if text.isascii():
                yield match.start(), match.end(), text.decode()
            else:
                yield from _among_other_characters(text, match.start())


def _among_other_characters(text: bytes, start: int) -> Iterator[tuple[int, int, str]]:
    """The words of bytes that may hold characters outside of ASCII which belong to no identifier."""
    word = ""
    for character in text.decode("utf-8", "surrogateescape"):
        size = len(character.encode("utf-8", "surrogateescape"))
        if character in "#$" or ("a" + character).isidentifier() or character in _JOINERS:
            word += character
        elif word:
            size_of_word = len(word.encode())
            yield start, start + size_of_word, word
            start += size_of_word + size
            word = ""
        else:
            start += size
    if word:
        yield start, start + len(word.encode()), word
