"""How often the candidates' texts have a query's terms, as arrays: one pass over each file's facts.

Files and, within them, units are numbered through in the order of the files. What is kept of units are the
pairs (unit, term) that occur, since a unit has few of the terms; of files there is a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nibd.query.ranking.groups import Floats, QueryTerms
from nibd.stores.facts import FactStore
from nibd.stores.lexical_documents import path_terms
from nibd.stores.types import BlobId, RepoPath

Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class File:
    path: RepoPath
    blob: BlobId
    language: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """`counts[i]` times a text has a term; `keys[i]` is text * terms + term, ascending and distinct."""

    keys: Ints
    counts: Floats


@dataclass(frozen=True, slots=True)
class Counted:
    """`body`, `names` and `paths` are tables of files by terms, with `*_lengths` by file.

    `file_of` gives the file of a unit, `first` the number of a file's first unit. A unit whose own text
    is empty is numbered, but is none.
    """

    files: Sequence[File]
    body: Floats
    names: Floats
    paths: Floats
    body_lengths: Floats
    names_lengths: Floats
    path_lengths: Floats
    first: Ints
    file_of: Ints
    unit_body: Pairs
    unit_names: Pairs
    unit_lengths: Floats
    unit_name_lengths: Floats


def count(files: Sequence[File], terms: QueryTerms, facts: FactStore) -> Counted:
    """Raises `CorruptFacts` or `StoreError` when a file's facts can't be had."""
    tables = np.zeros((3, len(files), terms.count))
    lengths = np.zeros((3, len(files)))
    first = np.zeros(len(files) + 1, np.int64)
    bodies: list[tuple[Ints, Counts]] = []
    names: list[tuple[Ints, Counts]] = []
    unit_lengths: list[Counts] = []
    name_lengths: list[Counts] = []
    for number, file in enumerate(files):
        counts = facts.counts(file.blob, file.language)
        units = counts.unit_count
        found = counts.occurrences(terms.hashes)
        end, name_end, file_end = np.searchsorted(found.groups, (units, 2 * units, 2 * units + 1))
        keys = (found.groups + first[number]) * terms.count + found.terms
        bodies.append((keys[:end], found.counts[:end]))
        names.append((keys[end:name_end] - units * terms.count, found.counts[end:name_end]))
        tables[0, number, found.terms[name_end:file_end]] = found.counts[name_end:file_end]
        tables[1, number, found.terms[file_end:]] = found.counts[file_end:]
        in_path = path_terms(file.path)
        for term, times in in_path.items():
            if (place := terms.by_term.get(term)) is not None:
                tables[2, number, place] = times
        all_lengths = counts.lengths()
        unit_lengths.append(all_lengths[:units])
        name_lengths.append(all_lengths[units : 2 * units])
        lengths[:, number] = all_lengths[-2], all_lengths[-1], sum(in_path.values())
        first[number + 1] = first[number] + units
    return Counted(
        files=files,
        body=tables[0], names=tables[1], paths=tables[2],
        body_lengths=lengths[0], names_lengths=lengths[1], path_lengths=lengths[2],
        first=first,
        file_of=np.repeat(np.arange(len(files)), np.diff(first)),
        unit_body=_pairs(bodies), unit_names=_pairs(names),
        unit_lengths=_joined(unit_lengths), unit_name_lengths=_joined(name_lengths),
    )  # fmt: skip


def _pairs(parts: Sequence[tuple[Ints, Counts]]) -> Pairs:
    if not parts:
        return Pairs(np.zeros(0, np.int64), np.zeros(0))
    return Pairs(np.concatenate([keys for keys, _ in parts]), _joined([counts for _, counts in parts]))


def _joined(parts: Sequence[Counts]) -> Floats:
    return np.concatenate(parts).astype(float) if parts else np.zeros(0)
