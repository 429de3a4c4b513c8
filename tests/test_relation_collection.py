"""What is collected of relations.db, and what stays."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relation_stores
from made_relations import PYTHON, file_relations, relations
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import FileRelations
from nibd.stores.relations import CorruptRelations, RelationStore, ResolutionId
from nibd.stores.types import TreeId
from relation_stores import (
    BOTH,
    CALLER,
    JOB,
    ONE,
    OUTSIDE,
    PROFILE,
    TWO,
    any_store,
    assert_sound,
    content,
    resolved,
    rows,
)

# The fixtures of these names.
path = relation_stores.path
store = relation_stores.store


def test_collection_removes_what_no_kept_resolution_holds(store: RelationStore, path: Path) -> None:
    kept = resolved(store, ONE, CALLER)
    gone = resolved(store, TWO, CALLER, BOTH, OUTSIDE)
    bits = store.resolution(kept)
    assert store.collect([kept], []) == {"resolutions": 1, "stages": 0, "records": 2, "mentions": 4}
    assert store.at_path(bits, CALLER.path) == CALLER
    assert store.mentioning(JOB, bits) == list(bits)
    with pytest.raises(CorruptRelations):
        store.resolution(gone)
    assert rows(path) == {"record": 1, "file": 1, "mention": 2, "naming": 4, "resolution": 1, "stage": 0}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(file_relations(), max_size=4), max_size=4), st.data())
def test_what_is_left_is_what_a_store_of_the_kept_alone_has(
    trees: list[list[FileRelations]], data: st.DataObject
) -> None:
    kept = data.draw(st.sets(st.sampled_from(range(len(trees))))) if trees else set()
    with any_store() as store, any_store() as alone:
        every = [resolved(store, TreeId(f"{n:040}"), *files) for n, files in enumerate(trees)]
        for n in kept:
            resolved(alone, TreeId(f"{n:040}"), *trees[n])
        store.collect([every[n] for n in kept], [])
        assert content(store._db.path) == content(alone._db.path)


def test_records_that_wait_for_their_resolution_are_not_collected(path: Path) -> None:
    with closing(RelationStore.open(path)) as store:
        gone = resolved(store, ONE, CALLER, BOTH)
        (caller,) = store.add([CALLER])
        assert store.collect([], []) == {"resolutions": 1, "stages": 0, "records": 1, "mentions": 3}
        assert store.at_path(Bitmap.of([caller]), CALLER.path) == CALLER
        with pytest.raises(CorruptRelations):
            store.resolution(gone)
    with closing(RelationStore.open(path)) as store:  # whoever wanted it is gone
        assert store.collect([], [])["records"] == 1
        assert set(rows(path).values()) == {0}


class StopIt(Exception):  # noqa: N818 - no error
    pass


def test_an_interrupted_collection_leaves_a_sound_store_and_is_done_by_the_next(
    store: RelationStore, path: Path
) -> None:
    kept = resolved(store, ONE, CALLER)
    dead = [relations(b"%d.py" % n, ("run", [JOB]), (f"own{n}", [JOB])) for n in range(170)]
    resolved(store, TWO, CALLER, *dead)
    steps = 0

    def interrupt() -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise StopIt

    with pytest.raises(StopIt):
        store.collect([kept], [], interrupt)
    left = rows(path)["record"]
    assert 1 < left < 171
    assert_sound(path)
    assert store.collect([kept], [], interrupt)["records"] == left - 1
    assert steps > 4
    assert rows(path) == {"record": 1, "file": 1, "mention": 2, "naming": 4, "resolution": 1, "stage": 0}


def test_what_another_thread_stores_between_two_steps_is_kept(store: RelationStore) -> None:
    dead = [relations(b"%03d.py" % n, ("run", [JOB])) for n in range(170)]
    resolved(store, ONE, *dead)
    again: list[ResolutionId] = []

    def interrupt() -> None:
        if not again:
            again.append(resolved(store, TWO, dead[-1]))

    assert store.collect([], [], interrupt)["records"] == 169
    assert store.at_path(store.resolution(again[0]), dead[-1].path) == dead[-1]


def test_of_a_kept_tree_the_newest_resolutions_stay_though_nothing_names_them(store: RelationStore) -> None:
    bits = Bitmap.of(store.add([CALLER]))
    older = store.add_resolution(PYTHON, ONE, PROFILE, bits)
    part = store.add_resolution(PYTHON, ONE, PROFILE, bits, finished=False)
    newer = resolved(store, ONE, CALLER, BOTH)
    elsewhere = resolved(store, TWO, CALLER, OUTSIDE)
    assert store.collect([], [ONE])["resolutions"] == 2
    found = [number for number in (older, part, newer, elsewhere) if store.has_resolution(number)]
    assert found == [part, newer]


def test_a_first_build_stays_as_long_as_its_tree(store: RelationStore, path: Path) -> None:
    store.stage(PYTHON, ONE, PROFILE, [CALLER])
    store.stage(PYTHON, TWO, PROFILE, [BOTH])
    assert store.collect([], [TWO]) == {"resolutions": 0, "stages": 1, "records": 1, "mentions": 2}
    assert store.stages() == [(PYTHON, TWO, PROFILE)]
    store.collect([], [])
    assert set(rows(path).values()) == {0}


def test_what_nobody_is_at_work_for_is_collected(store: RelationStore, path: Path) -> None:
    store.add([CALLER])
    assert store.collect([], [])["records"] == 0
    store.abandon()
    assert store.collect([], [])["records"] == 1
    assert set(rows(path).values()) == {0}
