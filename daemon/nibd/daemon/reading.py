"""What a request holds while it is answered: one publication, and stores that belong together.

Everything a request reads comes from one set of files that were opened together. When the folder is
deleted, or deleted and made anew, meanwhile, the request ends on the files it began with, and the next
one begins on the new ones: rows of one can never be looked up in the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from nibd.query.expansion import Related
from nibd.query.filters import Filters, Selection, select
from nibd.query.navigation_view import CachedRelations
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.outline import Outline, outline
from nibd.repair.policy import EXTRACTOR
from nibd.stores.bitmap import Bitmap
from nibd.stores.catalog import Catalog
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import read_rows
from nibd.stores.errors import CorruptStructure, StoreError
from nibd.stores.facts import FactStore
from nibd.stores.file_identity import FileIdentity
from nibd.stores.lexical import LexicalGeneration
from nibd.stores.repository import RelationsReader, RepositoryFolder
from nibd.stores.snapshot import Publication, Snapshot
from nibd.stores.structure import ListingId, StructureStore
from nibd.stores.trigram_reader import TrigramReader
from nibd.stores.trigram_store import Candidates
from nibd.stores.trigrams import Need
from nibd.stores.types import FileVersion, RepoPath, View

OPEN_GENERATIONS = 4
OPEN_LISTINGS = 16
OPEN_MATRICES = 2
OPEN_OUTLINES = 2
OPEN_SELECTIONS = 4


class OpenStores:
    """One repository's stores, read-only, and what was opened of its artifacts. Used by any thread.

    `retire` closes it once the last request that holds it has ended.
    """

    def __init__(self, folder: RepositoryFolder, identity: tuple[FileIdentity | None, ...]) -> None:
        self.identity = identity
        self.catalog = Catalog.open_reader(folder.catalog)
        self.facts = FactStore.open_reader(folder.facts, EXTRACTOR)
        self.structure = StructureStore.open_reader(folder.structure)
        self.trigrams = TrigramReader(folder.trigrams)
        self._relations = RelationsReader(folder)
        self._cached_relations: CachedRelations | None = None
        self._folder = folder
        self._lock = threading.Lock()
        self._holders = 0
        self._retired = False
        self._generations: OrderedDict[str, LexicalGeneration] = OrderedDict()
        self._used: set[str] = set()
        self._listings: OrderedDict[ListingId, Bitmap] = OrderedDict()
        self._selections: OrderedDict[tuple[ListingId, Filters], Selection | None] = OrderedDict()
        self._outlining = threading.Lock()
        self._outlines: OrderedDict[ListingId, tuple[Bitmap, Outline]] = OrderedDict()
        self._matrices: OrderedDict[str, DenseStore] = OrderedDict()
        self._rows: OrderedDict[str, Bitmap] = OrderedDict()

    def hold(self) -> None:
        with self._lock:
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            self._close_if_unused()

    def retire(self) -> None:
        with self._lock:
            self._retired = True
            self._close_if_unused()

    def listing(self, snapshot: Snapshot) -> Bitmap:
        with self._lock:
            found = self._listings.get(snapshot.listing)
            if found is None:
                found = self._listings[snapshot.listing] = self.structure.listing(snapshot.listing)
                _trim(self._listings, OPEN_LISTINGS)
            return found

    def lexical(self, snapshot: Snapshot) -> LexicalGeneration:
        location = _location(snapshot, View.LEXICAL)
        with self._lock:
            found = self._generations.get(location)
            if found is None:
                found = LexicalGeneration.open(self._folder.root / location)
                self._generations[location] = found
                _trim(self._generations, OPEN_GENERATIONS)
            self._generations.move_to_end(location)
            self._used.add(location)
            return found

    def selection(self, snapshot: Snapshot, filters: Filters) -> Selection | None:
        key = (snapshot.listing, filters)
        with self._lock:
            if key in self._selections:
                self._selections.move_to_end(key)
                return self._selections[key]
        found = select(self.structure, self.listing(snapshot), filters)
        with self._lock:
            self._selections[key] = found
            _trim(self._selections, OPEN_SELECTIONS)
        return found

    def outline(self, snapshot: Snapshot) -> Outline:
        """Made from that of the listing that was asked about last, if there is one."""
        listing = self.listing(snapshot)
        with self._outlining:
            found = self._outlines.get(snapshot.listing)
            if found is None:
                found = (listing, self._outline(listing))
                self._outlines[snapshot.listing] = found
                _trim(self._outlines, OPEN_OUTLINES)
            self._outlines.move_to_end(snapshot.listing)
            return found[1]

    def _outline(self, listing: Bitmap) -> Outline:
        if self._outlines:
            try:
                return outline(self.structure, listing, next(reversed(self._outlines.values())))
            except CorruptStructure:
                pass  # rows of that listing were collected; what else is wrong is found in the next line
        return outline(self.structure, listing)

    def dense(self, snapshot: Snapshot) -> tuple[DenseStore, Bitmap]:
        location = _location(snapshot, View.DENSE)
        path = self._folder.root / location
        with self._lock:
            matrix = self._matrices.get(path.parent.name)
            if matrix is None:
                matrix = self._matrices[path.parent.name] = DenseStore.open_reader(path.parent)
                _trim(self._matrices, OPEN_MATRICES)
            rows = self._rows.get(location)
            if rows is None:
                rows = self._rows[location] = read_rows(path)
                _trim(self._rows, OPEN_LISTINGS)
            return matrix, rows

    def relations(self) -> CachedRelations | None:
        """What is there of relations.db now, which is another process's; `None` before the first."""
        with self._lock:
            store = self._relations.current()
            if store is None:
                return None
            if self._cached_relations is None or self._cached_relations.store is not store:
                self._cached_relations = CachedRelations(store)
            return self._cached_relations

    def rest(self) -> None:
        """Let go of the generations that nothing was asked of since the last `rest`: each keeps two
        threads of Tantivy's awake."""
        with self._lock:
            for location in [each for each in self._generations if each not in self._used]:
                del self._generations[location]
            self._used.clear()

    def _close_if_unused(self) -> None:
        if self._retired and self._holders == 0:
            self.catalog.close()
            self.facts.close()
            self.structure.close()
            self.trigrams.close()
            self._relations.close()
            self._matrices.clear()  # another thread may still search one: it goes with its last user
            self._generations.clear()


