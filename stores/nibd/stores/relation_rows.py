"""Rows of relations.db: the tables, how a row is written with its checksum, the keys of the inversion.

What the tables hold is told in `relations`, which reads and writes them.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sqlite_utils import Database, Migrations

from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Target

Mention = tuple[int, int, int]
"""The file, unit and name of a target, as checksums."""
Row = Sequence[Any] | sqlite3.Row
RECORD = "id, path, blob, language, digest, payload, checksum"

migrations = Migrations("nibd.relations")

_SCHEMA = (
    # AUTOINCREMENT: who holds a bitmap of records that were collected never finds others under them.
    """CREATE TABLE record (id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL, blob TEXT NOT NULL,
        language TEXT NOT NULL, digest BLOB NOT NULL, payload BLOB NOT NULL, checksum INTEGER NOT NULL,
        UNIQUE (path, digest))""",
    "CREATE TABLE file (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE)",
    """CREATE TABLE mention (target_file INTEGER NOT NULL, target_unit INTEGER NOT NULL,
        target_name INTEGER NOT NULL, file INTEGER NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (target_file, target_unit, target_name, file)) WITHOUT ROWID""",
    """CREATE TABLE naming (name INTEGER NOT NULL, file INTEGER NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (name, file)) WITHOUT ROWID""",
    """CREATE TABLE resolution (id INTEGER PRIMARY KEY AUTOINCREMENT, family TEXT NOT NULL,
        tree TEXT NOT NULL, profile TEXT NOT NULL, finished INTEGER NOT NULL, bits BLOB NOT NULL,
        checksum INTEGER NOT NULL)""",
    "CREATE INDEX resolution_by_tree ON resolution (tree, family, profile)",
    """CREATE TABLE stage (family TEXT NOT NULL, tree TEXT NOT NULL, profile TEXT NOT NULL,
        bits BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (family, tree, profile)) WITHOUT ROWID""",
)


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)
    # The catalog outlives this file: no number that it may still name is used again by the next one.
    db.execute("INSERT INTO sqlite_sequence VALUES ('resolution', ?)", (time.time_ns() // 1_000_000,))


@migrations()
def m002_fresh_stages(db: Database) -> None:
    # A stage is worth the time that it took; of one that does not say who was asked, nothing is known.
    db.execute("DROP TABLE stage")
    db.execute(
        """CREATE TABLE stage (family TEXT NOT NULL, tree TEXT NOT NULL, profile TEXT NOT NULL,
           fresh INTEGER NOT NULL, bits BLOB NOT NULL, checksum INTEGER NOT NULL,
           PRIMARY KEY (family, tree, profile)) WITHOUT ROWID"""
    )


@migrations()
def m003_unknown(db: Database) -> None:
    db.execute(
        """CREATE TABLE unknown (record INTEGER PRIMARY KEY, unanswered INTEGER NOT NULL,
           unbuilt INTEGER NOT NULL, checksum INTEGER NOT NULL)"""
    )
    for number, path, blob, language, _, payload, _ in db.execute(f"SELECT {RECORD} FROM record"):
        with suppress(ValueError):  # a damaged one is found when it is read
            insert_unknown(db.conn, number, RelationRecord(path, blob, language, payload))


def next_id(db: sqlite3.Connection, table: str) -> int:
    """The number that AUTOINCREMENT would give: the checksum of a row covers it."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return int(row[0]) + 1 if row else 1


def mention_key(target: Target) -> Mention:
    """By which `mention` finds it: equal ones have equal keys, and so may others."""
    return (
        zlib.crc32(target.path, name_key(target.package)),
        name_key(f"{target.ordinal} {target.qualified}"),
        name_key(f"{target.nth} {target.name}"),
    )


def name_key(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogatepass"))


def inverted(record: RelationRecord) -> tuple[set[Mention], set[int]]:
    """What `mention` and `naming` say of a record."""
    return set(map(mention_key, record.targets)), set(map(name_key, record.names))


def insert_unknown(db: sqlite3.Connection, number: int, record: RelationRecord) -> None:
    if record.unknown:
        insert(db, "unknown", [(number, record.unknown - record.unbuilt, record.unbuilt)])


def checksum_of(values: tuple[object, ...]) -> int:
    """Of a row's other columns, which are what SQLite gives back. Long ones come last, as bytes."""
    last = values[-1]
    if isinstance(last, bytes):
        return zlib.crc32(last, zlib.crc32(repr(values[:-1]).encode()))
    return zlib.crc32(repr(values).encode())


def insert(db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of all columns but the checksum, which is the last."""
    _insert_by("INSERT", db, table, rows)


def insert_new(db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """As `insert`, but for those that are there."""
    _insert_by("INSERT OR IGNORE", db, table, rows)


def _insert_by(verb: str, db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * (len(rows[0]) + 1))
        db.executemany(f"{verb} INTO {table} VALUES ({marks})", [(*row, checksum_of(row)) for row in rows])
