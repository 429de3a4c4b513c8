"""Which lines of a unit are shown for a query: the window that has most of its words.

Of all windows of `LINES` lines in the unit, the one whose distinct terms weigh most; of equal ones the first.
A word matches as ranking counts it: `parsing` shows `parse_cache`. Where nothing matches, the first lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import fsum
from typing import NamedTuple, TypeAlias

import numpy as np

from nibd.query.ranking.groups import QueryTerms
from nibd.query.ranking.words import STOP_WORDS
from nibd.stores.terms import spelled_terms, tokenize

NEWLINE = 10
LINES = 6
CHARACTERS = 600
LINE_CHARACTERS = 200
BEFORE_CHARACTERS = 60
"""A longer line is shown from so far before its first match on."""
MOST_MATCHES = 2000
"""In one unit; a longer one is looked at so far."""
_BETWEEN = b" "
_FOLDED = b"".join(
    byte.lower() if byte.isalnum() or byte == b"_" or byte >= b"\x80" else _BETWEEN
    for byte in (bytes([value]) for value in range(256))
)
"""Letters of ASCII in lower case, and all that stands between words alike: so a word's ends are found without
a look at what it is made of."""
_NONE: frozenset[str] = frozenset()
MOST_WORDS = 96
LEAST_SHARE = 0.1
"""A word that weighs no more than so much of the heaviest one is not looked for."""


class Match(NamedTuple):
    """A word in a line, by its columns in the line as it is shown: from 1, the second one behind it."""

    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """`line` is that of the text's first line."""

    text: str
    line: int
    matches: Sequence[Match] = ()


def _pieces(terms: Iterable[str]) -> list[bytes]:
    """What stands, folded, in each word that has one of the terms: a stem but for its last letter (`happi`,
    `hope` in "hoping"). Not each word in which it stands has the term."""
    pieces = {term[:-1] if len(term) > 2 and term[-1] in "ie" else term for term in terms}
    return sorted({text.encode().translate(_FOLDED) for each in pieces for text in (each, each.upper())})


Word: TypeAlias = tuple[int, int, frozenset[str]]
"""Where a word begins and ends, and which of the query's terms it has."""


