"""structure.db: which files each tree holds, their units, and who imports what.

Rows never change once written, so every snapshot of a repository shares them:

source    what facts say of one blob in one language by one extractor; its units and imports, and the
          first line that the parser can't make out (of few: those are *broken*)
file      one path with one blob and what was made of it under one profile (a source, or a skip)
listing   which file rows a tree holds, as a bitmap; a commit's listing is its parent's with the
          bits of the changed files turned

A listing is the base of every view: the difference of two listings is what a view has to repair.
Only collection removes rows, and only those that no listing holds. No file or listing gets the number of
one that was removed.

Each row has a checksum, which is looked at whenever the row is read; `CorruptStructure` is raised for one
that is not as it was written. Not so for the numbers of `counts`, the yes or no of `holds_text` and
`without_source`, `modules`, `paths` and `with_kinds`: they read a column or two of very many rows.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NewType

from sqlite_utils import Database, Migrations

from nibd.stores.batches import batches
from nibd.stores.bitmap import Bitmap
from nibd.stores.database import Connection, open_database, open_reader
from nibd.stores.errors import CorruptStructure
from nibd.stores.types import BlobId, Facts, FileVersion, Import, Level, ProfileId, RepoPath, Skip, TextId

FileRow = NewType("FileRow", int)
ListingId = NewType("ListingId", int)

migrations = Migrations("nibd.structure")


SCHEMA = (
    """CREATE TABLE source (id INTEGER PRIMARY KEY, blob TEXT NOT NULL, language TEXT NOT NULL,
        extractor TEXT NOT NULL, lines INTEGER NOT NULL, checksum INTEGER NOT NULL,
        UNIQUE (blob, language, extractor))""",
    """CREATE TABLE unit (source INTEGER NOT NULL, ordinal INTEGER NOT NULL, level INTEGER NOT NULL,
        kind TEXT NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL, start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL, parent INTEGER, text_id BLOB, checksum INTEGER NOT NULL,
        PRIMARY KEY (source, ordinal)) WITHOUT ROWID""",
    # People type names in any case; all else compares byte by byte.
    "CREATE INDEX unit_by_name ON unit (name COLLATE NOCASE)",
    "CREATE INDEX unit_by_text ON unit (text_id)",
    """CREATE TABLE import (source INTEGER NOT NULL, ordinal INTEGER NOT NULL, module TEXT NOT NULL,
        start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (source, ordinal)) WITHOUT ROWID""",
    """CREATE TABLE file (id INTEGER PRIMARY KEY, path BLOB NOT NULL, blob TEXT NOT NULL,
        mode INTEGER NOT NULL, language TEXT NOT NULL, skip TEXT NOT NULL, profile TEXT NOT NULL,
        source INTEGER, checksum INTEGER NOT NULL, UNIQUE (path, blob, mode, language, skip, profile))""",
    "CREATE INDEX file_by_source ON file (source)",
    "CREATE INDEX file_by_skip ON file (skip) WHERE skip = 'missing_object'",
    # AUTOINCREMENT: who remembers a listing by its number never finds another under it.
    """CREATE TABLE listing (id INTEGER PRIMARY KEY AUTOINCREMENT, bits BLOB NOT NULL,
        checksum INTEGER NOT NULL)""",
)


@migrations()
def m001_initial(db: Database) -> None:
    for statement in SCHEMA:
        db.execute(statement)


@migrations()
def m002_broken_lines(db: Database) -> None:
    db.execute(
        "CREATE TABLE broken (source INTEGER PRIMARY KEY, line INTEGER NOT NULL, checksum INTEGER NOT NULL)"
    )


@migrations()
def m003_collected_rows(db: Database) -> None:
    """`collected` is one row: at least the highest number that a collected file had."""
    db.execute("CREATE TABLE collected (file INTEGER NOT NULL)")
    db.execute("INSERT INTO collected SELECT coalesce(max(id), 0) FROM file")


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit as structure.db holds it, with the file it stands in."""

    file: FileVersion
    ordinal: int
    level: Level
    kind: str
    name: str
    qualified: str
    start_line: int
    end_line: int
    parent: int | None
    text_id: TextId | None

    @property
    def address_key(self) -> tuple[bytes, int, int, str]:
        return (self.file.path, self.start_line, self.end_line, self.kind)


