"""Answering from one pinned snapshot: blocking, run in the query threads.

An answer is made wholly from one snapshot and from Git's objects. Nothing here looks at HEAD or waits
for a child; whether the answer is fresh is said by whoever asked for it.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.daemon.wire import hit as wire_hit
from nibd.ipc.messages import Json
from nibd.query import dense, fusion, symbols
from nibd.query.hits import Hit, snippet
from nibd.query.ranking.rank import Explanation, rank
from nibd.repair.git import GitError, GitSource, open_source
from nibd.repair.text import Text, decode
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.structure import StoredUnit
from nibd.stores.types import BlobId, Level, RepoPath, View

BLOB_CACHE_BYTES = 32 << 20
REMEMBERED_FILES = 4096
RACY_NS = 2_000_000_000
"""A write within the same tick of the file system's clock leaves the times as they are."""
FUSED_DEPTH = 50
"""How far down the rankings that are fused are looked at, at least."""


class Blobs:
    """Reads blobs for snippets; one repository open a checkout, one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: dict[Path, GitSource] = {}
        self._cache: BoundedCache[BlobId, bytes] = BoundedCache(BLOB_CACHE_BYTES)
        self._equal: dict[tuple[Path, BlobId], tuple[int, ...]] = {}

    def read(self, checkout: Checkout, blob: BlobId) -> bytes | None:
        """`None` when it cannot be had: a hit stays a hit without its snippet."""
        cached = self._cache.get(blob)
        if cached is not None:
            return cached
        with self._lock:
            try:
                source = self._sources.get(checkout.work_tree)
                if source is None:
                    source = self._sources[checkout.work_tree] = open_source(checkout.work_tree)
                data = source.read(blob)
            except GitError:
                self._sources.pop(checkout.work_tree, None)
                return None
        if data is not None:
            self._cache.put(blob, data, len(data))
        return data

    def is_edited(self, checkout: Checkout, path: RepoPath, blob: BlobId) -> bool | None:
        """Whether the work tree's file says something else than the blob; `None` when nobody can tell.

        A file that was found equal is not read again while its inode, size and times are the same and
        lie far enough back to show a later write.
        """
        file = checkout.work_tree / os.fsdecode(path)
        key = (file, blob)
        try:
            status = file.lstat()
        except FileNotFoundError:
            return True if checkout.work_tree.is_dir() else None
        except OSError:
            return None
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if self._equal.get(key) == stamp:
            return False
        edited = _edited(file, self.read(checkout, blob))
        if edited is False and time.time_ns() - max(stamp[2:]) > RACY_NS:
            if len(self._equal) >= REMEMBERED_FILES:
                self._equal.clear()
            self._equal[key] = stamp
        return edited

    def forget(self, checkout: Checkout) -> None:
        with self._lock:
            source = self._sources.pop(checkout.work_tree, None)
            if source:
                source.close()


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a ranked search asks for. `vector` is the query's, for plans that need one."""

    query: str
    plan: str
    level: Level | None
    k: int
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, and how the lexical ranking came to its part of them, if it has one.

    `evidence` has an entry for each hit, `None` for one that the lexical ranking does not have.
    """

    hits: list[Hit]
    explanation: Explanation | None = None
    evidence: Sequence[Mapping[str, float] | None] = ()


def search(reading: Reading, asked: Ranked) -> Found:
    if asked.plan == "dense":
        return Found(_dense(reading, asked))
    if asked.plan == "lexical":
        ranking = rank(reading.tree, asked.query, asked.level, asked.k)
        return Found(ranking.hits, ranking.explanation, ranking.explanation.hits)
    deep = replace(asked, k=max(FUSED_DEPTH, 2 * asked.k))
    ranking = rank(reading.tree, deep.query, deep.level, deep.k)
    hits = fusion.fuse([ranking.hits, _dense(reading, deep)], asked.k)
    known = {hit.address_key: each for hit, each in zip(ranking.hits, ranking.explanation.hits, strict=True)}
    return Found(hits, ranking.explanation, [known.get(hit.address_key) for hit in hits])


def named(reading: Reading, name: str, k: int) -> list[Hit]:
    found = symbols.find(reading.structure, reading.listing, name)
    return [_unit_hit(unit, 1.0) for unit in found[:k]]


def outline(
    reading: Reading, path: RepoPath
) -> list[tuple[Hit, int | None]] | None:
    """The units of a file with the position of their parent, `None` when the tree has no such file."""
    at = reading.structure.at_path(reading.listing, path)
    if at is None:
        return None
    row, file = at
    return [(_unit_hit(unit, 1.0), unit.parent) for unit in reading.structure.units(file, row)]


def shown(blobs: Blobs, checkout: Checkout, hits: Sequence[Hit]) -> list[Json]:
    """Hits as they go over the wire, with snippets, and whether the work tree has other text now."""
    edited: dict[RepoPath, bool | None] = {}
    result: list[Json] = []
    for found in hits:
        data = blobs.read(checkout, found.blob)
        if found.path not in edited:
            edited[found.path] = blobs.is_edited(checkout, found.path, found.blob)
        text = None if data is None else snippet(_decoded(data), found.start_line, found.end_line)
        result.append(wire_hit(found, text, edited[found.path]))
    return result


def _decoded(data: bytes) -> bytes:
    """A blob as its units were made: lines of UTF-16 can't be told apart before that."""
    decoded = decode(data)
    return decoded.content if isinstance(decoded, Text) else data


def _dense(reading: Reading, asked: Ranked) -> list[Hit]:
    if reading.snapshot.views[View.DENSE].coverage.done == 0:
        return []  # a tree without a text has no matrix
    store, rows = reading.dense
    listing = reading.listing

    def units(wanted: Sequence[int]) -> Mapping[int, Sequence[Hit]]:
        return {
            row: [_unit_hit(unit, 0.0) for unit in reading.structure.with_text(listing, text)]
            for row, text in store.texts(wanted).items()
        }

    assert asked.vector is not None, "a dense plan has its query's vector"
    vector = np.frombuffer(asked.vector, "<f4")
    return dense.search(store, rows, vector, asked.k, units=units, level=asked.level)


def _unit_hit(unit: StoredUnit, score: float) -> Hit:
    return Hit(
        path=unit.file.path,
        start_line=unit.start_line,
        end_line=unit.end_line,
        kind=unit.kind,
        name=unit.qualified,
        level=unit.level,
        language=unit.file.language,
        blob=unit.file.blob,
        score=score,
    )


def _regular_file(path: Path, most: int) -> bytes | None:
    """The first bytes of a regular file; `None` for anything else. Never waits for a FIFO's writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123 - of a descriptor
        return opened.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _edited(file: Path, data: bytes | None) -> bool | None:
    """Whether a file says something else; line ends that Git may convert do not count."""
    if data is None:
        return None
    try:
        there = _regular_file(file, len(data) + data.count(b"\n") + 1)
    except FileNotFoundError:
        return True
    except OSError:
        return None
    if there is None:
        return True
    return there != data and there.replace(b"\r\n", b"\n") != data.replace(b"\r\n", b"\n")


