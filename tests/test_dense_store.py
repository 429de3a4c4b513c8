"""The matrix of a repository: growing, crashing, being damaged, being compacted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from dense_vectors import DIMENSION, by_text, text_id, unit_vectors
from nibd.stores.bitmap import Bitmap
from nibd.stores.dense import ROWS_FILE, VECTORS_FILE, DenseStore
from nibd.stores.dense_rows import read_rows, write_rows
from nibd.stores.errors import CorruptStore, StoreError

VECTORS = unit_vectors(40)


def test_a_text_keeps_its_row(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    first = store.append(by_text(VECTORS, [3, 1]))
    second = store.append(by_text(VECTORS, [1, 2]))
    assert sorted(first.values()) == [0, 1]
    assert second == {text_id(1): first[text_id(1)], text_id(2): 2}
    assert store.rows(map(text_id, [1, 2, 3, 4])) == first | second
    assert store.texts([0, 1, 2, 3]) == {row: text for text, row in (first | second).items()}
    assert (store.vectors([2, first[text_id(3)]]) == VECTORS[[2, 3]]).all()


def test_a_reader_sees_what_is_appended_after_it_opened(tmp_path: Path) -> None:
    writer = DenseStore.open(tmp_path, DIMENSION)
    reader = DenseStore.open_reader(tmp_path)
    assert len(reader) == 0
    row = writer.append(by_text(VECTORS, [5]))[text_id(5)]
    assert reader.dimension == DIMENSION
    assert (reader.vectors([row]) == VECTORS[5]).all()


def test_vectors_that_a_crash_left_unnamed_are_written_over(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    store.append(by_text(VECTORS, [0, 1]))
    store.close()
    with (tmp_path / VECTORS_FILE).open("ab") as file:
        file.write(b"\xff" * (DIMENSION * 4 + 7))
    store = DenseStore.open(tmp_path, DIMENSION)
    assert len(store) == 2
    assert store.append(by_text(VECTORS, [2])) == {text_id(2): 2}
    assert (store.vectors([0, 1, 2]) == VECTORS[:3]).all()
    assert store.verify() == []


def test_a_matrix_shorter_than_its_names_is_corrupt(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    store.append(by_text(VECTORS, [0, 1]))
    store.close()
    with (tmp_path / VECTORS_FILE).open("r+b") as file:
        file.truncate(DIMENSION * 4)
    with pytest.raises(CorruptStore, match="fewer vectors"):
        DenseStore.open_reader(tmp_path)


def test_verify_names_the_rows_that_were_damaged(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    store.append(by_text(VECTORS, range(5)))
    with (tmp_path / VECTORS_FILE).open("r+b") as file:
        file.seek(3 * DIMENSION * 4)
        file.write(b"\0")
    assert store.verify() == [3]


def test_another_dimension_is_refused(tmp_path: Path) -> None:
    DenseStore.open(tmp_path, DIMENSION).close()
    with pytest.raises(CorruptStore, match=f"vectors of {DIMENSION} values, 7 is wanted"):
        DenseStore.open(tmp_path, 7)


@pytest.mark.parametrize("vector", [b"\0" * 4, np.full(DIMENSION, np.nan, "<f4").tobytes()])
def test_what_is_no_vector_is_refused_and_nothing_is_kept(tmp_path: Path, vector: bytes) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    with pytest.raises(ValueError, match="finite"):
        store.append(by_text(VECTORS, [0]) | {text_id(1): vector})
    assert len(store) == 0


def test_a_folder_without_a_store_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        DenseStore.open_reader(tmp_path)


def test_a_failed_append_names_nothing(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    (tmp_path / VECTORS_FILE).unlink()
    with pytest.raises(StoreError):
        store.append(by_text(VECTORS, [0]))
    assert store.rows([text_id(0)]) == {}


@pytest.mark.dense
def test_compaction_keeps_live_vectors_and_translates_row_lists(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path / "old", DIMENSION)
    store.append(by_text(VECTORS, range(40)))
    kept, other = Bitmap.of(range(0, 40, 3)), Bitmap.of([3, 8, 30])
    live = kept.union(other)
    statistics = store.statistics(live)
    assert (statistics.rows, statistics.removed, statistics.size_bytes) == (40, 25, 40 * DIMENSION * 4)
    assert statistics.share == 25 / 40

    compaction = store.compact(live, tmp_path / "new")

    new = compaction.store
    assert len(new) == len(live) == 15
    assert new.verify() == []
    for rows in (kept, other):
        old_texts, new_rows = store.texts(rows), compaction.translated(rows)
        assert set(new.texts(new_rows).values()) == set(old_texts.values())
        old_found, old_scores = store.search(rows, VECTORS[8], 5)
        new_found, new_scores = new.search(new_rows, VECTORS[8], 5)
        assert [new.texts([row]) for row in new_found] != []
        assert [new.texts([r])[int(r)] for r in new_found] == [old_texts[int(r)] for r in old_found]
        assert (old_scores == new_scores).all()
    with pytest.raises(ValueError, match="not kept"):
        compaction.translated(Bitmap.of([1]))
    with pytest.raises(StoreError, match="already"):
        store.compact(live, tmp_path / "new")
    assert len(store) == 40


@pytest.mark.parametrize("members", [[], [0], [7, 8, 59_999], list(range(0, 60_000, 2))])
def test_a_row_list_reads_as_it_was_written(tmp_path: Path, members: list[int]) -> None:
    path = tmp_path / "a.rows"
    checksum = write_rows(path, Bitmap.of(members))
    assert list(read_rows(path)) == members
    assert path.stat().st_size < 8000
    assert len(checksum) == 8
    with pytest.raises(FileExistsError):
        write_rows(path, Bitmap())


def test_a_damaged_row_list_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.rows"
    write_rows(path, Bitmap.of([1, 2, 3]))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptStore):
        read_rows(path)
    path.write_bytes(b"")
    with pytest.raises(CorruptStore):
        read_rows(path)
    with pytest.raises(StoreError, match="none"):
        read_rows(tmp_path / "none")


def test_rows_db_keeps_each_text_once(tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    store.append(by_text(VECTORS, [0, 1]))
    second = DenseStore.open(tmp_path, DIMENSION)
    second.append(by_text(VECTORS, [1, 2]))
    store.append(by_text(VECTORS, [2, 3]))
    with sqlite3.connect(tmp_path / ROWS_FILE) as db:
        assert db.execute("SELECT COUNT(*), COUNT(DISTINCT text), MAX(row) FROM named").fetchone() == (
            4,
            4,
            3,
        )
    assert store.verify() == []
