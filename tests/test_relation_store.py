"""relations.db: what is put is what is read, the inversion says what the records say, and what is
damaged or killed in the middle is never served."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_relations import PYTHON, external, file_relations, names, paths, relations, target, targets
from nibd.stores.bitmap import Bitmap
from nibd.stores.catalog import UNPUBLISHED, Catalog
from nibd.stores.collection import collect_relations
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.relation_records import pack
from nibd.stores.relation_types import FileRelations, Relation, Target
from nibd.stores.relations import CorruptRelations, RecordId, RelationStore, ResolutionId
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
    ProfileId,
    RepoPath,
    State,
    TreeId,
    View,
)
from waiting import wait_until

PROFILE = ProfileId("profile")
ONE, TWO = TreeId("1" * 40), TreeId("2" * 40)
JOB = target(b"job.py", "Job.run", "run")
JOB_TIMES = target(b"job.py", "Job.run", "times", nth=1)
OTHER_JOB = target(b"job.py", "Job.run", "run", ordinal=1)
PRINT = external("stdlib", b"builtins.pyi", "print")
CALLER = relations(b"caller.py", ("run", [JOB]), ("print", [PRINT]), ("x", []), ("lost", None))
BOTH = relations(b"both.py", ("run", [JOB, OTHER_JOB]), ("times", [JOB_TIMES]))
OUTSIDE = relations(b"outside.py", ("print", [PRINT]))
TABLES = ("record", "file", "mention", "naming", "resolution", "stage")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relations.db"


@pytest.fixture
def store(path: Path) -> Iterator[RelationStore]:
    with closing(RelationStore.open(path)) as opened:
        yield opened


@contextmanager
def any_store() -> Iterator[RelationStore]:
    """One for an example of hypothesis."""
    with tempfile.TemporaryDirectory() as folder, closing(RelationStore.open(Path(folder) / "r.db")) as made:
        yield made


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(sql, values).rowcount > 0
        database.commit()


def rows(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as database:
        return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


def content(path: Path) -> dict[str, set[object]]:
    """What the store holds, whatever numbers it has given."""
    with closing(sqlite3.connect(path)) as database:
        file = "LEFT JOIN file f ON f.id = file"
        columns = "target_file, target_unit, target_name, path"
        return {
            "record": set(database.execute("SELECT path, digest FROM record")),
            "file": set(database.execute("SELECT path FROM file")),
            "mention": set(database.execute(f"SELECT {columns} FROM mention {file}")),
            "naming": set(database.execute(f"SELECT name, path FROM naming {file}")),
        }


def resolved(store: RelationStore, tree: TreeId, *files: FileRelations) -> ResolutionId:
    return store.add_resolution(PYTHON, tree, PROFILE, Bitmap.of(store.add(files)))


# Records


@settings(deadline=None)
@given(file_relations())
def test_a_record_says_what_was_packed(file: FileRelations) -> None:
    record, _ = pack(file)
    assert record.file() == file
    assert record.names == {relation.site.name for relation in file.relations}
    assert set(record.targets) == {t for relation in file.relations for t in relation.targets or ()}
    assert len(record.targets) == len(set(record.targets))
    assert (record.sites, record.unknown) == (len(file.relations), file.unknown)


@settings(deadline=None)
@given(file_relations(), file_relations())
def test_equal_relations_and_no_others_have_equal_digests(one: FileRelations, other: FileRelations) -> None:
    assert (pack(one)[1] == pack(other)[1]) == (one == other)
    copy = replace(one, relations=tuple(replace(each) for each in one.relations))
    assert pack(copy) == pack(one)
    for changed in changes(one):
        assert pack(changed)[1] != pack(one)[1]


def changes(file: FileRelations) -> Iterator[FileRelations]:
    """`file` with one thing changed."""
    yield replace(file, language=file.language + "x")
    yield replace(file, path=RepoPath(file.path + b"x"))
    for at, (site, found) in enumerate((each.site, each.targets) for each in file.relations):
        before, after = file.relations[:at], file.relations[at + 1 :]
        for other in (
            Relation(replace(site, name=site.name + "x"), found),
            Relation(replace(site, end_byte=site.end_byte + 1), found),
            Relation(site, () if found is None else None),
            Relation(site, (*(found or ()), target(b"z.py", "new", "new"))),
        ):
            yield replace(file, relations=(*before, other, *after))


@settings(deadline=None)
@given(file_relations(), st.data())
def test_a_lookup_finds_what_a_look_at_all_of_them_finds(file: FileRelations, data: st.DataObject) -> None:
    record, _ = pack(file)
    bytes_ = [
        edge + n for r in file.relations for edge in (r.site.start_byte, r.site.end_byte) for n in (-1, 0)
    ]
    for byte in {0, *bytes_}:
        nearest = [r for r in file.relations if r.site.start_byte <= byte]
        first = next((r for r in nearest if r.site.start_byte == nearest[-1].site.start_byte), None)
        assert record.relation_at(byte) == (first if first and byte < first.site.end_byte else None)
    sought = data.draw(st.sampled_from(record.targets) if record.targets else targets)
    assert record.referring(sought) == [r for r in file.relations if sought in (r.targets or ())]
    assert record.referring_symbol(*sought.symbol) == [
        r
        for r in file.relations
        if any(t.symbol == sought.symbol and not t.is_external for t in r.targets or ())
    ]


def test_sites_that_are_out_of_order_are_refused() -> None:
    first, second, *_ = CALLER.relations
    with pytest.raises(ValueError, match="order"):
        pack(replace(CALLER, relations=(second, first)))


def test_a_record_that_cannot_be_read_says_so() -> None:
    record, _ = pack(CALLER)
    content = zlib.decompress(record.payload)
    for payload in (b"", record.payload[:-5], zlib.compress(b"\x63" + content[1:]), zlib.compress(b"")):
        with pytest.raises(ValueError, match=r"format|caller\.py"):
            replace(record, payload=payload).file()


# The store


def test_what_was_added_is_read_by_record_and_by_path(store: RelationStore, path: Path) -> None:
    ids = store.add([CALLER, BOTH, OUTSIDE])
    resolution = store.add_resolution(PYTHON, ONE, PROFILE, Bitmap.of(ids))
    with closing(RelationStore.open_reader(path)) as reader:
        bits = reader.resolution(resolution)
        assert set(bits) == set(ids)
        assert list(reader.records(reversed(ids))) == list(
            zip(reversed(ids), [OUTSIDE, BOTH, CALLER], strict=True)
        )
        assert reader.at_path(bits, BOTH.path) == BOTH
        assert reader.record_at(bits, BOTH.path) == ids[1]
        assert reader.at_path(Bitmap.of(ids[:1]), BOTH.path) is None
        assert reader.at_path(bits, RepoPath(b"none.py")) is None


def test_equal_relations_share_a_record_and_others_at_the_path_have_their_own(
    store: RelationStore, path: Path
) -> None:
    first = store.add([CALLER, BOTH])
    before = rows(path)
    assert store.add([BOTH, CALLER, BOTH]) == [first[1], first[0], first[1]]
    assert rows(path) == before
    newer = relations(b"caller.py", ("run", [JOB]), version=1)
    (second,) = store.add([newer])
    assert store.at_path(Bitmap.of([second]), CALLER.path) == newer
    assert store.at_path(Bitmap.of([first[0]]), CALLER.path) == CALLER


@settings(max_examples=25, deadline=None)
@given(st.lists(file_relations(), max_size=6), st.data())
def test_the_inversion_finds_what_a_look_at_every_record_finds(
    files: list[FileRelations], data: st.DataObject
) -> None:
    with any_store() as store:
        every = list(zip(store.add(files), files, strict=True))
        bits = Bitmap.of(data.draw(st.sets(st.sampled_from([id_ for id_, _ in every]))) if every else [])
        known = sorted({t for file in files for r in file.relations for t in r.targets or ()})
        sought = data.draw(st.sampled_from(known) if known else targets)
        path, name = data.draw(paths), data.draw(names)

        def told(is_meant: Callable[[Target], bool]) -> list[RecordId]:
            found = {
                id_
                for id_, file in every
                if id_ in bits and any(is_meant(t) for r in file.relations for t in r.targets or ())
            }
            return sorted(found)

        assert store.mentioning(sought, bits) == told(lambda t: t == sought)
        assert store.mentioning_symbol(*sought.symbol, bits) == told(
            lambda t: not t.is_external and t.symbol == sought.symbol
        )
        assert store.mentioning_file(path, bits) == told(lambda t: not t.is_external and t.path == path)
        assert store.mentioning_file(path, bits, "flask") == told(
            lambda t: t.package == "flask" and t.path == path
        )
        named = {id_ for id_, file in every if id_ in bits and name in {r.site.name for r in file.relations}}
        assert store.naming([name, "never"], bits) == sorted(named)


def test_a_target_is_not_taken_for_one_like_it(store: RelationStore) -> None:
    caller, both, outside = store.add([CALLER, BOTH, OUTSIDE])
    bits = Bitmap.of([caller, both, outside])
    assert store.mentioning(JOB, bits) == [caller, both]
    assert store.mentioning(OTHER_JOB, bits) == [both]
    assert store.mentioning(JOB_TIMES, bits) == [both]
    assert store.mentioning(replace(JOB_TIMES, nth=0), bits) == []
    assert store.mentioning(PRINT, bits) == [caller, outside]
    assert store.mentioning(replace(PRINT, package=""), bits) == []
    assert store.mentioning_file(RepoPath(b"builtins.pyi"), bits) == []


def test_names_with_equal_checksums_are_not_taken_for_each_other(store: RelationStore) -> None:
    one, other = (target(b"job.py", "f", name) for name in ("plumless", "buckeroo"))
    assert zlib.crc32(b"plumless") == zlib.crc32(b"buckeroo")
    ids = store.add([relations(b"1.py", ("plumless", [one])), relations(b"2.py", ("buckeroo", [other]))])
    bits = Bitmap.of(ids)
    assert [store.mentioning(one, bits), store.mentioning(other, bits)] == [[ids[0]], [ids[1]]]
    assert [store.naming(["plumless"], bits), store.naming(["buckeroo"], bits)] == [[ids[0]], [ids[1]]]
    assert store.mentioning_symbol(*one.symbol, bits) == ids


def test_what_another_version_of_a_file_mentions_is_not_found(store: RelationStore) -> None:
    old, new = store.add([CALLER, relations(b"caller.py", ("times", [JOB_TIMES]), version=1)])
    assert store.mentioning(JOB, Bitmap.of([new])) == []
    assert store.mentioning_symbol(*JOB.symbol, Bitmap.of([new])) == [new]
    assert store.mentioning_file(PRINT.path, Bitmap.of([new]), "stdlib") == []
    assert store.naming(["run"], Bitmap.of([new])) == []
    assert store.mentioning(JOB, Bitmap.of([old, new])) == [old]


# Resolutions and stages


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
        (outside,) = store.add([OUTSIDE])
        store.stage(PYTHON, ONE, PROFILE, [BOTH], [outside])
    with closing(RelationStore.open(path)) as store:
        assert store.stages() == [(PYTHON, ONE, PROFILE)]
        assert store.collect([])["records"] == 0
        bits = store.staged(PYTHON, ONE, PROFILE)
        assert {file.path for _, file in store.records(bits)} == {CALLER.path, BOTH.path, OUTSIDE.path}
        assert set(store.staged(PYTHON, TWO, PROFILE)) == set()
        store.add_resolution(PYTHON, ONE, PROFILE, bits, finished=False)
        assert store.stages() == [(PYTHON, ONE, PROFILE)]
        store.add_resolution(PYTHON, ONE, PROFILE, bits)
        assert store.stages() == []


def test_a_first_build_has_one_record_of_a_file(store: RelationStore) -> None:
    newer = relations(b"caller.py", ("run", [JOB]), version=1)
    store.stage(PYTHON, ONE, PROFILE, [CALLER, BOTH])
    store.stage(PYTHON, ONE, PROFILE, [newer])
    bits = store.staged(PYTHON, ONE, PROFILE)
    assert len(bits) == 2
    assert store.at_path(bits, CALLER.path) == newer


def test_a_first_build_that_was_given_up_holds_nothing(store: RelationStore, path: Path) -> None:
    store.stage(PYTHON, ONE, PROFILE, [CALLER])
    store.unstage(PYTHON, ONE, PROFILE)
    assert store.collect([])["records"] == 1
    assert set(rows(path).values()) == {0}


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


# Work


def test_a_transition_writes_what_changed_and_one_bitmap(store: RelationStore, path: Path) -> None:
    files = [relations(b"%d.py" % n, ("run", [JOB]), ("print", [PRINT])) for n in range(300)]
    ids = store.add(files)
    store.add_resolution(PYTHON, ONE, PROFILE, Bitmap.of(ids))
    before = rows(path)
    newer = relations(b"7.py", ("run", [JOB]), ("times", [JOB_TIMES]), version=1)
    added = store.add([newer])
    bits = Bitmap.of(ids).changed(remove=[ids[7]], add=added)
    store.add_resolution(PYTHON, TWO, PROFILE, bits)
    after = rows(path)
    assert {table: after[table] - before[table] for table in TABLES} == {
        "record": 1,
        "file": 0,
        "mention": 1,  # the version before had the other
        "naming": 1,
        "resolution": 1,
        "stage": 0,
    }
    assert len(bits.data) == 301 // 8 + 1


# Collection


def test_collection_removes_what_no_kept_resolution_holds(store: RelationStore, path: Path) -> None:
    kept = resolved(store, ONE, CALLER)
    gone = resolved(store, TWO, CALLER, BOTH, OUTSIDE)
    bits = store.resolution(kept)
    assert store.collect([kept]) == {"resolutions": 1, "records": 2, "mentions": 4}
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
        store.collect([every[n] for n in kept])
        assert content(store._db.path) == content(alone._db.path)


def test_records_that_wait_for_their_resolution_are_not_collected(path: Path) -> None:
    with closing(RelationStore.open(path)) as store:
        gone = resolved(store, ONE, CALLER, BOTH)
        (caller,) = store.add([CALLER])
        assert store.collect([]) == {"resolutions": 1, "records": 1, "mentions": 3}
        assert store.at_path(Bitmap.of([caller]), CALLER.path) == CALLER
        with pytest.raises(CorruptRelations):
            store.resolution(gone)
    with closing(RelationStore.open(path)) as store:  # whoever wanted it is gone
        assert store.collect([])["records"] == 1
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
        store.collect([kept], interrupt)
    left = rows(path)["record"]
    assert 1 < left < 171
    assert_sound(path)
    assert store.collect([kept], interrupt)["records"] == left - 1
    assert steps > 4
    assert rows(path) == {"record": 1, "file": 1, "mention": 2, "naming": 4, "resolution": 1, "stage": 0}


def test_what_another_thread_stores_between_two_steps_is_kept(store: RelationStore) -> None:
    dead = [relations(b"%03d.py" % n, ("run", [JOB])) for n in range(170)]
    resolved(store, ONE, *dead)
    again: list[ResolutionId] = []

    def interrupt() -> None:
        if not again:
            again.append(resolved(store, TWO, dead[-1]))

    assert store.collect([], interrupt)["records"] == 169
    assert store.at_path(store.resolution(again[0]), dead[-1].path) == dead[-1]


def assert_sound(path: Path) -> None:
    """Every record can be read, and the rest says what the records say and nothing else."""
    with closing(RelationStore.open(path)) as store:
        assert store.check() is None
        with closing(sqlite3.connect(path)) as database:
            ids = [row[0] for row in database.execute("SELECT id FROM record")]
        files = [file for _, file in store.records(ids)]
        found = content(path)
    with any_store() as alone:
        alone.add(files)
        assert content(alone._db.path) == found


# Damage


DAMAGE = {
    "record": (
        "UPDATE record SET payload = CAST(substr(payload, 1, 9) || x'00' || substr(payload, 11) AS BLOB)",
        (),
    ),
    "record, its blob": ("UPDATE record SET blob = 'f' || substr(blob, 2)", ()),
    "mention": ("UPDATE mention SET checksum = checksum + 1", ()),
    "naming": ("UPDATE naming SET checksum = checksum + 1", ()),
    "resolution": ("UPDATE resolution SET bits = x'ff'", ()),
    "resolution, its tree": ("UPDATE resolution SET tree = ?", (TWO,)),
    "stage": ("UPDATE stage SET bits = x'ff'", ()),
}


@pytest.mark.parametrize("damaged", DAMAGE)
def test_a_row_that_was_changed_is_corruption_to_whoever_reads_it(
    store: RelationStore, path: Path, damaged: str
) -> None:
    resolution = resolved(store, ONE, CALLER)
    store.stage(PYTHON, ONE, PROFILE, [CALLER])
    bits = store.resolution(resolution)
    sql, values = DAMAGE[damaged]
    change(path, sql, *values)
    readers: dict[str, list[Callable[[], object]]] = {
        "record": [lambda: store.at_path(bits, CALLER.path), lambda: list(store.records(bits))],
        "mention": [lambda: store.mentioning(JOB, bits), lambda: store.mentioning_symbol(*JOB.symbol, bits)],
        "naming": [lambda: store.naming(["run"], bits)],
        "resolution": [
            lambda: store.resolution(resolution),
            lambda: store.find_resolution(PYTHON, TWO if "tree" in damaged else ONE, PROFILE),
            lambda: store.collect([resolution]),
        ],
        "stage": [lambda: store.staged(PYTHON, ONE, PROFILE), store.stages],
    }
    for read in readers[damaged.split(",", maxsplit=1)[0]]:
        with pytest.raises(CorruptRelations, match="damaged"):
            read()


@pytest.mark.parametrize("part", range(8))
def test_a_flipped_byte_of_the_file_is_never_served(path: Path, part: int) -> None:
    """In each eighth of the file: what is read is what was written, or it is `CorruptStore`."""
    files = [relations(b"%d.py" % n, *[(f"n{m}", [JOB, PRINT]) for m in range(40)]) for n in range(20)]
    with closing(RelationStore.open(path)) as store:
        resolution = resolved(store, ONE, *files)
    sound = path.read_bytes()
    size = len(sound) // 8
    for at in range(part * size, (part + 1) * size, 331):
        data = bytearray(sound)
        data[at] ^= 0x55
        path.write_bytes(data)
        try:
            with closing(RelationStore.open_reader(path)) as store:
                bits = store.resolution(resolution)
                for file in files:
                    assert store.at_path(bits, file.path) in (file, None)
                assert [file for _, file in store.records(bits)] == files
                # The place of a row in a table can be lost, and the row with it, but none is made up.
                assert set(store.mentioning(PRINT, bits)) <= set(bits)
                assert store.mentioning(OTHER_JOB, bits) == []
                assert set(store.naming(["n3"], bits)) <= set(bits)
        except CorruptStore:
            pass


def test_a_missing_record_is_corruption(store: RelationStore, path: Path) -> None:
    resolution = resolved(store, ONE, CALLER, BOTH)
    change(path, "DELETE FROM record WHERE path = ?", BOTH.path)
    with pytest.raises(CorruptRelations, match="missing"):
        list(store.records(store.resolution(resolution)))


def test_a_file_that_was_removed_takes_no_more_writes(store: RelationStore, path: Path) -> None:
    path.unlink()
    assert not store.is_in_place()
    for write in (lambda: store.add([CALLER]), lambda: store.collect([])):
        with pytest.raises(StoreError, match="open it again"):
            write()


def test_there_is_nothing_to_read_before_the_first_build(path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        RelationStore.open_reader(path)


# Snapshots, and the folder


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
    assert collect_relations(catalog, store, [two])["resolutions"] == 0
    third = published(catalog, with_relations(second, two, store.resolution(two)))
    assert third.generation == second.generation  # what was published never changes
    third = published(catalog, replace(third, generation=UNPUBLISHED))
    assert catalog.unneeded(0) == [second.generation, first.generation]
    catalog.retire(catalog.unneeded(0))
    assert collect_relations(catalog, store) == {"resolutions": 1, "records": 0, "mentions": 0}
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


# A kill

CHILD = """
import sys
from pathlib import Path
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import RelationStore
from made_relations import external, relations, target

