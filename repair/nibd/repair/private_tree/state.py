"""state.db: what nibd wrote into a private tree, and the move that is under way.

A *record* is a path of the tree with its entry in Git and the size and modification time that its
file got, or the reason why it was left out. The *journal* holds the paths that a move may touch, from
before the first is touched until all are on record; so a journal that is not empty means that a move
was cut off, and names all that may be other than recorded. A move's *stamp* is the modification time
of what it writes. It is on record before anything is written and only ever grows, so no file gets a
time that it, or another under its name, had before.

It outlives the process, not a power cut: there file and record may part. Hence the name of the boot,
and the form in which files were written: after another one nothing on record is taken on trust.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database, Migrations

from nibd.repair.git.types import TreeEntry
from nibd.repair.private_tree.types import LeftOut, Placement, PlacementKind
from nibd.stores.database import Connection, open_database
from nibd.stores.types import EMPTY_TREE, BlobId, RepoPath, TreeId

migrations = Migrations("nibd.private_tree")

_SCHEMA = (
    "CREATE TABLE held (tree TEXT NOT NULL, stamp_ns INTEGER NOT NULL, boot TEXT NOT NULL)",
    """CREATE TABLE record (path BLOB PRIMARY KEY, mode INTEGER NOT NULL, blob TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, left_out TEXT) WITHOUT ROWID""",
    "CREATE INDEX record_left_out ON record (left_out) WHERE left_out IS NOT NULL",
    "CREATE TABLE journal (path BLOB PRIMARY KEY, was_there INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE placed (path BLOB PRIMARY KEY, kind TEXT NOT NULL, content BLOB NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL) WITHOUT ROWID""",
)
_PUT_RECORD = "INSERT OR REPLACE INTO record VALUES (?,?,?,?,?,?)"
_PUT_PLACED = "INSERT OR REPLACE INTO placed VALUES (?,?,?,?,?)"
_RECORD = "SELECT path, mode, blob, size, mtime_ns, left_out FROM record"


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)
    db.execute("INSERT INTO held VALUES (?, 0, '')", [EMPTY_TREE])


@dataclass(frozen=True, slots=True)
class Record:
    """`size_bytes` and `mtime_ns` are 0 for what is not a file or symlink on disk."""

    entry: TreeEntry
    left_out: LeftOut | None = None
    size_bytes: int = 0
    mtime_ns: int = 0

    @property
    def is_there(self) -> bool:
        return self.left_out is None


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement with what its file got; `mtime_ns` is negative until it is made."""

    placement: Placement
    size_bytes: int = 0
    mtime_ns: int = -1


class State:
    """The record of one private tree, in the one process that moves it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> State:
        return cls(open_database(path, migrations))

    def close(self) -> None:
        self._connection.close()

    def check(self) -> str | None:
        """What is wrong with the file, `None` when nothing is found."""
        return self._connection.check()

    @property
    def tree(self) -> TreeId:
        """The tree that the last finished move led to."""
        return TreeId(str(self._held("tree")))

    @property
    def boot(self) -> str:
        return str(self._held("boot"))

    def journal(self) -> dict[RepoPath, bool]:
        """The paths of an unfinished move, each with whether something was there before it."""
        rows = self._connection.rows("SELECT path, was_there FROM journal")
        return {RepoPath(row["path"]): bool(row["was_there"]) for row in rows}

    def next_stamp(self, now_ns: int, step_ns: int) -> int:
        """A modification time later than every one before."""
        stamp = max(now_ns // step_ns * step_ns, int(self._held("stamp_ns")) + step_ns)
        with self._connection.transaction() as write:
            write.execute("UPDATE held SET stamp_ns = ?", (stamp,))
        return stamp

    def begin(self, paths: Mapping[RepoPath, bool]) -> None:
        """Journal the paths of a move; those that stand there from an unfinished one stay as they are."""
        with self._connection.transaction() as write:
            write.executemany("INSERT OR IGNORE INTO journal VALUES (?, ?)", paths.items())

    def note(self, records: Iterable[Record], gone: Iterable[RepoPath] = ()) -> None:
        """Record what was written and what was removed."""
        with self._connection.transaction() as write:
            write.executemany("DELETE FROM record WHERE path = ?", ((path,) for path in gone))
            write.executemany(_PUT_RECORD, (_row(record) for record in records))

    def finish(self, tree: TreeId, boot: str) -> None:
        with self._connection.transaction() as write:
            write.execute("UPDATE held SET tree = ?, boot = ?", (tree, boot))
            write.execute("DELETE FROM journal")

    def records(self) -> dict[RepoPath, Record]:
        return {RepoPath(row["path"]): _record(row) for row in self._connection.rows(_RECORD)}

    def record(self, path: RepoPath) -> Record | None:
        row = self._connection.row(f"{_RECORD} WHERE path = ?", (path,))
        return None if row is None else _record(row)

    def left_out(self) -> dict[LeftOut, int]:
        """How many paths are left out, by reason."""
        rows = self._connection.rows(
            "SELECT left_out, count(*) AS number FROM record WHERE left_out IS NOT NULL GROUP BY left_out"
        )
        return {LeftOut(row["left_out"]): row["number"] for row in rows}

    def missing(self) -> list[TreeEntry]:
        """Entries whose object could not be had."""
        rows = self._connection.rows(f"{_RECORD} WHERE left_out = ?", (LeftOut.MISSING_OBJECT,))
        return [_record(row).entry for row in rows]

    def holds_below(self, folder: RepoPath) -> bool:
        """Whether a record's path is inside `folder`."""
        row = self._connection.row(
            "SELECT 1 FROM record WHERE path > ? AND path < ? LIMIT 1", (folder + b"/", folder + b"0")
        )
        return row is not None

    def placed(self) -> dict[RepoPath, Placed]:
        rows = self._connection.rows("SELECT * FROM placed")
        return {
            RepoPath(row["path"]): Placed(
                Placement(PlacementKind(row["kind"]), row["content"]), row["size"], row["mtime_ns"]
            )
            for row in rows
        }

    def note_placed(self, placed: Mapping[RepoPath, Placed], gone: Collection[RepoPath] = ()) -> None:
        with self._connection.transaction() as write:
            write.executemany("DELETE FROM placed WHERE path = ?", ((path,) for path in gone))
            write.executemany(
                _PUT_PLACED,
                (
                    (path, each.placement.kind, each.placement.content, each.size_bytes, each.mtime_ns)
                    for path, each in placed.items()
                ),
            )

    def _held(self, column: str) -> str | int:
        row = self._connection.row(f"SELECT {column} FROM held")
        assert row is not None
        value: str | int = row[0]
        return value


def _row(record: Record) -> tuple[bytes, int, str, int, int, str | None]:
    entry = record.entry
    return entry.path, entry.mode, entry.blob, record.size_bytes, record.mtime_ns, record.left_out


def _record(row: sqlite3.Row) -> Record:
    entry = TreeEntry(RepoPath(row["path"]), row["mode"], BlobId(row["blob"]))
    reason = row["left_out"]
    return Record(entry, LeftOut(reason) if reason else None, row["size"], row["mtime_ns"])
