"""facts.db: what follows from one file's bytes, kept by blob for ever.

A row's key is `(extractor profile, blob, language)`; a store is opened for one profile. A row holds
the `Facts` of the blob, or the `Skip` that was found instead, so that a hostile file is tried once.
Term counts lie packed (`nibd.stores.fact_terms`): scoring a candidate decodes nothing else.

One process writes, several read. Each row has a checksum; one that does not agree is reported as
`CorruptFacts`, and the caller computes the facts again and puts them over it. Every write is a
transaction of a batch, so what a killed build had put is found by the next. Deleting the file under
an open store raises `StoreError` at the next write, or the next read that finds nothing; open again.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlite_utils import Database, Migrations

from nibd.stores.batches import batches
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.database import Connection, open_database, open_reader
from nibd.stores.errors import CorruptFacts, StoreError
from nibd.stores.fact_terms import PackedTerms, TermCounts, pack_terms
from nibd.stores.file_identity import file_identity
from nibd.stores.packed_units import KeptUnits, pack_units, unpack_units
from nibd.stores.types import BlobId, Facts, Import, Skip, TextId, Unit, UnitTerms

FactKey = tuple[BlobId, str]
"""A blob and the language it is read as."""

BATCH_ROWS = 256
CACHE_BYTES = 32 << 20
UNITS_CACHE_BYTES = 16 << 20
UNIT_BYTES = 350
"""About what a decoded unit takes."""

migrations = Migrations("nibd.facts")

_SCHEMA = (
    "CREATE TABLE profile (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE fact (profile INTEGER NOT NULL, blob BLOB NOT NULL, language TEXT NOT NULL,
        skip TEXT, lines INTEGER NOT NULL, units BLOB NOT NULL, imports TEXT NOT NULL,
        text_ids TEXT NOT NULL, postings BLOB NOT NULL, vocabulary BLOB NOT NULL,
        checksum INTEGER NOT NULL, PRIMARY KEY (profile, blob, language))""",
)
_KEY = "profile = ? AND blob = ? AND language = ?"
_COLUMNS = "skip, lines, broken_line, units, imports, text_ids, postings, vocabulary, checksum"
_PUT = f"INSERT OR REPLACE INTO fact (profile, blob, language, {_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
_GET = f"SELECT {_COLUMNS} FROM fact WHERE {_KEY}"

_FIND_MANY = "SELECT blob, language FROM fact WHERE profile = ? AND (blob, language) IN"