store = RelationStore.open(Path(sys.argv[1]))
made = Bitmap()
for n in range(100_000):
    shared = external("p", b"q", "r")
    answers = [(f"n{m}", [target(b"t%d.py" % (n + m), "f", "f"), shared]) for m in range(60)]
    file = relations(b"%d.py" % (n % 5), *answers, version=n)
    store.stage("python", "1" * 40, "profile", [file])
    made = made.changed(add=store.add([file]))
    store.add_resolution("python", "%040x" % n, "profile", made)
    if n % 7 == 6:
        store.collect([])
        made = Bitmap()
    print(n, flush=True)
"""


@pytest.mark.parametrize("lines", [2, 6, 9])
def test_a_writer_that_is_killed_leaves_a_sound_store(path: Path, lines: int) -> None:
    output = path.with_suffix(".out")
    with output.open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path)], stdout=out, env=child_environment()
        )
    try:
        wait_until(lambda: output.read_bytes().count(b"\n") >= lines, 30)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    done = output.read_bytes().count(b"\n")
    assert_sound(path)
    with closing(RelationStore.open(path)) as store:
        staged = [file for _, file in store.records(store.staged(PYTHON, ONE, PROFILE))]
        newest = max(int(file.blob, 16) for file in staged)  # of the files that it made, from 0
        assert newest in (done - 1, done)
        expected = {n % 5: n for n in range(newest + 1)}
        assert {file.path: int(file.blob, 16) for file in staged} == {
            b"%d.py" % name: n for name, n in expected.items()
        }
        store.unstage(PYTHON, ONE, PROFILE)
        store.collect([])
    assert set(rows(path).values()) == {0}


def child_environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parent), "PATH": ""}
