"""The folder of one repository's views, and its stores opened for writing."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nibd.stores import trigram_store
from nibd.stores.catalog import Catalog
from nibd.stores.facts import FactStore
from nibd.stores.file_identity import FileIdentity, file_identity
from nibd.stores.relations import RelationStore
from nibd.stores.structure import StructureStore
from nibd.stores.trigram_store import TrigramStore


@dataclass(frozen=True, slots=True)
class RepositoryFolder:
    """Where the views of a repository lie. Deleting it, even while serving, loses only time."""

    root: Path

    @property
    def catalog(self) -> Path:
        return self.root / "catalog.db"

    @property
    def facts(self) -> Path:
        return self.root / "facts.db"

    @property
    def structure(self) -> Path:
        return self.root / "structure.db"

    @property
    def relations(self) -> Path:
        """Comes with the first relations, made by another process than the rest; it may be missing."""
        return self.root / "relations.db"

    @property
    def verifications(self) -> Path:
        """Beside the relations, and written by the same process."""
        return self.root / "verified.db"

    @property
    def trigrams(self) -> Path:
        return self.root / "trigrams.db"

    @property
    def lexical(self) -> Path:
        return self.root / "lexical"

    @property
    def dense(self) -> Path:
        return self.root / "dense"

    def identity(self) -> tuple[FileIdentity | None, ...]:
        """What tells these stores from others at the same place: deleted ones, or made anew."""
        return tuple(file_identity(path) for path in (self.catalog, self.facts, self.structure))

    def clear(self) -> None:
        """Remove all that is stored. Readers keep what they have open until they notice."""
        self.catalog.unlink(missing_ok=True)  # first: without it the rest is taken for unfinished
        if self.root.exists():
            shutil.rmtree(self.root)

    def clear_relations(self) -> None:
        """Remove the relations alone: for the process that writes them, when it has closed them."""
        # The log first: beside a new database it would be taken for a part of that.
        for suffix in ("-wal", "", "-shm"):
            self.relations.with_name(self.relations.name + suffix).unlink(missing_ok=True)


class RelationsReader:
    """relations.db for who only reads it: it may come, go and be made anew at any time. For any thread."""

    def __init__(self, folder: RepositoryFolder) -> None:
        self._path = folder.relations
        self._lock = threading.Lock()
        self._store: RelationStore | None = None
        self._replaced: list[RelationStore] = []  # still open: another thread may be reading them

    def current(self) -> RelationStore | None:
        """The store that is there now; `None` before the first relations. Stays open until `close`."""
        with self._lock:
            if self._store and not self._store.is_in_place():
                self._replaced.append(self._store)
                self._store = None
            if self._store is None and RelationStore.is_made(self._path):
                self._store = RelationStore.open_reader(self._path)
            return self._store

    def close(self) -> None:
        with self._lock:
            for store in (*self._replaced, *([self._store] if self._store else [])):
                store.close()
            self._replaced, self._store = [], None


@dataclass(frozen=True, slots=True)
class RepositoryStores:
    """The stores of one repository, open in the one process that writes them, all but the relations:
    those are another's."""

    folder: RepositoryFolder
    catalog: Catalog
    facts: FactStore
    structure: StructureStore
    trigrams: TrigramStore
    relations: RelationsReader
    _identity: tuple[FileIdentity | None, ...]

    @staticmethod
    def open(folder: RepositoryFolder, extractor: str) -> RepositoryStores:
        """`extractor` is the profile under which facts are kept.

        Snapshots are nothing without the facts and listings that they name: when those were deleted
        from beside the catalog, all begins anew.
        """
        if folder.catalog.exists() and not (folder.facts.exists() and folder.structure.exists()):
            folder.clear()
        if not folder.structure.exists():
            trigram_store.remove(folder.trigrams)  # it speaks of rows of the one that is gone
        folder.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        facts = FactStore.open(folder.facts, extractor)
        structure = StructureStore.open(folder.structure)
        trigrams = TrigramStore.open(folder.trigrams)
        catalog = Catalog.open(folder.catalog)  # last: readers take it for the sign that all are there
        relations = RelationsReader(folder)
        return RepositoryStores(
            folder, catalog, facts, structure, trigrams, relations, folder.identity()
        )

    def is_in_place(self) -> bool:
        """Whether the files that are open are still those of the folder: none was deleted or replaced."""
        in_place = None not in self._identity and self._identity == self.folder.identity()
        return in_place and self.trigrams.is_in_place()

    def close(self) -> None:
        self.catalog.close()
        self.facts.close()
        self.structure.close()
        self.trigrams.close()
        self.relations.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sweep(folder: RepositoryFolder, catalog: Catalog) -> list[Path]:
    """Remove the artifacts that no kept snapshot names: what a crash or a retirement left.

    Not so relations.db, which has another writer and is collected by it (`collect_relations`).
    Only for the process that writes, between two jobs: a job's unfinished artifact is named by
    nothing either.
    """
    locations, _ = catalog.live()
    live = {folder.root / location for location in locations}
    kept = live | {location.parent for location in live}
    removed = [artifact for artifact in _artifacts(folder) if artifact not in kept]
    for artifact in removed:
        if artifact.is_dir():
            shutil.rmtree(artifact)
        else:
            artifact.unlink()
    return removed


def _artifacts(folder: RepositoryFolder) -> Iterator[Path]:
    """Lexical generations; row lists, and the matrices that hold them (after what lies in them)."""
    if folder.lexical.is_dir():
        yield from sorted(folder.lexical.iterdir())
    if folder.dense.is_dir():
        yield from sorted(folder.dense.glob("*/*.rows"))
        yield from sorted(folder.dense.iterdir())
