"""Lexical generations: each is whole, on its own, and made by exactly the change it was given."""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexical_corpus import MadeFile, made_file
from lexical_shelf import Shelf
from nibd.query.lexical import search
from nibd.stores import lexical_files
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.lexical import Field, LexicalGeneration, Population, PopulationStats, build
from waiting import wait_until

THREE = [
    made_file("a.py", "import one", ("f", "alpha beta"), ("g", "beta")),
    made_file("b.py", "", ("h", "gamma")),
    made_file("c.py", "alpha"),
]
CHANGED = made_file("a.py", "import two", ("f", "delta"))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.facts.close()


def paths(shelf: Shelf, generation: LexicalGeneration, query: str) -> list[bytes]:
    return [hit.path for hit in search(generation, shelf.facts, query, None, 10)]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    }


def latest(shelf: Shelf) -> Path:
    assert shelf.latest is not None
    return shelf.latest


def test_the_work_is_that_of_the_change(shelf: Shelf) -> None:
    shelf.repair(THREE)
    assert shelf.stats.units == PopulationStats(added=5, deleted=0, documents=5, dead=0, segments=1)
    assert shelf.stats.files == PopulationStats(added=3, deleted=0, documents=3, dead=0, segments=1)
    assert (shelf.stats.files_linked, shelf.stats.files_copied) == (0, 0)
    generation = shelf.repair([CHANGED, *THREE[1:]])
    assert shelf.stats.units == PopulationStats(added=2, deleted=3, documents=4, dead=3, segments=2)
    assert shelf.stats.files == PopulationStats(added=1, deleted=1, documents=3, dead=1, segments=2)
    assert shelf.stats.files_linked > 0
    assert generation.documents(Population.UNITS) == 4


def test_a_change_of_nothing_is_a_generation_too(shelf: Shelf) -> None:
    shelf.repair(THREE)
    generation = shelf.repair(THREE)
    assert (shelf.stats.units.added, shelf.stats.units.deleted, shelf.stats.units.segments) == (0, 0, 1)
    assert paths(shelf, generation, "gamma") == [b"b.py"]


def test_totals_and_frequencies_count_live_documents_only(shelf: Shelf) -> None:
    shelf.repair(THREE)
    generation = shelf.repair([CHANGED, *THREE[1:]])
    totals = generation.totals(Population.UNITS)
    assert (totals.documents, totals.lengths[Field.BODY], totals.lengths[Field.NAME]) == (4, 5, 2)
    assert generation.document_frequency(Population.UNITS, Field.BODY, "alpha") == 1
    assert generation.counted_frequency(Population.UNITS, Field.BODY, "alpha") == 2
    assert generation.document_frequency(Population.UNITS, Field.BODY, "beta") == 0
    assert generation.totals(Population.FILES) == shelf.fresh().totals(Population.FILES)


def test_the_older_generation_goes_on_as_it_was(shelf: Shelf) -> None:
    old = shelf.repair(THREE)
    folder = latest(shelf)
    before = contents(folder)
    new = shelf.repair([CHANGED, THREE[1]])
    assert contents(folder) == before
    assert (paths(shelf, old, "one"), paths(shelf, old, "two")) == ([b"a.py"], [])
    assert (paths(shelf, new, "one"), paths(shelf, new, "two")) == ([], [b"a.py"])
    LexicalGeneration.open(folder).check()


def test_the_newer_generation_needs_nothing_of_the_older_folder(shelf: Shelf) -> None:
    shelf.repair(THREE)
    older = latest(shelf)
    shelf.repair([CHANGED, *THREE[1:]])
    shutil.rmtree(older)
    generation = LexicalGeneration.open(latest(shelf))
    generation.check()
    assert paths(shelf, generation, "gamma") == [b"b.py"]


