"""One entry of a tree, made on disk: what it becomes, and whether what is there still is that."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator

from nibd.repair.git.types import EXECUTABLE, SUBMODULE, SYMLINK, GitSource, TreeEntry
from nibd.repair.languages import CODE_LANGUAGES, language_of
from nibd.repair.private_tree.disk import Disk
from nibd.repair.private_tree.names import is_safe, stays_inside
from nibd.repair.private_tree.state import Record
from nibd.repair.private_tree.types import LeftOut, Limits
from nibd.repair.text import Text, decode, is_utf8
from nibd.stores.types import BlobId, RepoPath

_CONFIGURATION = frozenset(
    {b"compile_commands.json", b"Cargo.lock", b"go.sum", b"go.work.sum", b"modules.txt"}
)
"""Files that a server reads however large they are, within reason."""


class Writer:
    """Makes entries of trees below one root, within limits."""

    def __init__(self, source: GitSource, disk: Disk, root_bytes: int, limits: Limits) -> None:
        self._source = source
        self._disk = disk
        self._root_bytes = root_bytes
        self._limits = limits

    def write(self, entries: Iterable[TreeEntry], stamp_ns: int) -> Iterator[Record]:
        """Make each entry, in order; what is left out is removed from the disk if it was there."""
        reasons = [(entry, self._reason(entry)) for entry in entries]
        contents = self._source.read_many([entry.blob for entry, reason in reasons if reason is None])
        for entry, reason in reasons:
            if reason is not None:
                yield self._leave_out(entry, reason)
                continue
            _, content = next(contents)
            yield self._make(entry, content, stamp_ns)

    def _reason(self, entry: TreeEntry) -> LeftOut | None:
        """Why an entry is left out, as far as that is known without its content."""
        if not is_safe(entry.path, self._root_bytes):
            return LeftOut.NAME
        if not is_utf8(entry.path):
            return LeftOut.NOT_UTF8
        if entry.mode == SUBMODULE:
            return LeftOut.SUBMODULE
        size = self._source.size(entry.blob)
        if size is None:
            return LeftOut.MISSING_OBJECT
        return LeftOut.TOO_LARGE if size > self._limit(entry.path) else None

    def _limit(self, path: RepoPath) -> int:
        name = path.rpartition(b"/")[2]
        is_source = name in _CONFIGURATION or language_of(path, b"") in CODE_LANGUAGES
        return self._limits.max_source_bytes if is_source else self._limits.max_other_bytes

    def _make(self, entry: TreeEntry, content: bytes | None, stamp_ns: int) -> Record:
        if content is None:
            return self._leave_out(entry, LeftOut.MISSING_OBJECT)
        if entry.mode != SYMLINK:
            text = as_read(entry.path, content)
            made = self._disk.write(entry.path, text, entry.mode == EXECUTABLE, stamp_ns)
        elif stays_inside(entry.path, content):
            made = self._disk.link(entry.path, content, stamp_ns)
        else:
            return self._leave_out(entry, LeftOut.SYMLINK)
        return Record(entry, None, made.st_size, made.st_mtime_ns)

    def _leave_out(self, entry: TreeEntry, reason: LeftOut) -> Record:
        if reason is LeftOut.SUBMODULE:
            self._disk.make_folder(entry.path)
        elif reason is not LeftOut.NAME:
            self._disk.remove(entry.path)
        return Record(entry, reason)


def is_as_recorded(record: Record, found: os.stat_result | None) -> bool:
    """Whether what is on disk is, by kind, size and time, what was written."""
    if record.left_out is LeftOut.SUBMODULE:
        return found is not None and stat.S_ISDIR(found.st_mode)
    if record.left_out is not None:
        return found is None
    if found is None or (found.st_size, found.st_mtime_ns) != (record.size_bytes, record.mtime_ns):
        return False
    mode = record.entry.mode
    if mode == SYMLINK:
        return stat.S_ISLNK(found.st_mode)
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o100) == (mode == EXECUTABLE)


def as_read(path: RepoPath, content: bytes) -> bytes:
    """What is written of a file: sources as units are made of them (UTF-8, no mark), others as they are.

    Positions count in that text. A server that decodes otherwise, or takes a file that is not UTF-8 for an
    empty one, would answer about other places, or that there is nothing.
    """
    if language_of(path, content) not in CODE_LANGUAGES:
        return content
    decoded = decode(content)
    return decoded.content if isinstance(decoded, Text) else content


def blob_id(data: bytes, object_format: str) -> BlobId:
    """The id that Git gives to a blob of these bytes."""
    digest = hashlib.new(object_format, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return BlobId(digest.hexdigest())
