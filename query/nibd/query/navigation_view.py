"""The relations of one family at one tree, read through caches.

Rows of relations.db never change, so what was read of them stays right for as long as the store is open:
the store keeps records, and `CachedRelations` keeps resolutions, and which record is a file's, across
requests and snapshots. `FamilyView` is what one question reads: a resolution, and the files of its tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from nibd.query.navigation_files import TreeFiles
from nibd.stores.bitmap import Bitmap
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Target
from nibd.stores.relations import CorruptRelations, RecordId, RelationStore, ResolutionId
from nibd.stores.types import RepoPath

CACHE_BYTES = 4 << 20
MISSING = RecordId(0)


class CachedRelations:
    """One open store. For any thread."""

    def __init__(self, store: RelationStore) -> None:
        self.store = store
        self._resolutions: BoundedCache[ResolutionId, Bitmap] = BoundedCache(CACHE_BYTES)
        self._at: BoundedCache[tuple[ResolutionId, RepoPath], RecordId] = BoundedCache(CACHE_BYTES)

    def resolution(self, resolution: ResolutionId) -> Bitmap:
        found = self._resolutions.get(resolution)
        if found is None:
            found = self.store.resolution(resolution)
            self._resolutions.put(resolution, found, len(found.data) + 100)
        return found

    def record_at(self, resolution: ResolutionId, path: RepoPath) -> RelationRecord | None:
        """The record that a resolution has of a file."""
        key = (resolution, path)
        record = self._at.get(key)
        if record is None:
            record = self.store.record_at(self.resolution(resolution), path) or MISSING
            self._at.put(key, record, len(path) + 200)
        return None if record == MISSING else next(self.records([record]))

    def records(self, ids: Iterable[RecordId]) -> Iterator[RelationRecord]:
        """In the order given. Each can be read: one that cannot is found out here."""
        for _, record in self.store.packed(ids):
            try:
                _ = record.sites
            except ValueError as error:
                raise CorruptRelations(str(error)) from error
            yield record


class FileRecords(Protocol):
    """What it takes to show places: the files of a tree, and what is known of the sites in one."""

    @property
    def files(self) -> TreeFiles: ...

    def record(self, path: RepoPath) -> RelationRecord | None: ...


@dataclass(frozen=True, slots=True)
class NoRelations:
    """Of a tree whose relations are not there."""

    files: TreeFiles

    def record(self, path: RepoPath) -> RelationRecord | None:
        return None


@dataclass(frozen=True, slots=True)
class FamilyView:
    """`files` opens files of the tree whose relations the resolution holds.

    `unknown` counts its sites of which nothing is known; `None` when nobody has counted.
    """

    relations: CachedRelations
    resolution: ResolutionId
    files: TreeFiles
    unknown: int | None = None

    @property
    def bits(self) -> Bitmap:
        return self.relations.resolution(self.resolution)

    def record(self, path: RepoPath) -> RelationRecord | None:
        return self.relations.record_at(self.resolution, path)

    def mentioning(self, targets: Iterable[Target]) -> list[RelationRecord]:
        """The records of files in which some site refers to one of these."""
        store, bits = self.relations.store, self.bits
        found = {record for target in targets for record in store.mentioning(target, bits)}
        return list(self.relations.records(sorted(found)))

    def mentioning_file(self, path: RepoPath) -> list[RelationRecord]:
        """The records of files in which some site refers to anything in this file of the tree."""
        found = self.relations.store.mentioning_file(path, self.bits)
        return list(self.relations.records(sorted(found)))

    def naming(self, names: Iterable[str]) -> list[RelationRecord]:
        """The records of files that have a site with one of these names."""
        return list(self.relations.records(self.relations.store.naming(names, self.bits)))
