"""What can go wrong with a private tree.

    PrivateTreeError
    ├── TreeInUse     another process has it open
    ├── NoRoom        the disk, or the user's share of it, is full
    ├── NotWritable   the folder can't be written to: permissions, a read-only file system
    ├── TreeGone      its folder was deleted or replaced: close it and open it again
    └── TreeUnknown   asked about a tree that was left in the middle of a move: move it first

After any of them the private tree can be moved again (or opened again and moved): what was done is
on record, and the rest is done then. Errors of Git (`GitError`) pass through as they are.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nibd.stores.errors import StoreError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


class PrivateTreeError(Exception):
    """The root; by itself, an error of the file system that nobody here can act on."""


class TreeInUse(PrivateTreeError):  # noqa: N818 - named after what was found
    """Another process has the private tree open."""


class NoRoom(PrivateTreeError):  # noqa: N818
    """There is no room on the disk."""


class NotWritable(PrivateTreeError):  # noqa: N818
    """The folder can't be written to."""


class TreeGone(PrivateTreeError):  # noqa: N818
    """The folder was deleted, or another one is in its place."""


class TreeUnknown(PrivateTreeError):  # noqa: N818
    """What the private tree holds is not known until it was moved."""


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn errors of the file system and of the state's database into those of this module."""
    try:
        yield
    except OSError as error:
        raise _kind(error.errno)(f"{folder}: {error}") from error
    except StoreError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        full = code == sqlite3.SQLITE_FULL or "no space left" in str(error)
        refused = code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
        kind = NoRoom if full else NotWritable if refused else PrivateTreeError
        raise kind(str(error)) from error


def _kind(number: int | None) -> type[PrivateTreeError]:
    if number in _FULL:
        return NoRoom
    return NotWritable if number in _REFUSED else PrivateTreeError
