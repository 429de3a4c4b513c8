"""relations.db: what the sites of files refer to, which files a tree has it of, and the way back.

Rows never change once written, so every snapshot of a repository shares them:

record      the `FileRelations` of one file, packed (`nibd.stores.relation_records`), by digest
place       a unit that targets stand in
mention     a record refers to a name in a place: the inversion, by which references are found
naming      a record has a site of this name
resolution  the relations of a family's files at a tree under a profile, as a bitmap over records
stage       a first build that goes on: what there is of a resolution that will be

So a transition writes the records of the files whose relations changed, and one bitmap. Only collection
removes rows, and only those that neither a kept resolution nor a stage holds. Stages alone are written
over, since no snapshot names one: a build that was killed finds there what it need not ask again.

One process writes, several read. Each row has a checksum, which is looked at whenever the row is read;
`CorruptRelations` is raised for one that is not as it was written, or gone: the file is a cache, to be
removed and built again. Nothing here asks a language server or knows what a target means.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NewType, TypeVar

from sqlite_utils import Database, Migrations

from nibd.stores.bitmap import Bitmap
from nibd.stores.database import Connection, is_made, open_database, open_reader
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.relation_records import RelationRecord, pack
from nibd.stores.relation_types import FileRelations, Target
from nibd.stores.types import BlobId, ProfileId, RepoPath, TreeId

RecordId = NewType("RecordId", int)
ResolutionId = NewType("ResolutionId", int)

READ_ROWS = 100
"""How many records are read at once."""
COLLECT_SEEN = 2000
COLLECT_REMOVED = 50
"""One step of a collection looks at so many records, and removes at most so many."""

migrations = Migrations("nibd.relations")

_SCHEMA = (
    # AUTOINCREMENT: who holds a bitmap of records that were collected never finds others under them.
    """CREATE TABLE record (id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL, blob TEXT NOT NULL,
        language TEXT NOT NULL, digest BLOB NOT NULL, payload BLOB NOT NULL, checksum INTEGER NOT NULL,
        UNIQUE (path, digest))""",
    """CREATE TABLE place (id INTEGER PRIMARY KEY, path BLOB NOT NULL, package TEXT NOT NULL,
        qualified TEXT NOT NULL, ordinal INTEGER NOT NULL, checksum INTEGER NOT NULL,
        UNIQUE (path, package, qualified, ordinal))""",
    """CREATE TABLE mention (place INTEGER NOT NULL, name TEXT NOT NULL, nth INTEGER NOT NULL,
        record INTEGER NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (place, name, nth, record)) WITHOUT ROWID""",
    """CREATE TABLE naming (name TEXT NOT NULL, record INTEGER NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (name, record)) WITHOUT ROWID""",
    """CREATE TABLE resolution (id INTEGER PRIMARY KEY AUTOINCREMENT, family TEXT NOT NULL,
        tree TEXT NOT NULL, profile TEXT NOT NULL, finished INTEGER NOT NULL, bits BLOB NOT NULL,
        checksum INTEGER NOT NULL)""",
    "CREATE INDEX resolution_by_tree ON resolution (tree, family, profile)",
    """CREATE TABLE stage (family TEXT NOT NULL, tree TEXT NOT NULL, profile TEXT NOT NULL,
        bits BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (family, tree, profile)) WITHOUT ROWID""",
)

T = TypeVar("T")
_Row = Sequence[Any] | sqlite3.Row


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)
    # The catalog outlives this file: no number that it may still name is used again by the next one.
    db.execute("INSERT INTO sqlite_sequence VALUES ('resolution', ?)", (time.time_ns() // 1_000_000,))


class CorruptRelations(CorruptStore):
    """relations.db is not what was written: remove it and build the relations again."""


class RelationStore:
    """One repository's relations.db. Every method may be called from any thread."""

    def __init__(self, database: Connection) -> None:
        self._db = database
        self._identity = _identity(database.path)
        self._unresolved: set[int] = set()
        """Records that were given out and are in no resolution yet: not to be collected."""

    @staticmethod
    def open(path: Path) -> RelationStore:
        """For the one process that writes it. What is committed is on disk: snapshots name it."""
        return RelationStore(open_database(path, migrations, "FULL", CorruptRelations))

    @staticmethod
    def open_reader(path: Path) -> RelationStore:
        return RelationStore(open_reader(path, CorruptRelations))

    @staticmethod
    def is_made(path: Path) -> bool:
        """Whether there is a store to be read."""
        return is_made(path, CorruptRelations)

    def close(self) -> None:
        self._db.close()

    def is_in_place(self) -> bool:
        """Whether the file is still the one that was opened: neither deleted nor replaced."""
        return _identity(self._db.path) == self._identity

    # What is written

    def add(self, files: Iterable[FileRelations]) -> list[RecordId]:
        """Store relations where they are new; give the records of all.

        They stay, until a resolution or a stage holds them, for as long as this store is open.
        """
        packed = [pack(file) for file in files]
        with self._writing() as db:
            return self._records(db, packed)

    def add_resolution(
        self, family: str, tree: TreeId, profile: ProfileId, bits: Bitmap, *, finished: bool = True
    ) -> ResolutionId:
        """Store that `bits` are the records of the family's files at `tree`; an equal one is used again.

        One that is not `finished` lacks files, and is not found again by its tree. One that is ends the
        stage of the same tree.
        """
        key = (family, tree, profile)
        with self._writing() as db:
            newest = db.execute(f"{_RESOLUTIONS} ORDER BY id DESC LIMIT 1", (*key, finished)).fetchone()
            if finished:
                db.execute(f"DELETE FROM stage WHERE {_KEY}", key)
            self._unresolved = {record for record in self._unresolved if record not in bits}
            if newest and self._checked(newest, "resolution")[5] == bits.data:
                return ResolutionId(newest[0])
            number = _next_id(db, "resolution")
            _insert(db, "resolution", [(number, *key, int(finished), bits.data)])
            return ResolutionId(number)

    def stage(
        self,
        family: str,
        tree: TreeId,
        profile: ProfileId,
        files: Iterable[FileRelations],
        stored: Iterable[int] = (),
    ) -> list[RecordId]:
        """Keep what a first build has of its resolution so far: `files`, and records that are `stored`."""
        packed, key = [pack(file) for file in files], (family, tree, profile)
        with self._writing() as db:
            rows = self._records(db, packed)
            bits = self._staged(db.execute(_STAGE, key).fetchone()).changed(add=[*rows, *stored])
            db.execute(f"DELETE FROM stage WHERE {_KEY}", key)
            _insert(db, "stage", [(*key, bits.data)])
            self._unresolved = {record for record in self._unresolved if record not in bits}
            return rows

    def unstage(self, family: str, tree: TreeId, profile: ProfileId) -> None:
        """Give up a first build."""
        with self._writing() as db:
            db.execute(f"DELETE FROM stage WHERE {_KEY}", (family, tree, profile))

    # What is read

    def resolution(self, resolution: ResolutionId) -> Bitmap:
        row = self._db.row(f"SELECT {_RESOLUTION} FROM resolution WHERE id = ?", (resolution,))
        if row is None:
            raise CorruptRelations(f"{self._db.path}: resolution {resolution} is missing")
        return Bitmap(self._checked(row, "resolution")[5])

    def find_resolution(self, family: str, tree: TreeId, profile: ProfileId) -> ResolutionId | None:
        """The newest finished resolution of this tree that is still kept."""
        key = (family, tree, profile)
        row = self._db.row(f"{_RESOLUTIONS} ORDER BY id DESC LIMIT 1", (*key, 1))
        if row is None:
            return None
        number, *found = self._checked(row, "resolution")
        self._require(tuple(found[:3]) == key, "the index of resolution")
        return ResolutionId(number)

    def staged(self, family: str, tree: TreeId, profile: ProfileId) -> Bitmap:
        """What a first build that was not finished has; nothing when there is none."""
        return self._staged(self._db.row(_STAGE, (family, tree, profile)))

    def stages(self) -> list[tuple[str, TreeId, ProfileId]]:
        """The first builds that were not finished."""
        rows = self._db.rows(f"SELECT {_STAGE_COLUMNS} FROM stage")
        return [(key[0], TreeId(key[1]), ProfileId(key[2])) for key in self._all_checked(rows, "stage")]

    def records(self, ids: Iterable[int]) -> Iterator[tuple[RecordId, FileRelations]]:
        """The relations of these records, in the order given."""
        for record, packed in self.packed(ids):
            yield record, self._read(packed.file)

    def packed(self, ids: Iterable[int]) -> Iterator[tuple[RecordId, RelationRecord]]:
        """As `records`, each to be unpacked as far as it is asked."""
        for batch in _batches(ids, READ_ROWS):
            marks = ",".join("?" * len(batch))
            rows = self._db.rows(f"SELECT {_RECORD} FROM record WHERE id IN ({marks})", tuple(batch))
            found = {row[0]: row for row in rows}
            for record in batch:
                yield RecordId(record), self._record(found.get(record), record)

    def record_at(self, bits: Bitmap, path: RepoPath) -> RecordId | None:
        """The record that `bits` has of the file at `path`."""
        rows = self._db.rows("SELECT id FROM record WHERE path = ?", (path,))
        return next((RecordId(row[0]) for row in rows if row[0] in bits), None)

    def packed_at(self, bits: Bitmap, path: RepoPath) -> RelationRecord | None:
        record = self.record_at(bits, path)
        if record is None:
            return None
        found = self._record(self._db.row(f"SELECT {_RECORD} FROM record WHERE id = ?", (record,)), record)
        self._require(found.path == path, "the index of record")
        return found

    def at_path(self, bits: Bitmap, path: RepoPath) -> FileRelations | None:
        """The relations that `bits` has of the file at `path`."""
        packed = self.packed_at(bits, path)
        return self._read(packed.file) if packed else None

    def mentioning(self, target: Target, bits: Bitmap) -> list[RecordId]:
        """The records of `bits` in which some site refers to `target`."""
        return self._mentions(_key(target), bits, "AND name = ? AND nth = ?", (target.name, target.nth))

    def mentioning_symbol(self, path: RepoPath, qualified: str, ordinal: int, bits: Bitmap) -> list[RecordId]:
        """As `mentioning`, of any name in this unit."""
        return self._mentions((path, "", qualified, ordinal), bits)

    def mentioning_file(self, path: RepoPath, bits: Bitmap, package: str = "") -> list[RecordId]:
        """As `mentioning`, of anything in this file."""
        return self._mentions((path, package), bits)

    def naming(self, names: Iterable[str], bits: Bitmap) -> list[RecordId]:
        """The records of `bits` that have a site with one of these names."""
        found: set[int] = set()
        for batch in _batches(sorted(set(names)), READ_ROWS):
            marks = ",".join("?" * len(batch))
            sql = f"SELECT name, record, checksum FROM naming WHERE name IN ({marks})"
            found |= self._in(bits, self._db.rows(sql, tuple(batch)), "naming")
        return [RecordId(record) for record in sorted(found)]

    # What is collected

    def collect(
        self, keep: Iterable[ResolutionId], interrupt: Callable[[], None] = lambda: None
    ) -> dict[str, int]:
        """Remove the resolutions that are not to be kept, and what nothing else holds; count it.

        `interrupt` is called between steps, each of which is a transaction, and may raise: what was
        removed by then is removed, and the next collection does the rest. Other threads may write
        meanwhile; resolutions go first, and what is not in `keep` by then goes with them.
        """
        removed = Counter({"resolutions": self._drop_resolutions(set(keep))} | _NOTHING)
        after: tuple[bytes, bytes] | None = (b"", b"")
        while after:
            interrupt()
            with self._writing() as db:
                after = self._collect_step(db, after, removed)
        return dict(removed)

    def check(self) -> str | None:
        return self._db.check()

    def _records(
        self, db: sqlite3.Connection, packed: Iterable[tuple[RelationRecord, bytes]]
    ) -> list[RecordId]:
        rows = []
        for record, digest in packed:
            found = db.execute(_FIND_RECORD, (record.path, digest)).fetchone()
            rows.append(RecordId(found[0]) if found else self._insert_record(db, record, digest))
        self._unresolved.update(rows)
        return rows

    def _insert_record(self, db: sqlite3.Connection, record: RelationRecord, digest: bytes) -> RecordId:
        number = _next_id(db, "record")
        content = (record.path, record.blob, record.language, digest, record.payload)
        _insert(db, "record", [(number, *content)])
        places: dict[tuple[Any, ...], int] = {}
        for key in map(_key, record.targets):
            if key not in places:
                places[key] = _find_place(db, key) or _insert_place(db, key)
        _insert(db, "mention", [(places[_key(t)], t.name, t.nth, number) for t in record.targets])
        _insert(db, "naming", [(name, number) for name in record.names])
        return RecordId(number)

    def _mentions(
        self, place: tuple[Any, ...], bits: Bitmap, where: str = "", values: tuple[Any, ...] = ()
    ) -> list[RecordId]:
        """Of the places that begin with `place`, in the order of `_PLACE_KEY`."""
        condition = " AND ".join(f"{column} = ?" for column in _PLACE_KEY[: len(place)])
        rows = self._db.rows(f"{_MENTIONS} {condition}) {where}", (*place, *values))
        places = {tuple(row[5:]) for row in rows}
        for found in self._all_checked(places, "place"):
            self._require(tuple(found[1 : 1 + len(place)]) == place, "the index of place")
        return [RecordId(record) for record in sorted(self._in(bits, [row[:5] for row in rows], "mention"))]

    def _in(self, bits: Bitmap, rows: Iterable[_Row], table: str) -> set[int]:
        """The records (the last column but one) of those rows that are about `bits`."""
        return {self._checked(row, table)[-1] for row in rows if row[-2] in bits}

    def _record(self, row: _Row | None, record: int) -> RelationRecord:
        if row is None:
            raise CorruptRelations(f"{self._db.path}: record {record} is missing")
        _, path, blob, language, _, payload = self._checked(row, "record")
        return RelationRecord(RepoPath(path), BlobId(blob), language, payload)

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except ValueError as error:
            raise CorruptRelations(f"{self._db.path}: {error}") from error

    def _staged(self, row: _Row | None) -> Bitmap:
        return Bitmap(self._checked(row, "stage")[3]) if row else Bitmap()

    def _checked(self, row: _Row, table: str) -> Sequence[Any]:
        """The row without its checksum, its last column."""
        *values, checksum = row
        self._require(_checksum(tuple(values)) == checksum, f"a row of {table}")
        return values

    def _require(self, is_sound: bool, what: str) -> None:
        if not is_sound:
            raise CorruptRelations(f"{self._db.path}: {what} is damaged")

    def _all_checked(self, rows: Iterable[_Row], table: str) -> list[Sequence[Any]]:
        return [self._checked(row, table) for row in rows]

    def _drop_resolutions(self, keep: Collection[ResolutionId]) -> int:
        with self._writing() as db:
            dead = [(row[0],) for row in db.execute("SELECT id FROM resolution") if row[0] not in keep]
            db.executemany("DELETE FROM resolution WHERE id = ?", dead)
        return len(dead)

    def _collect_step(
        self, db: sqlite3.Connection, after: tuple[bytes, bytes], removed: Counter[str]
    ) -> tuple[bytes, bytes] | None:
        """Look on behind the record `after`, given by path and digest; the last one seen, if any.

        What is held is looked at in each step anew, since another thread may have written between two.
        """
        rows = db.execute(_RECORDS_AFTER, (*after, COLLECT_SEEN)).fetchall()
        held = self._held(db)
        dead = list(islice((row for row in rows if row[2] not in held), COLLECT_REMOVED))
        for row in dead:
            removed.update(self._remove(db, row[2]))
        if not rows:
            return None
        last = dead[-1] if len(dead) == COLLECT_REMOVED else rows[-1]
        return last[0], last[1]

    def _held(self, db: sqlite3.Connection) -> Bitmap:
        held = Bitmap.of(self._unresolved)
        for row in self._all_checked(db.execute(f"SELECT {_RESOLUTION} FROM resolution"), "resolution"):
            held = held.union(Bitmap(row[5]))
        for row in self._all_checked(db.execute(f"SELECT {_STAGE_COLUMNS} FROM stage"), "stage"):
            held = held.union(Bitmap(row[3]))
        return held

    def _remove(self, db: sqlite3.Connection, number: int) -> dict[str, int]:
        """Remove a record, what inverts it, and the places that no other record mentions."""
        row = db.execute(f"SELECT {_RECORD} FROM record WHERE id = ?", (number,)).fetchone()
        record = self._record(row, number)
        targets, names = self._read(lambda: (record.targets, record.names))
        places = {key: _find_place(db, key) for key in map(_key, targets)}
        mentions = [(places[_key(t)], t.name, t.nth, number) for t in targets]
        db.executemany("DELETE FROM mention WHERE (place, name, nth, record) = (?, ?, ?, ?)", mentions)
        db.executemany("DELETE FROM naming WHERE (name, record) = (?, ?)", [(name, number) for name in names])
        gone = db.executemany(_REMOVE_PLACE, [(place,) for place in places.values()]).rowcount
        db.execute("DELETE FROM record WHERE id = ?", (number,))
        return {"records": 1, "mentions": len(mentions), "places": max(gone, 0)}

    def _writing(self) -> Any:
        if not self.is_in_place():  # an unlinked file would take writes that no one ever finds
            raise StoreError(f"{self._db.path} was removed or replaced while open; open it again")
        return self._db.transaction()


