"""A repository's dense view on disk: one matrix of vectors, and which of its rows a snapshot searches.

`dense/<profile>/` holds

- `vectors.f32`: a matrix of little-endian float32, one row for each distinct text, appended to and never
  changed in place; readers map it into memory, so processes share one copy of its pages;
- `rows.db`: which text each row is of, with a checksum of the row. A row exists once it is *named* here;
- `*.rows`: a snapshot's *row list*, an immutable bitmap (`nibd.stores.dense_rows`).

An append writes and fsyncs the vectors before the transaction that names them. A crash between the two
leaves unnamed bytes at the end of the matrix, and the next append writes over them.

A search is FAISS's flat inner product over the mapped matrix, restricted to a row list; the matrix is
never copied. FAISS computes each pair by one kernel that sees only the two vectors, so a score has the
same bits whatever the row's number or the other rows (docs/decisions/0004-dense-exactness.md). The result
is complete with ties: it ends where the score falls strictly below the k-th. The caller orders ties, by
address. FAISS is imported by the first search, numpy with this module: import it where a view is opened.
"""

from __future__ import annotations

import importlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from sqlite_utils import Database, Migrations

from nibd.stores.bitmap import Bitmap
from nibd.stores.database import Connection, open_database, open_reader
from nibd.stores.dense_rows import Rows, bitmap_of, members, sync_folder
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.types import TextId

Floats: TypeAlias = npt.NDArray[np.float32]
T = TypeVar("T")

VECTORS_FILE = "vectors.f32"
ROWS_FILE = "rows.db"
LOOKUP_IDS = 500
COPIED_ROWS = 4096
"""How many rows compaction holds in memory at a time."""

migrations = Migrations("nibd.dense")


@migrations()
def m001_initial(db: Database) -> None:
    db.execute("CREATE TABLE matrix (dimension INTEGER NOT NULL)")
    db.execute(
        "CREATE TABLE named (row INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE, checksum INTEGER NOT NULL)"
    )


@dataclass(frozen=True, slots=True)
class DenseStatistics:
    """`removed` rows are in no row list that was given; `share` is their part of all rows."""

    rows: int
    removed: int
    size_bytes: int

    @property
    def share(self) -> float:
        return self.removed / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class Compaction:
    """A store that holds live rows only: its row i was row `old_rows[i]` of the one it was made from."""

    store: DenseStore
    old_rows: Rows

    def translated(self, rows: Bitmap) -> Bitmap:
        """A row list of the old store as one of the new. Rows that were not live raise ValueError."""
        old = members(rows)
        at = np.searchsorted(self.old_rows, old)
        if len(old) and (at[-1] >= len(self.old_rows) or not np.array_equal(self.old_rows[at], old)):
            raise ValueError("the row list has rows that were not kept")
        return bitmap_of(at)


