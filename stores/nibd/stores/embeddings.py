"""embeddings.db: vectors by text and profile, shared by all repositories, and the texts that wait for one.

A vector is a pure function of (text, profile), so whoever needs a text's vector takes it from here,
whichever repository, branch or process had it embedded. A *profile* names the model and what runs it.

The *spool* holds the texts that have no vector yet. A vector is put and its text taken off the spool
in one transaction: a killed embedder finds exactly the rest on the spool, and nothing that was put is
embedded a second time.

Several processes read and write; each call is one transaction. Vectors are little-endian float32 bytes,
each with a CRC; one that does not agree is never returned and counts as missing, so that it is embedded
again and put over. Nothing here computes a vector or knows a model.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlite_utils import Database, Migrations

from nibd.stores.database import Connection, open_database
from nibd.stores.types import ProfileId, TextId

LOOKUP_IDS = 500
"""How many ids one statement asks for; SQLite's own limit of parameters may be 999."""
USED_RESOLUTION_S = 3600
"""`last_used` is kept this coarse, so that reading rarely writes."""
ROW_OVERHEAD_BYTES = 48
"""About what SQLite needs for a vector's row beside the vector: key, columns, index."""

migrations = Migrations("nibd.embeddings")

_SCHEMA = (
    "CREATE TABLE profile (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL)",
    """CREATE TABLE vector (profile INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL,
        checksum INTEGER NOT NULL, last_used INTEGER NOT NULL, PRIMARY KEY (profile, text)) WITHOUT ROWID""",
    "CREATE INDEX vector_by_use ON vector (last_used)",
    """CREATE TABLE spool (position INTEGER PRIMARY KEY, profile INTEGER NOT NULL, text BLOB NOT NULL,
        content TEXT NOT NULL, UNIQUE (profile, text))""",
)
_PUT = "INSERT OR REPLACE INTO vector (profile, text, vector, checksum, last_used) VALUES (?,?,?,?,?)"
_GET = "SELECT text, vector, checksum, last_used FROM vector WHERE profile = ?"
_ROW_SIZE = f"length(vector) + {ROW_OVERHEAD_BYTES}"
_SIZE = f"COALESCE(SUM({_ROW_SIZE}), 0)"
_SPOOL = """INSERT OR IGNORE INTO spool (profile, text, content) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM vector WHERE profile = ?1 AND text = ?2)"""


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)


@dataclass(frozen=True, slots=True)
class EmbeddingStatistics:
    """`size_bytes` counts the vectors and their rows, not the file, which may hold free pages."""

    vectors: int
    pending: int
    size_bytes: int