T = TypeVar("T")
_Content = tuple[str | None, int, int, bytes, str, str, bytes, bytes]


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is kept of a file whose terms were asked for: its units, packed, are mostly asked for next."""

    counts: TermCounts
    units: bytes


@dataclass(frozen=True, slots=True)
class EncodedFact:
    """A row ready to be kept. Encoding takes longer than storing, so worker processes do it."""

    blob: BlobId
    language: str
    content: _Content


def encode(blob: BlobId, language: str, found: Facts | Skip) -> EncodedFact:
    return EncodedFact(blob, language, _encode(found))


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)


@migrations()
def m002_broken_lines(db: Database) -> None:
    db.execute("ALTER TABLE fact ADD COLUMN broken_line INTEGER NOT NULL DEFAULT 0")


class FactStore:
    """One repository's facts.db under one extractor profile. Every method may be called from any thread."""

    def __init__(self, database: Connection, profile: str, cache_bytes: int = CACHE_BYTES) -> None:
        self._db = database
        self._profile_name = profile
        self._profile: int | None = None
        self._identity = file_identity(database.path)
        self._counts: BoundedCache[FactKey, _Counted] = BoundedCache(cache_bytes)
        self._units: BoundedCache[FactKey, KeptUnits] = BoundedCache(UNITS_CACHE_BYTES)

    @staticmethod
    def open(path: Path, profile: str) -> FactStore:
        """Open for writing; the file is created when there is none."""
        return FactStore(open_database(path, migrations), profile)

    @staticmethod
    def open_reader(path: Path, profile: str) -> FactStore:
        """Open what another process writes. Raises `StoreError` when there is no such file."""
        return FactStore(open_reader(path), profile)

    @property
    def path(self) -> Path:
        return self._db.path

    @property
    def profile(self) -> str:
        return self._profile_name

    def close(self) -> None:
        self._db.close()

    def put_many(self, items: Iterable[tuple[BlobId, str, Facts | Skip]]) -> int:
        """Keep facts or skips, replacing what was kept under the same key; return how many.

        `items` may compute as it goes: it is read outside of the transactions.
        """
        return self.put_encoded(encode(blob, language, found) for blob, language, found in items)

    def put_encoded(self, items: Iterable[EncodedFact]) -> int:
        """As `put_many`, for rows that another process encoded."""
        put = 0
        for batch in batches(items, BATCH_ROWS):
            with self._writing() as database:
                profile = self._ensure_profile(database)
                for row in batch:
                    values = (profile, bytes.fromhex(row.blob), row.language, *row.content)
                    database.execute(_PUT, (*values, _checksum(row.content)))
            for row in batch:
                self._drop((row.blob, row.language))
            put += len(batch)
        return put

    def missing(self, keys: Iterable[FactKey]) -> set[FactKey]:
        """Those of `keys` that nothing is kept for under this profile."""
        wanted = set(keys)
        missing = set(wanted)
        for batch in batches(wanted, BATCH_ROWS):
            marks = ",".join(["(?,?)"] * len(batch))
            values = [value for blob, language in batch for value in (bytes.fromhex(blob), language)]
            where = f"profile = ? AND (blob, language) IN (VALUES {marks})"
            found = self._db.rows(
                f"SELECT blob, language FROM fact WHERE {where}", (self._profile_id(), *values)
            )
            missing -= {(BlobId(row[0].hex()), row[1]) for row in found}
        if missing:
            self._require_in_place()
        return missing

    def get(self, blob: BlobId, language: str) -> Facts | Skip | None:
        """Everything that is kept, `None` when nothing is."""
        row = self._row(blob, language)
        return None if row is None else self._decoded(blob, language, lambda: _facts(row))

    def skip(self, blob: BlobId, language: str) -> Skip | None:
        """Why there are no facts, `None` when there are. Raises `CorruptFacts` when nothing is kept."""
        row = self._required(blob, language)
        return None if row["skip"] is None else Skip(row["skip"])

    def units(self, blob: BlobId, language: str) -> tuple[Unit, ...]:
        """The units, always as they are kept now; none for a skip.

        Raises `CorruptFacts` when nothing is kept.
        """
        row = self._required(blob, language)
        return self._decoded(blob, language, lambda: tuple(unpack_units(row["units"])))

    def recent_units(self, blob: BlobId, language: str) -> Sequence[Unit]:
        """As `units`, from memory when they or the counts were asked for lately. For answers: who builds from
        facts has to notice that they are gone."""
        key = (blob, language)
        units = self._units.get(key)
        if units is None:
            counted = self._counts.get(key)
            packed = self._required(blob, language)["units"] if counted is None else counted.units
            damaged = partial(CorruptFacts, self._db.path, blob, language)
            units = self._decoded(blob, language, lambda: unpack_units(packed, damaged))
            self._units.put(key, units, len(units) * UNIT_BYTES)
        return units

    def text_ids(self, blob: BlobId, language: str) -> tuple[TextId | None, ...]:
        """By unit, the text that is embedded; none for a skip. Raises `CorruptFacts` when nothing is kept."""
        row = self._required(blob, language)
        return self._decoded(blob, language, lambda: _text_ids(row["text_ids"]))

    def counts(self, blob: BlobId, language: str) -> TermCounts:
        """Term counts, from memory when they were asked for lately.

        Raises `CorruptFacts` when nothing is kept, `StoreError` when a skip is.
        """
        key = (blob, language)
        cached = self._counts.get(key)
        if cached is not None:
            return cached.counts
        row = self._required(blob, language)
        if row["skip"] is not None:
            raise StoreError(f"{self._db.path}: {blob} has no terms: {row['skip']}")
        packed = PackedTerms(row["postings"], row["vocabulary"])
        counts = self._decoded(blob, language, lambda: TermCounts(packed))
        self._counts.put(key, _Counted(counts, row["units"]), counts.size_bytes + len(row["units"]))
        return counts

    def keys(self) -> Iterator[FactKey]:
        """Every key of this profile, for collection."""
        sql = "SELECT blob, language FROM fact WHERE profile = ?"
        for row in self._db.rows(sql, (self._profile_id(),)):
            yield BlobId(row[0].hex()), row[1]

    def remove(self, keys: Iterable[FactKey]) -> None:
        """Forget keys of this profile; those that are not kept are ignored."""
        for batch in batches(keys, BATCH_ROWS):
            with self._writing() as database:
                for blob, language in batch:
                    parameters = (self._profile_id(), bytes.fromhex(blob), language)
                    database.execute(f"DELETE FROM fact WHERE {_KEY}", parameters)
            for key in batch:
                self._drop(key)

    def remove_other_profiles(self) -> None:
        """Forget all that was kept under another extractor profile."""
        with self._writing() as database:
            kept = self._ensure_profile(database)
            database.execute("DELETE FROM fact WHERE profile <> ?", (kept,))
            database.execute("DELETE FROM profile WHERE id <> ?", (kept,))

    def _drop(self, key: FactKey) -> None:
        self._counts.drop(key)
        self._units.drop(key)

    def _row(self, blob: BlobId, language: str) -> sqlite3.Row | None:
        row = self._db.row(_GET, (self._profile_id(), bytes.fromhex(blob), language))
        if row is None:
            self._require_in_place()
            return None
        if row["checksum"] != _checksum(tuple(row)[:-1]):
            raise CorruptFacts(self._db.path, blob, language)
        return row

    def _required(self, blob: BlobId, language: str) -> sqlite3.Row:
        row = self._row(blob, language)
        if row is None:
            # Nobody asks for what was never put: a power cut or a hand took it.
            raise CorruptFacts(self._db.path, blob, language)
        return row

    def _decoded(self, blob: BlobId, language: str, decode: Callable[[], T]) -> T:
        try:
            return decode()
        except (ValueError, TypeError, IndexError, struct.error, zlib.error) as error:
            raise CorruptFacts(self._db.path, blob, language) from error

    def _profile_id(self) -> int:
        """The number of this profile; -1, which no row has, while nothing was put under it."""
        if self._profile is None:
            row = self._db.row("SELECT id FROM profile WHERE name = ?", (self._profile_name,))
            self._profile = None if row is None else int(row[0])
        return -1 if self._profile is None else self._profile

    def _ensure_profile(self, database: sqlite3.Connection) -> int:
        database.execute("INSERT OR IGNORE INTO profile (name) VALUES (?)", (self._profile_name,))
        found = database.execute("SELECT id FROM profile WHERE name = ?", (self._profile_name,)).fetchone()
        return int(found[0])

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        self._require_in_place()
        return self._db.transaction()

    def _require_in_place(self) -> None:
        """An unlinked file would take writes that no one ever finds, and never show new rows."""
        if file_identity(self._db.path) != self._identity:
            raise StoreError(f"{self._db.path} was removed or replaced while open; open it again")


