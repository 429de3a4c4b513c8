"""What of relations.db is damaged, or was killed in the middle of a write, is never served."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import relation_stores
from made_relations import PYTHON, relations
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.relations import CorruptRelations, RelationStore
from relation_stores import (
    BOTH,
    CALLER,
    JOB,
    ONE,
    OTHER_JOB,
    PRINT,
    PROFILE,
    TWO,
    assert_sound,
    change,
    resolved,
    rows,
)
from waiting import wait_until

# The fixtures of these names.
path = relation_stores.path
store = relation_stores.store


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
            lambda: store.collect([resolution], []),
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
    for write in (lambda: store.add([CALLER]), lambda: store.collect([], [])):
        with pytest.raises(StoreError, match="open it again"):
            write()


def test_there_is_nothing_to_read_before_the_first_build(path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        RelationStore.open_reader(path)


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
        store.collect([], ["1" * 40])
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
        staged = [file for _, file in store.records(store.staged(PYTHON, ONE, PROFILE).records)]
        newest = max(int(file.blob, 16) for file in staged)  # of the files that it made, from 0
        assert newest in (done - 1, done)
        expected = {n % 5: n for n in range(newest + 1)}
        assert {file.path: int(file.blob, 16) for file in staged} == {
            b"%d.py" % name: n for name, n in expected.items()
        }
        store.collect([], [])
    assert set(rows(path).values()) == {0}


def child_environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parent), "PATH": ""}
