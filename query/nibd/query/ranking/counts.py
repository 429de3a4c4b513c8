"""How often the candidates' texts have a query's terms, as arrays: one pass over each file's facts.

Files and, within them, units are numbered through in the order of the files. What is kept of units are the
pairs (unit, term) that occur, since a unit has few of the terms; of files there is a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from nibd.query.ranking.groups import Floats, QueryTerms
from nibd.stores.facts import FactStore
from nibd.stores.lexical_documents import path_terms
from nibd.stores.types import BlobId, RepoPath

Ints = npt.NDArray[np.int64]
_NO_INTS: Ints = np.zeros(0, np.int64)
_NO_FLOATS: Floats = np.zeros(0)


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

    @staticmethod
    def by_key(keys: Ints, counts: Floats) -> Pairs:
        order = keys.argsort()
        return Pairs(keys[order], counts[order])


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
    counts = [facts.counts(file.blob, file.language) for file in files]
    units = np.array([each.unit_count for each in counts], np.int64)
    first = np.concatenate(([0], np.cumsum(units)))
    # A file's groups are its units' own texts, their names, its text, the names that it defines.
    base = 2 * first + 2 * np.arange(len(files) + 1)
    found = [each.occurrences(terms.hashes) for each in counts]
    lengths = np.concatenate([_NO_FLOATS, *(each.lengths() for each in counts)])
    group = np.concatenate([_NO_INTS, *chain.from_iterable(each.groups for each in found)])
    times = np.concatenate([_NO_FLOATS, *chain.from_iterable(each.counts for each in found)])
    sizes = [len(groups) for each in found for groups in each.groups]
    term = np.array([number for each in found for number in each.terms], np.int64).repeat(sizes)
    file = np.arange(len(files)).repeat([len(each.terms) for each in found]).repeat(sizes)
    n = terms.count
    of_body, of_name = group < units[file], (group >= units[file]) & (group < 2 * units[file])
    of_text, of_names = group == 2 * units[file], group == 2 * units[file] + 1
    unit = group + first[file]
    body = Pairs.by_key(unit[of_body] * n + term[of_body], times[of_body])
    names = Pairs.by_key((unit - units[file])[of_name] * n + term[of_name], times[of_name])
    tables = np.zeros((2, len(files), n))
    tables[0, file[of_text], term[of_text]] = times[of_text]
    tables[1, file[of_names], term[of_names]] = times[of_names]
    file_of = np.repeat(np.arange(len(files)), units)
    own = base[file_of] + np.arange(len(file_of)) - first[file_of]
    paths, path_lengths = _paths(files, terms)
    return Counted(
        files=files,
        body=tables[0], names=tables[1], paths=paths,
        body_lengths=lengths[base[1:] - 2], names_lengths=lengths[base[1:] - 1], path_lengths=path_lengths,
        first=first,
        file_of=file_of,
        unit_body=body,
        unit_names=names,
        unit_lengths=lengths[own], unit_name_lengths=lengths[own + units[file_of]],
    )  # fmt: skip


def _paths(files: Sequence[File], terms: QueryTerms) -> tuple[Floats, Floats]:
    table, lengths = np.zeros((len(files), terms.count)), np.zeros(len(files))
    for number, file in enumerate(files):
        found = path_terms(file.path)
        lengths[number] = sum(found.values())
        for term in found.keys() & terms.by_term.keys():
            table[number, terms.by_term[term]] = found[term]
    return table, lengths

