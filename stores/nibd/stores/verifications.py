"""verified.db: which relations were verified, at which tree, and how often repair alone had been right.

asked      at this tree the server was asked about every site of this file, and what it said is this record
reached    a file that some transition can have reached and that was not asked since, and how far away
account    by family: the transitions that were counted, the audits, and what is open

An *asked* row says something of bytes (a tree, a profile, the digest of a record), which stays true
whatever becomes of relations.db. Only the newest row of a file is kept: its `turn`, which counts up with
every batch, tells which files were verified longest ago.

A *transition* is open from the repair that made a tree's relations until every file was asked at that
tree; then it is counted, and it is *right* when verification found no other relation. What was found before
a newer commit came is counted as differing sites all the same.

A cache: losing it, or its last commits in a power cut, makes no relation wrong; files are asked once more.
One process writes, several read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from sqlite_utils import Database, Migrations

from nibd.stores.database import Connection, is_made, open_database, open_reader
from nibd.stores.errors import CorruptStore
from nibd.stores.relation_records import RelationRecord
from nibd.stores.types import ProfileId, RepoPath, TreeId

DIGEST_BYTES = 16

migrations = Migrations("nibd.verifications")

_SCHEMA = (
    """CREATE TABLE asked (family TEXT NOT NULL, path BLOB NOT NULL, profile TEXT NOT NULL,
        tree TEXT NOT NULL, digest BLOB NOT NULL, turn INTEGER NOT NULL, fresh INTEGER NOT NULL,
        unanswered INTEGER NOT NULL, PRIMARY KEY (family, path)) WITHOUT ROWID""",
    """CREATE TABLE reached (family TEXT NOT NULL, path BLOB NOT NULL, distance INTEGER NOT NULL,
        PRIMARY KEY (family, path)) WITHOUT ROWID""",
    """CREATE TABLE account (family TEXT PRIMARY KEY, transitions INTEGER NOT NULL DEFAULT 0,
        verified INTEGER NOT NULL DEFAULT 0, right INTEGER NOT NULL DEFAULT 0,
        differing INTEGER NOT NULL DEFAULT 0, audits INTEGER NOT NULL DEFAULT 0,
        audits_right INTEGER NOT NULL DEFAULT 0, audit_differing INTEGER NOT NULL DEFAULT 0,
        turn INTEGER NOT NULL DEFAULT 0, tree TEXT NOT NULL DEFAULT '', found INTEGER NOT NULL DEFAULT 0,
        since_audit INTEGER NOT NULL DEFAULT 0, audit_asked INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
)


class CorruptVerifications(CorruptStore):
    """verified.db is not what was written: remove it, and all is verified anew."""


@migrations()
def m001_initial(db: Database) -> None:
    for statement in _SCHEMA:
        db.execute(statement)


@dataclass(frozen=True, slots=True)
class Asked:
    """A file's newest verification. `fresh`: by a server that has seen no other tree.

    The server gave no answer for `unanswered` of its sites; the others are as `digest` says.
    """

    tree: TreeId
    digest: bytes
    turn: int
    fresh: bool
    unanswered: int


@dataclass(frozen=True, slots=True)
class Account:
    """How often repair alone was right.

    Of `transitions` that were repaired, `verified` were verified whole, and in `right` of these nothing
    differed; `differing` sites did, in all. Of `audits` by a fresh server `audits_right` agreed with what was
    verified, and `audit_differing` sites did not.
    """

    transitions: int = 0
    verified: int = 0
    right: int = 0
    differing: int = 0
    audits: int = 0
    audits_right: int = 0
    audit_differing: int = 0

    def as_json(self) -> dict[str, int]:
        return asdict(self)


def digest_of(record: RelationRecord) -> bytes:
    """Tells a record from others of the same path."""
    digest = blake2b(f"{record.blob}\0{record.language}\0".encode(), digest_size=DIGEST_BYTES)
    digest.update(record.payload)
    return digest.digest()


