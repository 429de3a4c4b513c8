"""The term counts of one file in a form that answers "how often" without being decoded.

A *vocabulary* is the file's distinct terms in the order of their 64-bit BLAKE2b hashes; a term's
place in it is its *position*. A *group* is one text of the file that was counted: group `i` the own
text of unit `i`, group `units + i` its qualified name, then the whole file, then the names that the
file defines. The packed form is

    header | hashes u64[terms] | starts u32[groups+1] | lengths u32[groups]
           | positions w[pairs] | counts w[pairs]

in the machine's byte order (the store is a cache of this machine), with w of two bytes where every
position and count fits, else four. The pairs of group `g` are those from `starts[g]` to
`starts[g+1]`, by position. So a count is two bisections on the packed bytes. The terms themselves
lie apart, compressed; only a build of an index reads them.

Two terms of one file with the same hash would share a count. Such a pair has to be searched for on
purpose (2^32 hashes) and only affects where its own file is ranked, in every build alike.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from nibd.stores.terms import count_terms
from nibd.stores.types import Facts

_HEADER = struct.Struct("=IIIB3x")
_WIDE = 1 << 16
FEW_TERMS = 6
"""So many are compared with each position one after the other, which takes less than looking each up."""


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
    distinct = set[str]().union(*groups)
    hashed = sorted((term_hash(term), term) for term in distinct)
    position = {term: at for at, (_, term) in enumerate(hashed)}
    starts, lengths = array("I", [0]), array("I")
    positions: list[int] = []
    counts: list[int] = []
    for group in groups:
        pairs = sorted((position[term], count) for term, count in group.items())
        positions += [pair[0] for pair in pairs]
        counts += [pair[1] for pair in pairs]
        starts.append(len(positions))
        lengths.append(sum(group.values()))
    width = 2 if max(len(hashed), max(counts, default=0)) < _WIDE else 4
    code = "H" if width == 2 else "I"
    parts = (
        _HEADER.pack(len(hashed), len(groups), len(positions), width),
        array("Q", [pair[0] for pair in hashed]),
        starts,
        lengths,
        array(code, positions),
        array(code, counts),
    )
    vocabulary = zlib.compress("\n".join(term for _, term in hashed).encode(), 3)
    return PackedTerms(b"".join(parts), vocabulary)


def _defined_names(facts: Facts) -> dict[str, int]:
    return count_terms("\n".join(unit.name for unit in facts.units[1:]))


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Parallel arrays: `counts[i]` times a group has the term that was asked for as number `terms[i]`."""

    groups: npt.NDArray[np.intp]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class TermCounts:
    """Counts of terms in one file's texts. Immutable; may be used by several threads."""

    __slots__ = (
        "_counts",
        "_hashes",
        "_lengths",
        "_packed",
        "_positions",
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
        lengths_at = starts_at + groups * 4 + 4
        positions_at = lengths_at + groups * 4
        counts_at = positions_at + pairs * width
        end = counts_at + pairs * width
        self._hashes: memoryview[int] = view[_HEADER.size : starts_at].cast("Q")
        self._starts: memoryview[int] = view[starts_at:lengths_at].cast("I")
        self._lengths: memoryview[int] = view[lengths_at:positions_at].cast("I")
        self._positions = _narrow(view[positions_at:counts_at], width)
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
        """How often a group has the term at each of the positions."""
        own, counts, found = self._positions, self._counts, []
        start, end = self._starts[group], self._starts[group + 1]
        for position in positions:
            at = bisect_left(own, position, start, end) if position >= 0 else end
            found.append(counts[at] if at < end and own[at] == position else 0)
        return found

    def occurrences(self, hashes: npt.NDArray[np.uint64]) -> Occurrences:
        """Where the terms with these hashes, which are sorted and distinct, are in any group.

        In the order of groups and, within one, of hashes.
        """
        own, terms = self._hashes, len(self._hashes)
        numbers = np.full(terms, -1, np.int32)
        found = []
        places = np.frombuffer(own, np.uint64).searchsorted(hashes).tolist()
        for number, (place, hashed) in enumerate(zip(places, hashes.tolist(), strict=True)):
            if place < terms and own[place] == hashed:
                numbers[place] = number
                found.append(place)
        positions = np.frombuffer(self._positions, self._positions.format)
        if len(found) <= FEW_TERMS:
            is_meant = np.zeros(len(positions), bool)
            for place in found:
                is_meant |= positions == place
        else:
            is_meant = numbers[positions] >= 0
        (pairs,) = is_meant.nonzero()
        groups = np.frombuffer(self._starts, np.uint32).searchsorted(pairs, side="right") - 1
        counts = np.frombuffer(self._counts, self._counts.format)[pairs]
        return Occurrences(groups, numbers[positions[pairs]], counts)

    def lengths(self) -> npt.NDArray[np.uint32]:
        """How many terms each group has, repeated ones included."""
        return np.frombuffer(self._lengths, np.uint32)

    def vocabulary(self) -> list[str]:
        """The file's distinct terms by position. Decompressed at each call."""
        joined = zlib.decompress(self._packed.vocabulary).decode()
        return joined.split("\n") if joined else []

    def own_terms(self, ordinal: int) -> dict[str, int]:
        """The counts of a unit's own text. For one unit; a build goes through `group_terms`."""
        return self.group_terms(ordinal, self.vocabulary())

    def group_terms(self, group: int, vocabulary: list[str]) -> dict[str, int]:
        """The counts of a group, given the file's `vocabulary()`."""
        pairs = slice(self._starts[group], self._starts[group + 1])
        found = zip(self._positions[pairs], self._counts[pairs], strict=True)
        return {vocabulary[position]: count for position, count in found}


def _narrow(view: memoryview[int], width: int) -> memoryview[int]:
    return view.cast("H") if width == 2 else view.cast("I")
