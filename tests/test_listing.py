"""A repair from whatever is left of the stores: deleted, damaged or interrupted, the result is the same."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.query import comparison
from nibd.repair import dense
from nibd.repair.progress import Interrupted, Progress
from nibd.stores.dense import ROWS_FILE, VECTORS_FILE
from nibd.stores.errors import CorruptFacts
from nibd.stores.lexical_files import RECORD
from nibd.stores.snapshot import Coverage, Snapshot
from nibd.stores.types import BlobId, State, View
from views import MAIN, NOTHING, OTHER, Views, Work, quick_folder

KEPT = "def kept():\n    return 0\n"


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> Iterator[Views]:
    """Two commits published: one file stays, one is edited."""
    monkeypatch.setattr(comparison, "QUERIES", 6)
    with quick_folder() as folder:
        repo = Repo(folder / "repo")
        repo.write("kept.py", KEPT)
        repo.write("gone.py", "def gone():\n    return 3\n")
        repo.write("edited.py", "def first():\n    return 1\n")
        repo.commit()
        with closing(Views(folder / "views", repo)) as made:
            made.repair()
            edit(made, 2)
            made.repair()
            yield made


def edit(views: Views, number: int) -> None:
    """A next commit: one file edited, one deleted or back."""
    views.repo.write("edited.py", f"def first():\n    return {number}\n")
    gone = views.repo.file("gone.py")
    if gone.exists():
        gone.unlink()
    else:
        views.repo.write("gone.py", "def gone():\n    return 3\n")
    views.repo.commit()


def database(views: Views, name: str) -> list[Path]:
    found = sorted(views.folder.root.glob(f"{name}.db*"))
    assert found
    return found


def delete_facts(views: Views) -> None:
    for path in database(views, "facts"):
        path.unlink()


def delete_structure(views: Views) -> None:
    for path in database(views, "structure"):
        path.unlink()


def delete_catalog(views: Views) -> None:
    for path in database(views, "catalog"):
        path.unlink()


def delete_all(views: Views) -> None:
    shutil.rmtree(views.folder.root)


def delete_lexical(views: Views) -> None:
    shutil.rmtree(generation(views))


def delete_lexical_record(views: Views) -> None:
    (generation(views) / RECORD).unlink()


def cut_lexical_files(views: Views) -> None:
    """Only those that no other generation shares would be written to; cut here, as a bad disk does."""
    for path in generation(views).glob("*/*"):
        if path.suffix in {".idx", ".store", ".pos", ".term", ".fast", ".fieldnorm"}:
            path.write_bytes(path.read_bytes()[:-1])


def delete_dense(views: Views) -> None:
    shutil.rmtree(views.folder.dense)


def cut_vectors(views: Views) -> None:
    (path,) = views.folder.dense.glob(f"*/{VECTORS_FILE}")
    path.write_bytes(path.read_bytes()[:-1])


def turn_vectors(views: Views) -> None:
    """The size is right, the vectors are not: only who compares checksums finds out."""
    (path,) = views.folder.dense.glob(f"*/{VECTORS_FILE}")
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))


def delete_vectors(views: Views) -> None:
    (path,) = views.folder.dense.glob(f"*/{VECTORS_FILE}")
    path.unlink()


def delete_rows(views: Views) -> None:
    for path in views.folder.dense.glob(f"*/{ROWS_FILE}*"):
        path.unlink()


def damage_row_lists(views: Views) -> None:
    for path in views.folder.dense.glob("*/*.rows"):
        path.write_bytes(path.read_bytes()[:-1])


def damage_newest_listing(views: Views) -> None:
    with closing(sqlite3.connect(views.folder.structure)) as structure:
        structure.execute("UPDATE listing SET checksum = 0 WHERE id = (SELECT max(id) FROM listing)")
        structure.commit()


def damage_all_listings(views: Views) -> None:
    with closing(sqlite3.connect(views.folder.structure)) as structure:
        structure.execute("UPDATE listing SET checksum = 0")
        structure.commit()


def generation(views: Views) -> Path:
    artifact = views.current().views[View.LEXICAL].artifact
    assert artifact is not None
    return views.folder.root / artifact.location


Damage = Callable[[Views], None]
DELETED = [delete_facts, delete_structure, delete_catalog, delete_all]
DAMAGED = {
    delete_lexical: View.LEXICAL,
    delete_lexical_record: View.LEXICAL,
    cut_lexical_files: View.LEXICAL,
    delete_dense: View.DENSE,
    cut_vectors: View.DENSE,
    turn_vectors: View.DENSE,
    delete_vectors: View.DENSE,
    delete_rows: View.DENSE,
    damage_row_lists: View.DENSE,
    damage_newest_listing: View.STRUCTURAL,
    damage_all_listings: View.STRUCTURAL,
}


@pytest.mark.parametrize("damage", [*DELETED, *(each for each in DAMAGED if each is not turn_vectors)])
def test_the_next_commit_after_a_loss_is_published_equal_to_a_rebuild(views: Views, damage: Damage) -> None:
    damage(views)
    views.reopen()
    edit(views, 3)
    views.repair()
    assert views.differences() == []
    edit(views, 4)
    views.repair()
    assert views.differences() == []


@pytest.mark.parametrize("damage", [*DELETED, delete_lexical, delete_dense])
@pytest.mark.parametrize("revision", ["HEAD", "HEAD~1"])
def test_a_tree_published_before_a_loss_is_built_again_and_not_shown_as_it_was(
    views: Views, damage: Damage, revision: str
) -> None:
    damage(views)
    views.reopen()
    views.repair(revision)
    assert views.differences() == []


def test_after_the_loss_of_structure_no_old_snapshot_is_taken_for_a_listing_of_the_same_number(
    views: Views,
) -> None:
    """Numbers start anew in a new structure.db; the catalog of before would name listings by them."""
    delete_structure(views)
    views.reopen()
    for revision in ("HEAD", "HEAD~1", "HEAD"):
        views.repair(revision)
        assert views.differences() == []


@pytest.mark.parametrize(("damage", "view"), DAMAGED.items())
def test_a_view_that_is_found_damaged_is_built_from_nothing_at_the_same_commit(
    views: Views, damage: Damage, view: View
) -> None:
    damage(views)
    views.repair(discard=[view])
    assert views.differences() == []


def damage_listing(views: Views, listing: int) -> None:
    with closing(sqlite3.connect(views.folder.structure)) as structure:
        structure.execute("UPDATE listing SET checksum = checksum + 1 WHERE id = ?", (listing,))
        structure.commit()


def by_listing(views: Views) -> list[list[Snapshot]]:
    """The kept snapshots of each listing, oldest first: dense vectors that come later make a second one."""
    snapshots = views.stores.catalog.snapshots()
    return [list(group) for _, group in itertools.groupby(snapshots, lambda snapshot: snapshot.listing)]


def test_a_damaged_snapshot_for_the_way_back_is_dropped_and_the_rest_collected(views: Views) -> None:
    edit(views, 3)
    views.repair()
    first, second, current = by_listing(views)
    damage_listing(views, second[0].listing)
    collected = views.collect(keep=8)
    assert list(collected.damaged) == [snapshot.generation for snapshot in second]
    assert f"listing {second[0].listing} is damaged" in collected.damaged[second[0].generation]
    assert by_listing(views) == [first[-1:], current[-1:]]
    older = len(first) + len(current) - 2  # of trees that have a newer one
    assert (collected.retired, collected.rows["listings"], collected.rows["files"]) == (older, 1, 1)
    assert collected.swept == 2  # its lexical generation and its list of rows
    assert views.differences() == []
    assert views.collect(keep=8).damaged == {}
    assert not views.repair("HEAD~1").kept
    assert views.differences() == []


@pytest.mark.parametrize("keep", [0, 8])
def test_a_damaged_snapshot_that_is_shown_is_dropped_and_made_again_from_what_is_left(
    views: Views, keep: int
) -> None:
    older, shown = by_listing(views)
    damage_listing(views, shown[0].listing)
    assert list(views.collect(keep=keep).damaged) == [snapshot.generation for snapshot in shown]
    assert views.current() == older[-1]  # it answers, and says of which commit, until the repair
    made = views.repair()
    assert (made.kept, made.work.paths, made.work.parsed) == (False, 2, 1)
    assert views.differences() == []
    assert views.collect().damaged == {}


def test_a_damaged_snapshot_is_not_shown_again_for_its_tree(views: Views) -> None:
    shown = views.current()
    damage_listing(views, shown.listing)
    made = views.repair()
    assert (made.kept, made.work.paths, made.snapshot.tree) == (False, 2, shown.tree)
    assert views.differences() == []


def test_a_damaged_snapshot_that_is_read_holds_up_nothing_and_goes_once_it_is_not(views: Views) -> None:
    (first, read), (_, shown) = by_listing(views)
    damage_listing(views, read.listing)
    collected = views.collect(pinned=[read.generation])
    assert (list(collected.damaged), collected.rows["listings"]) == ([first.generation], 1)
    assert views.stores.catalog.snapshots() == [read, shown]
    assert list(views.collect().damaged) == [read.generation]
    assert views.stores.catalog.snapshots() == [shown]
    assert views.differences() == []


def damage_facts(views: Views, path: str) -> None:
    """Turn over the bytes of a file's postings, as a bad disk does."""
    blob = bytes.fromhex(views.repo.blob(path))
    with closing(sqlite3.connect(views.folder.facts)) as facts:
        (postings,) = facts.execute("SELECT postings FROM fact WHERE blob = ?", (blob,)).fetchone()
        turned = bytes(byte ^ 0xFF for byte in postings)
        facts.execute("UPDATE fact SET postings = ? WHERE blob = ?", (turned, blob))
        facts.commit()
    views.reopen()


