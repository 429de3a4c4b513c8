"""trigrams.db: which trigrams each file row's text holds, to find what a pattern may match in.

It follows from blobs alone, and speaks of file rows (`nibd.stores.structure`), which never change; a
snapshot's listing says which of them count. So it belongs to no snapshot. A row of which it does not speak
is *uncovered* and a candidate for every pattern: a store that is missing, damaged or behind makes a search
slower, never incomplete.

text      trigrams of a blob, kept until its rows are in a segment
loose     a row that is covered by the trigrams of its blob; one without a blob has no text to be searched
segment   up to 65,536 rows with their postings (`nibd.stores.trigram_blocks`). It never changes, but that
          the numbers of rows that are no more become 0
posting   the blocks of segments

A commit adds loose rows. `fold` makes a segment of them when they are many, and one of `TIER` segments of
like size, so that there are few of either however long the history. What is damaged counts as uncovered, is
reported with the candidates, and is removed by `mend`.

One process writes, others read. Nothing here has to survive a power cut. Where SQLite itself finds the file
damaged, the writer begins a new one.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sqlite_utils import Database, Migrations

from nibd.stores import trigram_segments
from nibd.stores.bitmap import Bitmap
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.database import Connection, open_database, open_reader
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.file_identity import file_identity
from nibd.stores.trigram_blocks import MAX_DOCUMENTS, inverted
from nibd.stores.trigram_segments import BlockCache, Rows, Search, Segment, checksum
from nibd.stores.trigrams import TRIGRAMS_VERSION, Grams, Need, fulfils, unpack
from nibd.stores.types import BlobId

LOOSE_ROWS = 64
"""Past so many, a `fold` is due."""
BULK_ROWS = 2048
"""So many become a segment at once: some 5,000,000 postings, 80 MB while they are sorted."""
MOST_LOOSE_ROWS = 2 * BULK_ROWS
"""With more, a first build does not wait for a `fold`."""
TIER = 8
SLACK_PAGES = 1024
CACHE_BYTES = 4 << 20

migrations = Migrations("nibd.trigrams")

_SCHEMA = (
    """CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL,
        placings INTEGER NOT NULL, foldings INTEGER NOT NULL)""",
    f"INSERT INTO state VALUES (1, {TRIGRAMS_VERSION}, 0, 0)",
    """CREATE TABLE text (blob TEXT PRIMARY KEY, grams BLOB NOT NULL, checksum INTEGER NOT NULL)""",
    "CREATE TABLE loose (row INTEGER PRIMARY KEY, blob TEXT, checksum INTEGER NOT NULL)",
    "CREATE INDEX loose_by_blob ON loose (blob)",
    # AUTOINCREMENT: who remembers a segment by its number never finds another under it.
    """CREATE TABLE segment (id INTEGER PRIMARY KEY AUTOINCREMENT, rows BLOB NOT NULL,
        checksum INTEGER NOT NULL)""",
    """CREATE TABLE posting (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, first INTEGER NOT NULL,
        payload BLOB NOT NULL, checksum INTEGER NOT NULL, UNIQUE (segment, first))""",
)
_LOOSE = """SELECT row, loose.blob, loose.checksum, text.blob, grams, text.checksum
    FROM loose LEFT JOIN text ON text.blob = loose.blob ORDER BY row"""
_NOT_LOOSE = "NOT EXISTS (SELECT 1 FROM loose WHERE loose.blob = text.blob)"


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows whose text may fulfil a need. `uncovered` of them are there since nothing is known of them.

    `damage` says what was found damaged, if anything was; the rows are right nevertheless.
    """

    rows: Bitmap
    uncovered: int
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class _Segments:
    """What is held of the segments until a folding: their rows."""

    foldings: int
    segments: list[Segment]
    covered: Bitmap
    damage: str | None


@dataclass(frozen=True, slots=True)
class _Loose:
    """What is held of the loose rows until a placing: those that have a text, and all of them."""

    placings: int
    texts: list[tuple[int, Grams]]
    covered: Bitmap
    damage: str | None


