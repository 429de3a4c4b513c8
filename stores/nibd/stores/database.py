"""Opening a SQLite file of nibd: schema by sqlite-utils migrations, then a plain connection.

Hot paths use the plain connection with prepared SQL; sqlite-utils owns the schema and its history,
so that a store written by an older nibd opens in a newer one.

One process writes a file, several read it. WAL lets readers go on while the writer commits.
A connection is shared by the threads of its process and guarded by the lock beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal

from sqlite_utils import Database, Migrations

from nibd.stores.errors import CorruptStore, StoreError

BUSY_TIMEOUT_S = 10.0
FULL_BYTES = 1 << 16
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
"""SQLITE_ERROR is what SQL that never changes gets from a schema that is not as it was made."""
UNDECODABLE = "Could not decode to UTF-8"
"""What the module says, without a code, of a text whose bytes were changed."""

Durability = Literal["FULL", "NORMAL"]
"""`FULL`: a commit has reached the disk when it returns. `NORMAL`: a power cut may lose the last
commits but never corrupts; for what can be computed again."""


class Connection:
    """A SQLite connection that several threads may share."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, corrupt: type[CorruptStore] = CorruptStore
    ) -> None:
        self.path = path
        self._translated = _translated(path, corrupt)
        self._connection = connection
        self._lock = threading.RLock()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write inside one transaction: all of it is kept, or nothing."""
        with self._lock, self._translated:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.commit()
            except BaseException:
                self._connection.rollback()  # of a commit that failed too: a full disk leaves it open
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read several things as they stood at one moment."""
        with self._lock, self._translated:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.rollback()

    def rows(self, sql: str, parameters: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        with self._lock, self._translated:
            return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: tuple[object, ...] = ()) -> sqlite3.Row | None:
        with self._lock, self._translated:
            found: sqlite3.Row | None = self._connection.execute(sql, parameters).fetchone()
            return found

    def check(self) -> str | None:
        """What SQLite finds wrong with the file, `None` when it finds nothing."""
        found = self.rows("PRAGMA quick_check(1)")
        return None if found and found[0][0] == "ok" else str(found[0][0] if found else "no answer")

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def open_database(
    path: Path,
    migrations: Migrations,
    durability: Durability = "NORMAL",
    corrupt: type[CorruptStore] = CorruptStore,
) -> Connection:
    """Open `path` for writing, creating it and bringing its schema up to date.

    `corrupt` is raised when SQLite finds the file damaged, now or later.
    """
    with _translated(path, corrupt):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {durability}")
        database = Database(connection, execute_plugins=False)
        if migrations.pending(database):
            # One transaction: a reader, another opener and the next one after a crash see all or nothing.
            connection.execute("BEGIN IMMEDIATE")
            migrations.apply(database)
            connection.commit()
        return Connection(path, connection, corrupt)


def open_reader(path: Path, corrupt: type[CorruptStore] = CorruptStore) -> Connection:
    """Open an existing file that another process writes; nothing is created.

    Raises `StoreError` when there is none, or none with a schema yet.
    """
    if not is_made(path, corrupt):
        raise StoreError(f"{path} does not exist; it is made by the next build")
    with _translated(path, corrupt):
        connection = _connect(path)
        connection.execute("PRAGMA query_only = ON")
        return Connection(path, connection, corrupt)


def is_made(path: Path, corrupt: type[CorruptStore] = CorruptStore) -> bool:
    """Whether there is a file with a schema: one that is just being made, or whose maker died, has none."""
    if not path.exists():
        return False
    with _translated(path, corrupt), closing(_connect(path)) as connection:
        return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.row_factory = sqlite3.Row
    return connection


class _translated:  # noqa: N801 - reads as a statement; a generator costs a tenth of a small query
    """Raise what goes wrong with SQLite at `path` as an error of the stores. Knows nothing of its block."""

    __slots__ = ("_corrupt", "_path")

    def __init__(self, path: Path, corrupt: type[CorruptStore]) -> None:
        self._path, self._corrupt = path, corrupt

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, sqlite3.Error | OSError):
            return
        # The extended code's low byte is the plain one; some errors of the module itself have none.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        damaged = code in DAMAGED or str(error).startswith(UNDECODABLE)
        raised = self._corrupt if damaged else StoreError
        raise raised(f"{self._path}: {error}{_disk_full(self._path, code)}") from error


def _disk_full(path: Path, code: int) -> str:
    """What to add when it is. SQLite calls it an I/O error when the files beside a database find no room."""
    if code == sqlite3.SQLITE_FULL:
        return "; make room there"
    try:
        full = code == sqlite3.SQLITE_IOERR and shutil.disk_usage(path.parent).free < FULL_BYTES
    except OSError:
        return ""
    return " (no space left on device; make room there)" if full else ""