class VerificationStore:
    """One repository's verified.db."""

    def __init__(self, database: Connection) -> None:
        self._db = database

    @staticmethod
    def open(path: Path) -> VerificationStore:
        """For the one process that writes it."""
        return VerificationStore(open_database(path, migrations, "NORMAL", CorruptVerifications))

    @staticmethod
    def open_reader(path: Path) -> VerificationStore:
        return VerificationStore(open_reader(path, CorruptVerifications))

    @staticmethod
    def is_made(path: Path) -> bool:
        return is_made(path, CorruptVerifications)

    @staticmethod
    def remove(path: Path) -> None:
        """For the process that writes it, when it has closed it."""
        for suffix in ("-wal", "", "-shm"):  # the log first: else a new database would take it for its own
            path.with_name(path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        self._db.close()

    # Files

    def asked(self, family: str, profile: ProfileId) -> dict[RepoPath, Asked]:
        """The newest verification of each file under this profile."""
        sql = "SELECT path, tree, digest, turn, fresh, unanswered FROM asked WHERE family = ? AND profile = ?"
        return {
            RepoPath(row[0]): Asked(TreeId(row[1]), row[2], row[3], bool(row[4]), row[5])
            for row in self._db.rows(sql, (family, profile))
        }

    def turn(self, family: str) -> int:
        """How many batches were asked so far."""
        row = self._db.row("SELECT turn FROM account WHERE family = ?", (family,))
        return int(row[0]) if row else 0

    def note(
        self,
        family: str,
        profile: ProfileId,
        tree: TreeId,
        files: Iterable[tuple[RelationRecord, int]],
        fresh: bool,
    ) -> None:
        """These files were asked at `tree`, and are so; with each, how many sites got no answer."""
        with self._db.transaction() as db:
            db.execute(_ACCOUNT, (family,))
            db.execute("UPDATE account SET turn = turn + 1 WHERE family = ?", (family,))
            (turn,) = db.execute("SELECT turn FROM account WHERE family = ?", (family,)).fetchone()
            rows = [
                (family, file.path, profile, tree, digest_of(file), turn, int(fresh), unanswered)
                for file, unanswered in files
            ]
            db.executemany("INSERT OR REPLACE INTO asked VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            db.executemany("DELETE FROM reached WHERE (family, path) = (?, ?)", [row[:2] for row in rows])

    def forget(self, family: str, tree: TreeId) -> None:
        """What was asked at `tree` is to be asked there again."""
        with self._db.transaction() as db:
            db.execute("UPDATE asked SET tree = '' WHERE family = ? AND tree = ?", (family, tree))

    def drop(self, family: str, paths: Iterable[RepoPath]) -> None:
        """These files are no more."""
        with self._db.transaction() as db:
            for table in ("asked", "reached"):
                rows = [(family, path) for path in paths]
                db.executemany(f"DELETE FROM {table} WHERE (family, path) = (?, ?)", rows)

    def reach(self, family: str, distances: Mapping[RepoPath, int]) -> None:
        """A transition can have reached these files, so many steps away from what it changed."""
        sql = """INSERT INTO reached VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET distance = min(distance, excluded.distance)"""
        with self._db.transaction() as db:
            db.executemany(sql, [(family, path, distance) for path, distance in distances.items()])

    def reached(self, family: str) -> dict[RepoPath, int]:
        rows = self._db.rows("SELECT path, distance FROM reached WHERE family = ?", (family,))
        return {RepoPath(row[0]): row[1] for row in rows}

    # Accounts

    def begin(self, family: str, tree: TreeId) -> None:
        """The relations of `tree` were repaired, and are about to be verified; until then it counts once."""
        with self._db.transaction() as db:
            db.execute(_ACCOUNT, (family,))
            sql = """UPDATE account SET transitions = transitions + 1, since_audit = since_audit + 1,
                tree = ?1, found = 0 WHERE family = ?2 AND tree <> ?1"""
            db.execute(sql, (tree, family))

    def differed(self, family: str, tree: TreeId, sites: int) -> None:
        """So many sites were found to refer to something else."""
        with self._db.transaction() as db:
            db.execute(_ACCOUNT, (family,))
            sql = """UPDATE account SET differing = differing + ?1,
                found = found + CASE tree WHEN ?2 THEN ?1 ELSE 0 END WHERE family = ?3"""
            db.execute(sql, (sites, tree, family))

    def ended(self, family: str, tree: TreeId) -> None:
        """`tree` is verified whole; counted once."""
        sql = """UPDATE account SET verified = verified + 1, right = right + (found = 0), tree = ''
            WHERE family = ? AND tree = ?"""
        with self._db.transaction() as db:
            db.execute(sql, (family, tree))

    def ask_audit(self, family: str) -> None:
        """Have `audit_is_due` say so, however many transitions there were."""
        with self._db.transaction() as db:
            db.execute(_ACCOUNT, (family,))
            db.execute("UPDATE account SET audit_asked = 1 WHERE family = ?", (family,))

    def audit_is_due(self, family: str, transitions: int) -> bool:
        """Whether one was asked for, or so many transitions were repaired since the last; 0: never."""
        row = self._db.row("SELECT since_audit, audit_asked FROM account WHERE family = ?", (family,))
        return bool(row and transitions and (row[1] or row[0] >= transitions))

    def audited(self, family: str, sites: int) -> None:
        """An audit came to its end, and so many sites differed."""
        sql = """UPDATE account SET audits = audits + 1, audits_right = audits_right + (?1 = 0),
            audit_differing = audit_differing + ?1, since_audit = 0, audit_asked = 0 WHERE family = ?2"""
        with self._db.transaction() as db:
            db.execute(_ACCOUNT, (family,))
            db.execute(sql, (sites, family))

    def accounts(self) -> dict[str, Account]:
        """By family."""
        columns = ", ".join(Account.__slots__)
        rows = self._db.rows(f"SELECT family, {columns} FROM account ORDER BY family")
        return {row[0]: Account(*row[1:]) for row in rows}


_ACCOUNT = "INSERT OR IGNORE INTO account (family) VALUES (?)"