_RECORD = "id, path, blob, language, digest, payload, checksum"
_FIND_RECORD = "SELECT id FROM record WHERE path = ? AND digest = ?"
_RECORDS_AFTER = """SELECT path, digest, id FROM record WHERE (path, digest) > (?, ?)
    ORDER BY path, digest LIMIT ?"""
_PLACE = "SELECT id FROM place WHERE path = ? AND package = ? AND qualified = ? AND ordinal = ?"
_REMOVE_PLACE = "DELETE FROM place WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM mention WHERE place = ?1)"
_PLACE_KEY = ("path", "package", "qualified", "ordinal")
_MENTIONS = """SELECT m.place, m.name, m.nth, m.record, m.checksum,
    p.id, p.path, p.package, p.qualified, p.ordinal, p.checksum
    FROM mention m JOIN place p ON p.id = m.place WHERE m.place IN (SELECT id FROM place WHERE"""
_KEY = "family = ? AND tree = ? AND profile = ?"
_RESOLUTION = "id, family, tree, profile, finished, bits, checksum"
_RESOLUTIONS = f"SELECT {_RESOLUTION} FROM resolution WHERE {_KEY} AND finished = ?"
_STAGE_COLUMNS = "family, tree, profile, bits, checksum"
_STAGE = f"SELECT {_STAGE_COLUMNS} FROM stage WHERE {_KEY}"


