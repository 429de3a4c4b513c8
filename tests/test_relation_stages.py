"""Which records a tree has: resolutions, and what first builds have so far."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import relation_stores
from made_relations import PYTHON, relations
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import CorruptRelations, RelationStore, Stage
from nibd.stores.types import ProfileId
from relation_stores import BOTH, CALLER, JOB, ONE, OUTSIDE, PROFILE, TWO, resolved

# The fixtures of these names.
path = relation_stores.path
store = relation_stores.store


def test_a_tree_seen_before_is_found_again(store: RelationStore) -> None:
    one = resolved(store, ONE, CALLER, BOTH)
    two = resolved(store, TWO, CALLER)
    assert store.find_resolution(PYTHON, ONE, PROFILE) == one
    assert store.find_resolution(PYTHON, TWO, PROFILE) == two
    assert store.find_resolution("go", ONE, PROFILE) is None
    assert store.find_resolution(PYTHON, ONE, ProfileId("other")) is None
    assert resolved(store, ONE, CALLER, BOTH) == one
    better = resolved(store, ONE, CALLER, OUTSIDE)
    assert better != one
    assert store.find_resolution(PYTHON, ONE, PROFILE) == better
    assert len(store.resolution(one)) == 2


def test_an_unfinished_resolution_is_read_but_never_found(store: RelationStore) -> None:
    bits = Bitmap.of(store.add([CALLER]))
    partial = store.add_resolution(PYTHON, ONE, PROFILE, bits, finished=False)
    assert store.resolution(partial) == bits
    assert store.find_resolution(PYTHON, ONE, PROFILE) is None
    assert store.add_resolution(PYTHON, ONE, PROFILE, bits) != partial


def test_a_first_build_finds_what_it_had_and_its_resolution_ends_it(path: Path) -> None:
    with closing(RelationStore.open(path)) as store:
        store.stage(PYTHON, ONE, PROFILE, [CALLER])
        store.stage(PYTHON, ONE, PROFILE, [BOTH, OUTSIDE])
    with closing(RelationStore.open(path)) as store:
        assert store.stages() == [(PYTHON, ONE, PROFILE)]
        assert store.collect([], [ONE])["records"] == 0
        bits = store.staged(PYTHON, ONE, PROFILE).records
        assert {file.path for _, file in store.records(bits)} == {CALLER.path, BOTH.path, OUTSIDE.path}
        assert store.staged(PYTHON, TWO, PROFILE) == Stage()
        store.add_resolution(PYTHON, ONE, PROFILE, bits, finished=False)
        assert store.stages() == [(PYTHON, ONE, PROFILE)]
        store.add_resolution(PYTHON, ONE, PROFILE, bits)
        assert store.stages() == []


def test_a_first_build_has_one_record_of_a_file(store: RelationStore) -> None:
    newer = relations(b"caller.py", ("run", [JOB]), version=1)
    store.stage(PYTHON, ONE, PROFILE, [CALLER, BOTH])
    store.stage(PYTHON, ONE, PROFILE, [newer])
    bits = store.staged(PYTHON, ONE, PROFILE).records
    assert len(bits) == 2
    assert store.at_path(bits, CALLER.path) == newer


def test_a_stage_is_fresh_as_long_as_all_of_it_was_asked_of_fresh_servers(path: Path) -> None:
    with closing(RelationStore.open(path)) as store:
        store.stage(PYTHON, ONE, PROFILE, [CALLER], is_fresh=True)
        store.stage(PYTHON, ONE, PROFILE, [BOTH], is_fresh=True)
    with closing(RelationStore.open(path)) as store:
        assert store.staged(PYTHON, ONE, PROFILE).is_fresh
        store.stage(PYTHON, ONE, PROFILE, [OUTSIDE], is_fresh=False)
        store.stage(PYTHON, ONE, PROFILE, [CALLER], is_fresh=True)
        assert not store.staged(PYTHON, ONE, PROFILE).is_fresh


def test_a_tree_has_the_stage_of_one_profile_a_family(store: RelationStore) -> None:
    other = ProfileId("other")
    store.stage(PYTHON, ONE, PROFILE, [CALLER])
    store.stage("go", ONE, PROFILE, [CALLER])
    store.stage(PYTHON, TWO, PROFILE, [CALLER])
    store.stage(PYTHON, ONE, other, [BOTH])
    assert sorted(store.stages()) == [("go", ONE, PROFILE), (PYTHON, ONE, other), (PYTHON, TWO, PROFILE)]


def test_numbers_of_resolutions_are_not_used_again_by_a_store_made_anew(path: Path) -> None:
    with closing(RelationStore.open(path)) as store:
        old = resolved(store, ONE, CALLER)
    for each in path.parent.glob("relations.db*"):
        each.unlink()
    with closing(RelationStore.open(path)) as store:
        new = resolved(store, ONE, CALLER)
        assert new != old
        with pytest.raises(CorruptRelations, match="missing"):
            store.resolution(old)
