"""A repository's published views, for reading: which publication answers, and what is pinned.

A request *pins* the snapshot it reads, and a collection *condemns* the snapshots that it is about to
remove. Both happen under one lock, and what is pinned is not condemned, nor the other way round: so
nobody ever reads what is being removed, however long a collection takes.

Opening is cheap and what was opened is kept for the next request: a generation that is served never
changes. Each request looks whether the files that are open are still those of the folder.
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from nibd.daemon.reading import OpenStores, Reading
from nibd.stores.catalog import Catalog
from nibd.stores.errors import StoreError
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import CheckoutId, CommitId, ProfileId, View

At: TypeAlias = CommitId | Reading | None
"""What a request rests on: the newest snapshot (`None`), the newest of a commit, or the very snapshot that a
session has pinned."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A publication that serves `views`, and that `accepts` does not refuse."""

    views: frozenset[View]
    accepts: Callable[[Publication], bool] = lambda _: True

    def is_met(self, publication: Publication, dense_profile: ProfileId | None) -> bool:
        return serves(publication, self.views, dense_profile) and self.accepts(publication)


class RepositoryViews:
    """One repository's views, read-only. Every method may be called from any thread."""

    def __init__(self, folder: RepositoryFolder) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._stores: OpenStores | None = None
        self._pins: Counter[Generation] = Counter()
        self._condemned: frozenset[Generation] = frozenset()
        self.unreadable: str | None = None
        """Why the catalog cannot be read, if it cannot: then nothing is published, and it is made anew."""

    def publications(self, checkout: CheckoutId, limit: int = 100) -> list[Publication]:
        """What the checkout showed, newest first; nothing while nothing was ever published."""
        with self._lock:
            return self._choose(checkout, None, limit)[1]

    @contextmanager
    def reading(
        self,
        checkout: CheckoutId,
        needed: frozenset[View],
        at: At = None,
        dense_profile: ProfileId | None = None,
        accepts: Callable[[Publication], bool] = lambda _: True,
    ) -> Iterator[Reading | None]:
        """The newest publication that serves `needed` (of a commit if one is given), pinned.

        Of a session's snapshot it is that one or none; none too when the files that it was opened from are no
        longer those of the folder. `accepts` may refuse some. Vectors of another profile than
        `dense_profile` serve nothing: a query's vector has no meaning among them.
        """
        with self.preferred(checkout, [Wanted(needed, accepts)], at, dense_profile) as reading:
            yield reading

    @contextmanager
    def preferred(
        self, checkout: CheckoutId, wanted: Sequence[Wanted], at: At, dense_profile: ProfileId | None
    ) -> Iterator[Reading | None]:
        """As `reading`: for the first of `wanted` that any publication meets, in one look at all of them."""
        with self._lock:
            stores, found = self._choose(checkout, at, 1)
            publication = self._first(wanted[:1], found, dense_profile)
            if publication is None:  # hardly ever: a hundred take longer to read than a small search
                stores, found = self._choose(checkout, at)
                publication = self._first(wanted, found, dense_profile)
            if stores and publication:
                stores.hold()
                self._pins[publication.snapshot.generation] += 1
        if stores is None or publication is None:
            yield None
            return
        try:
            yield Reading(publication, stores)
        finally:
            with self._lock:
                self._pins[publication.snapshot.generation] -= 1
                self._pins += Counter()  # drops what is no longer held
            stores.release()

    @contextmanager
    def condemning(self, generations: Iterable[Generation]) -> Iterator[list[Generation]]:
        """Those of `generations` that nobody reads, which nobody can begin to read in this context.

        For one collection at a time.
        """
        with self._lock:
            condemned = [generation for generation in generations if generation not in self._pins]
            self._condemned = frozenset(condemned)
        try:
            yield condemned
        finally:
            with self._lock:
                self._condemned = frozenset()

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def rest(self) -> None:
        """Let go of what nothing was asked of since the last `rest`."""
        with self._lock:
            if self._stores:
                self._stores.rest()

    def delete(self) -> None:
        """Remove all that is stored of the repository; nobody may write there any more."""
        self.close()
        if self.folder.root.exists():
            shutil.rmtree(self.folder.root)

    def _first(
        self, wanted: Sequence[Wanted], found: Sequence[Publication], dense_profile: ProfileId | None
    ) -> Publication | None:
        left = [p for p in found if p.snapshot.generation not in self._condemned]
        return next((p for each in wanted for p in left if each.is_met(p, dense_profile)), None)

    def _choose(
        self, checkout: CheckoutId, at: At, limit: int = 100
    ) -> tuple[OpenStores | None, list[Publication]]:
        """The stores, and the publications that may answer, newest first."""
        try:
            stores = self._open()
            if isinstance(at, Reading):
                found = [at.publication] if stores and at.is_of(stores) else []
            else:
                found = _candidates(stores.catalog, checkout, at, limit) if stores else []
        except StoreError as error:
            self.unreadable = str(error)
            return None, []
        self.unreadable = None
        return stores, found

    def _open(self) -> OpenStores | None:
        identity = self.folder.identity()
        if self._stores and self._stores.identity != identity:
            self._let_go()
        if self._stores is None and None not in identity and Catalog.is_made(self.folder.catalog):
            self._stores = OpenStores(self.folder, identity)
        return self._stores

    def _let_go(self) -> None:
        stores, self._stores = self._stores, None
        if stores:
            stores.retire()


def serves(publication: Publication, needed: Iterable[View], dense_profile: ProfileId | None = None) -> bool:
    """Whether all of `needed` can be answered from a publication."""
    records = publication.snapshot.views
    if View.DENSE in needed and dense_profile not in (None, records[View.DENSE].profile):
        return False
    return all(records[view].serves for view in needed)


def _candidates(
    catalog: Catalog, checkout: CheckoutId, commit: CommitId | None, limit: int
) -> list[Publication]:
    if commit is None:
        return catalog.publications(checkout, limit)
    return catalog.at_commit(commit, limit)