class StructureStore:
    """One repository's structure.db. Every method may be called from any thread."""

    def __init__(self, database: Connection) -> None:
        self._db = database

    @staticmethod
    def open(path: Path) -> StructureStore:
        """For the one process that writes it. What is committed is on disk: snapshots name it."""
        return StructureStore(open_database(path, migrations, "FULL", CorruptStructure))

    @staticmethod
    def open_reader(path: Path) -> StructureStore:
        return StructureStore(open_reader(path, CorruptStructure))

    def close(self) -> None:
        self._db.close()

    # What is written

    def add(
        self,
        files: Sequence[FileVersion],
        facts: Iterable[tuple[BlobId, str, Facts]],
        *,
        extractor: str,
        profile: ProfileId,
    ) -> list[FileRow]:
        """Store `files`, and the facts of their blobs where they are new; give the files' rows.

        Facts must hold every blob that a file without a skip names, unless its source is stored.
        """
        with self._db.transaction() as db:
            for blob, language, fact in facts:
                _insert_source(db, blob, language, extractor, fact)
            next_row = int(db.execute(_NEXT_FILE).fetchone()[0])
            rows = []
            for file in files:
                rows.append(_file_row(db, file, extractor, profile, next_row))
                next_row = max(next_row, rows[-1] + 1)
            return rows

    def without_source(self, files: Iterable[FileVersion], extractor: str) -> set[tuple[BlobId, str]]:
        """Which blobs (with their language) of `files` have units that are not stored yet."""
        wanted = {(file.blob, file.language) for file in files if file.skip is None}
        return {
            (blob, language)
            for blob, language in wanted
            if self._db.row(_FIND_SOURCE, (blob, language, extractor)) is None
        }

    def add_listing(self, bits: Bitmap) -> ListingId:
        with self._db.transaction() as db:
            cursor = db.execute(
                "INSERT INTO listing (bits, checksum) VALUES (?, ?)", (bits.data, zlib.crc32(bits.data))
            )
            return ListingId(int(cursor.lastrowid or 0))

    # What is read

    def listing(self, listing: ListingId) -> Bitmap:
        row = self._db.row("SELECT bits, checksum FROM listing WHERE id = ?", (listing,))
        if row is None or zlib.crc32(row["bits"]) != row["checksum"]:
            raise CorruptStructure(f"{self._db.path}: listing {listing} is {'damaged' if row else 'missing'}")
        return Bitmap(row["bits"])

    def known(self, path: RepoPath, blob: BlobId, mode: int, profile: ProfileId) -> list[FileVersion]:
        """What was made of this content at this path before."""
        sql = f"SELECT {_FILE} FROM file WHERE path = ? AND blob = ? AND mode = ? AND profile = ?"
        return [self._file(row) for row in self._db.rows(sql, (path, blob, mode, profile))]

    def at_path(self, listing: Bitmap, path: RepoPath) -> tuple[FileRow, FileVersion] | None:
        """The file that the tree of `listing` has at `path`."""
        for row in self._db.rows(f"SELECT {_FILE} FROM file WHERE path = ?", (path,)):
            if row["id"] in listing:
                return FileRow(row["id"]), self._file(row)
        return None

    def files(self, rows: Iterable[int]) -> Iterator[tuple[FileRow, FileVersion]]:
        """The files of these rows, in the order given."""
        for batch in batches(rows, 500):
            marks = ",".join("?" * len(batch))
            found = {
                row["id"]: self._file(row)
                for row in self._db.rows(f"SELECT {_FILE} FROM file WHERE id IN ({marks})", tuple(batch))
            }
            if len(found) != len(batch):
                raise CorruptStructure(f"{self._db.path}: {len(batch) - len(found)} listed files are missing")
            yield from ((FileRow(row), found[row]) for row in batch)

    def paths(self, rows: Iterable[int]) -> Iterator[tuple[FileRow, RepoPath, str]]:
        """The paths of those of these files that have units, with their languages, in no order."""
        for batch in batches(rows, 500):
            marks = ",".join("?" * len(batch))
            sql = f"SELECT id, path, language FROM file WHERE id IN ({marks}) AND skip = ''"
            yield from ((FileRow(r[0]), RepoPath(r[1]), r[2]) for r in self._db.rows(sql, tuple(batch)))

    def with_kinds(self, rows: Iterable[int], kinds: Collection[str]) -> dict[FileRow, set[Level]]:
        """Those of these files that have units of these kinds, each with the levels of these."""
        found: dict[FileRow, set[Level]] = {}
        for batch in batches(rows, 500):
            files, of_kinds = ",".join("?" * len(batch)), ",".join("?" * len(kinds))
            sql = f"""SELECT DISTINCT f.id, unit.level FROM file f JOIN unit ON unit.source = f.source
                      WHERE f.id IN ({files}) AND unit.kind IN ({of_kinds})"""
            for row, level in self._db.rows(sql, (*batch, *sorted(kinds))):
                found.setdefault(FileRow(row), set()).add(Level(level))
        return found

    def under(self, listing: Bitmap, prefix: bytes) -> Iterator[tuple[FileRow, FileVersion]]:
        """The tree's files below the folder `prefix` (`b""` for all, else ending in `/`)."""
        if prefix:
            after = prefix[:-1] + b"0"  # the byte after "/"
            sql = f"SELECT {_FILE} FROM file WHERE path >= ? AND path < ?"
            rows = self._db.rows(sql, (prefix, after))
            yield from ((FileRow(row["id"]), self._file(row)) for row in rows if row["id"] in listing)
        else:
            yield from self.files(listing)

    def in_path_order(self, rows: Bitmap, start: bytes = b"") -> Iterator[tuple[FileRow, FileVersion]]:
        """The files of these rows in the order of their paths, from `start` on; read as they are taken."""
        sql = f"SELECT {_FILE} FROM file WHERE (path, id) > (?, ?) ORDER BY path, id LIMIT 500"
        after: tuple[bytes, int] = (start, 0)
        while batch := self._db.rows(sql, after):
            yield from ((FileRow(row["id"]), self._file(row)) for row in batch if row["id"] in rows)
            after = (batch[-1]["path"], batch[-1]["id"])

    def skipped(self, listing: Bitmap, skip: Skip) -> Iterator[tuple[FileRow, FileVersion]]:
        """The tree's files that were skipped for this reason."""
        rows = self._db.rows(f"SELECT {_FILE} FROM file WHERE skip = '{skip.value}'")
        yield from ((FileRow(row["id"]), self._file(row)) for row in rows if row["id"] in listing)

    def units(self, file: FileVersion, row: FileRow) -> list[StoredUnit]:
        """The units of one file, in document order."""
        sql = f"""SELECT {_UNIT} FROM unit JOIN file f ON f.source = unit.source
                  WHERE f.id = ? ORDER BY ordinal"""
        return [self._unit(found, file) for found in self._db.rows(sql, (row,))]

    def imports(self, row: FileRow) -> list[Import]:
        sql = """SELECT i.source, ordinal, module, start_line, end_line, i.checksum
                 FROM import i JOIN file f ON f.source = i.source WHERE f.id = ? ORDER BY ordinal"""
        return [Import(*self._checked(found, "import")[2:]) for found in self._db.rows(sql, (row,))]

    def broken(self, listing: Bitmap, but: Sequence[str] = ()) -> list[tuple[FileVersion, int]]:
        """The tree's files that the parser can't make out wholly, by path, each with the first such line.

        Those of the languages `but` are left out.
        """
        sql = f"""SELECT {_BROKEN}, {_FILE_OF_UNIT} FROM broken JOIN file f ON f.source = broken.source
                  WHERE f.language NOT IN ({",".join("?" * len(but))})"""
        found = [row for row in self._db.rows(sql, tuple(but)) if row["id"] in listing]
        files = [(self._file(row[3:]), self._checked(row[:3], "broken")[1]) for row in found]
        return sorted(files, key=lambda each: each[0].path)

    def named(self, listing: Bitmap, name: str) -> list[StoredUnit]:
        """The tree's units called `name` (last component only), in any case, by address."""
        return self._joined(listing, _NAMED, name)

    def defined(self, listing: Bitmap, name: str, most: int) -> list[StoredUnit]:
        """As `named`; nothing where the tree has more than `most` of them."""
        sql = f"SELECT f.id FROM unit JOIN file f ON f.source = unit.source WHERE {_NAMED}"
        count = sum(row[0] in listing for row in self._db.rows(sql, (name,)))
        return self.named(listing, name) if 0 < count <= most else []

    def modules(self, rows: Iterable[int]) -> Iterator[tuple[FileRow, str]]:
        """What these files import, as it is written, file by file."""
        for batch in batches(rows, 500):
            marks = ",".join("?" * len(batch))
            sql = f"""SELECT f.id, i.module FROM file f JOIN import i ON i.source = f.source
                      WHERE f.id IN ({marks}) ORDER BY f.id, i.ordinal"""
            yield from ((FileRow(row[0]), row[1]) for row in self._db.rows(sql, tuple(batch)))

    def with_text(self, listing: Bitmap, text_id: TextId) -> list[StoredUnit]:
        """The tree's units whose embedded text is `text_id`, by address."""
        return self._joined(listing, "unit.text_id = ?", text_id)

    def files_with_text(self, listing: Bitmap, text_id: TextId) -> list[StoredUnit]:
        """The units of level 0 of the tree's files in which any unit has this embedded text, by address."""
        return self._joined(listing, _FILES_WITH_TEXT, text_id)

    def holds_text(self, listing: Bitmap, text_id: TextId) -> bool:
        """Whether any unit of the tree has this embedded text. Stops at the first."""
        sql = "SELECT f.id FROM unit JOIN file f ON f.source = unit.source WHERE unit.text_id = ?"
        return any(row[0] in listing for row in self._db.rows(sql, (text_id,)))

    def text_ids(self, rows: Iterable[int]) -> Iterator[tuple[FileRow, TextId]]:
        """The texts to embed of these files, each as often as it occurs."""
        for batch in batches(rows, 500):
            marks = ",".join("?" * len(batch))
            sql = f"""SELECT {_UNIT}, f.id FROM file f JOIN unit ON unit.source = f.source
                      WHERE f.id IN ({marks}) AND unit.text_id IS NOT NULL ORDER BY f.id, unit.ordinal"""
            for row in self._db.rows(sql, tuple(batch)):
                self._checked(row[: len(_UNIT_COLUMNS)], "unit")
                yield FileRow(row["id"]), TextId(row["text_id"])

    def counts(self, rows: Iterable[int]) -> dict[str, int]:
        """What these files hold: `language:L`, `skip:R` and `broken:L` count files, `units:L2` units by
        level, `lines` and `imports` themselves."""
        total: dict[str, int] = {}
        for batch in batches(rows, 500):
            marks = ",".join("?" * len(batch))
            for sql in (_COUNT_FILES, _COUNT_LINES, _COUNT_UNITS, _COUNT_IMPORTS, _COUNT_BROKEN):
                for key, count in self._db.rows(sql.format(marks=marks), tuple(batch)):
                    total[key] = total.get(key, 0) + count
        return total

    # What is collected

    def collect(self, listings: Iterable[ListingId]) -> dict[str, int]:
        """Keep these listings and what they hold, remove the rest; give the number of rows removed."""
        kept = set(listings)
        live = Bitmap()
        for listing in kept:
            live = live.union(self.listing(listing))
        with self._db.transaction() as db:
            dead_listings = [r[0] for r in db.execute("SELECT id FROM listing") if r[0] not in kept]
            db.executemany("DELETE FROM listing WHERE id = ?", [(i,) for i in dead_listings])
            dead = [r[0] for r in db.execute("SELECT id FROM file") if r[0] not in live]
            db.execute("UPDATE collected SET file = max(file, ?)", (max(dead, default=0),))
            db.executemany("DELETE FROM file WHERE id = ?", [(i,) for i in dead])
            sources = [r[0] for r in db.execute(_DEAD_SOURCES)]
            for table in ("unit", "import", "broken"):
                db.executemany(f"DELETE FROM {table} WHERE source = ?", [(i,) for i in sources])
            db.executemany("DELETE FROM source WHERE id = ?", [(i,) for i in sources])
        return {"listings": len(dead_listings), "files": len(dead), "sources": len(sources)}

    def keys(self) -> set[tuple[BlobId, str]]:
        """The blobs (with their language) whose units are stored: those whose facts are in use."""
        return {(BlobId(row[0]), row[1]) for row in self._db.rows("SELECT blob, language FROM source")}

    def check(self) -> str | None:
        return self._db.check()

    def _joined(self, listing: Bitmap, where: str, value: object) -> list[StoredUnit]:
        sql = f"""SELECT {_UNIT}, {_FILE_OF_UNIT} FROM unit JOIN file f ON f.source = unit.source
                  WHERE {where}"""
        rows = [row for row in self._db.rows(sql, (value,)) if row["id"] in listing]
        end = len(_UNIT_COLUMNS)
        found = [self._unit(row[:end], self._file(row[end:])) for row in rows]
        return sorted(found, key=lambda unit: unit.address_key)

    def _file(self, row: Sequence[Any] | sqlite3.Row) -> FileVersion:
        """Of a row of `_FILE`."""
        _, path, blob, mode, language, skip, *_ = self._checked(row, "file")
        return FileVersion(RepoPath(path), BlobId(blob), mode, language, Skip(skip) if skip else None)

    def _unit(self, row: Sequence[Any] | sqlite3.Row, file: FileVersion) -> StoredUnit:
        """Of a row of `_UNIT`."""
        _, ordinal, level, kind, name, qualified, start, end, parent, text = self._checked(row, "unit")
        text_id = None if text is None else TextId(text)
        return StoredUnit(file, ordinal, Level(level), kind, name, qualified, start, end, parent, text_id)

    def _checked(self, row: Sequence[Any] | sqlite3.Row, table: str) -> Sequence[Any]:
        """The row without its checksum, its last column."""
        *values, checksum = row
        if _checksum(tuple(values)) != checksum:
            raise CorruptStructure(f"{self._db.path}: a row of {table} is damaged")
        return values