def test_damaged_facts_of_a_file_that_moves_are_made_again(views: Views) -> None:
    damage_facts(views, "kept.py")
    views.repo.move("kept.py", "moved.py")
    views.repo.commit()
    made = views.repair()
    assert (made.work.read, made.work.parsed) == (1, 1)
    assert views.differences() == []


def test_damaged_facts_of_a_file_that_goes_do_not_stop_the_repair(views: Views) -> None:
    damage_facts(views, "kept.py")
    views.repo.remove("kept.py")
    views.repo.commit()
    views.repair()
    assert views.differences() == []


def test_damaged_facts_that_a_reader_finds_are_made_again_by_discarding_the_view(views: Views) -> None:
    damage_facts(views, "kept.py")
    with pytest.raises(CorruptFacts):
        views.stores.facts.get(BlobId(views.repo.blob("kept.py")), "python")
    views.repair(discard=[View.LEXICAL])
    assert views.differences() == []


def test_a_rule_file_that_was_lost_since_is_noticed_and_only_what_it_reaches_is_looked_at(
    views: Views,
) -> None:
    views.repo.write("deep/.nibdignore", "*.txt\n")
    views.repo.write("deep/words.txt", "words\n")
    views.repo.commit()
    assert views.repair().snapshot.skipped == {"ignored": 1}
    edit(views, 3)
    blob = views.repo.blob("deep/.nibdignore")
    place = views.repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    aside = place.rename(views.root / "aside")
    views.reopen()
    lost = views.repair()
    assert (lost.work.paths, lost.work.reclassified, lost.snapshot.skipped) == (2, 2, {})
    assert lost.snapshot.missing_rules == (b"deep/.nibdignore",)
    assert len(lost.snapshot.notes) == 1
    aside.rename(place)
    found = views.repair()
    assert (found.work.paths, found.work.reclassified, found.snapshot.skipped) == (0, 2, {"ignored": 1})
    assert (found.snapshot.missing_rules, found.snapshot.notes) == ((), ())
    assert views.differences() == []


