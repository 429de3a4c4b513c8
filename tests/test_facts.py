"""facts.db: what was put is what is got, and nothing else is ever served."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexical_corpus import LANGUAGE, MadeFile, facts_of, made_file
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.errors import CorruptFacts, StoreError
from nibd.stores.fact_terms import TermCounts, pack_terms, term_hash
from nibd.stores.facts import EncodedFact, FactStore
from nibd.stores.types import BlobId, Facts, Skip, UnitTerms

PROFILE = "extractor-1"
FILE = made_file("a/job.py", "import os", ("Job.run", "run the runQuick job"), ("Job.stop", ""))
OTHER = made_file("b.py", "nothing here")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FactStore]:
    opened = FactStore.open(tmp_path / "facts.db", PROFILE)
    yield opened
    opened.close()


def put(store: FactStore, *files: MadeFile) -> None:
    store.put_many((file.blob, LANGUAGE, facts_of(file)) for file in files)


def test_facts_come_back_as_they_were_put(store: FactStore) -> None:
    put(store, FILE, OTHER)
    assert store.get(FILE.blob, LANGUAGE) == facts_of(FILE)
    assert store.units(FILE.blob, LANGUAGE) == facts_of(FILE).units
    assert store.text_ids(FILE.blob, LANGUAGE) == facts_of(FILE).text_ids
    assert store.skip(FILE.blob, LANGUAGE) is None


def test_a_skip_comes_back_with_no_units_and_no_terms(store: FactStore) -> None:
    store.put_many([(OTHER.blob, LANGUAGE, Skip.MINIFIED)])
    assert store.get(OTHER.blob, LANGUAGE) is Skip.MINIFIED
    assert store.skip(OTHER.blob, LANGUAGE) is Skip.MINIFIED
    assert store.units(OTHER.blob, LANGUAGE) == ()
    with pytest.raises(StoreError, match="minified"):
        store.counts(OTHER.blob, LANGUAGE)


def test_one_blob_has_facts_in_each_language_it_is_read_as(store: FactStore) -> None:
    store.put_many([(FILE.blob, "c", facts_of(FILE)), (FILE.blob, "cpp", Skip.PARSER_FAILED)])
    assert store.get(FILE.blob, "c") == facts_of(FILE)
    assert store.get(FILE.blob, "cpp") is Skip.PARSER_FAILED
    assert store.get(FILE.blob, "go") is None


def test_missing_names_what_was_not_put(store: FactStore) -> None:
    put(store, FILE)
    keys = [(BlobId(f"{n:040x}"), LANGUAGE) for n in range(600)]
    assert store.missing([*keys, (FILE.blob, LANGUAGE)]) == set(keys)


def test_another_profile_shares_nothing_until_it_is_removed(store: FactStore, tmp_path: Path) -> None:
    put(store, FILE)
    newer = FactStore.open(tmp_path / "facts.db", "extractor-2")
    assert newer.get(FILE.blob, LANGUAGE) is None
    put(newer, OTHER)
    newer.remove_other_profiles()
    assert store.get(FILE.blob, LANGUAGE) is None
    assert list(newer.keys()) == [(OTHER.blob, LANGUAGE)]
    newer.close()


def test_removed_facts_are_missing_even_when_they_were_in_memory(store: FactStore) -> None:
    put(store, FILE, OTHER)
    store.counts(FILE.blob, LANGUAGE)
    store.remove([(FILE.blob, LANGUAGE)])
    assert list(store.keys()) == [(OTHER.blob, LANGUAGE)]
    with pytest.raises(StoreError, match=FILE.blob):
        store.counts(FILE.blob, LANGUAGE)


def test_counts_answer_as_the_facts_do(store: FactStore) -> None:
    put(store, FILE)
    counts = store.counts(FILE.blob, LANGUAGE)
    assert counts.unit(1, "run") == 2
    assert counts.unit(1, "runquick") == 1
    assert counts.unit(0, "run") == 0
    assert counts.unit(1, "absent") == 0
    assert counts.unit_length(2) == 0
    assert counts.file("job") == 1
    assert counts.file_length == facts_of(FILE).file_terms.length
    assert counts.names("stop") == 1
    assert counts.names("job") == 0
    assert counts.by_group(counts.vocabulary())[1] == facts_of(FILE).terms[1].counts


_counts = st.dictionaries(st.sampled_from([f"w{n}" for n in range(40)]), st.integers(1, 90_000), max_size=30)


@given(own=st.lists(_counts, min_size=1, max_size=6), whole=_counts)
def test_packed_counts_equal_the_counts_they_were_packed_from(
    own: list[dict[str, int]], whole: dict[str, int]
) -> None:
    file = made_file("p", "", *[(f"name{n}", "") for n in range(1, len(own))])
    facts = replace(
        facts_of(file), terms=tuple(UnitTerms(counts) for counts in own), file_terms=UnitTerms(whole)
    )
    counts = TermCounts(pack_terms(facts))
    by_group = counts.by_group(counts.vocabulary())
    for ordinal, expected in enumerate(own):
        assert by_group[ordinal] == expected
        assert all(counts.unit(ordinal, f"w{n}") == expected.get(f"w{n}", 0) for n in range(40))
        assert counts.unit_length(ordinal) == sum(expected.values())
    assert by_group[counts.file_group] == whole
    assert counts.file_length == sum(whole.values())


def test_a_file_with_a_vocabulary_past_two_bytes_is_packed_as_others_are(store: FactStore) -> None:
    whole = UnitTerms({f"w{n}": 1 for n in range(70_000)})
    facts = replace(facts_of(OTHER), file_terms=whole)
    store.put_many([(OTHER.blob, LANGUAGE, facts)])
    assert store.get(OTHER.blob, LANGUAGE) == facts
    assert store.counts(OTHER.blob, LANGUAGE).file("w69999") == 1


@pytest.mark.parametrize("column", ["units", "imports", "text_ids", "postings", "vocabulary"])
def test_a_changed_row_is_reported_with_its_blob_and_can_be_put_again(
    store: FactStore, tmp_path: Path, column: str
) -> None:
    put(store, FILE)
    with sqlite3.connect(tmp_path / "facts.db") as database:
        database.execute(f"UPDATE fact SET {column} = substr({column}, 1, length({column}) - 1)")
    database.close()
    for read in (store.get, store.units, store.recent_units, store.text_ids, store.counts):
        with pytest.raises(CorruptFacts) as raised:
            read(FILE.blob, LANGUAGE)
        assert (raised.value.blob, raised.value.language) == (FILE.blob, LANGUAGE)
    put(store, FILE)
    assert store.get(FILE.blob, LANGUAGE) == facts_of(FILE)


@pytest.mark.parametrize("rows", [5, {"a": 1}, [[9]], [[]], [7], [["L9", 1, 2]]])
def test_units_that_are_none_are_reported_whenever_they_are_made(store: FactStore, rows: object) -> None:
    """Of a row with a right checksum, which some other program wrote."""
    units = zlib.compress(json.dumps(rows).encode())
    store.put_encoded([EncodedFact(FILE.blob, LANGUAGE, (None, 1, 0, units, "[]", "[]", b"", b""))])
    for read in (store.units, store.recent_units):
        with pytest.raises(CorruptFacts) as raised:
            list(read(FILE.blob, LANGUAGE))
        assert (raised.value.blob, raised.value.language) == (FILE.blob, LANGUAGE)


def test_a_batch_that_fails_keeps_those_before_it(store: FactStore) -> None:
    def items() -> Iterator[tuple[BlobId, str, Facts | Skip]]:
        for n in range(300):
            yield BlobId(f"{n:040x}"), LANGUAGE, Skip.BINARY
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.put_many(items())
    assert len(list(store.keys())) == 256


def test_a_reader_sees_what_the_writer_puts_later(store: FactStore, tmp_path: Path) -> None:
    reader = FactStore.open_reader(tmp_path / "facts.db", PROFILE)
    assert reader.get(FILE.blob, LANGUAGE) is None
    put(store, FILE)
    assert reader.counts(FILE.blob, LANGUAGE).file("run") == 2
    with pytest.raises(StoreError):
        put(reader, OTHER)
    reader.close()


def test_a_reader_of_no_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"facts\.db"):
        FactStore.open_reader(tmp_path / "facts.db", PROFILE)
    assert not (tmp_path / "facts.db").exists()


def test_a_file_deleted_while_open_is_an_error_not_a_loss(store: FactStore, tmp_path: Path) -> None:
    put(store, FILE)
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"facts.db{suffix}").unlink()
    with pytest.raises(StoreError, match="removed"):
        put(store, OTHER)
    with pytest.raises(StoreError, match="removed"):
        store.get(OTHER.blob, LANGUAGE)
    with pytest.raises(StoreError, match="removed"):
        store.missing([(OTHER.blob, LANGUAGE)])


def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "facts.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=r"facts\.db"):
        FactStore.open(tmp_path / "facts.db", PROFILE)


def test_the_cache_stays_within_its_bytes() -> None:
    cache: BoundedCache[int, str] = BoundedCache(100)
    for key in range(10):
        cache.put(key, "value", 30)
        cache.get(0)
    assert cache.size_bytes <= 100
    assert cache.get(0) == cache.get(9) == "value"
    assert cache.get(1) is None
    cache.put(0, "huge", 101)
    assert cache.get(0) is None
    assert cache.size_bytes <= 70


def test_occurrences_are_the_counts_of_each_group() -> None:
    facts = replace(facts_of(FILE), file_terms=UnitTerms({"run": 70_000, "job": 1}))
    counts = TermCounts(pack_terms(facts))
    terms = ["absent", "job", "run"]
    found = counts.occurrences(np.array([term_hash(term) for term in terms], np.uint64))
    told = {
        (terms[number], int(group)): int(times)
        for number, groups, counted in zip(found.terms, found.groups, found.counts, strict=True)
        for group, times in zip(groups, counted, strict=True)
    }
    by_group = counts.by_group(counts.vocabulary())
    assert told == {
        (term, at): held[term] for at, held in enumerate(by_group) for term in terms if term in held
    }
    assert told["run", counts.file_group] == 70_000