_FILE = "id, path, blob, mode, language, skip, profile, source, checksum"
_FILE_OF_UNIT = "f.id, f.path, f.blob, f.mode, f.language, f.skip, f.profile, f.source, f.checksum"
_UNIT_COLUMNS = (
    "source", "ordinal", "level", "kind", "name", "qualified", "start_line", "end_line", "parent", "text_id",
    "checksum",
)  # fmt: skip
_UNIT = ", ".join(f"unit.{column}" for column in _UNIT_COLUMNS)
_FILES_WITH_TEXT = """unit.ordinal = 0
    AND unit.source IN (SELECT same.source FROM unit same WHERE same.text_id = ?)"""
_COUNT_FILES = """SELECT CASE skip WHEN '' THEN 'language:' || language ELSE 'skip:' || skip END AS key,
    count(*) FROM file WHERE id IN ({marks}) GROUP BY key"""
_COUNT_LINES = """SELECT 'lines', sum(s.lines) FROM file f JOIN source s ON s.id = f.source
    WHERE f.id IN ({marks}) HAVING count(*)"""
_COUNT_UNITS = """SELECT 'units:L' || level, count(*) FROM file f JOIN unit ON unit.source = f.source
    WHERE f.id IN ({marks}) GROUP BY level"""
_COUNT_IMPORTS = """SELECT 'imports', count(*) FROM file f JOIN import i ON i.source = f.source
    WHERE f.id IN ({marks}) HAVING count(*)"""