def test_a_build_from_nothing_reads_nothing_that_is_known(views: Views) -> None:
    made = views.repair(discard=list(View))
    assert made.work == Work(paths=2, added=2, appended=2)
    assert views.differences() == []


def test_another_checkout_starts_from_what_the_first_has(views: Views) -> None:
    edit(views, 3)
    made = views.repair(checkout=OTHER)
    assert (made.work.paths, made.work.parsed) == (2, 1)
    assert views.differences(OTHER) == []
    again = views.repair()
    assert (again.kept, again.work) == (True, NOTHING)
    assert views.current(MAIN) == views.current(OTHER)


def test_an_interrupted_build_goes_on_where_it_stopped(views: Views) -> None:
    for number in range(130):
        views.repo.write(f"many/f{number}.py", f"def f{number}():\n    return {number}\n")
    views.repo.commit()
    before = views.current()

    def stop(progress: Progress) -> None:
        if progress.stage == "facts" and progress.done >= 64:
            raise Interrupted

    views.report = stop
    with pytest.raises(Interrupted):
        views.repair()
    assert views.current() == before
    views.report = lambda _: None
    assert views.repair().work.parsed == 130 - 64
    assert views.differences() == []


def test_a_view_that_still_waits_for_vectors_says_so_and_is_no_base(views: Views) -> None:
    edit(views, 3)
    waiting = views.repair(embed=False)
    record = waiting.snapshot.views[View.DENSE]
    assert waiting.outcome.dense_missing == 1
    lacking = record.coverage.of - record.coverage.done
    assert (record.state, record.artifact, lacking) == (State.BUILDING, None, 1)
    edit(views, 4)
    made = views.repair()
    assert made.work.embedded == 2  # the text of the commit between is on the spool too
    assert views.differences() == []
    views.collect()
    assert views.differences() == []


