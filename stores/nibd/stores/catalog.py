"""catalog.db: which snapshots a repository has and which one each checkout shows.

Publication is one transaction here, made durable before it returns, and it names only artifacts
that are finished and on disk. So a crash at any instant leaves the previous snapshot current, and
what the dead process had begun is named by nothing: the next sweep removes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from sqlite_utils import Database, Migrations

from nibd.stores.database import Connection, is_made, open_database, open_reader
from nibd.stores.snapshot import Generation, Publication, Snapshot, decode, encode
from nibd.stores.structure import ListingId
from nibd.stores.types import CheckoutId, CommitId, TreeId, View

migrations = Migrations("nibd.catalog")

KEPT_SNAPSHOTS = 256
UNPUBLISHED = Generation(0)
"""The generation of a snapshot that has not been published; publication gives it its own."""


@migrations()
def m001_initial(db: Database) -> None:
    # AUTOINCREMENT: a generation is never used twice, even after its snapshot was collected.
    db.execute(
        """CREATE TABLE snapshot (generation INTEGER PRIMARY KEY AUTOINCREMENT, tree TEXT NOT NULL,
           manifest TEXT NOT NULL)"""
    )
    db.execute("CREATE INDEX snapshot_by_tree ON snapshot (tree, generation)")
    db.execute(
        """CREATE TABLE publication (id INTEGER PRIMARY KEY AUTOINCREMENT, checkout TEXT NOT NULL,
           "commit" TEXT NOT NULL, generation INTEGER NOT NULL REFERENCES snapshot (generation),
           published_at REAL NOT NULL)"""
    )
    db.execute("CREATE INDEX publication_by_checkout ON publication (checkout, id)")


class Catalog:
    """One repository's catalog.db. Every method may be called from any thread."""

    def __init__(self, database: Connection) -> None:
        self._db = database

    @staticmethod
    def open(path: Path) -> Catalog:
        """For the one process that publishes."""
        return Catalog(open_database(path, migrations, durability="FULL"))

    @staticmethod
    def open_reader(path: Path) -> Catalog:
        return Catalog(open_reader(path))

    @staticmethod
    def is_made(path: Path) -> bool:
        """Whether there is a catalog to be read."""
        return is_made(path)

    def close(self) -> None:
        self._db.close()

    def publish(
        self, checkout: CheckoutId, commit: CommitId, snapshot: Snapshot, published_at: float
    ) -> Publication:
        """Make `snapshot` what `checkout` shows. An unpublished one gets its generation here."""
        with self._db.transaction() as db:
            if snapshot.generation == UNPUBLISHED:
                cursor = db.execute(
                    "INSERT INTO snapshot (tree, manifest) VALUES (?, ?)", (snapshot.tree, encode(snapshot))
                )
                snapshot = replace(snapshot, generation=Generation(int(cursor.lastrowid or 0)))
            db.execute(
                """INSERT INTO publication (checkout, "commit", generation, published_at)
                   VALUES (?, ?, ?, ?)""",
                (checkout, commit, snapshot.generation, published_at),
            )
        return Publication(checkout, commit, snapshot, published_at)

    def current(self, checkout: CheckoutId) -> Publication | None:
        """What `checkout` shows; `None` before its first publication."""
        found = self.publications(checkout, limit=1)
        return found[0] if found else None

    def publications(self, checkout: CheckoutId, limit: int = 100) -> list[Publication]:
        """What `checkout` showed, newest first."""
        sql = f"{_PUBLICATIONS} WHERE checkout = ? ORDER BY id DESC LIMIT ?"
        return [_publication(row) for row in self._db.rows(sql, (checkout, limit))]

    def at_commit(self, commit: CommitId, limit: int = 100) -> list[Publication]:
        """The publications of any checkout at `commit`, newest first."""
        sql = f'{_PUBLICATIONS} WHERE "commit" = ? ORDER BY id DESC LIMIT ?'
        return [_publication(row) for row in self._db.rows(sql, (commit, limit))]

    def newest(self) -> Publication | None:
        """The newest publication of any checkout: the nearest base when a checkout has none."""
        row = self._db.row(f"{_PUBLICATIONS} ORDER BY id DESC LIMIT 1")
        return _publication(row) if row else None

    def of_tree(self, tree: TreeId) -> Snapshot | None:
        """The newest snapshot of `tree` that is still kept."""
        row = self._db.row(
            "SELECT tree, generation, manifest FROM snapshot WHERE tree = ? ORDER BY generation DESC LIMIT 1",
            (tree,),
        )
        return decode(TreeId(row[0]), Generation(row[1]), row[2]) if row else None

    def snapshots(self) -> list[Snapshot]:
        """All that are kept, oldest first."""
        rows = self._db.rows("SELECT tree, generation, manifest FROM snapshot ORDER BY generation")
        return [decode(TreeId(row[0]), Generation(row[1]), row[2]) for row in rows]

    def checkouts(self) -> set[CheckoutId]:
        """Those that ever showed something and were not forgotten."""
        return {CheckoutId(row[0]) for row in self._db.rows("SELECT DISTINCT checkout FROM publication")}

    def forget(self, checkout: CheckoutId) -> None:
        """Drop the publications of a checkout that is gone; nothing needs its snapshots then."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM publication WHERE checkout = ?", (checkout,))

    def unneeded(self, keep: int, damaged: Collection[Generation] = ()) -> list[Generation]:
        """The snapshots that nothing needs (but those that are `damaged`), newest first.

        Needed are, for each checkout, its current one and for each view, and each family of relations
        that the current one speaks of, the newest that serves it (an older snapshot keeps answering
        until the view is repaired), and of the `keep` newest other trees the newest one, for the way back
        to a branch: what a commit showed before it was verified, or while texts were embedded, goes first.
        """
        with self._db.transaction() as db:
            snapshots = {s.generation: s for s in self.snapshots() if s.generation not in damaged}
            needed = _needed_by_checkouts(db, snapshots)
        newest = set(_newest_by_tree(snapshots.values()).values())
        kept = sorted(newest - needed, reverse=True)[:keep]
        return sorted(set(snapshots) - needed - set(kept), reverse=True)

    def retire(self, retired: Collection[Generation]) -> None:
        """Drop snapshots, whichever checkout shows them.

        A commit that showed one finds a newer one of its tree instead, where that stays.
        """
        with self._db.transaction() as db:
            snapshots = self.snapshots()
            newest = _newest_by_tree(s for s in snapshots if s.generation not in retired)
            dropped = ((newest.get(s.tree, UNPUBLISHED), s.generation) for s in snapshots)
            moved = [(later, each) for later, each in dropped if each in retired and later > each]
            db.executemany("UPDATE publication SET generation = ? WHERE generation = ?", moved)
            for table in ("publication", "snapshot"):
                db.executemany(f"DELETE FROM {table} WHERE generation = ?", [(g,) for g in retired])
            # Of a checkout that goes back and forth only the newest showing of each is of use.
            db.execute(
                """DELETE FROM publication WHERE id NOT IN
                   (SELECT max(id) FROM publication GROUP BY checkout, generation, "commit")"""
            )

    def live(self) -> tuple[set[str], set[ListingId]]:
        """The artifact locations and the listings that kept snapshots name."""
        kept = self.snapshots()
        return (
            {artifact.location for snapshot in kept for artifact in snapshot.artifacts()},
            {snapshot.listing for snapshot in kept},
        )

    def check(self) -> str | None:
        return self._db.check()


_PUBLICATIONS = """SELECT checkout, "commit", published_at, tree, s.generation, manifest
    FROM publication JOIN snapshot s ON s.generation = publication.generation"""


_decoded = lru_cache(KEPT_SNAPSHOTS)(decode)
"""A snapshot never changes, and every request reads the same few: equal rows are decoded once."""


def _publication(row: sqlite3.Row) -> Publication:
    snapshot = _decoded(TreeId(row["tree"]), Generation(row["generation"]), row["manifest"])
    return Publication(CheckoutId(row["checkout"]), CommitId(row["commit"]), snapshot, row["published_at"])


def _newest_by_tree(snapshots: Iterable[Snapshot]) -> dict[TreeId, Generation]:
    """`snapshots` come oldest first."""
    return {snapshot.tree: snapshot.generation for snapshot in snapshots}


def _needed_by_checkouts(db: sqlite3.Connection, snapshots: dict[Generation, Snapshot]) -> set[Generation]:
    needed: set[Generation] = set()
    missing: dict[str, set[str]] = {}
    for checkout, generation in db.execute("SELECT checkout, generation FROM publication ORDER BY id DESC"):
        if generation not in snapshots:
            continue
        snapshot = snapshots[Generation(generation)]
        if checkout not in missing:
            missing[checkout] = {*View, *snapshot.relations}
            needed.add(Generation(generation))
        records = [*snapshot.views.items(), *snapshot.relations.items()]
        served = {part for part, record in records if record.serves}
        if served & missing[checkout]:
            needed.add(Generation(generation))
            missing[checkout] -= served
    return needed