@dataclass(frozen=True, slots=True)
class Reading:
    """A pinned publication, to be read. Raises `CorruptStore` for what is not as it was written, and
    `StoreError` for a view that the snapshot does not have."""

    publication: Publication
    _stores: OpenStores

    def is_of(self, stores: OpenStores) -> bool:
        return self._stores is stores

    @property
    def snapshot(self) -> Snapshot:
        return self.publication.snapshot

    @property
    def structure(self) -> StructureStore:
        return self._stores.structure

    @property
    def facts(self) -> FactStore:
        return self._stores.facts

    @property
    def listing(self) -> Bitmap:
        return self._stores.listing(self.snapshot)

    @property
    def lexical(self) -> LexicalGeneration:
        return self._stores.lexical(self.snapshot)

    @property
    def tree(self) -> Tree:
        """What ranking reads."""
        outlined = self._stores.outline(self.snapshot)
        return Tree(self.lexical, self.facts, self.structure, self.listing, outlined)

    @property
    def relations(self) -> CachedRelations | None:
        return self._stores.relations()

    def version(self, path: RepoPath) -> FileVersion | None:
        """The file of the tree that is at a path."""
        found = self.structure.at_path(self.listing, path)
        return found[1] if found else None

    def candidates(self, need: Need) -> Candidates:
        """The rows of the tree's files in which a pattern of that need may match."""
        return self._stores.trigrams.candidates(need, self.listing)

    @property
    def dense(self) -> tuple[DenseStore, Bitmap] | None:
        """The matrix, and the rows of it that the snapshot searches; `None` of a tree without a text."""
        if self.snapshot.views[View.DENSE].coverage.done == 0:
            return None
        return self._stores.dense(self.snapshot)

    @property
    def related(self) -> Related:
        """Units, and the relations of the families that have some."""
        cached = self._stores.relations()
        named = self.snapshot.relations.items() if cached else ()
        families = {
            family: (cached, record.resolution)
            for family, record in named
            if cached is not None and record.serves and record.resolution is not None
        }
        return Related(self.structure, self.listing, self.facts, families)

    def selection(self, filters: Filters) -> Selection | None:
        """The files of the tree that pass; `None` when all of their units do."""
        return self._stores.selection(self.snapshot, filters)


def _location(snapshot: Snapshot, view: View) -> str:
    artifact = snapshot.views[view].artifact
    if artifact is None:
        raise StoreError(f"snapshot {snapshot.generation} has no {view.value} view")
    return artifact.location


def _trim(kept: OrderedDict[Any, Any], limit: int) -> None:
    while len(kept) > limit:
        kept.popitem(last=False)
