"""The segments of trigrams.db: writing, reading, merging and searching them, inside a caller's transaction.

A row of every table has a checksum of its values, which is looked at whenever the row is read.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.errors import CorruptStore
from nibd.stores.trigram_blocks import Block, Pairs, blocks_of, unpack
from nibd.stores.trigrams import AllOf, Need

Rows = npt.NDArray[np.uint32]
"""File rows by document number; 0 for one that is no more."""
BlockCache = BoundedCache[tuple[int, int], Block]

MAX_GRAMS = 16
"""So many of those that have to be there together are looked up."""
FEW_DOCUMENTS = 2
"""With no more candidates in a segment, the rest of the trigrams is not looked up."""
MERGED_BLOCKS = 256
"""So many blocks are held while segments are merged, about 10 MB."""


@dataclass(frozen=True, slots=True)
class Segment:
    number: int
    rows: Rows


def insert(db: sqlite3.Connection, rows: Rows) -> int:
    """A segment of these rows, as yet without postings."""
    number = int(db.execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence").fetchone()[0])
    data = rows.astype(np.uint32).tobytes()
    db.execute("INSERT INTO segment VALUES (?, ?, ?)", (number, data, checksum(number, data)))
    return number


def insert_blocks(db: sqlite3.Connection, segment: int, pairs: Pairs) -> None:
    """Sorted postings; further ones may follow, of higher trigrams."""
    db.executemany(
        "INSERT INTO posting (segment, first, payload, checksum) VALUES (?, ?, ?, ?)",
        ((segment, first, data, checksum(segment, first, data)) for first, data in blocks_of(pairs)),
    )


def keep_rows(db: sqlite3.Connection, segment: Segment, rows: Rows) -> None:
    """Put `rows`, some of which have become 0, in the place of the segment's."""
    data = rows.astype(np.uint32).tobytes()
    values = (data, checksum(segment.number, data), segment.number)
    db.execute("UPDATE segment SET rows = ?, checksum = ? WHERE id = ?", values)


def delete(db: sqlite3.Connection, numbers: Collection[int]) -> None:
    keys = [(number,) for number in numbers]
    db.executemany("DELETE FROM posting WHERE segment = ?", keys)
    db.executemany("DELETE FROM segment WHERE id = ?", keys)


def read(db: sqlite3.Connection) -> tuple[list[Segment], list[int]]:
    """The segments, and the numbers of those whose row is damaged."""
    found, damaged = [], []
    for number, data, stored in db.execute("SELECT id, rows, checksum FROM segment ORDER BY id"):
        if checksum(number, data) == stored:
            found.append(Segment(number, np.frombuffer(data, np.uint32)))
        else:
            damaged.append(number)
    return found, damaged


def damaged_postings(db: sqlite3.Connection) -> set[int]:
    """The segments of which a block is damaged. Reads all that is stored."""
    rows = db.execute("SELECT segment, first, payload, checksum FROM posting")
    return {segment for segment, first, data, stored in rows if checksum(segment, first, data) != stored}


def merge(db: sqlite3.Connection, segments: Sequence[Segment], interrupt: Callable[[], None]) -> None:
    """Put one segment in the place of several, without the rows that are no more.

    Raises `CorruptStore` for a damaged block, and what `interrupt` raises.
    """
    documents: dict[int, npt.NDArray[np.int64]] = {}
    rows: list[Rows] = []
    reached = 0
    for segment in segments:
        live = segment.rows > 0
        documents[segment.number] = np.where(live, np.cumsum(live) - 1 + reached, -1)
        rows.append(segment.rows[live])
        reached += len(rows[-1])
    number = insert(db, np.concatenate(rows))
    for low, high in _ranges(db, [segment.number for segment in segments]):
        interrupt()
        parts = [_renumbered(db, each, low, high, into) for each, into in documents.items()]
        pairs = np.concatenate(parts)
        pairs.sort()
        insert_blocks(db, number, pairs)
    delete(db, [segment.number for segment in segments])


