"""Relations in a snapshot's manifest, beside other views in a folder, and kept as long as they are needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import relation_stores
from made_relations import PYTHON
from nibd.stores.bitmap import Bitmap
from nibd.stores.catalog import UNPUBLISHED, Catalog
from nibd.stores.collection import collect_relations
from nibd.stores.relations import RelationStore, ResolutionId
from nibd.stores.repository import RepositoryFolder, RepositoryStores, sweep
from nibd.stores.snapshot import (
    Artifact,
    Coverage,
    Snapshot,
    ViewRecord,
    decode,
    encode,
    resolution_artifact,
)
from nibd.stores.structure import ListingId
from nibd.stores.types import (
    Assurance,
    CheckoutId,
    CommitId,
    State,
    TreeId,
    View,
)
from relation_stores import BOTH, CALLER, ONE, PROFILE, TWO, resolved

# The fixtures of these names.
path = relation_stores.path
store = relation_stores.store


def pending(tree: TreeId, *families: str) -> Snapshot:
    """Of `tree`, with every view and relations of none of `families` yet."""
    ready = ViewRecord(State.READY, Assurance.EXACT, "profile", Artifact("x/1", "crc", 10))
    building = {family: ViewRecord(State.BUILDING, reason="being asked") for family in families}
    views = dict.fromkeys(View, ready)
    return Snapshot(tree, UNPUBLISHED, ListingId(1), {}, {}, views, relations=building)


def with_relations(snapshot: Snapshot, resolution: ResolutionId, bits: Bitmap) -> Snapshot:
    artifact = resolution_artifact(resolution, bits)
    counts = {"sites": 7, "unknown": 1}
    record = ViewRecord(
        State.READY, Assurance.REPAIRED, PROFILE, artifact, Coverage(2, 2), None, counts, {"asked": 3}
    )
    return snapshot.with_relations(PYTHON, record)


def test_a_manifest_says_what_is_known_of_relations(store: RelationStore) -> None:
    resolution = resolved(store, ONE, CALLER, BOTH)
    snapshot = with_relations(pending(ONE, "go", PYTHON), resolution, store.resolution(resolution))
    assert snapshot.resolutions() == {PYTHON: resolution}
    assert snapshot.relations[PYTHON].artifact == Artifact(f"relations.db#{resolution}", "3b614ab8", 1)
    assert decode(ONE, UNPUBLISHED, encode(snapshot)) == snapshot
    assert [artifact.location for artifact in snapshot.artifacts()] == ["x/1"] * 3


def test_a_manifest_without_relations_is_that_of_an_older_version() -> None:
    snapshot = pending(ONE)
    manifest = json.loads(encode(snapshot))
    assert "relations" not in manifest
    assert decode(ONE, UNPUBLISHED, json.dumps(manifest)).relations == {}


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog.open(tmp_path / "catalog.db")) as opened:
        yield opened


def published(catalog: Catalog, snapshot: Snapshot) -> Snapshot:
    return catalog.publish(CheckoutId("main"), CommitId("c" * 40), snapshot, 1.0).snapshot


def test_relations_are_kept_while_a_newer_snapshot_has_none_yet(
    store: RelationStore, catalog: Catalog
) -> None:
    one, two = resolved(store, ONE, CALLER), resolved(store, TWO, CALLER, BOTH)
    first = published(catalog, with_relations(pending(ONE, PYTHON), one, store.resolution(one)))
    second = published(catalog, pending(TWO, PYTHON))
    assert catalog.unneeded(0) == []
    assert collect_relations(catalog, store)["resolutions"] == 0  # of `two`, which is not published yet
    third = published(catalog, with_relations(second, two, store.resolution(two)))
    assert third.generation == second.generation  # what was published never changes
    third = published(catalog, replace(third, generation=UNPUBLISHED))
    assert catalog.unneeded(0) == [second.generation, first.generation]
    catalog.retire(catalog.unneeded(0))
    assert collect_relations(catalog, store) == {"resolutions": 1, "stages": 0, "records": 0, "mentions": 0}
    assert third.resolutions() == {PYTHON: two}
    assert len(store.resolution(two)) == 2


def test_relations_of_a_family_that_is_gone_from_the_tree_are_not_needed(
    store: RelationStore, catalog: Catalog
) -> None:
    one = resolved(store, ONE, CALLER)
    first = published(catalog, with_relations(pending(ONE, PYTHON), one, store.resolution(one)))
    published(catalog, pending(TWO))
    assert catalog.unneeded(0) == [first.generation]


def test_a_reader_sees_relations_come_go_and_come_anew(tmp_path: Path) -> None:
    folder = RepositoryFolder(tmp_path / "repository")
    with RepositoryStores.open(folder, "extractor") as stores:
        assert stores.relations.current() is None
        with closing(RelationStore.open(folder.relations)) as store:
            assert sweep(folder, stores.catalog) == []
            old = resolved(store, ONE, CALLER)
        reader = stores.relations.current()
        assert reader is not None
        assert reader is stores.relations.current()
        assert len(reader.resolution(old)) == 1

        folder.clear_relations()
        assert stores.relations.current() is None
        assert len(reader.resolution(old)) == 1  # whoever reads goes on
        with closing(RelationStore.open(folder.relations)) as store:
            new = resolved(store, TWO, CALLER, BOTH)
        again = stores.relations.current()
        assert again is not None
        assert len(again.resolution(new)) == 2
        assert stores.is_in_place()


def test_removing_relations_leaves_nothing_of_them_and_the_rest_as_it_is(tmp_path: Path) -> None:
    folder = RepositoryFolder(tmp_path / "repository")
    RepositoryStores.open(folder, "extractor").close()
    before = sorted(folder.root.iterdir())
    store = RelationStore.open(folder.relations)
    resolved(store, ONE, CALLER)
    logged = {file.name for file in folder.root.glob("relations.db*")}
    assert logged == {"relations.db", "relations.db-wal", "relations.db-shm"}
    folder.clear_relations()
    assert sorted(folder.root.iterdir()) == before
    store.close()
    folder.clear()
    assert not folder.root.exists()
