"""embeddings.db: vectors and the spool, across processes and kills."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nibd.stores.embeddings import ROW_OVERHEAD_BYTES, USED_RESOLUTION_S, EmbeddingStore
from nibd.stores.types import ProfileId, TextId

PROFILE, OTHER = ProfileId("one"), ProfileId("other")
VECTOR_BYTES = 16


def text_id(text: str) -> TextId:
    return TextId(hashlib.blake2b(text.encode(), digest_size=16).digest())


def vector(number: int) -> bytes:
    return number.to_bytes(VECTOR_BYTES, "little")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[EmbeddingStore]:
    opened = EmbeddingStore.open(tmp_path / "embeddings.db", clock)
    yield opened
    opened.close()


def test_vectors_belong_to_a_profile(store: EmbeddingStore) -> None:
    a, b = text_id("a"), text_id("b")
    store.put_many(PROFILE, {a: vector(1)})
    store.put_many(OTHER, {a: vector(2), b: vector(3)})
    assert store.get_many(PROFILE, [a, b]) == {a: vector(1)}
    assert store.get_many(OTHER, [a, b]) == {a: vector(2), b: vector(3)}
    assert store.missing(PROFILE, [a, b]) == {b}


def test_more_ids_than_one_statement_takes(store: EmbeddingStore) -> None:
    vectors = {text_id(str(i)): vector(i) for i in range(1700)}
    store.put_many(PROFILE, vectors)
    assert store.get_many(PROFILE, [*vectors, text_id("none")]) == vectors


def test_a_damaged_vector_counts_as_missing_and_is_put_over(store: EmbeddingStore, tmp_path: Path) -> None:
    a = text_id("a")
    store.put_many(PROFILE, {a: vector(1)})
    with sqlite3.connect(tmp_path / "embeddings.db") as db:
        db.execute("UPDATE vector SET vector = ?", (vector(9),))
    assert store.missing(PROFILE, [a]) == {a}
    store.spool.add(PROFILE, [(a, "a")])
    store.put_many(PROFILE, {a: vector(1)})
    assert store.get_many(PROFILE, [a]) == {a: vector(1)}


def test_putting_a_vector_takes_its_text_off_the_spool(store: EmbeddingStore) -> None:
    texts = [(text_id(name), name) for name in "abc"]
    assert store.spool.add(PROFILE, texts) == 3
    assert store.spool.take(PROFILE, 2) == texts[:2]
    store.put_many(PROFILE, {text_id("a"): vector(1)})
    assert store.spool.take(PROFILE, 9) == texts[1:]
    assert store.spool.pending(PROFILE) == 2


def test_the_spool_takes_a_text_once(store: EmbeddingStore) -> None:
    texts = [(text_id(name), name) for name in "ab"]
    store.put_many(PROFILE, {text_id("a"): vector(1)})
    assert store.spool.add(PROFILE, texts) == 1
    assert store.spool.add(PROFILE, texts) == 0
    assert store.spool.add(OTHER, texts) == 2
    assert store.spool.forget(OTHER, [text_id("a")]) == 1
    assert store.spool.forget(OTHER) == 1
    assert store.spool.pending(PROFILE) == 1


def test_trimming_forgets_what_was_used_longest_ago(store: EmbeddingStore, clock: Clock) -> None:
    size = VECTOR_BYTES + ROW_OVERHEAD_BYTES
    for number, name in enumerate("abc"):
        store.put_many(PROFILE, {text_id(name): vector(number)})
        clock.now += 2 * USED_RESOLUTION_S
    store.get_many(PROFILE, [text_id("a")])
    assert store.statistics().size_bytes == 3 * size
    assert store.trim(2 * size) == 1
    assert store.missing(PROFILE, map(text_id, "abc")) == {text_id("b")}
    assert store.trim(2 * size) == 0


def test_a_profile_keeps_its_description(store: EmbeddingStore) -> None:
    store.describe(PROFILE, {"model": "m", "max_length": 3})
    assert store.description(PROFILE) == {"model": "m", "max_length": 3}
    assert store.description(OTHER) == {}


WRITER = """
import sys
from pathlib import Path
from nibd.stores.embeddings import EmbeddingStore
store = EmbeddingStore.open(Path(sys.argv[1]))
first = int(sys.argv[2])
for at in range(first, first + 600, 20):
    store.put_many("shared", {n.to_bytes(16, "big"): n.to_bytes(16, "little") for n in range(at, at + 20)})
"""


def test_processes_put_at_the_same_time(tmp_path: Path) -> None:
    """Their halves overlap, and both create the file."""
    path = tmp_path / "embeddings.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), first]) for first in ("0", "300")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    store = EmbeddingStore.open(path)
    found = store.get_many(ProfileId("shared"), [TextId(n.to_bytes(16, "big")) for n in range(900)])
    assert found == {TextId(n.to_bytes(16, "big")): n.to_bytes(16, "little") for n in range(900)}
    assert store.statistics().vectors == 900
    store.close()
