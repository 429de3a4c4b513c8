"""Trigrams: what is stored of a text, and that a need never leaves out a text that fulfils it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.stores.bitmap import Bitmap
from nibd.stores.database import open_database
from nibd.stores.errors import StoreError
from nibd.stores.trigram_blocks import blocks_of, inverted
from nibd.stores.trigram_blocks import unpack as unpack_block
from nibd.stores.trigram_store import TIER, TrigramStore, migrations
from nibd.stores.trigrams import (
    ANYTHING,
    AllOf,
    AnyOf,
    Need,
    folded,
    fulfils,
    grams_of,
    literal_grams,
    pack,
    unpack,
)
from nibd.stores.types import BlobId

TEXTS = st.text(st.sampled_from("abcAB\né"), max_size=40).map(str.encode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trigrams.db"


@pytest.fixture
def store(path: Path) -> Iterator[TrigramStore]:
    opened = TrigramStore.open(path)
    yield opened
    opened.close()


def add(store: TrigramStore, row: int, text: bytes | None) -> None:
    """Cover a row whose blob is that number."""
    if text is None:
        store.place([(row, None)])
        return
    blob = BlobId(f"{row:040x}")
    store.put([(blob, pack(grams_of(text)))])
    store.place([(row, blob)])


def found(store: TrigramStore, need: Need, rows: range) -> set[int]:
    return set(store.candidates(need, Bitmap.of(rows)).rows)


def holding(text: str) -> Need:
    return AllOf(literal_grams(folded(text.encode())))


@given(TEXTS)
def test_trigrams_are_those_within_lines_each_once_in_order_whatever_the_case(text: bytes) -> None:
    small = text.lower()
    expected = {
        int.from_bytes(line[at : at + 3], "big") for line in small.split(b"\n") for at in range(len(line) - 2)
    }
    assert grams_of(text).tolist() == sorted(expected)
    assert unpack(pack(grams_of(text))).tolist() == sorted(expected)


@pytest.mark.parametrize(("text", "pattern"), [("\N{KELVIN SIGN}elvin", "kelvin"), ("claſſic", "classic")])
def test_characters_that_match_a_letter_in_any_case_count_as_that_letter(text: str, pattern: str) -> None:
    assert literal_grams(folded(pattern.encode())) <= set(grams_of(text.encode()).tolist())
    assert folded(text.encode()) == pattern.encode()


@given(st.lists(TEXTS, min_size=1, max_size=12))
def test_blocks_hold_each_posting_once(texts: list[bytes]) -> None:
    all_grams = [grams_of(text) for text in texts]
    blocks = [unpack_block(data) for _, data in blocks_of(inverted(all_grams))]
    pairs = itertools.chain.from_iterable(block.pairs().tolist() for block in blocks)
    assert list(pairs) == sorted(g << 16 | d for d, grams in enumerate(all_grams) for g in grams.tolist())


def test_a_trigram_with_more_documents_than_a_block_takes_is_in_one_block() -> None:
    texts = [grams_of(b"same") for _ in range(60_000)]
    blocks = [unpack_block(data) for _, data in blocks_of(inverted(texts))]
    assert [block.documents_of(g).tolist() for block in blocks for g in block.grams.tolist()] == [
        list(range(60_000))
    ] * 2


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TEXTS),
        st.tuples(st.just("no text"), st.just(b"")),
        st.tuples(st.just("fold"), st.just(b"")),
        st.tuples(st.just("forget"), st.integers(0, 30).map(lambda number: b"%d" % number)),
    ),
    max_size=30,
)
LITERALS = st.text(st.sampled_from("abcé"), min_size=3, max_size=5).map(holding)
NEEDS = st.recursive(
    LITERALS,
    lambda needs: st.one_of(
        st.lists(needs, max_size=3).map(lambda found: AnyOf(tuple(found))),
        st.lists(needs, max_size=3).map(lambda found: AllOf(frozenset(), tuple(found))),
    ),
    max_leaves=5,
)


@settings(max_examples=25, deadline=None)
@given(STEPS, st.lists(NEEDS, max_size=4))
def test_whatever_was_added_folded_and_forgotten_no_text_is_left_out(
    steps: list[tuple[str, bytes]], needs: list[Need]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = TrigramStore.open(Path(folder) / "trigrams.db")
        reader = TrigramStore.open_reader(Path(folder) / "trigrams.db")
        texts: dict[int, bytes | None] = {}
        for what, argument in steps:
            if what in {"add", "no text"}:
                free = next(row for row in itertools.count(1) if row not in texts)
                texts[free] = argument if what == "add" else None
                add(store, free, texts[free])
            elif what == "fold":
                store.fold()
            elif int(argument) in texts:
                del texts[int(argument)]
                store.keep(Bitmap.of(texts))
        assert set(reader.covered()) == set(texts)
        for need in [*needs, ANYTHING]:
            candidates = set(reader.candidates(need, Bitmap.of(texts)).rows)
            wanted = {row for row, text in texts.items() if text and fulfils(grams_of(text), need)}
            assert wanted <= candidates
        store.close()
        reader.close()


def test_candidates_are_the_listed_rows_that_hold_all_trigrams(store: TrigramStore) -> None:
    for row, text in enumerate([b"one two", b"two three", b"three four", b"TWO"], 1):
        add(store, row, text)
    assert found(store, holding("two"), range(1, 5)) == {1, 2, 4}
    assert found(store, holding("two"), range(2, 4)) == {2}
    assert found(store, AnyOf((holding("one"), holding("four"))), range(1, 5)) == {1, 3}
    assert found(store, AllOf(frozenset(), (holding("two"), holding("three"))), range(1, 5)) == {2}
    assert found(store, AnyOf(()), range(1, 5)) == set()
    store.fold()
    assert found(store, holding("two"), range(1, 5)) == {1, 2, 4}
    assert found(store, AnyOf(()), range(1, 5)) == set()


def test_what_is_not_covered_is_a_candidate_and_counted(store: TrigramStore) -> None:
    add(store, 1, b"one")
    add(store, 2, None)
    result = store.candidates(holding("nowhere"), Bitmap.of([1, 2, 3, 9]))
    assert (set(result.rows), result.uncovered, result.damage) == ({3, 9}, 2, None)


def test_a_row_whose_trigrams_are_not_kept_is_not_covered_by_placing_it(store: TrigramStore) -> None:
    store.place([(1, BlobId("ab" * 20))])
    assert set(store.covered()) == set()


def test_a_row_number_that_comes_again_is_another_row(store: TrigramStore) -> None:
    add(store, 1, b"first")
    add(store, 2, b"other")
    store.fold()
    store.keep(Bitmap.of([2]))
    assert set(store.covered()) == {2}
    add(store, 1, b"second")
    assert found(store, holding("second"), range(1, 3)) == {1}


def test_segments_stay_few_and_lose_what_is_dead(store: TrigramStore, path: Path) -> None:
    for row in range(1, 3 * TIER):
        add(store, row, b"text %d" % row)
        store.fold()
    assert len(open_database(path, migrations).rows("SELECT 1 FROM segment")) <= 2 * TIER
    store.keep(Bitmap.of(range(1, 4)))
    store.fold()
    kept = b"".join(row[0] for row in open_database(path, migrations).rows("SELECT rows FROM segment"))
    assert len(kept) <= 6 * 4  # no segment is dead by more than half
    assert found(store, holding("text"), range(1, 4)) == {1, 2, 3}


def test_many_rows_become_a_segment_without_being_asked(store: TrigramStore) -> None:
    store.put([(BlobId(f"{row:040x}"), pack(grams_of(b"row %d" % row))) for row in range(1, 5001)])
    store.place([(row, BlobId(f"{row:040x}")) for row in range(1, 5001)])
    assert len(store.covered()) == 5000
    assert 4321 in found(store, holding("row 4321"), range(1, 5001))
    assert len(found(store, holding("row 4321"), range(1, 5001))) < 200
    assert store.is_old
    store.fold()
    assert not store.is_old


def test_a_reader_goes_on_while_segments_become_one(store: TrigramStore, path: Path) -> None:
    reader = TrigramStore.open_reader(path)
    for row in range(1, 2 * TIER):
        add(store, row, b"text %d" % row)
        store.fold()
        assert found(reader, holding("text"), range(1, row + 1)) == set(range(1, row + 1))
    reader.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE posting SET payload = zeroblob(length(payload))",
        "UPDATE segment SET rows = zeroblob(length(rows))",
        "UPDATE loose SET blob = NULL",
        "UPDATE text SET grams = zeroblob(length(grams))",
    ],
)
def test_damage_hides_no_text_and_is_mended(store: TrigramStore, path: Path, damage: str) -> None:
    add(store, 1, b"folded")
    store.fold()
    add(store, 2, b"loose")
    store.close()
    open_database(path, migrations).rows(damage)
    opened = TrigramStore.open(path)
    folded_or_loose = AnyOf((holding("folded"), holding("loose")))
    result = opened.candidates(folded_or_loose, Bitmap.of([1, 2]))
    assert set(result.rows) == {1, 2}
    assert result.damage is not None
    assert opened.mend()
    assert len(opened.covered()) == 1
    for row, text in ((1, b"folded"), (2, b"loose")):
        add(opened, row, text)
    assert set(opened.covered()) == {1, 2}
    assert opened.candidates(folded_or_loose, Bitmap.of([1, 2])).damage is None
    assert opened.mend() == []
    opened.close()


def test_a_file_that_is_no_database_or_of_another_version_is_made_anew(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)
    store = TrigramStore.open(path)
    add(store, 1, b"text")
    store.close()
    open_database(path, migrations).rows("UPDATE state SET version = 0")
    with pytest.raises(StoreError, match="another version"):
        TrigramStore.open_reader(path)
    store = TrigramStore.open(path)
    assert set(store.covered()) == set()
    store.close()


def test_an_interrupted_fold_keeps_what_was_there(store: TrigramStore) -> None:
    class StopError(Exception):
        pass

    def stop() -> None:
        raise StopError

    for row in range(1, TIER + 1):
        add(store, row, b"text %d" % row)
        if row < TIER:
            store.fold()
    with pytest.raises(StopError):
        store.fold(stop)
    assert found(store, holding("text"), range(1, TIER + 1)) == set(range(1, TIER + 1))
