"""trigrams.db for who only reads it: it may come, go and be made anew at any time."""

from __future__ import annotations

import threading
from pathlib import Path

from nibd.stores.bitmap import Bitmap
from nibd.stores.errors import StoreError
from nibd.stores.trigram_store import Candidates, TrigramStore
from nibd.stores.trigrams import Need


class TrigramReader:
    """Finds candidates. For any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._store: TrigramStore | None = None
        self._replaced: list[TrigramStore] = []  # still open: another thread may be reading them

    def candidates(self, need: Need, listing: Bitmap) -> Candidates:
        """The rows of `listing` whose text may fulfil `need`: all of them where nothing can be read."""
        try:
            store = self._current()
            return store.candidates(need, listing) if store else Candidates(listing, len(listing))
        except StoreError as error:
            return Candidates(listing, len(listing), str(error))

    def close(self) -> None:
        with self._lock:
            for store in (*self._replaced, *([self._store] if self._store else [])):
                store.close()
            self._replaced, self._store = [], None

    def _current(self) -> TrigramStore | None:
        with self._lock:
            if self._store and not self._store.is_in_place():
                self._replaced.append(self._store)
                self._store = None
            if self._store is None and self._path.exists():
                self._store = TrigramStore.open_reader(self._path)
            return self._store