class DenseStore:
    """The vectors of one repository and profile. Several threads may read; one process appends."""

    def __init__(self, folder: Path, dimension: int, connection: Connection) -> None:
        self.folder = folder
        self.dimension = dimension
        self._connection = connection
        self._mapped = self._map()

    @staticmethod
    def open(folder: Path, dimension: int) -> DenseStore:
        """Open for appending, creating what is not there.

        Raises CorruptStore when the store has another dimension or fewer vectors than it names.
        """
        connection = open_database(folder / ROWS_FILE, migrations, "FULL")
        with connection.transaction() as db:
            if db.execute("SELECT 1 FROM matrix").fetchone() is None:
                db.execute("INSERT INTO matrix (dimension) VALUES (?)", (dimension,))
        (folder / VECTORS_FILE).touch()
        sync_folder(folder)
        return _checked(folder, connection, dimension)

    @staticmethod
    def open_reader(folder: Path) -> DenseStore:
        """Open what another process appends to. Raises StoreError when there is none, or CorruptStore."""
        return _checked(folder, open_reader(folder / ROWS_FILE), None)

    def __len__(self) -> int:
        row = self._connection.row("SELECT COALESCE(MAX(row) + 1, 0) FROM named")
        assert row is not None
        return int(row[0])

    def rows(self, ids: Iterable[TextId]) -> dict[TextId, int]:
        """The rows of those of `ids` that have one."""
        found: dict[TextId, int] = {}
        for part in _parts(sorted(set(ids))):
            marks = ",".join("?" * len(part))
            sql = f"SELECT text, row FROM named WHERE text IN ({marks})"
            found.update((TextId(text), row) for text, row in self._connection.rows(sql, tuple(part)))
        return found

    def texts(self, rows: Iterable[int]) -> dict[int, TextId]:
        """The texts of `rows`; a row that is not named is left out."""
        found: dict[int, TextId] = {}
        for part in _parts(sorted({int(row) for row in rows})):
            marks = ",".join("?" * len(part))
            sql = f"SELECT row, text FROM named WHERE row IN ({marks})"
            found.update((row, TextId(text)) for row, text in self._connection.rows(sql, tuple(part)))
        return found

    def append(self, vectors: Mapping[TextId, bytes]) -> dict[TextId, int]:
        """Give each text that has none a row, and return the rows of all. Durable when it returns.

        Vectors are little-endian float32 bytes. Raises ValueError for one of another dimension or with
        values that are not finite.
        """
        for vector in vectors.values():
            _check_vector(vector, self.dimension)
        with self._connection.transaction() as db:
            known = self.rows(vectors)
            new = sorted(text for text in vectors if text not in known)
            first = len(self)
            self._write(first, [vectors[text] for text in new])
            db.executemany(
                "INSERT INTO named (row, text, checksum) VALUES (?,?,?)",
                [(first + i, text, zlib.crc32(vectors[text])) for i, text in enumerate(new)],
            )
        return known | {text: first + i for i, text in enumerate(new)}

    def search(self, rows: Bitmap, query: Floats, k: int) -> tuple[Rows, Floats]:
        """The rows of `rows` whose score is at least the k-th best, and their scores, best first.

        More than `k` come back when several share the k-th score: all of these are there. Ties are in
        the order of their rows, which means nothing. `query` is one vector. Raises CorruptStore when
        `rows` names rows that the matrix does not have.
        """
        if query.shape != (self.dimension,) or k < 1:
            raise ValueError(f"want a query of {self.dimension} values and k of 1 or more")
        matrix = self._rows_for(rows)
        count = len(rows)
        fetch = min(count, k + 16)
        while True:
            found, scores = _inner_products(matrix, rows, np.ascontiguousarray(query, np.float32), fetch)
            if fetch == count or scores[-1] < scores[k - 1]:
                break
            fetch = min(count, fetch * 2)
        kept = len(scores) if fetch <= k else int(np.searchsorted(-scores, -scores[k - 1], side="right"))
        order = np.lexsort((found[:kept], -scores[:kept]))
        return found[order], scores[order]

    def vectors(self, rows: Sequence[int]) -> Floats:
        """Copies of the vectors of `rows`, in that order."""
        return np.array(self._rows_for(Bitmap.of(rows))[list(rows)])

    def statistics(self, live: Bitmap) -> DenseStatistics:
        """How much of the matrix no snapshot needs. `live` is the union of all row lists that are kept."""
        count = len(self)
        return DenseStatistics(count, count - len(live), count * self._row_bytes)

    def verify(self) -> list[int]:
        """The rows whose bytes are not what was appended. Reads the whole matrix."""
        matrix = self._map()
        return [
            row
            for row, checksum in self._connection.rows("SELECT row, checksum FROM named ORDER BY row")
            if zlib.crc32(matrix[row].tobytes()) != checksum
        ]

    def compact(self, live: Bitmap, folder: Path) -> Compaction:
        """Copy the `live` rows, in their order, to a new store in `folder`, which must be empty or absent.

        This store is unchanged: it serves on until the caller has published translated row lists. A crash
        leaves a `folder` that nothing names, to be removed.
        """
        old_rows = members(live)
        store = DenseStore.open(folder, self.dimension)
        if len(store):
            raise StoreError(f"{folder} holds vectors already")
        for at in range(0, len(old_rows), COPIED_ROWS):
            part = old_rows[at : at + COPIED_ROWS]
            store._append_rows(at, self.texts(part), part, self.vectors(part.tolist()))
        return Compaction(store, old_rows)

    def close(self) -> None:
        self._mapped = np.empty((0, self.dimension), np.float32)
        self._connection.close()

    @property
    def _row_bytes(self) -> int:
        return self.dimension * 4

    def _append_rows(self, first: int, texts: Mapping[int, TextId], rows: Rows, vectors: Floats) -> None:
        """For compaction: `vectors[i]` is of old row `rows[i]`, and their order is kept."""
        data = [vector.tobytes() for vector in vectors]
        with self._connection.transaction() as db:
            self._write(first, data)
            db.executemany(
                "INSERT INTO named (row, text, checksum) VALUES (?,?,?)",
                [(first + i, texts[int(row)], zlib.crc32(data[i])) for i, row in enumerate(rows)],
            )

    def _write(self, first: int, vectors: Sequence[bytes]) -> None:
        """Inside the transaction that names them, which also keeps a second writer out."""
        if vectors:
            with (self.folder / VECTORS_FILE).open("r+b") as file:
                file.seek(first * self._row_bytes)
                file.write(b"".join(vectors))
                file.flush()
                os.fsync(file.fileno())

    def _rows_for(self, rows: Bitmap) -> Floats:
        """The matrix up to the last of `rows`, mapped again when it has grown since."""
        data = rows.data.rstrip(b"\0")
        top = (len(data) - 1) * 8 + data[-1].bit_length() if data else 0
        if top > len(self._mapped):
            self._mapped = self._map()
        if top > len(self._mapped):
            raise CorruptStore(f"{self.folder}: row {top - 1} is wanted, the store has {len(self._mapped)}")
        return self._mapped[:top]

    def _map(self) -> Floats:
        count = len(self)
        if not count:  # nothing can be mapped
            return np.empty((0, self.dimension), np.float32)
        path = self.folder / VECTORS_FILE
        try:
            if path.stat().st_size < count * self._row_bytes:
                raise CorruptStore(f"{path} has fewer vectors than the {count} that are named")
            return np.memmap(path, np.dtype("<f4"), "r", shape=(count, self.dimension))
        except OSError as error:
            raise StoreError(f"{path}: {error}") from error


