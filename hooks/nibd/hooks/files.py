"""Reading and replacing one hook file so that nothing is ever lost or half written.

A file is replaced by a temporary one beside it, synced and renamed, with the mode, owner and access list
of the old one; a process killed at any instant leaves the old or the new file, and perhaps a temporary
one, which `sweep` deletes. Anything but a plain file with one name is read at most, never replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 1 << 20
_TEMPORARY = ".nibd-hook-"
_CARRIED = ("system.posix_acl_access",)


class ChangedMeanwhileError(OSError):
    """Someone else wrote the file between our reading and our writing; nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(0, "it changed while nibd was about to write it; run again", str(path))


@dataclass(frozen=True, slots=True)
class HookFile:
    """A hook file as read. `text` is `None` when there is no file, or none worth reading as a script.

    `obstacle` says why the file, whatever its text, is not one to edit. Git runs it when `executable`.
    """

    path: Path
    text: bytes | None
    obstacle: str | None
    executable: bool


def read(path: Path) -> HookFile:
    """Read a hook file without following it into a FIFO or device. Raises `OSError`."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return HookFile(path, None, None, False)
    obstacle = _obstacle(status)
    executable = os.access(path, os.X_OK)
    if stat.S_ISLNK(status.st_mode):
        if not path.exists():
            return HookFile(path, None, obstacle, executable)
        status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
        return HookFile(path, None, obstacle, executable)
    return HookFile(path, path.read_bytes(), obstacle, executable)


def replace(path: Path, old: bytes, new: bytes) -> None:
    """Put `new` in the place of a plain file that holds `old`. Raises `OSError`."""
    status = path.stat()
    with _Temporary(path.parent) as temporary:
        temporary.write(new)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.fstat(temporary.descriptor).st_gid):
            os.fchown(temporary.descriptor, status.st_uid, status.st_gid)
        os.fchmod(temporary.descriptor, stat.S_IMODE(status.st_mode))
        _carry_attributes(path, temporary.descriptor)
        if path.is_symlink() or path.read_bytes() != old:
            raise ChangedMeanwhileError(path)
        temporary.rename(path)


def create(path: Path, text: bytes) -> None:
    """Make an executable file that does not exist yet, readable to whom its folder is. Raises `OSError`."""
    with _Temporary(path.parent) as temporary:
        temporary.write(text)
        os.fchmod(temporary.descriptor, 0o700 | (path.parent.stat().st_mode & 0o055))
        if os.path.lexists(path):
            raise ChangedMeanwhileError(path)
        temporary.rename(path)


def write_private(path: Path, data: bytes) -> None:
    """Write a file of nibd's own state, whole or not at all, readable by its owner only."""
    with _Temporary(path.parent) as temporary:
        temporary.write(data)
        temporary.rename(path)


def sweep(folder: Path) -> None:
    """Delete temporary files that a killed process left in the folder."""
    for leftover in folder.glob(_TEMPORARY + "*"):
        leftover.unlink()


def _obstacle(status: os.stat_result) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "it is a symlink, and what it points at may serve others"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    if status.st_nlink > 1:
        return "it has other hard links, which editing would cut"
    if status.st_size > MAX_BYTES:
        return "it is too large for a script"
    return None


def _carry_attributes(path: Path, descriptor: int) -> None:
    for name in _attributes(path):
        if name in _CARRIED:
            os.setxattr(descriptor, name, os.getxattr(path, name))


def _attributes(path: Path) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(path)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


class _Temporary:
    """A file in `folder` that is gone after the `with` unless it was renamed."""

    def __init__(self, folder: Path) -> None:
        # The process id is enough of a name: operations hold the lock of `Records`.
        self._path = folder / f"{_TEMPORARY}{os.getpid()}"

    def __enter__(self) -> _Temporary:
        self.descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        return self

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.descriptor, data) :]

    def rename(self, target: Path) -> None:
        os.fsync(self.descriptor)
        self._path.rename(target)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        self._path.unlink(missing_ok=True)
