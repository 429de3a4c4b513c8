"""Reading a repository's published snapshots: what a request holds while it is answered.

A request *pins* the snapshot it reads, so that collection leaves it alone. Opening is cheap and what
was opened is kept for the next request: a generation that is served never changes.

When the folder was deleted while serving, what is open goes on answering where it can; the next
`refresh` notices, and the daemon builds it again.
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nibd.repair.policy import EXTRACTOR
from nibd.stores.bitmap import Bitmap
from nibd.stores.catalog import Catalog
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import read_rows
from nibd.stores.errors import StoreError
from nibd.stores.facts import FactStore
from nibd.stores.lexical import LexicalGeneration
from nibd.stores.repository import FileIdentity, RepositoryFolder
from nibd.stores.snapshot import Generation, Publication, Snapshot
from nibd.stores.structure import ListingId, StructureStore
from nibd.stores.types import CheckoutId, CommitId, View

OPEN_GENERATIONS = 4
OPEN_LISTINGS = 16


@dataclass(frozen=True, slots=True)
class _Stores:
    catalog: Catalog
    facts: FactStore
    structure: StructureStore
    identity: tuple[FileIdentity | None, ...]


class RepositoryViews:
    """One repository's stores, read-only. Every method may be called from any thread."""

    def __init__(self, folder: RepositoryFolder) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._stores: _Stores | None = None
        self._pins: Counter[Generation] = Counter()
        self._generations: OrderedDict[str, LexicalGeneration] = OrderedDict()
        self._used: set[str] = set()
        self._listings: OrderedDict[ListingId, Bitmap] = OrderedDict()
        self._matrix: DenseStore | None = None
        self._rows: OrderedDict[str, Bitmap] = OrderedDict()
        self.unreadable: str | None = None
        """Why the catalog cannot be read, if it cannot: then nothing is published, and it is made anew."""

    def publications(self, checkout: CheckoutId, limit: int = 100) -> list[Publication]:
        """What the checkout showed, newest first; nothing while nothing was ever published."""
        return self._read_catalog(lambda catalog: catalog.publications(checkout, limit))

    def newest_serving(
        self, checkout: CheckoutId, views: frozenset[View], commit: CommitId | None = None
    ) -> Publication | None:
        """The newest publication whose snapshot serves all `views` (at `commit` if it is given)."""

        def candidates(catalog: Catalog) -> list[Publication]:
            if commit is None:
                return catalog.publications(checkout)
            found = catalog.at_commit(commit)
            return [found] if found else []

        for publication in self._read_catalog(candidates):
            if all(publication.snapshot.views[view].serves for view in views):
                return publication
        return None

    @contextmanager
    def pinned(self, choose: Callable[[], Publication | None]) -> Iterator[Publication | None]:
        """Choose a publication and keep its snapshot from being collected while it is read."""
        with self._lock:
            publication = choose()
            if publication:
                self._pins[publication.snapshot.generation] += 1
        try:
            yield publication
        finally:
            if publication:
                with self._lock:
                    self._pins[publication.snapshot.generation] -= 1
                    self._pins += Counter()  # drops what is no longer held

    def pins(self) -> list[Generation]:
        with self._lock:
            return list(self._pins)

    @property
    def structure(self) -> StructureStore:
        return self._required().structure

    @property
    def facts(self) -> FactStore:
        return self._required().facts

    def listing(self, snapshot: Snapshot) -> Bitmap:
        with self._lock:
            found = self._listings.get(snapshot.listing)
            if found is None:
                found = self._listings[snapshot.listing] = self.structure.listing(snapshot.listing)
                _trim(self._listings, OPEN_LISTINGS)
            return found

    def lexical(self, snapshot: Snapshot) -> LexicalGeneration:
        """Raises `CorruptStore` when the generation is not as it was written."""
        artifact = snapshot.views[View.LEXICAL].artifact
        if artifact is None:
            raise StoreError(f"snapshot {snapshot.generation} has no lexical generation")
        with self._lock:
            found = self._generations.get(artifact.location)
            if found is None:
                found = LexicalGeneration.open(self.folder.root / artifact.location)
                self._generations[artifact.location] = found
                _trim(self._generations, OPEN_GENERATIONS)
            self._generations.move_to_end(artifact.location)
            self._used.add(artifact.location)
            return found

    def dense(self, snapshot: Snapshot) -> tuple[DenseStore, Bitmap]:
        """The matrix, and the rows of it that the snapshot searches."""
        artifact = snapshot.views[View.DENSE].artifact
        if artifact is None:
            raise StoreError(f"snapshot {snapshot.generation} has no dense view")
        path = self.folder.root / artifact.location
        with self._lock:
            if self._matrix is None or self._matrix.folder != path.parent:
                if self._matrix:
                    self._matrix.close()
                self._matrix = DenseStore.open_reader(path.parent)
            rows = self._rows.get(artifact.location)
            if rows is None:
                rows = self._rows[artifact.location] = read_rows(path)
                _trim(self._rows, OPEN_LISTINGS)
            return self._matrix, rows

    def close(self) -> None:
        with self._lock:
            if self._matrix:
                self._matrix.close()
            self._matrix = None
            self._rows.clear()
            if self._stores:
                self._stores.catalog.close()
                self._stores.facts.close()
                self._stores.structure.close()
            self._stores = None
            self._generations.clear()
            self._listings.clear()

    def rest(self) -> None:
        """Let go of the generations that nothing was asked of since the last `rest`: each keeps two
        threads of Tantivy's awake."""
        with self._lock:
            for location in [each for each in self._generations if each not in self._used]:
                del self._generations[location]
            self._used.clear()

    def delete(self) -> None:
        """Remove all that is stored of the repository; nobody may write there any more."""
        self.close()
        if self.folder.root.exists():
            shutil.rmtree(self.folder.root)

    def is_lost(self) -> bool:
        """Whether what was open is no longer what lies on disk: deleted, or deleted and made anew."""
        with self._lock:
            return self._stores is not None and self._stores.identity != self.folder.identity()

    def _read_catalog(self, read: Callable[[Catalog], list[Publication]]) -> list[Publication]:
        try:
            stores = self._open()
            found = read(stores.catalog) if stores else []
        except StoreError as error:
            self.unreadable = str(error)
            return []
        self.unreadable = None
        return found

    def _required(self) -> _Stores:
        stores = self._open()
        if stores is None:
            raise StoreError(f"{self.folder.root} has no views yet")
        return stores

    def _open(self) -> _Stores | None:
        with self._lock:
            if self.is_lost():
                self.close()
            if self._stores is None:
                identity = self.folder.identity()
                if None in identity or not Catalog.is_made(self.folder.catalog):
                    return None
                self._stores = _Stores(
                    Catalog.open_reader(self.folder.catalog),
                    FactStore.open_reader(self.folder.facts, EXTRACTOR),
                    StructureStore.open_reader(self.folder.structure),
                    identity,
                )
            return self._stores


def _trim(kept: OrderedDict[Any, Any], limit: int) -> None:
    while len(kept) > limit:
        kept.popitem(last=False)


