"""Trigrams of texts, and what a pattern needs of them.

A *trigram* is three neighbouring bytes of one line of a text in UTF-8, as a number of 24 bits, the first
byte highest. Texts and patterns are *folded* before: letters of ASCII become small ones, and so do the two
other characters that case-insensitive matching takes for such a letter. So one set of trigrams serves
patterns with and without regard to case, and what a pattern holds, folded, is in every text that it matches.

A *need* says which trigrams a text must hold for a pattern to match in it. It may ask for too little, never
for too much: what fulfils it is a candidate and has to be searched.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nibd.stores.types import Skip

Grams: TypeAlias = npt.NDArray[np.uint32]
"""Distinct trigrams in ascending order."""

TRIGRAMS_VERSION = 1
"""To be raised with any change of what `grams_of` gives; what was stored under another is made again."""

_HAVE_TEXT = frozenset({None, Skip.MINIFIED, Skip.PARSE_TIMEOUT, Skip.TOO_DEEP, Skip.PARSER_FAILED})
_LIKE_S = "ſ".encode()
_LIKE_K = "\N{KELVIN SIGN}".encode()
_LINE_END = 0x0A


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these trigrams, and all of these needs."""

    grams: frozenset[int] = frozenset()
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of these needs; without any, nothing fulfils it."""

    needs: tuple[Need, ...]


Need: TypeAlias = AllOf | AnyOf

ANYTHING = AllOf()
"""Every text fulfils it: such a pattern has to be looked for everywhere."""


def has_text(skip: Skip | None) -> bool:
    """Whether patterns are looked for in a file with this skip: in all that was read and is text."""
    return skip in _HAVE_TEXT


def folded(text: bytes) -> bytes:
    """`text`, which is UTF-8, in the form of which trigrams are taken."""
    text = text.lower()
    if _LIKE_S in text:
        text = text.replace(_LIKE_S, b"s")
    if _LIKE_K in text:
        text = text.replace(_LIKE_K, b"k")
    return text


def grams_of(text: bytes) -> Grams:
    """The trigrams of a text in UTF-8."""
    data = np.frombuffer(folded(text), np.uint8)
    if len(data) < 3:
        return np.empty(0, np.uint32)
    grams = data[:-2].astype(np.uint32)
    for shifted in (data[1:-1], data[2:]):
        grams <<= 8
        grams |= shifted
    grams.sort()
    first = np.empty(len(grams), bool)
    first[0] = True
    np.not_equal(grams[1:], grams[:-1], out=first[1:])
    distinct = grams[first]
    in_line = (distinct & 0xFF != _LINE_END) & (distinct >> 8 & 0xFF != _LINE_END)
    in_line &= distinct >> 16 != _LINE_END
    kept: Grams = distinct[in_line]
    return kept


def pack(grams: Grams) -> bytes:
    """The trigrams of one text as they are stored: the bytes of their differences, sorted by weight."""
    differences = np.diff(grams, prepend=np.uint32(0)).astype("<u4")
    return zlib.compress(differences.view(np.uint8).reshape(-1, 4).T.tobytes(), 1)


def unpack(data: bytes) -> Grams:
    differences = np.frombuffer(zlib.decompress(data), np.uint8).reshape(4, -1).T
    grams: Grams = np.cumsum(np.ascontiguousarray(differences).view("<u4")[:, 0], dtype=np.uint32)
    return grams


def literal_grams(literal: bytes) -> frozenset[int]:
    """The trigrams of folded bytes, also those across a line end, which no text has."""
    return frozenset(int.from_bytes(literal[at : at + 3], "big") for at in range(len(literal) - 2))


def fulfils(grams: Grams, need: Need) -> bool:
    """Whether a text with these trigrams fulfils a need."""
    if isinstance(need, AnyOf):
        return any(fulfils(grams, each) for each in need.needs)
    return _holds(grams, need.grams) and all(fulfils(grams, each) for each in need.needs)


def _holds(grams: Grams, wanted: frozenset[int]) -> bool:
    looked_for = np.fromiter(wanted, np.uint32, len(wanted))
    at = np.searchsorted(grams, looked_for)
    return bool((at < len(grams)).all() and (grams[at] == looked_for).all())
