"""A cache bounded by bytes: what was used longest ago goes first. For several threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, no more than `limit_bytes` of them; one larger than that is not kept."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.size_bytes = 0

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, size_bytes: int) -> None:
        with self._lock:
            self._drop(key)
            if size_bytes > self._limit_bytes:
                return
            self._held[key] = (value, size_bytes)
            self.size_bytes += size_bytes
            while self.size_bytes > self._limit_bytes:
                self._drop(next(iter(self._held)))

    def drop(self, key: K) -> None:
        with self._lock:
            self._drop(key)

    def _drop(self, key: K) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self.size_bytes -= held[1]
