"""Publication, the choice of what is kept, and what a crash leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from nibd.stores.catalog import UNPUBLISHED, Catalog
from nibd.stores.snapshot import Artifact, Coverage, Generation, Snapshot, ViewRecord
from nibd.stores.structure import ListingId
from nibd.stores.types import Assurance, CheckoutId, CommitId, RepoPath, State, TreeId, View

MAIN = CheckoutId("main")
LINKED = CheckoutId("linked")


def commit(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def record(name: str, state: State = State.READY) -> ViewRecord:
    artifact = Artifact(name, "crc", 10) if state is State.READY else None
    return ViewRecord(state, Assurance.EXACT, "profile", artifact, Coverage(3, 3), None, {"n": 3}, {"s": 0.5})


def snapshot(tree: int, dense: State = State.READY) -> Snapshot:
    return Snapshot(
        TreeId(f"{tree:040x}"),
        UNPUBLISHED,
        ListingId(tree),
        {"total": 4, "indexed": 3},
        {"binary": 1},
        {
            View.LEXICAL: record(f"lexical/{tree}"),
            View.STRUCTURAL: record(f"listing/{tree}"),
            View.DENSE: record(f"dense/{tree}", dense),
        },
        ("a note",),
        (RepoPath(b"d/\xff/.nibdignore"),),
    )


def test_a_published_snapshot_is_read_back_as_it_was(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    published = catalog.publish(MAIN, commit(1), snapshot(1), 100.0)
    catalog.close()

    found = Catalog.open_reader(tmp_path / "catalog.db").current(MAIN)

    assert found == published
    assert found is not None
    assert found.snapshot == replace(snapshot(1), generation=published.snapshot.generation)


def test_a_checkout_shows_its_newest_publication_and_another_its_own(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    first = catalog.publish(MAIN, commit(1), snapshot(1), 1.0)
    catalog.publish(LINKED, commit(9), snapshot(9), 2.0)
    catalog.publish(MAIN, commit(2), snapshot(2), 3.0)
    catalog.publish(MAIN, commit(1), first.snapshot, 4.0)

    current, linked = catalog.current(MAIN), catalog.current(LINKED)

    assert current is not None
    assert (current.commit, current.snapshot.generation) == (commit(1), first.snapshot.generation)
    assert linked is not None
    assert linked.commit == commit(9)
    assert catalog.current(CheckoutId("other")) is None


def test_generations_count_up_and_are_never_used_again(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    first = catalog.publish(MAIN, commit(1), snapshot(1), 1.0).snapshot
    second = catalog.publish(MAIN, commit(2), snapshot(2), 2.0).snapshot
    catalog.forget(MAIN)
    assert catalog.unneeded(keep=0) == [second.generation, first.generation]
    catalog.retire(catalog.unneeded(keep=0))
    third = catalog.publish(MAIN, commit(3), snapshot(3), 3.0).snapshot
    assert first.generation < second.generation < third.generation


def test_the_newest_snapshot_that_serves_a_view_is_kept_until_a_newer_one_does(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    with_dense = catalog.publish(MAIN, commit(1), snapshot(1), 1.0).snapshot.generation
    between = catalog.publish(MAIN, commit(2), snapshot(2, State.BUILDING), 2.0).snapshot.generation
    catalog.publish(MAIN, commit(3), snapshot(3, State.BUILDING), 3.0)

    assert catalog.unneeded(keep=0) == [between]
    catalog.publish(MAIN, commit(3), snapshot(3), 4.0)
    assert with_dense in catalog.unneeded(keep=0)


def test_the_newest_others_are_kept_for_the_way_back(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    old = [catalog.publish(MAIN, commit(n), snapshot(n), n).snapshot.generation for n in range(1, 6)]
    assert catalog.unneeded(keep=1) == [old[2], old[1], old[0]]
    catalog.retire([old[2], old[1]])
    assert [s.generation for s in catalog.snapshots()] == [old[0], old[3], old[4]]


def test_of_a_tree_older_generations_go_before_other_trees_do(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    shown: dict[int, list[Generation]] = {
        number: [
            catalog.publish(MAIN, commit(number), snapshot(number), number).snapshot.generation
            for _ in range(4)  # views, and relations that are repaired, measured, verified
        ]
        for number in range(1, 5)
    }
    catalog.retire(catalog.unneeded(keep=2))
    assert [s.generation for s in catalog.snapshots()] == [shown[number][-1] for number in (2, 3, 4)]
    assert [len(catalog.at_commit(commit(number))) for number in range(1, 5)] == [0, 1, 1, 1]


def test_a_commit_finds_a_newer_generation_of_its_tree_when_its_own_is_dropped(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    first = catalog.publish(MAIN, commit(1), snapshot(1), 1.0).snapshot
    catalog.publish(MAIN, commit(2), first, 2.0)  # a message that was amended
    newer = catalog.publish(MAIN, commit(2), snapshot(1), 3.0).snapshot
    catalog.retire(catalog.unneeded(keep=0))
    assert [found.snapshot for found in catalog.at_commit(commit(1))] == [newer]
    current = catalog.current(MAIN)
    assert current is not None
    assert (current.commit, current.snapshot) == (commit(2), newer)


def test_what_serves_in_the_place_of_a_damaged_snapshot_is_needed(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    first, second, shown = (
        catalog.publish(MAIN, commit(n), snapshot(n), n).snapshot.generation for n in range(1, 4)
    )
    assert catalog.unneeded(keep=0) == [second, first]
    assert catalog.unneeded(keep=0, damaged=[shown]) == [first]


def test_a_commit_has_all_its_publications_newest_first(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    first = catalog.publish(MAIN, commit(1), snapshot(1), 1.0)
    catalog.publish(MAIN, commit(2), snapshot(2), 2.0)
    second = catalog.publish(LINKED, commit(1), snapshot(1, State.BUILDING), 3.0)
    assert catalog.at_commit(commit(1)) == [second, first]
    assert catalog.at_commit(commit(3)) == []


def test_live_names_what_kept_snapshots_need(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "catalog.db")
    catalog.publish(MAIN, commit(1), snapshot(1), 1.0)
    catalog.publish(MAIN, commit(2), snapshot(2), 2.0)
    catalog.retire(catalog.unneeded(keep=0))
    assert catalog.live() == ({"lexical/2", "listing/2", "dense/2"}, {ListingId(2)})


def test_a_kill_between_two_publications_leaves_the_first(tmp_path: Path) -> None:
    """The second publication is killed inside its transaction, before the commit."""
    program = f"""
import os, signal
from pathlib import Path
import test_catalog as t
from nibd.stores.catalog import Catalog
catalog = Catalog.open(Path({str(tmp_path)!r}) / "catalog.db")
catalog.publish(t.MAIN, t.commit(1), t.snapshot(1), 1.0)
with catalog._db.transaction() as db:
    db.execute("INSERT INTO snapshot (tree, manifest) VALUES ('x', '{{}}')")
    db.execute("INSERT INTO publication VALUES (9, 'main', 'x', 2, 2)")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    died = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert died.returncode == -signal.SIGKILL

    catalog = Catalog.open(tmp_path / "catalog.db")
    current = catalog.current(MAIN)

    assert current is not None
    assert current.commit == commit(1)
    assert len(catalog.snapshots()) == 1
    assert catalog.check() is None