def _checksum(content: Iterable[object]) -> int:
    checksum = 0
    for value in content:
        data = value if isinstance(value, bytes) else repr(value).encode()
        checksum = zlib.crc32(data, zlib.crc32(b"%d:" % len(data), checksum))
    return checksum


def _encode(found: Facts | Skip) -> _Content:
    if isinstance(found, Skip):
        return (found.value, 0, 0, b"", "[]", "[]", b"", b"")
    packed = pack_terms(found)
    imports = [[i.module, i.start_line, i.end_line] for i in found.imports]
    text_ids = [None if text_id is None else text_id.hex() for text_id in found.text_ids]
    return (
        None,
        found.lines,
        found.broken_line,
        pack_units(found.units),
        _json(imports),
        _json(text_ids),
        packed.postings,
        packed.vocabulary,
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _facts(row: sqlite3.Row) -> Facts | Skip:
    if row["skip"] is not None:
        return Skip(row["skip"])
    counts = TermCounts(PackedTerms(row["postings"], row["vocabulary"]))
    terms = counts.by_group(counts.vocabulary())
    return Facts(
        units=tuple(unpack_units(row["units"])),
        imports=tuple(Import(*found) for found in json.loads(row["imports"])),
        terms=tuple(map(UnitTerms, terms[: counts.unit_count])),
        file_terms=UnitTerms(terms[counts.file_group]),
        text_ids=_text_ids(row["text_ids"]),
        lines=row["lines"],
        broken_line=row["broken_line"],
    )


def _text_ids(column: str) -> tuple[TextId | None, ...]:
    return tuple(None if found is None else TextId(bytes.fromhex(found)) for found in json.loads(column))