_COUNT_BROKEN = """SELECT 'broken:' || f.language AS key, count(*) FROM file f
    JOIN broken ON broken.source = f.source WHERE f.id IN ({marks}) GROUP BY key"""
_BROKEN = "broken.source, broken.line, broken.checksum"
_FIND_SOURCE = "SELECT id FROM source WHERE blob = ? AND language = ? AND extractor = ?"
# Who remembers a file by its row, as the base of an outline is, never finds another under it.
_NEXT_FILE = "SELECT 1 + max(coalesce((SELECT max(id) FROM file), 0), (SELECT file FROM collected))"
_NAMED = "unit.name = ? COLLATE NOCASE"
_DEAD_SOURCES = "SELECT id FROM source WHERE id NOT IN (SELECT source FROM file WHERE source IS NOT NULL)"


def _insert_source(db: sqlite3.Connection, blob: str, language: str, extractor: str, facts: Facts) -> None:
    key = (blob, language, extractor)
    if db.execute(_FIND_SOURCE, key).fetchone():
        return
    source = int(db.execute("SELECT coalesce(max(id), 0) + 1 FROM source").fetchone()[0])
    _insert(db, "source", [(source, *key, facts.lines)])
    _insert(
        db,
        "unit",
        [
            (
                source, ordinal, int(unit.level), unit.kind, unit.name, unit.qualified,
                unit.start_line, unit.end_line, unit.parent, text_id,
            )
            for ordinal, (unit, text_id) in enumerate(zip(facts.units, facts.text_ids, strict=True))
        ],
    )  # fmt: skip
    if facts.broken_line:
        _insert(db, "broken", [(source, facts.broken_line)])
    imports = enumerate(facts.imports)
    _insert(db, "import", [(source, n, i.module, i.start_line, i.end_line) for n, i in imports])


def _checksum(values: tuple[object, ...]) -> int:
    """Of a row's other columns, which are what SQLite gives back: no enums. Takes about 1 us."""
    return zlib.crc32(repr(values).encode())


def _insert(db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of all columns but the checksum, which is the last."""
    if rows:
        marks = ", ".join("?" * (len(rows[0]) + 1))
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", [(*row, _checksum(row)) for row in rows])


def _file_row(
    db: sqlite3.Connection, file: FileVersion, extractor: str, profile: ProfileId, next_row: int
) -> FileRow:
    """The row of `file`, which is `next_row` when it is new."""
    key = (file.path, file.blob, file.mode, file.language, file.skip.value if file.skip else "", profile)
    found = db.execute(
        """SELECT id FROM file WHERE path = ? AND blob = ? AND mode = ? AND language = ? AND skip = ?
           AND profile = ?""",
        key,
    ).fetchone()
    if found:
        return FileRow(found[0])
    source = None
    if file.skip is None:
        row = db.execute(_FIND_SOURCE, (file.blob, file.language, extractor)).fetchone()
        if row is None:
            raise KeyError(f"no facts were given for {file.path!r}")
        source = row[0]
    _insert(db, "file", [(next_row, *key, source)])
    return FileRow(next_row)
