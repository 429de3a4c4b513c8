"""Answering from one pinned snapshot: blocking, run in the query threads.

An answer is made wholly from one snapshot and from Git's objects. Nothing here looks at HEAD or waits
for a child; whether the answer is fresh is said by whoever asked for it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.daemon.wire import hit as wire_hit
from nibd.ipc.messages import Json
from nibd.query import symbols
from nibd.query.context.packet import lines_of
from nibd.query.filters import Selection
from nibd.query.hits import Hit
from nibd.query.search import unit_hit
from nibd.query.snippets import NO_WORDS, Lines, Words, snippet
from nibd.repair.git import GitError, GitSource, open_source
from nibd.repair.text import Text, decode
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.types import BlobId, RepoPath

BLOB_CACHE_BYTES = 32 << 20
REMEMBERED_FILES = 4096
HASHED_BYTES = 1 << 20
"""A larger file of the work tree is compared with what Git has."""
SHA1_DIGITS = 40
RACY_NS = 2_000_000_000
"""A write within the same tick of the file system's clock leaves the times as they are."""


class Blobs:
    """Reads blobs for snippets; one repository open a checkout, one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: dict[Path, GitSource] = {}
        self._cache: BoundedCache[BlobId, bytes] = BoundedCache(BLOB_CACHE_BYTES)
        self._equal: dict[tuple[str, BlobId], tuple[int, ...]] = {}

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
        file = f"{checkout.work_tree}/{os.fsdecode(path)}"
        key = (file, blob)
        try:
            status = os.lstat(file)
        except FileNotFoundError:
            return True if checkout.work_tree.is_dir() else None
        except OSError:
            return None
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if self._equal.get(key) == stamp:
            return False
        edited = False if self._is_blob(file, status, blob) else _edited(file, self.read(checkout, blob))
        if edited is False and time.time_ns() - max(stamp[2:]) > RACY_NS:
            if len(self._equal) >= REMEMBERED_FILES:
                self._equal.clear()
            self._equal[key] = stamp
        return edited

    def _is_blob(self, file: str, status: os.stat_result, blob: BlobId) -> bool:
        """Whether a file is the blob that is not in memory yet, by its id. Then what was read of it is kept:
        Git takes ten times as long to find and unpack it."""
        if self._cache.get(blob) is not None or not 0 < status.st_size <= HASHED_BYTES:
            return False
        try:
            data = _regular_file(file, HASHED_BYTES + 1)
        except OSError:
            return False
        if data is None or _object_id(data, len(blob)) != blob:
            return False
        self._cache.put(blob, data, len(data))
        return True

    def forget(self, checkout: Checkout) -> None:
        with self._lock:
            source = self._sources.pop(checkout.work_tree, None)
            if source:
                source.close()


def named(reading: Reading, name: str, within: Selection | None) -> list[Hit]:
    found = symbols.find(reading.structure, within.rows if within else reading.listing, name)
    return [unit_hit(unit, 1.0) for unit in found if within is None or within.has_kind(unit.kind)]


def outline(reading: Reading, path: RepoPath) -> list[tuple[Hit, int | None]] | None:
    """The units of a file with the position of their parent, `None` when the tree has no such file."""
    at = reading.structure.at_path(reading.listing, path)
    if at is None:
        return None
    row, file = at
    return [(unit_hit(unit, 1.0), unit.parent) for unit in reading.structure.units(file, row)]


def shown(blobs: Blobs, checkout: Checkout, hits: Sequence[Hit], words: Words = NO_WORDS) -> list[Json]:
    """Hits as they go over the wire, with snippets, and whether the work tree has other text now."""
    edited: dict[RepoPath, bool | None] = {}
    texts: dict[BlobId, Lines | None] = {}
    result: list[Json] = []
    for found in hits:
        if found.path not in edited:
            edited[found.path] = blobs.is_edited(checkout, found.path, found.blob)
        if found.blob not in texts:
            data = blobs.read(checkout, found.blob)
            texts[found.blob] = Lines(_decoded(data)) if data else None
        text = texts[found.blob]
        part = snippet(text, found.start_line, found.end_line, words) if text is not None else None
        result.append(wire_hit(found, part, edited[found.path]))
    return result


def text_of(blobs: Blobs, checkout: Checkout, hit: Hit) -> str:
    """The lines of a hit; empty when its blob can't be had."""
    data = blobs.read(checkout, hit.blob)
    text = None if data is None else decode(data)
    if not isinstance(text, Text):
        return ""
    return lines_of(text.content.decode(), hit.start_line, hit.end_line)


def _decoded(data: bytes) -> bytes:
    """A blob as its units were made: lines of UTF-16 can't be told apart before that."""
    decoded = decode(data)
    return decoded.content if isinstance(decoded, Text) else data


def _object_id(data: bytes, digits: int) -> str:
    """What Git calls a blob of these bytes; ids of 64 digits are those of SHA-256."""
    hashed = hashlib.new("sha1" if digits == SHA1_DIGITS else "sha256", usedforsecurity=False)
    hashed.update(b"blob %d\0" % len(data))
    hashed.update(data)
    return hashed.hexdigest()


def _regular_file(path: str, most: int) -> bytes | None:
    """The first bytes of a regular file; `None` for anything else. Never waits for a FIFO's writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123 - of a descriptor
        return opened.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _edited(file: str, data: bytes | None) -> bool | None:
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
