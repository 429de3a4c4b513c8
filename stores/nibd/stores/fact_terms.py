"""The term counts of one file in a form that answers "how often" without being decoded.

A *vocabulary* is the file's distinct terms in the order of their 64-bit BLAKE2b hashes; a term's
place in it is its *position*. A *group* is one text of the file that was counted: group `i` the own
text of unit `i`, group `units + i` its qualified name, then the whole file, then the names that the
file defines. The packed form is

    header | hashes u64[terms] | starts u32[terms+1] | lengths u32[groups]
           | groups w[pairs] | counts w[pairs]

in the machine's byte order (the store is a cache of this machine), with w of two bytes where every
group and count fits, else four. The pairs of the term at position `p` are those from `starts[p]` to
`starts[p+1]`, by group: a query has few terms, and asks for all groups that have them. A count is two
bisections on the packed bytes. The terms themselves lie apart, compressed; only a build of an index
reads them.

Two terms of one file with the same hash would share a count. Such a pair has to be searched for on
purpose (2^32 hashes) and only affects where its own file is ranked, in every build alike.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nibd.stores.terms import count_terms
from nibd.stores.types import Facts

_HEADER = struct.Struct("=IIIB3x")
_WIDE = 1 << 16
PACKED_VERSION = 2
"""Of the form below."""


@lru_cache(maxsize=1 << 16)
def term_hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class PackedTerms:
    """Counts and vocabulary of one file, as they are stored."""

    postings: bytes
    vocabulary: bytes


def pack_terms(facts: Facts) -> PackedTerms:
    groups: list[Mapping[str, int]] = [terms.counts for terms in facts.terms]
    groups += [count_terms(unit.qualified) for unit in facts.units]
    groups += [facts.file_terms.counts, _defined_names(facts)]
    having: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for group, terms in enumerate(groups):
        for term, count in terms.items():
            having[term].append((group, count))
    hashed = sorted((term_hash(term), term) for term in having)
    starts = array("I", [0])
    pairs: list[tuple[int, int]] = []
    for _, term in hashed:
        pairs += having[term]
        starts.append(len(pairs))
    width = 2 if max(len(groups), max((count for _, count in pairs), default=0)) < _WIDE else 4
    code = "H" if width == 2 else "I"
    parts = (
        _HEADER.pack(len(hashed), len(groups), len(pairs), width),
        array("Q", [value for value, _ in hashed]),
        starts,
        array("I", [sum(terms.values()) for terms in groups]),
        array(code, [group for group, _ in pairs]),
        array(code, [count for _, count in pairs]),
    )
    vocabulary = zlib.compress("\n".join(term for _, term in hashed).encode(), 3)
    return PackedTerms(b"".join(parts), vocabulary)


def _defined_names(facts: Facts) -> dict[str, int]:
    return count_terms("\n".join(unit.name for unit in facts.units[1:]))


Numbers = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class Occurrences(NamedTuple):
    """The groups `groups[i]`, ascending, have the term that was asked for as number `terms[i]`, each
    `counts[i]` times."""

    terms: list[int]
    groups: list[Numbers]
    counts: list[Numbers]


class TermCounts:
    """Counts of terms in one file's texts. Immutable; may be used by several threads."""

    __slots__ = (
        "_counts",
        "_groups",
        "_hashes",
        "_lengths",
        "_packed",
        "_starts",
        "file_group",
        "names_group",
        "size_bytes",
    )

    def __init__(self, packed: PackedTerms) -> None:
        """Raises `ValueError` (or `struct.error`) when the bytes are not a packed form."""
        view = memoryview(packed.postings)
        terms, groups, pairs, width = _HEADER.unpack_from(view)
        starts_at = _HEADER.size + terms * 8
        lengths_at = starts_at + terms * 4 + 4
        groups_at = lengths_at + groups * 4
        counts_at = groups_at + pairs * width
        end = counts_at + pairs * width
        self._hashes: memoryview[int] = view[_HEADER.size : starts_at].cast("Q")
        self._starts: memoryview[int] = view[starts_at:lengths_at].cast("I")
        self._lengths: memoryview[int] = view[lengths_at:groups_at].cast("I")
        self._groups = _narrow(view[groups_at:counts_at], width)
        self._counts = _narrow(view[counts_at:end], width)
        if len(self._counts) != pairs or groups < 2 or groups % 2:
            raise ValueError("postings are cut short")
        self._packed = packed
        self.file_group: int = groups - 2
        self.names_group: int = groups - 1
        self.size_bytes = len(packed.postings) + len(packed.vocabulary)

    @property
    def unit_count(self) -> int:
        return self.file_group // 2

    def name_group(self, ordinal: int) -> int:
        """The group of a unit's qualified name."""
        return self.unit_count + ordinal

    @property
    def file_length(self) -> int:
        """How many terms the whole text has, repeated ones included."""
        return self.length(self.file_group)

    def unit_length(self, ordinal: int) -> int:
        """How many terms the own text of a unit has, repeated ones included."""
        return self.length(ordinal)

    def length(self, group: int) -> int:
        length: int = self._lengths[group]
        return length

    def unit(self, ordinal: int, term: str) -> int:
        """How often `term` is in the own text of a unit."""
        return self.count(ordinal, term_hash(term))

    def file(self, term: str) -> int:
        """How often `term` is in the whole text."""
        return self.count(self.file_group, term_hash(term))

    def names(self, term: str) -> int:
        """How often `term` is in the names that the file defines."""
        return self.count(self.names_group, term_hash(term))

    def count(self, group: int, hashed: int) -> int:
        """How often the term of that hash is in a group."""
        return self.counts_at(group, self.positions([hashed]))[0]

    def positions(self, hashes: Iterable[int]) -> list[int]:
        """The position of each of these terms; -1 of one that no group has."""
        own, terms, found = self._hashes, len(self._hashes), []
        for hashed in hashes:
            position = bisect_left(own, hashed)
            found.append(position if position < terms and own[position] == hashed else -1)
        return found

    def counts_at(self, group: int, positions: Iterable[int]) -> list[int]:
        """How often a group has the term at each of the positions; 0 of what is at -1."""
        starts, groups, counts, found = self._starts, self._groups, self._counts, []
        for position in positions:
            at = end = 0
            if position >= 0:
                end = starts[position + 1]
                at = bisect_left(groups, group, starts[position], end)
            found.append(counts[at] if at < end and groups[at] == group else 0)
        return found

    def occurrences(self, hashes: npt.NDArray[np.uint64]) -> Occurrences:
        """Which groups have the terms with these hashes, which are distinct; of no term that none has."""
        own, starts, terms = self._hashes, self._starts, len(self._hashes)
        groups = np.frombuffer(self._groups, self._groups.format)
        counts = np.frombuffer(self._counts, self._counts.format)
        places = np.frombuffer(own, np.uint64).searchsorted(hashes).tolist()
        numbers, spans = [], []
        for number, (place, hashed) in enumerate(zip(places, hashes.tolist(), strict=True)):
            if place < terms and own[place] == hashed:
                numbers.append(number)
                spans.append(slice(starts[place], starts[place + 1]))
        return Occurrences(numbers, [groups[span] for span in spans], [counts[span] for span in spans])

    def lengths(self) -> npt.NDArray[np.uint32]:
        """How many terms each group has, repeated ones included."""
        return np.frombuffer(self._lengths, np.uint32)

    def vocabulary(self) -> list[str]:
        """The file's distinct terms by position. Decompressed at each call."""
        joined = zlib.decompress(self._packed.vocabulary).decode()
        return joined.split("\n") if joined else []

    def by_group(self, vocabulary: Sequence[str]) -> list[dict[str, int]]:
        """The counts of each group, given the file's `vocabulary()`: for who builds from them."""
        found: list[dict[str, int]] = [{} for _ in self._lengths]
        for position, term in enumerate(vocabulary):
            span = slice(self._starts[position], self._starts[position + 1])
            for group, count in zip(self._groups[span], self._counts[span], strict=True):
                found[group][term] = count
        return found


def _narrow(view: memoryview[int], width: int) -> memoryview[int]:
    return view.cast("H") if width == 2 else view.cast("I")
