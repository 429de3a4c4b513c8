"""Searching the dense view: right by a numpy oracle, complete with ties, equal however the store grew."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from dense_vectors import DIMENSION, by_text, cosine, text_id, unit_vectors
from nibd.query.dense import search
from nibd.query.hits import Hit
from nibd.stores import dense
from nibd.stores.bitmap import Bitmap
from nibd.stores.dense import DenseStore
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.types import BlobId, Level, RepoPath

pytestmark = pytest.mark.dense

COUNT = 3000


def hit(path: str, line: int = 1, level: Level = Level.CALLABLE, score: float = 0.0) -> Hit:
    return Hit(
        RepoPath(path.encode()), line, line + 1, "function", "f", level, "python", BlobId("0" * 40), score
    )


def paths(hits: Sequence[Hit]) -> list[str]:
    return [found.path.decode() for found in hits]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> DenseStore:
    """Appended to in uneven parts; every 100th vector is the same."""
    store = DenseStore.open(tmp_path_factory.mktemp("grown"), DIMENSION)
    at = 0
    for size in (1, 2, 500, 17, 2480):
        store.append(by_text(vectors(), range(at, at + size)))
        at += size
    return store


def vectors() -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    values = unit_vectors(COUNT)
    values[::100] = values[0]
    return values


QUERIES = unit_vectors(12, seed=1)


@pytest.mark.parametrize("k", [1, 10, 200])
@pytest.mark.parametrize("members", [range(COUNT), range(1, COUNT, 7), [5]])
def test_order_and_scores_are_those_of_cosine(grown: DenseStore, members: Sequence[int], k: int) -> None:
    rows = Bitmap.of(members)
    for query in QUERIES:
        expected = cosine(query, vectors())
        found, scores = grown.search(rows, query, k)
        assert np.allclose(scores, expected[found], atol=1e-6)
        assert (np.diff(scores) <= 0).all()
        inside = np.array(members)
        cut = np.sort(expected[inside])[::-1][min(k, len(inside)) - 1]
        assert (
            set(inside[expected[inside] > cut + 1e-6])
            <= set(found)
            <= set(inside[expected[inside] > cut - 1e-6])
        )


def test_every_row_that_ties_with_the_last_is_there(grown: DenseStore) -> None:
    found, scores = grown.search(Bitmap.of(range(COUNT)), vectors()[0], 3)
    assert sorted(found) == list(range(0, COUNT, 100))
    assert len(set(scores.tolist())) == 1


def test_scores_are_bit_equal_in_a_store_built_in_another_order(grown: DenseStore, tmp_path: Path) -> None:
    store = DenseStore.open(tmp_path, DIMENSION)
    order = np.random.default_rng(3).permutation(COUNT)
    for part in np.array_split(order, 5):
        store.append(by_text(vectors(), part.tolist()))
    some = [int(number) for number in order[:1500]]
    there = store.rows(map(text_id, some))
    names = store.texts(there.values())
    for query in QUERIES:
        here_found, here_scores = grown.search(Bitmap.of(some), query, 50)
        found, scores = store.search(Bitmap.of(there.values()), query, 50)
        assert here_scores.tobytes() == scores.tobytes()
        here = sorted(zip(here_scores.tolist(), map(text_id, here_found.tolist()), strict=True))
        assert here == sorted(zip(scores.tolist(), (names[int(row)] for row in found), strict=True))


def test_scores_do_not_depend_on_which_rows_are_searched(grown: DenseStore) -> None:
    for query in QUERIES:
        found, scores = grown.search(Bitmap.of(range(COUNT)), query, COUNT)
        of = dict(zip(found.tolist(), scores.tolist(), strict=True))
        part, part_scores = grown.search(Bitmap.of(range(3, COUNT, 11)), query, 40)
        assert [of[row] for row in part.tolist()] == part_scores.tolist()


def test_nothing_to_search_finds_nothing(grown: DenseStore) -> None:
    found, scores = grown.search(Bitmap(b"\0\0"), QUERIES[0], 5)
    assert (len(found), len(scores)) == (0, 0)


def test_rows_that_the_matrix_lacks_are_corruption(grown: DenseStore) -> None:
    with pytest.raises(CorruptStore, match=str(COUNT)):
        grown.search(Bitmap.of([COUNT]), QUERIES[0], 5)


def test_without_faiss_the_search_says_what_to_install(
    grown: DenseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense._faiss.cache_clear()
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(StoreError, match=r"pip install 'nibd\[dense\]'"):
        grown.search(Bitmap.of([0]), QUERIES[0], 1)


def test_ties_come_in_the_order_of_addresses(grown: DenseStore) -> None:
    def units(rows: Sequence[int]) -> Mapping[int, Sequence[Hit]]:
        return {row: [hit(f"{COUNT - row:05}.py")] for row in rows}

    hits = search(grown, Bitmap.of(range(COUNT)), vectors()[0], 4, units=units)
    assert paths(hits) == ["00100.py", "00200.py", "00300.py", "00400.py"]
    assert len({found.score for found in hits}) == 1


def test_a_text_at_several_addresses_is_several_hits(grown: DenseStore) -> None:
    def units(rows: Sequence[int]) -> Mapping[int, Sequence[Hit]]:
        return {row: [hit("b.py"), hit("a.py", 9), hit("a.py")] for row in rows if row == 7}

    hits = search(grown, Bitmap.of([7, 8, 9]), vectors()[7], 2, units=units)
    assert [(found.path, found.start_line) for found in hits] == [(b"a.py", 1), (b"a.py", 9)]


def test_a_file_counts_once_with_its_nearest_unit(grown: DenseStore) -> None:
    expected = cosine(QUERIES[0], vectors())
    order = [int(row) for row in np.argsort(-expected, kind="stable") if row % 100]

    def files(rows: Sequence[int]) -> Mapping[int, Sequence[Hit]]:
        return {row: [hit("far.py" if row in order[200:] else "near.py", level=Level.FILE)] for row in rows}

    rows = Bitmap.of(order)
    hits = search(grown, rows, QUERIES[0], 2, units=files, level=Level.FILE)
    assert paths(hits) == ["near.py", "far.py"]
    assert np.allclose([found.score for found in hits], expected[[order[0], order[200]]], atol=1e-6)


def test_rows_are_fetched_until_the_level_has_k_hits(grown: DenseStore) -> None:
    expected = cosine(QUERIES[0], vectors())
    worst = [int(row) for row in np.argsort(expected)[:3]]

    def units(rows: Sequence[int]) -> Mapping[int, Sequence[Hit]]:
        return {
            row: [hit(f"{row}.py", level=Level.SCOPE if row in worst else Level.CALLABLE)] for row in rows
        }

    rows = Bitmap.of(range(COUNT))
    assert paths(search(grown, rows, QUERIES[0], 2, units=units, level=Level.SCOPE)) == [
        f"{worst[2]}.py",
        f"{worst[1]}.py",
    ]
    assert len(search(grown, rows, QUERIES[0], 9, units=units, level=Level.SCOPE)) == 3
    assert search(grown, rows, QUERIES[0], 9, units=units, level=Level.FILE) == []
