"""relations.db: what the sites of files refer to, which files a tree has it of, and the way back.

Rows never change once written, so every snapshot of a repository shares them:

record      the `FileRelations` of one file, packed (`nibd.stores.relation_records`), by digest
file        a path that some record has
mention     some record of a file refers to this target: the inversion, by which references are found
naming      some record of a file has a site of this name
unknown     how many sites of this record are unknown, if some are
resolution  the relations of a family's files at a tree under a profile, as a bitmap over records
stage       a first build that goes on: what there is of a resolution that will be

A new version of a file mentions mostly what the one before did, so the inversion is kept by file: a
transition writes the records of the files whose relations changed, what they mention that no version
did, and one bitmap. Targets and names stand in it as checksums. Whichever records it leads to are looked
at before they are given out, so that neither makes any difference to what is found.

Only collection removes rows, and only those that neither a kept resolution nor a stage holds. Stages
alone are written over, since no snapshot names one: a build that was killed finds there what it need not
ask again. A tree has one of a family at most, that of the last profile.

One process writes, several read. Each row has a checksum, which is looked at whenever the row is read;
`CorruptRelations` is raised for one that is not as it was written, or gone: the file is a cache, to be
removed and built again. Nothing here asks a language server or knows what a target means.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NewType, TypeVar

from nibd.stores.batches import batches
from nibd.stores.bitmap import Bitmap
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.database import Connection, is_made, open_database, open_reader
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.file_identity import file_identity
from nibd.stores.relation_records import RelationRecord, pack
from nibd.stores.relation_rows import (
    RECORD,
    Mention,
    Row,
    checksum_of,
    insert,
    insert_new,
    insert_unknown,
    inverted,
    mention_key,
    migrations,
    name_key,
    next_id,
)
from nibd.stores.relation_types import FileRelations, Target
from nibd.stores.types import BlobId, ProfileId, RepoPath, TreeId

RecordId = NewType("RecordId", int)
ResolutionId = NewType("ResolutionId", int)

READ_ROWS = 100
"""How many records are read at once."""
CACHE_BYTES = 32 << 20
UNPACKED = 16
"""How many times as much as its payload a record takes when it is unpacked, about."""
COLLECT_FILES = 500
COLLECT_RECORDS = 50
"""One step of a collection looks at so many files, and ends with the file by which it removes so many."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UnknownSites:
    """A record of which `unanswered` sites got no answer, and `unbuilt` ones that they are that."""

    record: RecordId
    path: RepoPath
    unanswered: int
    unbuilt: int


@dataclass(frozen=True, slots=True)
class Stage:
    """What a first build that was not finished has: records, and whether all of them were asked of servers
    that were started at its tree."""

    records: Bitmap = field(default_factory=Bitmap)
    is_fresh: bool = True


class CorruptRelations(CorruptStore):
    """relations.db is not what was written: remove it and build the relations again."""


class MissingResolution(CorruptRelations):
    """What a snapshot names is not there: relations.db may have been made anew since. The rest is sound."""


