"""Writing below one folder and nowhere else.

Every path is walked from the root by file descriptors, and no symlink is followed on the way: a
folder that is a symlink, or a file, stands where a folder of the tree belongs and is replaced.
Files are written aside, in a folder of the same file system, and renamed into place whole.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from nibd.repair.private_tree.names import above
from nibd.stores.types import RepoPath

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_A_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})
"""A file, or a symlink: which of the two errors it gets differs by system."""
_FILE, _LINK = b"file", b"link"
"""Names in the folder aside. What a crash leaves there is overwritten by the next."""
COARSE_NS = 2_000_000_000
FINE_NS = 1_000_000


class Disk:
    """The files below `root`, with `aside` to write them in. For one thread at a time."""

    def __init__(self, root: Path, aside: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        aside.mkdir(parents=True, exist_ok=True)
        self._root = os.open(root, _FOLDER)
        self._aside = os.open(aside, _FOLDER)
        self._near: tuple[bytes, int] | None = None
        """The folder used last: neighbours mostly follow each other."""

    def close(self) -> None:
        self._forget()
        os.close(self._aside)
        os.close(self._root)

    def is_at(self, root: Path) -> bool:
        """Whether the folder that is written to is still the one of that name."""
        try:
            found = root.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._root))

    def granularity_ns(self) -> int:
        """The least difference between two modification times that is told apart, by servers too."""
        descriptor = os.open(_FILE, _NEW, 0o600, dir_fd=self._aside)
        try:
            os.utime(descriptor, ns=(1_000_999_999, 1_000_999_999))
            return FINE_NS if os.fstat(descriptor).st_mtime_ns == 1_000_999_999 else COARSE_NS
        finally:
            os.close(descriptor)
            os.unlink(_FILE, dir_fd=self._aside)

    def stat(self, path: RepoPath) -> os.stat_result | None:
        """Of the thing itself, not of what a symlink leads to; `None` when there is none."""
        folder, _, name = path.rpartition(b"/")
        parent = self._existing(folder)
        if parent is None:
            return None
        with suppress(FileNotFoundError):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        return None

    def read(self, path: RepoPath) -> bytes | None:
        """A file's bytes or a symlink's target; `None` when there is neither."""
        found = self.stat(path)
        if found is None or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return None
        folder, _, name = path.rpartition(b"/")
        parent = self._existing(folder)
        if stat.S_ISLNK(found.st_mode):
            return os.readlink(name, dir_fd=parent)
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent), "rb") as file:
            return file.read()

    def write(self, path: RepoPath, data: bytes, executable: bool, mtime_ns: int) -> os.stat_result:
        descriptor = os.open(_FILE, _NEW, 0o600, dir_fd=self._aside)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, 0o755 if executable else 0o644)
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
            made = os.fstat(descriptor)
        self._put(_FILE, path)
        return made

    def link(self, path: RepoPath, target: bytes, mtime_ns: int) -> os.stat_result:
        with suppress(FileNotFoundError):
            os.unlink(_LINK, dir_fd=self._aside)
        os.symlink(target, _LINK, dir_fd=self._aside)
        os.utime(_LINK, ns=(mtime_ns, mtime_ns), dir_fd=self._aside, follow_symlinks=False)
        made = os.stat(_LINK, dir_fd=self._aside, follow_symlinks=False)
        self._put(_LINK, path)
        return made

    def make_folder(self, path: RepoPath) -> None:
        """Have an empty folder at `path`, whatever is there now."""
        self.remove(path)
        self._made(path)

    def have_folder(self, path: RepoPath) -> None:
        """Have a folder at `path`, with what it may hold."""
        self._made(path)

    def remove(self, path: RepoPath) -> None:
        """Have nothing at `path`: neither a file, nor a folder with all below it."""
        folder, _, name = path.rpartition(b"/")
        parent = self._existing(folder)
        if parent is None:
            return
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except IsADirectoryError:
            self._remove_folder(name, parent)

    def prune(self, folders: Iterable[bytes]) -> None:
        """Remove those of `folders` that are empty, the innermost first."""
        self._forget()
        for folder in sorted(folders, key=lambda each: each.count(b"/"), reverse=True):
            above_it, _, name = folder.rpartition(b"/")
            parent = self._existing(above_it)
            if parent is None:
                continue
            with suppress(OSError):  # not empty, or gone
                os.rmdir(name, dir_fd=parent)
                self._forget()

    def walk(self) -> Iterator[tuple[RepoPath, os.stat_result]]:
        """Everything below the root, folders before what they hold; symlinks are not followed."""
        self._forget()
        for where, folders, files, descriptor in os.fwalk(b".", dir_fd=self._root, follow_symlinks=False):
            prefix = where[2:] + b"/" if len(where) > 1 else b""
            for name in (*folders, *files):
                with suppress(FileNotFoundError):
                    yield RepoPath(prefix + name), os.stat(name, dir_fd=descriptor, follow_symlinks=False)

    def _put(self, aside: bytes, path: RepoPath) -> None:
        folder, _, name = path.rpartition(b"/")
        parent = self._made(folder)
        try:
            os.rename(aside, name, src_dir_fd=self._aside, dst_dir_fd=parent)
        except IsADirectoryError:
            self._remove_folder(name, parent)
            os.rename(aside, name, src_dir_fd=self._aside, dst_dir_fd=self._made(folder))

    def _remove_folder(self, name: bytes, parent: int) -> None:
        # A copy of the descriptor outlives the folder that is remembered.
        parent = os.dup(parent)
        try:
            self._forget()
            shutil.rmtree(os.fsdecode(name), dir_fd=parent)
        finally:
            os.close(parent)

    def _existing(self, folder: bytes) -> int | None:
        """A descriptor of a folder below the root; `None` when a part of its path is not a folder."""
        try:
            return self._opened(folder, make=False)
        except OSError as error:
            if error.errno not in {errno.ENOENT, *_NOT_A_FOLDER}:
                raise
            return None

    def _made(self, folder: bytes) -> int:
        return self._opened(folder, make=True)

    def _opened(self, folder: bytes, make: bool) -> int:
        if not folder:
            return self._root
        if self._near is not None and self._near[0] == folder:
            return self._near[1]
        self._forget()
        here = os.dup(self._root)
        try:
            for name in folder.split(b"/"):
                below = _enter(name, here, make)
                os.close(here)
                here = below
        except BaseException:
            os.close(here)
            raise
        self._near = folder, here
        return here

    def _forget(self) -> None:
        if self._near is not None:
            os.close(self._near[1])
            self._near = None


def _enter(name: bytes, here: int, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=here)
    except OSError as error:
        if not make or error.errno not in {errno.ENOENT, *_NOT_A_FOLDER}:
            raise
        if error.errno in _NOT_A_FOLDER:
            os.unlink(name, dir_fd=here)
    os.mkdir(name, 0o755, dir_fd=here)
    return os.open(name, _FOLDER, dir_fd=here)


def folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """Every folder that holds one of `paths`, at any depth."""
    found: set[bytes] = set()
    for path in paths:
        found.update(above(path))
    return found
