"""relations.db: what is put is what is read, and the inversion says what the records say."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import relation_stores
from made_relations import PYTHON, file_relations, names, paths, relations, target, targets
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import UNBUILT, FileRelations, Target
from nibd.stores.relations import RecordId, RelationStore, UnknownSites
from nibd.stores.types import RepoPath
from relation_stores import (
    BOTH,
    CALLER,
    JOB,
    JOB_TIMES,
    ONE,
    OTHER_JOB,
    OUTSIDE,
    PRINT,
    PROFILE,
    TABLES,
    TWO,
    any_store,
    rows,
)

UNBUILT_FILE = relations(b"tools.py", ("run", UNBUILT), ("x", UNBUILT), ("lost", None))

# The fixtures of these names.
path = relation_stores.path
store = relation_stores.store


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


def test_the_records_with_unknown_sites_are_found(store: RelationStore) -> None:
    known, partly, unbuilt = store.add([BOTH, CALLER, UNBUILT_FILE])
    assert store.unknown(Bitmap.of([known, partly, unbuilt])) == [
        UnknownSites(partly, CALLER.path, 1, 0),
        UnknownSites(unbuilt, UNBUILT_FILE.path, 1, 2),
    ]
    assert store.unknown(Bitmap.of([known])) == []


def test_those_of_a_store_that_did_not_note_them_are_noted(path: Path) -> None:
    with closing(RelationStore.open(path)) as store:
        ids = store.add([BOTH, CALLER, UNBUILT_FILE])
        noted = store.unknown(Bitmap.of(ids))
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE unknown")
        database.execute("DELETE FROM _sqlite_migrations WHERE name = 'm003_unknown'")
        database.commit()
    with closing(RelationStore.open(path)) as store:
        assert store.unknown(Bitmap.of(ids)) == noted