_NOTHING = {"records": 0, "mentions": 0, "places": 0}


def _next_id(db: sqlite3.Connection, table: str) -> int:
    """The number that AUTOINCREMENT would give: the checksum of a row covers it."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return int(row[0]) + 1 if row else 1


def _key(target: Target) -> tuple[Any, ...]:
    """Of the place that it stands in: `_PLACE_KEY`."""
    return (target.path, target.package, target.qualified, target.ordinal)


def _find_place(db: sqlite3.Connection, key: tuple[Any, ...]) -> int | None:
    row = db.execute(_PLACE, key).fetchone()
    return int(row[0]) if row else None


def _insert_place(db: sqlite3.Connection, key: tuple[Any, ...]) -> int:
    number = int(db.execute("SELECT coalesce(max(id), 0) + 1 FROM place").fetchone()[0])
    _insert(db, "place", [(number, *key)])
    return number


def _checksum(values: tuple[object, ...]) -> int:
    """Of a row's other columns, which are what SQLite gives back. Long ones come last, as bytes."""
    last = values[-1]
    if isinstance(last, bytes):
        return zlib.crc32(last, zlib.crc32(repr(values[:-1]).encode()))
    return zlib.crc32(repr(values).encode())


def _insert(db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of all columns but the checksum, which is the last."""
    if rows:
        marks = ", ".join("?" * (len(rows[0]) + 1))
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", [(*row, _checksum(row)) for row in rows])


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - on a hot path, and twice as fast
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
