"""The tree that a repair starts from, as its rules look at it: relations by what they mention, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nibd.repair.relations.source_file import Key, SourceFile
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relations import RecordId, RelationStore, UnknownSites
from nibd.stores.types import RepoPath


@dataclass(frozen=True, slots=True)
class OldTree:
    """`base` holds the records of all of its files. `file` gives one that did not change."""

    store: RelationStore
    base: Bitmap
    file: Callable[[RelationRecord], SourceFile | None] = lambda _: None
    modules: Callable[[], Iterable[tuple[RepoPath, str]]] = lambda: ()
    """Gives each file with each path that it imports, as it is written."""

    def records(self, ids: Iterable[int]) -> Iterator[RelationRecord]:
        return (record for _, record in self.store.packed(sorted(ids)))

    def at(self, path: RepoPath) -> RelationRecord | None:
        return self.store.packed_at(self.base, path)

    def mentioning(self, symbols: Iterable[tuple[RepoPath, Key]]) -> set[RecordId]:
        """The records with a relation to one of these."""
        found = (self.store.mentioning_symbol(path, *key, self.base) for path, key in symbols)
        return {record for each in found for record in each}

    def mentioning_files(self, paths: Iterable[RepoPath]) -> set[RecordId]:
        """The records with a relation into one of these files."""
        return {record for path in paths for record in self.store.mentioning_file(path, self.base)}

    def naming(self, names: Iterable[str]) -> list[RecordId]:
        """The records with a site of one of these names."""
        return self.store.naming(names, self.base)

    def unknown(self) -> list[UnknownSites]:
        """The records with sites of which nothing is known."""
        return self.store.unknown(self.base)

    def text(self, record: RelationRecord) -> bytes | None:
        file = self.file(record)
        return None if file is None else file.content