@pytest.mark.parametrize("error", [None, errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_without_hard_links_files_are_copied_and_answers_are_the_same(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    shelf.repair(THREE)
    if error is None:
        shelf.hard_links = False
    else:
        refused = OSError(error, "no hard links here")

        def refuse(*_: object) -> None:
            raise refused

        monkeypatch.setattr(Path, "hardlink_to", refuse)
    older = latest(shelf)
    generation = shelf.repair([CHANGED, *THREE[1:]])
    assert shelf.stats.files_linked == 0
    assert shelf.stats.files_copied > 0
    assert all(path.stat().st_nlink == 1 for path in older.rglob("*") if path.is_file())
    assert paths(shelf, generation, "two") == [b"a.py"]


def test_reopened_equals_published(shelf: Shelf) -> None:
    published = shelf.repair(THREE)
    reopened = LexicalGeneration.open(latest(shelf))
    for query in ("alpha", "beta gamma", "a py"):
        expected = search(published, shelf.facts, query, None, 10)
        assert expected
        assert search(reopened, shelf.facts, query, None, 10) == expected
    assert reopened.totals(Population.UNITS) == published.totals(Population.UNITS)


def index_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"]


def test_a_missing_or_cut_file_is_corrupt_when_opened(shelf: Shelf) -> None:
    shelf.repair(THREE)
    folder = latest(shelf)
    for path in index_files(folder):
        whole = path.read_bytes()
        for damaged in (None, whole[:-1]):
            path.unlink(missing_ok=True)
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(CorruptStore):
                LexicalGeneration.open(folder)
        path.write_bytes(whole)
        LexicalGeneration.open(folder).check()


def test_a_changed_byte_is_found_by_a_check(shelf: Shelf) -> None:
    shelf.repair(THREE)
    folder = latest(shelf)
    for path in index_files(folder):
        if path.name == lexical_files.RECORD:
            continue
        whole = path.read_bytes()
        path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
        record = lexical_files.read_record(folder)
        with pytest.raises(CorruptStore, match=path.name):
            lexical_files.check_files(folder, record, contents=True)
        path.write_bytes(whole)


def test_files_damaged_unseen_raise_or_answer_but_never_panic(shelf: Shelf) -> None:
    """Damage that keeps the size is for `check`; what Tantivy makes of it is an error of ours."""
    shelf.repair(THREE)
    folder = latest(shelf)
    raised = 0
    for path in index_files(folder):
        whole = path.read_bytes()
        for damaged in (bytes(len(whole)), whole[::-1]):
            path.write_bytes(damaged)
            try:
                paths(shelf, LexicalGeneration.open(folder), "alpha py f")
            except CorruptStore:
                raised += 1
        path.write_bytes(whole)
    assert raised > 0


def test_a_file_that_no_one_recorded_is_corrupt(shelf: Shelf) -> None:
    shelf.repair(THREE)
    (latest(shelf) / "units" / "stray.idx").write_bytes(b"")
    with pytest.raises(CorruptStore, match="stray"):
        LexicalGeneration.open(latest(shelf))


def test_a_half_made_generation_is_ignorable(shelf: Shelf) -> None:
    """A build that fails on the way leaves a folder without a record, and its base as it was."""
    shelf.repair(THREE)
    base, target = latest(shelf), shelf.root / "half"
    before = contents(base)
    unknown = made_file("x.py", "facts of this were never put")
    with pytest.raises(StoreError, match=unknown.blob):
        build(base, target, [], [unknown.key], shelf.facts)
    assert contents(base) == before
    with pytest.raises(CorruptStore, match="no finished generation"):
        LexicalGeneration.open(target)
    with pytest.raises(StoreError, match="exists"):
        build(base, target, [], [], shelf.facts)


def test_a_change_that_does_not_fit_the_base_is_refused(shelf: Shelf) -> None:
    shelf.repair(THREE[:2])
    target = shelf.root / "wrong"
    with pytest.raises(StoreError, match="does not fit"):
        build(latest(shelf), target, [THREE[0].key, THREE[0].key], [], shelf.facts)


def test_a_deleted_folder_goes_on_answering_while_it_is_open(shelf: Shelf) -> None:
    generation = shelf.repair(THREE)
    shutil.rmtree(latest(shelf))
    assert paths(shelf, generation, "gamma") == [b"b.py"]
    assert paths(shelf, generation, "alpha beta")[0] == b"a.py"
    with pytest.raises(CorruptStore):
        generation.check()


def test_dead_documents_and_segments_ask_for_a_rebuild_that_has_none(shelf: Shelf) -> None:
    tree = [made_file(f"f{n}.py", f"text {n}") for n in range(10)]
    shelf.repair(tree)
    before = shelf.stats
    assert not before.needs_rebuild
    generation = shelf.repair([made_file(f"f{n}.py", f"other {n}") if n < 6 else tree[n] for n in range(10)])
    assert shelf.stats.units.dead_share == 6 / 16
    assert shelf.stats.needs_rebuild
    rebuilt = shelf.root / "rebuilt"
    stats = build(None, rebuilt, [], [file.key for file in shelf.files.values()], shelf.facts)
    assert (stats.units.dead, stats.units.segments, stats.needs_rebuild) == (0, 1, False)
    for query in ("text", "other 3"):
        expected = search(generation, shelf.facts, query, None, 10)
        assert search(LexicalGeneration.open(rebuilt), shelf.facts, query, None, 10) == expected


def test_many_small_generations_keep_few_segments(shelf: Shelf) -> None:
    tree: list[MadeFile] = []
    for n in range(12):
        tree.append(made_file(f"f{n}.py", f"text {n}"))
        generation = shelf.repair(tree)
    assert shelf.stats.units.segments < 12
    assert len(paths(shelf, generation, "text")) == 10
    assert generation.documents(Population.FILES) == 12


def test_no_thread_outlives_a_build(shelf: Shelf) -> None:
    def native() -> int:
        return sum(1 for _ in Path("/proc/self/task").iterdir())

    before, python_before = native(), threading.active_count()
    for n in range(3):
        build(None, shelf.root / f"empty{n}", [], [], shelf.facts)
    assert threading.active_count() == python_before
    wait_until(lambda: native() <= before, what="Tantivy's threads to end")