class RelationStore:
    """One repository's relations.db. Every method may be called from any thread."""

    def __init__(self, database: Connection) -> None:
        self._db = database
        self._identity = file_identity(database.path)
        self._read: BoundedCache[int, RelationRecord] = BoundedCache(CACHE_BYTES)
        self._lock = threading.Lock()
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
        return file_identity(self._db.path) == self._identity

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
            if newest and self._checked(newest, "resolution")[5] == bits.data:
                number = int(newest[0])
            else:
                number = next_id(db, "resolution")
                insert(db, "resolution", [(number, *key, int(finished), bits.data)])
        self._resolved(bits)
        return ResolutionId(number)

    def stage(
        self,
        family: str,
        tree: TreeId,
        profile: ProfileId,
        files: Iterable[FileRelations],
        *,
        is_fresh: bool = False,
    ) -> list[RecordId]:
        """Keep what a first build has of its resolution so far: also `files`, asked of a fresh server or not.

        `files` take the place of what it had of the same paths. What another profile had of the tree goes.
        """
        packed, key = [pack(file) for file in files], (family, tree, profile)
        with self._writing() as db:
            rows = self._records(db, packed)
            old = [row[0] for record, _ in packed for row in db.execute(_VERSIONS, (record.path,))]
            before = self._staged(db.execute(_STAGE, key).fetchone())
            bits = before.records.changed(remove=old, add=rows)
            db.execute("DELETE FROM stage WHERE family = ? AND tree = ?", (family, tree))
            insert(db, "stage", [(*key, int(before.is_fresh and is_fresh), bits.data)])
        self._resolved(bits)
        return rows

    # What is read

    def resolution(self, resolution: ResolutionId) -> Bitmap:
        row = self._db.row(f"SELECT {_RESOLUTION} FROM resolution WHERE id = ?", (resolution,))
        if row is None:
            raise MissingResolution(f"{self._db.path}: resolution {resolution} is missing")
        return Bitmap(self._checked(row, "resolution")[5])

    def has_resolution(self, resolution: ResolutionId) -> bool:
        """Whether it is there: the file may have been made anew since somebody named it."""
        return self._db.row("SELECT 1 FROM resolution WHERE id = ?", (resolution,)) is not None

    def find_resolution(self, family: str, tree: TreeId, profile: ProfileId) -> ResolutionId | None:
        """The newest finished resolution of this tree that is still kept."""
        key = (family, tree, profile)
        row = self._db.row(f"{_RESOLUTIONS} ORDER BY id DESC LIMIT 1", (*key, 1))
        if row is None:
            return None
        number, *found = self._checked(row, "resolution")
        self._require(tuple(found[:3]) == key, "the index of resolution")
        return ResolutionId(number)

    def staged(self, family: str, tree: TreeId, profile: ProfileId) -> Stage:
        """What a first build that was not finished has; nothing when there is none."""
        return self._staged(self._db.row(_STAGE, (family, tree, profile)))

    def stages(self) -> list[tuple[str, TreeId, ProfileId]]:
        """The first builds that were not finished."""
        rows = self._db.rows(f"SELECT {_STAGE_COLUMNS} FROM stage")
        return [(key[0], TreeId(key[1]), ProfileId(key[2])) for key in self._all_checked(rows, "stage")]

    def records(self, ids: Iterable[int]) -> Iterator[tuple[RecordId, FileRelations]]:
        """The relations of these records, in the order given."""
        for record, packed in self.packed(ids):
            yield record, self._unpacked(packed.file)

    def packed(self, ids: Iterable[int]) -> Iterator[tuple[RecordId, RelationRecord]]:
        """As `records`, each to be unpacked as far as it is asked."""
        for batch in batches(ids, READ_ROWS):
            found = {record: self._read.get(record) for record in batch}
            missing = [record for record, packed in found.items() if packed is None]
            marks = ",".join("?" * len(missing))
            sql = f"SELECT {RECORD} FROM record WHERE id IN ({marks})"
            for row in self._db.rows(sql, tuple(missing)) if missing else ():
                found[row[0]] = self._record(row)
            for record in batch:
                if (packed := found[record]) is None:
                    raise CorruptRelations(f"{self._db.path}: record {record} is missing")
                yield RecordId(record), packed

    def record_at(self, bits: Bitmap, path: RepoPath) -> RecordId | None:
        """The record that `bits` has of the file at `path`."""
        rows = self._db.rows(_VERSIONS, (path,))
        return next((RecordId(row[0]) for row in rows if row[0] in bits), None)

    def packed_at(self, bits: Bitmap, path: RepoPath) -> RelationRecord | None:
        record = self.record_at(bits, path)
        if record is None:
            return None
        ((_, found),) = self.packed([record])
        self._require(found.path == path, "the index of record")
        return found

    def at_path(self, bits: Bitmap, path: RepoPath) -> FileRelations | None:
        """The relations that `bits` has of the file at `path`."""
        packed = self.packed_at(bits, path)
        return self._unpacked(packed.file) if packed else None

    def mentioning(self, target: Target, bits: Bitmap) -> list[RecordId]:
        """The records of `bits` in which some site refers to `target`."""
        return self._found(
            f"{_MENTIONS} AND target_unit = ? AND target_name = ?",
            mention_key(target),
            bits,
            lambda record: record.mentions(target),
        )

    def mentioning_symbol(self, path: RepoPath, qualified: str, ordinal: int, bits: Bitmap) -> list[RecordId]:
        """As `mentioning`, of any name in this unit of the repository."""
        place = ("", path, qualified, ordinal)
        key = mention_key(Target(*place, "", 0))[:2]
        return self._found(f"{_MENTIONS} AND target_unit = ?", key, bits, lambda r: place in r.places)

    def mentioning_file(self, path: RepoPath, bits: Bitmap, package: str = "") -> list[RecordId]:
        """As `mentioning`, of anything in this file."""
        file = (package, path)
        key = mention_key(Target(*file, "", 0, "", 0))[:1]
        return self._found(_MENTIONS, key, bits, lambda r: any(place[:2] == file for place in r.places))

    def unknown(self, bits: Bitmap) -> list[UnknownSites]:
        """The records of `bits` with sites of which nothing is known."""
        found = []
        for *row, path in self._db.rows(_UNKNOWN):
            if row[0] in bits:
                record, *counts = self._checked(row, "unknown")
                found.append(UnknownSites(RecordId(record), RepoPath(path), *counts))
        return found

    def naming(self, names: Iterable[str], bits: Bitmap) -> list[RecordId]:
        """The records of `bits` that have a site with one of these names."""
        sought, found = set(names), set[RecordId]()
        for batch in batches(sorted(sought), READ_ROWS):
            sql = f"{_NAMINGS} ({','.join('?' * len(batch))})"
            keys = tuple(map(name_key, batch))
            found.update(self._found(sql, keys, bits, lambda record: not sought.isdisjoint(record.names)))
        return sorted(found)

    # What is collected

    def abandon(self) -> None:
        """Leave what was added to collection, unless a resolution or a stage holds it: nobody is at work."""
        with self._lock:
            self._unresolved.clear()

    def collect(
        self,
        keep: Iterable[ResolutionId],
        trees: Iterable[TreeId],
        interrupt: Callable[[], None] = lambda: None,
    ) -> dict[str, int]:
        """Remove what is neither to be kept nor of one of `trees`, and what nothing else holds; count it.

        Of a tree the newest resolutions of each family and profile stay, whoever names them, and its stages.
        `interrupt` is called between steps, each of which is a transaction, and may raise: what was
        removed by then is removed, and the next collection does the rest. Other threads may write
        meanwhile; resolutions go first, and what is not in `keep` by then goes with them.
        """
        removed = Counter(self._drop_unneeded(set(keep), set(trees)) | _NOTHING)
        after: bytes | None = b""
        while after is not None:
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
        with self._lock:
            self._unresolved.update(rows)
        return rows

    def _resolved(self, bits: Bitmap) -> None:
        """What is in `bits` is held by a row from now on."""
        with self._lock:
            self._unresolved = {record for record in self._unresolved if record not in bits}

    def _insert_record(self, db: sqlite3.Connection, record: RelationRecord, digest: bytes) -> RecordId:
        number = next_id(db, "record")
        content = (record.path, record.blob, record.language, digest, record.payload)
        insert(db, "record", [(number, *content)])
        db.execute("INSERT OR IGNORE INTO file (path) VALUES (?)", (record.path,))
        (file,) = db.execute(_FILE, (record.path,)).fetchone()
        mentions, names = inverted(record)
        insert_new(db, "mention", [(*key, file) for key in mentions])
        insert_new(db, "naming", [(key, file) for key in names])
        insert_unknown(db, number, record)
        return RecordId(number)

    def _found(
        self, sql: str, key: tuple[int, ...], bits: Bitmap, is_meant: Callable[[RelationRecord], bool]
    ) -> list[RecordId]:
        """The records of `bits` that the inversion leads to, and that are meant."""
        candidates = set()
        for *row, record in self._db.rows(sql, key):
            if record in bits:
                self._checked(row, "the inversion")
                candidates.add(record)
        found = self.packed(sorted(candidates))
        return [number for number, record in found if self._unpacked(partial(is_meant, record))]

    def _record(self, row: Row) -> RelationRecord:
        number, path, blob, language, _, payload = self._checked(row, "record")
        record = RelationRecord(RepoPath(path), BlobId(blob), language, payload)
        self._read.put(number, record, len(payload) * UNPACKED)
        return record

    def _unpacked(self, unpack: Callable[[], T]) -> T:
        try:
            return unpack()
        except ValueError as error:
            raise CorruptRelations(f"{self._db.path}: {error}") from error

    def _staged(self, row: Row | None) -> Stage:
        if row is None:
            return Stage()
        *_, fresh, bits = self._checked(row, "stage")
        return Stage(Bitmap(bits), bool(fresh))

    def _checked(self, row: Row, table: str) -> Sequence[Any]:
        """The row without its checksum, its last column."""
        *values, checksum = row
        self._require(checksum_of(tuple(values)) == checksum, f"a row of {table}")
        return values

    def _require(self, is_sound: bool, what: str) -> None:
        if not is_sound:
            raise CorruptRelations(f"{self._db.path}: {what} is damaged")

    def _all_checked(self, rows: Iterable[Row], table: str) -> list[Sequence[Any]]:
        return [self._checked(row, table) for row in rows]

    def _drop_unneeded(self, keep: set[ResolutionId], trees: set[TreeId]) -> dict[str, int]:
        """Resolutions and stages. The newest of a tree may be about to be published, or to be built upon."""
        with self._writing() as db:
            newest = {row[1:]: row[0] for row in db.execute(_NEWEST)}
            stay = {*keep, *(number for key, number in newest.items() if key[1] in trees)}
            dead = [(row[0],) for row in db.execute("SELECT id FROM resolution") if row[0] not in stay]
            db.executemany("DELETE FROM resolution WHERE id = ?", dead)
            stages = [key for key in map(tuple, db.execute(_STAGE_KEYS)) if key[1] not in trees]
            db.executemany(f"DELETE FROM stage WHERE {_KEY}", stages)
        return {"resolutions": len(dead), "stages": len(stages)}

    def _collect_step(self, db: sqlite3.Connection, after: bytes, removed: Counter[str]) -> bytes | None:
        """Go on behind the path `after`; the last one done, `None` at the end.

        What is held is looked at in each step anew, since another thread may have written between two.
        """
        done, limit, held = None, removed["records"] + COLLECT_RECORDS, self._held(db)
        for (done,) in db.execute(_PATHS_AFTER, (after, COLLECT_FILES)).fetchall():
            versions = [row[0] for row in db.execute(_VERSIONS, (done,))]
            dead = [record for record in versions if record not in held]
            if dead:
                removed.update(self._remove(db, done, dead, [r for r in versions if r in held]))
            if removed["records"] >= limit:
                break
        return done

    def _held(self, db: sqlite3.Connection) -> Bitmap:
        with self._lock:
            held = Bitmap.of(self._unresolved)
        for row in self._all_checked(db.execute(f"SELECT {_RESOLUTION} FROM resolution"), "resolution"):
            held = held.union(Bitmap(row[5]))
        for row in self._all_checked(db.execute(f"SELECT {_STAGE_COLUMNS} FROM stage"), "stage"):
            held = held.union(Bitmap(row[4]))
        return held

    def _remove(
        self, db: sqlite3.Connection, path: bytes, dead: list[int], kept: list[int]
    ) -> dict[str, int]:
        """Remove records of a file, and from the inversion what only they say."""
        (file,) = db.execute(_FILE, (path,)).fetchone()
        mentions, names = self._all_inverted(dead)
        kept_mentions, kept_names = self._all_inverted(kept)
        gone = [(*key, file) for key in mentions - kept_mentions]
        db.executemany(_REMOVE_MENTION, gone)
        db.executemany(_REMOVE_NAMING, [(key, file) for key in names - kept_names])
        for table, column in (("unknown", "record"), ("record", "id")):
            db.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(record,) for record in dead])
        if not kept:
            db.execute("DELETE FROM file WHERE id = ?", (file,))
        for record in dead:
            self._read.drop(record)
        return {"records": len(dead), "mentions": len(gone)}

    def _all_inverted(self, records: Iterable[int]) -> tuple[set[Mention], set[int]]:
        mentions, names = set[Mention](), set[int]()
        for _, record in self.packed(records):
            more = self._unpacked(partial(inverted, record))
            mentions |= more[0]
            names |= more[1]
        return mentions, names

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        if not self.is_in_place():  # an unlinked file would take writes that no one ever finds
            raise StoreError(f"{self._db.path} was removed or replaced while open; open it again")
        return self._db.transaction()