@dataclass(frozen=True, slots=True)
class Search:
    """Looks for documents in one segment. Raises `CorruptStore` for a damaged block."""

    db: sqlite3.Connection
    segment: Segment
    cache: BlockCache

    def fulfilling(self, need: Need) -> npt.NDArray[np.bool_]:
        """By document, whether it may fulfil `need`."""
        if not isinstance(need, AllOf):
            found = np.zeros(len(self.segment.rows), bool)
            for each in need.needs:
                found |= self.fulfilling(each)
            return found
        found = self._holding(need.grams)
        for each in need.needs:
            if np.count_nonzero(found) <= FEW_DOCUMENTS:
                break
            found &= self.fulfilling(each)
        return found

    def _holding(self, grams: Collection[int]) -> npt.NDArray[np.bool_]:
        """The documents that hold all, or all but some, of these trigrams."""
        found = np.ones(len(self.segment.rows), bool)
        for gram in spread(grams):
            documents = self._documents(gram)
            within = documents[found[documents]]
            found = np.zeros(len(found), bool)
            found[within] = True
            if len(within) <= FEW_DOCUMENTS:
                break
        return found

    def _documents(self, gram: int) -> npt.NDArray[np.uint16]:
        row = self.db.execute(
            "SELECT id, first FROM posting WHERE segment = ? AND first <= ? ORDER BY first DESC LIMIT 1",
            (self.segment.number, gram),
        ).fetchone()
        if row is None:
            return np.empty(0, np.uint16)
        key = (self.segment.number, int(row[1]))
        block = self.cache.get(key)
        if block is None:
            block = _block(self.db, int(row[0]))
            self.cache.put(key, block, block.size_bytes)
        return block.documents_of(gram)


def spread(grams: Collection[int]) -> list[int]:
    """Which trigrams to look up, the most telling first: those with rare bytes."""
    return sorted(grams, key=lambda gram: (_commonness(gram), gram))[:MAX_GRAMS]


def checksum(*values: int | str | bytes | None) -> int:
    result = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        result = zlib.crc32(data, zlib.crc32(b"%d:" % len(data), result))
    return result


_BY_COMMONNESS = b" etaoinsrl_dcu.pmhf(),=bg\"':w*y[]-0v12x/3k#4567>89{}<\\jq+z\t;|&@!%?$~^`"
_COMMONNESS = [_BY_COMMONNESS[::-1].find(byte) + 1 for byte in range(256)]
"""How common a byte is in source text, 0 for the rarest."""


def _commonness(gram: int) -> int:
    return _COMMONNESS[gram >> 16] + _COMMONNESS[gram >> 8 & 0xFF] + _COMMONNESS[gram & 0xFF]


def _block(db: sqlite3.Connection, number: int) -> Block:
    segment, first, data, stored = db.execute(
        "SELECT segment, first, payload, checksum FROM posting WHERE id = ?", (number,)
    ).fetchone()
    if checksum(segment, first, data) != stored:
        raise CorruptStore(f"a block of segment {segment} of the trigrams is damaged")
    try:
        return unpack(data)
    except (ValueError, struct.error, zlib.error) as error:
        raise CorruptStore(f"a block of segment {segment} of the trigrams can't be read: {error}") from error


def _ranges(db: sqlite3.Connection, segments: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Stretches of trigrams, `low` to below `high`, with some `MERGED_BLOCKS` blocks each."""
    marks = ",".join("?" * len(segments))
    sql = f"SELECT first FROM posting WHERE segment IN ({marks}) ORDER BY first"
    firsts = [int(row[0]) for row in db.execute(sql, tuple(segments))]
    bounds = [0, *dict.fromkeys(firsts[MERGED_BLOCKS::MERGED_BLOCKS]), 1 << 24]
    return pairwise(bounds)


def _renumbered(
    db: sqlite3.Connection, segment: int, low: int, high: int, documents: npt.NDArray[np.int64]
) -> Pairs:
    """A segment's postings of the trigrams from `low` to below `high`, with other document numbers;
    without those that become negative."""
    numbers = db.execute(
        """SELECT id FROM posting WHERE segment = ? AND first < ? AND first >= coalesce(
             (SELECT max(first) FROM posting WHERE segment = ? AND first <= ?), 0)""",
        (segment, high, segment, low),
    ).fetchall()
    pairs = np.concatenate([np.empty(0, np.uint64), *(_block(db, int(row[0])).pairs() for row in numbers)])
    pairs = pairs[(pairs >= np.uint64(low << 16)) & (pairs < np.uint64(high << 16))]
    renumbered = documents[(pairs & np.uint64(0xFFFF)).astype(np.int64)]
    live = renumbered >= 0
    return ((pairs >> np.uint64(16)) << np.uint64(16))[live] | renumbered[live].astype(np.uint64)
