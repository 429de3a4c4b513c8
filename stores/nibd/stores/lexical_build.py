"""Making the next lexical generation: the base's files shared, the change applied, made durable.

A build is a repair from nothing (`base=None`): one code path. Steps: share the base's files, delete
the documents of removed paths, add those of added ones, commit and wait for Tantivy's merges, check
that as many documents are live as the totals say, write the record. A modified file is in both
lists. Nothing is written outside `target`, and until its record stands it is no generation.

Tantivy gathers the small segments of several generations by itself at a commit; which segments
there are never changes an answer (see `nibd.query.lexical`). What it doesn't gather is told by
`needs_rebuild`: the caller then builds the same tree again aside from nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tantivy

from nibd.stores.errors import StoreError
from nibd.stores.facts import FactStore
from nibd.stores.lexical_documents import (
    KEY_FIELD,
    NO_DOCUMENTS,
    IndexedFile,
    Population,
    Totals,
    file_document,
    path_key,
    schema,
    unit_documents,
)
from nibd.stores.lexical_files import (
    GenerationRecord,
    Shared,
    list_files,
    make_durable,
    new_folder,
    read_record,
    share_files,
)
from nibd.stores.tantivy_errors import raised_as
from nibd.stores.types import BlobId, RepoPath

TreeFile = tuple[RepoPath, BlobId, str]
"""A path of a tree with its blob and the language that it is read as."""

FIRST_BUILD_HEAP_BYTES = 64 << 20
REPAIR_HEAP_BYTES = 15 << 20
"""Tantivy's least; a larger one costs a repair milliseconds before it starts."""

MAX_DEAD_SHARE = 0.3
MAX_SEGMENTS = 24


@dataclass(frozen=True, slots=True)
class PopulationStats:
    """The work a generation took in one population, and what came of it."""

    added: int
    deleted: int
    documents: int
    dead: int
    segments: int

    @property
    def dead_share(self) -> float:
        held = self.documents + self.dead
        return self.dead / held if held else 0.0


@dataclass(frozen=True, slots=True)
class GenerationStats:
    """The work a generation took. `files_linked` and `files_copied` came from its base."""

    units: PopulationStats
    files: PopulationStats
    files_linked: int
    files_copied: int

    @property
    def needs_rebuild(self) -> bool:
        """Whether the same tree built from nothing would be worth it."""
        both = (self.units, self.files)
        return any(p.dead_share > MAX_DEAD_SHARE or p.segments > MAX_SEGMENTS for p in both)


def build(
    base: Path | None,
    target: Path,
    removed: Iterable[TreeFile],
    added: Iterable[TreeFile],
    facts: FactStore,
    *,
    hard_links: bool = True,
) -> GenerationStats:
    """Make the generation at `target`, durable when this returns. No thread outlives the call.

    `removed` and `added` are files with facts (a skip has no documents). Raises `StoreError`, or
    `CorruptStore` when the base or a file's facts are damaged; `target` is then half-made.
    """
    old = None if base is None else read_record(base)
    new_folder(target)
    with raised_as(StoreError, target):
        shared = Shared(0, 0) if base is None else share_files(base, target, hard_links)
        delta = _Delta(target, first=base is None)
        for file in removed:
            delta.remove(_indexed(file, facts))
        for file in added:
            delta.add(_indexed(file, facts))
        delta.commit()
        stats = {population: _stats(target, population, delta, old) for population in Population}
        totals = {population: delta.totals(population, old) for population in Population}
        record = GenerationRecord(totals, list_files(target, old))
        make_durable(target, record, old)
    return GenerationStats(stats[Population.UNITS], stats[Population.FILES], shared.linked, shared.copied)


def _indexed(file: TreeFile, facts: FactStore) -> IndexedFile:
    path, blob, language = file
    return IndexedFile(path, blob, language, facts.units(blob, language), facts.counts(blob, language))


class _Delta:
    """Both populations' writers, and what they were told to change."""

    def __init__(self, target: Path, first: bool) -> None:
        self._target = target
        heap_bytes = FIRST_BUILD_HEAP_BYTES if first else REPAIR_HEAP_BYTES
        self._writers = {
            population: _open_index(target / population.value, first).writer(heap_bytes, 1)
            for population in Population
        }
        self.added = dict.fromkeys(Population, NO_DOCUMENTS)
        self.removed = dict.fromkeys(Population, NO_DOCUMENTS)

    def remove(self, file: IndexedFile) -> None:
        for population, totals in file.totals().items():
            self._writers[population].delete_documents_by_term(KEY_FIELD, path_key(file.path))
            self.removed[population] = self.removed[population].plus(totals)

    def add(self, file: IndexedFile) -> None:
        terms = file.counts.by_group(file.counts.vocabulary())
        for document in unit_documents(file, terms):
            self._writers[Population.UNITS].add_document(document)
        self._writers[Population.FILES].add_document(file_document(file, terms))
        for population, totals in file.totals().items():
            self.added[population] = self.added[population].plus(totals)

    def commit(self) -> None:
        """Commit both at once (each waits for the disk most of the time) and end their threads."""
        with ThreadPoolExecutor(len(Population), "nibd-lexical-commit") as executor:
            for done in [
                executor.submit(_commit, self._writers.pop(population)) for population in Population
            ]:
                done.result()

    def totals(self, population: Population, old: GenerationRecord | None) -> Totals:
        before = NO_DOCUMENTS if old is None else old.totals[population]
        return before.minus(self.removed[population]).plus(self.added[population])


def _open_index(folder: Path, first: bool) -> tantivy.Index:
    if first:
        folder.mkdir()
        return tantivy.Index(schema(), path=str(folder), reuse=False)
    return tantivy.Index.open(str(folder))


def _commit(writer: tantivy.IndexWriter) -> None:
    writer.commit()
    writer.wait_merging_threads()


def _stats(
    target: Path, population: Population, delta: _Delta, old: GenerationRecord | None
) -> PopulationStats:
    """Count from Tantivy's own `meta.json`; raise when it holds other documents than it should."""
    segments = json.loads((target / population.value / "meta.json").read_bytes())["segments"]
    held = sum(segment["max_doc"] for segment in segments)
    dead = sum(segment["deletes"]["num_deleted_docs"] for segment in segments if segment["deletes"])
    expected = delta.totals(population, old).documents
    if held - dead != expected:
        raise StoreError(
            f"{target}: {held - dead} {population.value} instead of {expected}; "
            "the change does not fit the base"
        )
    added, removed = delta.added[population].documents, delta.removed[population].documents
    return PopulationStats(added, removed, expected, dead, len(segments))