class Words:
    """The terms of a query with their weights, ready to be looked for."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        least = LEAST_SHARE * max(weights.values(), default=0.0)
        telling = [term for term, weight in weights.items() if weight > least]
        telling.sort(key=lambda term: (-weights[term], term))
        self.weights = {term: weights[term] for term in telling[:MOST_WORDS]}
        self._known: dict[bytes, frozenset[str]] = {}
        self._pieces = _pieces(self.weights)

    @staticmethod
    def of_ranking(terms: QueryTerms) -> Words:
        return Words({term: group.importance for group in terms.groups for term in group.terms})

    @staticmethod
    def of_text(query: str) -> Words:
        """Where no tree says how much a word tells."""
        return Words({
            term: 0.1 if spelt in STOP_WORDS else 1.0 for term, spelt in spelled_terms(query[:10_000])
        })  # fmt: skip

    def found(self, text: bytes) -> list[Word]:
        """The first words that have some of the terms, in their order."""
        folded = text.translate(_FOLDED)
        found: dict[int, Word] = {}
        for piece in self._pieces:
            found |= islice(self._with_piece(piece, text, folded), MOST_MATCHES)
        return [word for _, word in sorted(found.items())[:MOST_MATCHES]]

    def _with_piece(self, piece: bytes, text: bytes, folded: bytes) -> Iterator[tuple[int, Word]]:
        known, at = self._known, folded.find(piece)
        while at >= 0:
            start, end = folded.rfind(_BETWEEN, 0, at) + 1, folded.find(_BETWEEN, at)
            if end < 0:
                end = len(folded)
            word = text[start:end]
            held = known.get(word)
            if held is None:
                held = known[word] = self._held(word)
            if held:
                yield start, (start, end, held)
            at = folded.find(piece, end)

    def _held(self, word: bytes) -> frozenset[str]:
        """Which of the terms a word has."""
        return frozenset(term for term in tokenize(word.decode("utf-8", "replace")) if term in self.weights)


NO_WORDS = Words({})


class Lines:
    """A decoded text with where its lines end: looked for once, as several hits may be of one file."""

    __slots__ = ("_content", "_ends")

    def __init__(self, content: bytes) -> None:
        self._content = content
        # Splitting would make an object of each line.
        (self._ends,) = (np.frombuffer(content, np.uint8) == NEWLINE).nonzero()

    def between(self, start_line: int, end_line: int) -> tuple[bytes, list[int]]:
        """The text of a range of lines, and where in it each of them ends."""
        start = int(self._ends[start_line - 2]) + 1 if start_line > 1 else 0
        ends: list[int] = (self._ends[start_line - 1 : end_line] - start).tolist()
        if len(ends) < end_line - start_line + 1:  # what stands behind the last line end
            ends.append(len(self._content) - start)
        return self._content[start : start + ends[-1]], ends


def snippet(content: Lines, start_line: int, end_line: int, words: Words = NO_WORDS) -> Snippet:
    """Of a range of lines of a decoded text, the best ones."""
    text, ends = content.between(start_line, end_line)
    by_line: dict[int, list[Word]] = {}
    for start, end, terms in words.found(text):
        at = bisect_left(ends, start)
        line_start = ends[at - 1] + 1 if at else 0
        by_line.setdefault(at, []).append((start - line_start, end - line_start, terms))
    first = _best(by_line, len(ends), words.weights)
    shown = ends[first : first + LINES]
    starts = [ends[first - 1] + 1 if first else 0, *(end + 1 for end in shown[:-1])]
    lines = [text[start:end] for start, end in zip(starts, shown, strict=True)]
    return _shown(lines, first, start_line, by_line)


def _best(by_line: Mapping[int, Sequence[Word]], count: int, weights: Mapping[str, float]) -> int:
    """Where the best window begins: with some of the lines before what matches, if there is room."""
    terms = {line: _NONE.union(*(held for _, _, held in found)) for line, found in by_line.items()}
    most = _weight(terms.values(), weights)
    best, first, last = 0.0, 0, 0
    matching = list(terms)
    for place, at in enumerate(matching):
        inside = [line for line in matching[place : place + LINES] if line < at + LINES]
        weight = _weight([terms[line] for line in inside], weights)
        if weight > best:
            best, first, last = weight, at, inside[-1]
        if best == most:
            break  # no other weighs more
    slack = LINES - (last - first + 1)
    first -= min(first, slack // 2 if first + LINES <= count else slack)
    return max(0, min(first, count - LINES)) if best else 0


def _weight(held: Iterable[frozenset[str]], weights: Mapping[str, float]) -> float:
    return fsum(map(weights.__getitem__, _NONE.union(*held)))


def _shown(
    lines: Sequence[bytes],
    first: int,
    start_line: int,
    by_line: Mapping[int, Sequence[Word]],
) -> Snippet:
    texts: list[str] = []
    matches: list[Match] = []
    left = CHARACTERS
    for at, line in enumerate(lines, first):
        of_line = by_line.get(at, ())
        text, cut = _line(line, of_line[0][0] if of_line else 0)
        text = text[:left]
        for start, end, _ in of_line:
            column, behind = (_characters(line, byte) - cut for byte in (start, end))
            if 0 <= column < behind <= len(text):
                matches.append(Match(start_line + at, column + 1, behind + 1))
        texts.append(text)
        left -= len(text) + 1
        if left <= 0:
            break
    return Snippet("\n".join(texts).lstrip("\ufeff").rstrip("\n"), start_line + first, matches)


def _line(line: bytes, match: int) -> tuple[str, int]:
    """A line as it is shown, and how many characters of its beginning are not."""
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    if len(text) <= LINE_CHARACTERS:
        return text, 0
    cut = min(max(0, _characters(line, match) - BEFORE_CHARACTERS), len(text) - LINE_CHARACTERS)
    return text[cut : cut + LINE_CHARACTERS], cut


def _characters(line: bytes, end: int) -> int:
    return end if line.isascii() else len(line[:end].decode("utf-8", "replace"))