_FIND_RECORD = "SELECT id FROM record WHERE path = ? AND digest = ?"
_VERSIONS = "SELECT id FROM record WHERE path = ?"
_FILE = "SELECT id FROM file WHERE path = ?"
_PATHS_AFTER = "SELECT path FROM file WHERE path > ? ORDER BY path LIMIT ?"
_MENTIONS = """SELECT target_file, target_unit, target_name, m.file, m.checksum, r.id
    FROM mention m JOIN file f ON f.id = m.file JOIN record r ON r.path = f.path WHERE target_file = ?"""
_NAMINGS = """SELECT name, n.file, n.checksum, r.id
    FROM naming n JOIN file f ON f.id = n.file JOIN record r ON r.path = f.path WHERE name IN"""
_UNKNOWN = """SELECT record, unanswered, unbuilt, u.checksum, path
    FROM unknown u JOIN record r ON r.id = u.record ORDER BY record"""
_REMOVE_MENTION = """DELETE FROM mention
    WHERE (target_file, target_unit, target_name, file) = (?, ?, ?, ?)"""
_REMOVE_NAMING = "DELETE FROM naming WHERE (name, file) = (?, ?)"
_KEY = "family = ? AND tree = ? AND profile = ?"
_RESOLUTION = "id, family, tree, profile, finished, bits, checksum"
_RESOLUTIONS = f"SELECT {_RESOLUTION} FROM resolution WHERE {_KEY} AND finished = ?"
_STAGE_COLUMNS = "family, tree, profile, fresh, bits, checksum"
_STAGE = f"SELECT {_STAGE_COLUMNS} FROM stage WHERE {_KEY}"
_NEWEST = "SELECT max(id), family, tree, profile, finished FROM resolution GROUP BY 2, 3, 4, 5"
_STAGE_KEYS = "SELECT family, tree, profile FROM stage"
_NOTHING = {"records": 0, "mentions": 0}