class EmbeddingStore:
    """The vectors. Made by `open`; several threads may share it."""

    def __init__(self, connection: Connection, now: Callable[[], float]) -> None:
        self._connection = connection
        self._now = now
        self._profiles: dict[ProfileId, int] = {}

    @staticmethod
    def open(path: Path, now: Callable[[], float] = time.time) -> EmbeddingStore:
        """Open or create `path`. A kill loses no committed batch; a power cut may lose the last ones."""
        return EmbeddingStore(open_database(path, migrations), now)

    @property
    def spool(self) -> TextSpool:
        return TextSpool(self)

    @property
    def connection(self) -> Connection:
        return self._connection

    def describe(self, profile: ProfileId, description: Mapping[str, Any]) -> None:
        """Remember what `profile` stands for, for `status` and `doctor`."""
        number = self.number(profile)
        with self._connection.transaction() as db:
            text = json.dumps(description, sort_keys=True)
            db.execute("UPDATE profile SET description = ? WHERE id = ?", (text, number))

    def description(self, profile: ProfileId) -> dict[str, Any]:
        """What was said of `profile`; empty when nothing was."""
        row = self._connection.row("SELECT description FROM profile WHERE name = ?", (profile,))
        return dict(json.loads(row[0])) if row is not None else {}

    def missing(self, profile: ProfileId, ids: Iterable[TextId]) -> set[TextId]:
        """Those of `ids` that have no sound vector."""
        wanted = set(ids)
        return wanted - self.get_many(profile, wanted).keys()

    def get_many(self, profile: ProfileId, ids: Iterable[TextId]) -> dict[TextId, bytes]:
        """The vectors of `ids` as little-endian float32 bytes. Those without a sound one are left out."""
        number = self.number(profile)
        found: dict[TextId, bytes] = {}
        stale: list[TextId] = []
        oldest = int(self._now()) - USED_RESOLUTION_S
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            for text, vector, checksum, used in self._connection.rows(
                f"{_GET} AND text IN ({marks})", (number, *part)
            ):
                if zlib.crc32(vector) == checksum:
                    found[TextId(text)] = vector
                    if used < oldest:
                        stale.append(TextId(text))
        self._mark_used(number, stale)
        return found

    def put_many(self, profile: ProfileId, vectors: Mapping[TextId, bytes]) -> None:
        """Keep a batch and take its texts off the spool, in one transaction."""
        number, now = self.number(profile), int(self._now())
        with self._connection.transaction() as db:
            db.executemany(
                _PUT, [(number, text, vector, zlib.crc32(vector), now) for text, vector in vectors.items()]
            )
            db.executemany(
                "DELETE FROM spool WHERE profile = ? AND text = ?", [(number, text) for text in vectors]
            )

    def trim(self, max_bytes: int) -> int:
        """Forget the vectors used longest ago until those left fit in `max_bytes`; how many went.

        What was used within `USED_RESOLUTION_S` goes last but may go: it is computed again when wanted.
        """
        with self._connection.transaction() as db:
            excess = db.execute(f"SELECT {_SIZE} FROM vector").fetchone()[0] - max_bytes
            doomed: list[tuple[int, bytes]] = []
            for profile, text, size in db.execute(
                f"SELECT profile, text, {_ROW_SIZE} FROM vector ORDER BY last_used, text"
            ):
                if excess <= 0:
                    break
                doomed.append((profile, text))
                excess -= size
            db.executemany("DELETE FROM vector WHERE profile = ? AND text = ?", doomed)
            return len(doomed)

    def statistics(self) -> EmbeddingStatistics:
        row = self._connection.row(f"SELECT COUNT(*), {_SIZE}, (SELECT COUNT(*) FROM spool) FROM vector")
        assert row is not None
        return EmbeddingStatistics(vectors=row[0], size_bytes=row[1], pending=row[2])

    def close(self) -> None:
        self._connection.close()

    def number(self, profile: ProfileId) -> int:
        """The profile's key in this file, given on first use."""
        known = self._profiles.get(profile)
        if known is None:
            row = self._connection.row("SELECT id FROM profile WHERE name = ?", (profile,))
            known = int(row[0]) if row is not None else self._register(profile)
            self._profiles[profile] = known
        return known

    def _register(self, profile: ProfileId) -> int:
        with self._connection.transaction() as db:
            db.execute("INSERT OR IGNORE INTO profile (name, description) VALUES (?, '{}')", (profile,))
            return int(db.execute("SELECT id FROM profile WHERE name = ?", (profile,)).fetchone()[0])

    def _mark_used(self, number: int, texts: list[TextId]) -> None:
        if texts:
            now = int(self._now())
            with self._connection.transaction() as db:
                db.executemany(
                    "UPDATE vector SET last_used = ? WHERE profile = ? AND text = ?",
                    [(now, number, text) for text in texts],
                )


class TextSpool:
    """The texts that wait for their vector, in the order in which they came; `EmbeddingStore.spool`.

    Any number of processes add; one embedder takes. Two would embed the same texts, and put equal vectors.
    """

    def __init__(self, store: EmbeddingStore) -> None:
        self._store = store
        self._connection = store.connection

    def add(self, profile: ProfileId, texts: Iterable[tuple[TextId, str]]) -> int:
        """Let texts wait; one that waits or has a vector is not added again. How many are new."""
        number = self._store.number(profile)
        with self._connection.transaction() as db:
            before = db.total_changes
            db.executemany(_SPOOL, [(number, text, content) for text, content in texts])
            return db.total_changes - before

    def pending(self, profile: ProfileId) -> int:
        number = self._store.number(profile)
        row = self._connection.row("SELECT COUNT(*) FROM spool WHERE profile = ?", (number,))
        assert row is not None
        return int(row[0])

    def take(self, profile: ProfileId, limit: int) -> list[tuple[TextId, str]]:
        """The oldest `limit` texts. They stay on the spool until their vector is put."""
        rows = self._connection.rows(
            "SELECT text, content FROM spool WHERE profile = ? ORDER BY position LIMIT ?",
            (self._store.number(profile), limit),
        )
        return [(TextId(text), content) for text, content in rows]

    def forget(self, profile: ProfileId, ids: Iterable[TextId] | None = None) -> int:
        """Let `ids` (None: all of the profile) wait no longer. How many went."""
        number = self._store.number(profile)
        with self._connection.transaction() as db:
            before = db.total_changes
            if ids is None:
                db.execute("DELETE FROM spool WHERE profile = ?", (number,))
            else:
                db.executemany(
                    "DELETE FROM spool WHERE profile = ? AND text = ?", [(number, text) for text in ids]
                )
            return db.total_changes - before


def _parts(ids: Iterable[TextId]) -> Iterator[list[TextId]]:
    every = sorted(set(ids))
    for at in range(0, len(every), LOOKUP_IDS):
        yield every[at : at + LOOKUP_IDS]