def test_a_dense_view_that_was_switched_off_comes_back_at_the_same_commit(views: Views) -> None:
    views.dense_absent = "switched off"
    edit(views, 3)
    assert views.repair().snapshot.views[View.DENSE].state is State.ABSENT
    views.dense_absent = None
    views.repair()
    assert views.differences() == []
    views.dense_absent = "switched off"
    assert views.repair().snapshot.views[View.DENSE].state is State.ABSENT


@pytest.mark.parametrize("damage", [lambda _: None, delete_dense, cut_vectors, delete_vectors, delete_rows])
def test_a_damaged_matrix_of_an_unfinished_view_is_made_anew(
    views: Views, damage: Damage
) -> None:
    """A first build that has published some of its vectors, and then loses them."""
    for number in range(4):
        views.repo.write(f"f{number}.py", f"def f{number}():\n    return {number}\n")
    views.repo.commit()
    delete_all(views)
    views.embeddings.trim(0)
    views.reopen()
    views.repair(embed=False)
    views.embed(2)
    views.repair_dense()
    partial = views.current().views[View.DENSE]
    assert (partial.state, partial.coverage) == (State.BUILDING, Coverage(2, 6))
    assert len(views.vectors()) == 2
    damage(views)
    views.embed(2)
    outcome = views.repair_dense()
    assert outcome is not None
    assert outcome.dense_missing == 2
    views.embed()
    views.repair_dense()
    assert views.differences() == []


def test_views_that_have_grown_old_are_folded_and_equal_a_rebuild(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "OLD_ROWS", 4)
    number = 3
    while not (made := views.repair()).outcome.fold or not dense.is_old(made.snapshot.views[View.DENSE]):
        edit(views, number)
        number += 1
        assert number < 40
    assert made.snapshot.views[View.LEXICAL].counts["old"]
    outcome = views.fold()
    assert outcome is not None
    folded = outcome.publication.snapshot
    assert folded.views[View.LEXICAL].counts["dead"] == 0
    assert folded.views[View.DENSE].counts["rows"] == folded.views[View.DENSE].counts["texts"]
    assert views.differences() == []
    edit(views, number)
    assert views.repair().work.read <= 2
    assert views.differences() == []


def test_a_checkout_that_moved_on_is_not_folded_for_the_tree_of_before(views: Views) -> None:
    edit(views, 3)
    assert views.fold() is None
    assert views.repair_dense() is None


@pytest.mark.parametrize("damage", [each for each, view in DAMAGED.items() if view is View.DENSE])
def test_every_text_is_embedded_again_when_the_embeddings_are_lost_with_the_matrix(
    views: Views, damage: Damage
) -> None:
    damage(views)
    views.embeddings.trim(0)
    edit(views, 3)
    made = views.repair(discard=[View.DENSE] if damage is turn_vectors else [])
    assert made.work.embedded == 3
    assert views.differences() == []