@cache
def _faiss() -> ModuleType:
    """Imported by the first search. One thread: a search of thousands takes less than waking a second."""
    try:
        faiss = importlib.import_module("faiss")
    except ImportError as error:
        raise StoreError(
            f"searching the dense view needs FAISS ({error}): pip install 'nibd[dense]'"
        ) from error
    faiss.omp_set_num_threads(1)
    return faiss


def _inner_products(matrix: Floats, rows: Bitmap, query: Floats, k: int) -> tuple[Rows, Floats]:
    """The `k` best of `rows` (which has at least `k` members) by FAISS's flat search with a selector.

    `knn_inner_product` is what IndexFlatIP.search calls on its own storage. With one query and a selector
    it takes the loop over single pairs, never a matrix product, whose bits depend on the blocking.
    """
    found, scores = np.empty(k, np.int64), np.empty(k, np.float32)
    if k:
        faiss = _faiss()
        bits = np.frombuffer(rows.data, np.uint8)
        selector = faiss.IDSelectorBitmap(len(rows.data), faiss.swig_ptr(bits))
        faiss.knn_inner_product(
            faiss.swig_ptr(query), faiss.swig_ptr(matrix), matrix.shape[1], 1, len(matrix), k,
            faiss.swig_ptr(scores), faiss.swig_ptr(found), selector,
        )  # fmt: skip
    return found, scores


def _checked(folder: Path, connection: Connection, dimension: int | None) -> DenseStore:
    try:
        row = connection.row("SELECT dimension FROM matrix")
        if row is None or dimension not in (None, row[0]):
            has = "no dimension" if row is None else f"vectors of {row[0]} values"
            raise CorruptStore(f"{folder} has {has}, {dimension or 'one'} is wanted")
        return DenseStore(folder, int(row[0]), connection)
    except BaseException:
        connection.close()
        raise


def _check_vector(vector: bytes, dimension: int) -> None:
    if len(vector) != dimension * 4 or not np.isfinite(np.frombuffer(vector, "<f4")).all():
        raise ValueError(f"not a vector of {dimension} finite float32 values")


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), LOOKUP_IDS):
        yield items[at : at + LOOKUP_IDS]