class TrigramStore:
    """One repository's trigrams.db. Every method may be called from any thread."""

    def __init__(self, database: Connection, *, writes: bool) -> None:
        self._db = database
        self._writes = writes
        self._lock = threading.Lock()
        self._identity = file_identity(database.path)
        self._segments: _Segments | None = None
        self._loose: _Loose | None = None
        self._blocks: BlockCache = BoundedCache(CACHE_BYTES)

    @staticmethod
    def open(path: Path) -> TrigramStore:
        """For the one process that writes it. One that is damaged, or of another version, is made anew."""
        try:
            database = open_database(path, migrations)
            if _version(database) == TRIGRAMS_VERSION:
                return TrigramStore(database, writes=True)
            database.close()
        except CorruptStore:
            pass  # all of it can be made again, and is
        remove(path)
        return TrigramStore(open_database(path, migrations), writes=True)

    @staticmethod
    def open_reader(path: Path) -> TrigramStore:
        """Raises `StoreError` when there is none of this version."""
        database = open_reader(path)
        if _version(database) != TRIGRAMS_VERSION:
            database.close()
            raise StoreError(f"{path} is of another version; the next repair makes it anew")
        return TrigramStore(database, writes=False)

    def is_in_place(self) -> bool:
        """Whether the file that is open is still the one at its path."""
        return self._identity is not None and file_identity(self._db.path) == self._identity

    def close(self) -> None:
        self._db.close()

    # What is written

    def put(self, texts: Iterable[tuple[BlobId, bytes]]) -> None:
        """Keep the trigrams of blobs, as `trigrams.pack` gives them, to `place` rows that have them."""
        rows = [(blob, data, checksum(blob, data)) for blob, data in texts]
        if rows:
            with self._renewing(), self._db.transaction() as db:
                db.executemany("INSERT OR REPLACE INTO text VALUES (?, ?, ?)", rows)

    def place(self, rows: Iterable[tuple[int, BlobId | None]]) -> None:
        """Cover file rows: by the trigrams of their blob, or, without one, as rows without a text.

        Rows that are covered already, or whose blob's trigrams are not kept, are left as they are.
        """
        with self._lock, self._changing("placings") as db:
            covered = self._current_segments(db).covered
            for row, blob in rows:
                known = blob is None or db.execute("SELECT 1 FROM text WHERE blob = ?", (blob,)).fetchone()
                if known and row not in covered:
                    values = (row, blob, checksum(row, blob))
                    db.execute("INSERT OR IGNORE INTO loose VALUES (?, ?, ?)", values)
        while self._loose_count() > MOST_LOOSE_ROWS:
            self._fold_loose()

    @property
    def is_old(self) -> bool:
        """Whether a `fold` is due."""
        return self._loose_count() > LOOSE_ROWS or self._is_slack()

    def fold(self, interrupt: Callable[[], None] = lambda: None) -> None:
        """Put the loose rows into a segment, and several segments of like size into one.

        `interrupt` is called now and then; when it raises, what is finished stays. After a `mend`.
        """
        while self._loose_count():
            interrupt()
            self._fold_loose()
        while segments := self._of_like_size():
            with self._changing("foldings") as db:
                trigram_segments.merge(db, segments, interrupt)
        if self._is_slack():
            self._db.rows("VACUUM")

    def keep(self, live: Bitmap) -> None:
        """Forget all rows but `live`. To be called before the rows go: their numbers may come again.

        Not between `put` and `place`: it forgets what was put and not placed.
        """
        with self._changing("placings", "foldings") as db:
            dead = [row[0] for row in db.execute("SELECT row FROM loose") if row[0] not in live]
            db.executemany("DELETE FROM loose WHERE row = ?", [(row,) for row in dead])
            db.execute(f"DELETE FROM text WHERE {_NOT_LOOSE}")
            for segment in trigram_segments.read(db)[0]:
                rows = np.where(_are_in(segment.rows, live), segment.rows, 0)
                if not rows.any():
                    trigram_segments.delete(db, [segment.number])
                elif not np.array_equal(rows, segment.rows):
                    trigram_segments.keep_rows(db, segment, rows)

    def mend(self) -> list[str]:
        """Remove what is damaged, and name it; rows that only that covered are uncovered then.

        Reads all that is stored. Raises `CorruptStore` when SQLite can't read it.
        """
        with self._changing("placings", "foldings") as db:
            bad = {*trigram_segments.read(db)[1], *trigram_segments.damaged_postings(db)}
            trigram_segments.delete(db, bad)
            rows = db.execute("SELECT * FROM loose").fetchall()
            loose = [(row,) for row, blob, stored in rows if checksum(row, blob) != stored]
            db.executemany("DELETE FROM loose WHERE row = ?", loose)
            rows = db.execute("SELECT * FROM text").fetchall()
            texts = [(blob,) for blob, data, stored in rows if checksum(blob, data) != stored]
            db.executemany("DELETE FROM loose WHERE blob = ?", texts)
            db.executemany("DELETE FROM text WHERE blob = ?", texts)
        found = {"segments": len(bad), "loose rows": len(loose), "texts": len(texts)}
        return [f"{count} {what} of the trigrams" for what, count in found.items() if count]

    # What is read

    def covered(self) -> Bitmap:
        """The rows of which it is known what they hold."""
        with self._lock, self._renewing(), self._db.reading() as db:
            loose = Bitmap.of(row[0] for row in db.execute("SELECT row FROM loose"))
            return self._current_segments(db).covered.union(loose)

    def candidates(self, need: Need, listing: Bitmap) -> Candidates:
        """The rows of `listing` whose text may fulfil `need`. Raises `StoreError` when none can be read."""
        with self._lock, self._db.reading() as db:
            folded, loose = self._current_segments(db), self._current_loose(db)
            damage = folded.damage or loose.damage
            found = [np.array([row for row, grams in loose.texts if fulfils(grams, need)], np.uint32)]
            for segment in folded.segments:
                try:
                    found.append(segment.rows[Search(db, segment, self._blocks).fulfilling(need)])
                except CorruptStore as error:
                    found.append(segment.rows)  # each of them has to be looked at
                    damage = str(error)
        rows = np.concatenate(found)
        uncovered = listing.minus(folded.covered.union(loose.covered))
        return Candidates(_bitmap(rows[_are_in(rows, listing)]).union(uncovered), len(uncovered), damage)

    def _current_segments(self, db: sqlite3.Connection) -> _Segments:
        foldings = int(db.execute("SELECT foldings FROM state").fetchone()[0])
        if self._segments is None or self._segments.foldings != foldings:
            self._segments = _read_segments(db, foldings)
        return self._segments

    def _current_loose(self, db: sqlite3.Connection) -> _Loose:
        placings = int(db.execute("SELECT placings FROM state").fetchone()[0])
        if self._loose is None or self._loose.placings != placings:
            self._loose = _read_loose(db, placings)
        return self._loose

    def _loose_count(self) -> int:
        with self._renewing():
            return _number(self._db, "SELECT count(*) FROM loose")

    def _is_slack(self) -> bool:
        """Whether most of the file holds nothing: what a first build needed only for a while."""
        free = _number(self._db, "PRAGMA freelist_count")
        return free > SLACK_PAGES and 2 * free > _number(self._db, "PRAGMA page_count")

    @contextmanager
    def _changing(self, *what: str) -> Iterator[sqlite3.Connection]:
        """A transaction after which nobody goes on with what was held of that."""
        with self._renewing(), self._db.transaction() as db:
            yield db
            for counter in what:
                db.execute(f"UPDATE state SET {counter} = {counter} + 1")

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        """Where the writer finds the file damaged: make another, and have whoever asked try again."""
        try:
            yield
        except CorruptStore as error:
            if not self._writes:
                raise
            path = self._db.path
            self._db.close()
            remove(path)
            self._db = open_database(path, migrations)
            self._identity, self._segments, self._loose = file_identity(path), None, None
            raise StoreError(f"{error}; it was damaged and is made anew, try again") from error

    def _fold_loose(self) -> None:
        """Make a segment of the first loose rows. Damaged ones are uncovered then."""
        with self._changing("placings", "foldings") as db:
            found = db.execute(f"{_LOOSE} LIMIT ?", (BULK_ROWS,)).fetchall()
            placed = [(row[0], grams) for row in found if (grams := _grams(row)) is not None]
            if placed:
                number = trigram_segments.insert(db, np.array([row for row, _ in placed], np.uint32))
                trigram_segments.insert_blocks(db, number, inverted([grams for _, grams in placed]))
            db.executemany("DELETE FROM loose WHERE row = ?", [(row[0],) for row in found])
            blobs = [(row[1],) for row in found if row[1] is not None]
            db.executemany(f"DELETE FROM text WHERE blob = ? AND {_NOT_LOOSE}", blobs)

    def _of_like_size(self) -> list[Segment]:
        """Segments that are to become one: so many of a tier, or one that is dead by half."""
        with self._renewing(), self._db.reading() as db:
            segments, _ = trigram_segments.read(db)
        tiers: dict[int, list[Segment]] = {}
        for segment in segments:
            live = int(np.count_nonzero(segment.rows))
            if 2 * live < len(segment.rows):
                return [segment]
            tier = (max(live, 1) // LOOSE_ROWS).bit_length() // 3
            tiers.setdefault(tier, []).append(segment)
        for alike in tiers.values():
            if len(alike) >= TIER and sum(len(each.rows) for each in alike[:TIER]) <= MAX_DOCUMENTS:
                return alike[:TIER]
        return []


def _version(database: Connection) -> int:
    return _number(database, "SELECT version FROM state")


def _number(database: Connection, sql: str) -> int:
    row = database.row(sql)
    return -1 if row is None else int(row[0])


def remove(path: Path) -> None:
    """Remove the files of a store that nobody has open for writing."""
    for suffix in ("-wal", "-shm", ""):  # the log first: it would be taken for a part of the next
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _read_segments(db: sqlite3.Connection, foldings: int) -> _Segments:
    segments, damaged = trigram_segments.read(db)
    damage = f"segment {damaged[0]} of the trigrams is damaged" if damaged else None
    rows = np.concatenate([np.empty(0, np.uint32), *(segment.rows for segment in segments)])
    return _Segments(foldings, segments, _bitmap(rows), damage)


def _read_loose(db: sqlite3.Connection, placings: int) -> _Loose:
    texts: list[tuple[int, Grams]] = []
    covered: list[int] = []
    damage: str | None = None
    for row in db.execute(_LOOSE):
        grams = _grams(row)
        if grams is None:
            damage = f"row {row[0]} of the trigrams is damaged"
            continue
        covered.append(row[0])
        if row[1] is not None:
            texts.append((row[0], grams))
    return _Loose(placings, texts, Bitmap.of(covered), damage)


def _grams(joined: sqlite3.Row) -> Grams | None:
    """Of a row of `loose` with its `text`; `None` when either is not as it was written."""
    row, blob, stored, text_blob, data, text_stored = joined
    if checksum(row, blob) != stored:
        return None
    if blob is None:
        return np.empty(0, np.uint32)
    if text_blob is None or checksum(text_blob, data) != text_stored:
        return None
    return unpack(data)


def _are_in(rows: Rows, members: Bitmap) -> npt.NDArray[np.bool_]:
    """By row, whether it is a member; 0 never is."""
    bits = np.frombuffer(members.data, np.uint8)
    at = rows >> 3
    inside = (at < len(bits)) & (rows > 0)
    found = np.zeros(len(rows), bool)
    found[inside] = bits[at[inside]] >> (rows[inside] & 7).astype(np.uint8) & 1 == 1
    return found


def _bitmap(rows: Rows) -> Bitmap:
    """Of rows without 0."""
    rows = rows[rows > 0]
    bits = np.zeros((int(rows.max(initial=0)) | 7) + 1, bool)
    bits[rows] = True
    return Bitmap(np.packbits(bits, bitorder="little").tobytes())
