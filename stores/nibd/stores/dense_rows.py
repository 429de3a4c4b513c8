"""Row lists: which rows of the matrix a snapshot's dense view searches.

A row list is a `Bitmap`; on disk it is an immutable file, compressed, with a checksum: 60,000 rows take
7.5 KB at most. `nibd.stores.dense` has the matrix.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nibd.stores.bitmap import Bitmap
from nibd.stores.errors import CorruptStore, StoreError

Rows: TypeAlias = npt.NDArray[np.int64]

ROWS_MAGIC = b"nibd rows 1\n"


def members(rows: Bitmap) -> Rows:
    """The members of a bitmap, ascending."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(rows.data, np.uint8), bitorder="little"))


def bitmap_of(rows: Sequence[int] | Rows) -> Bitmap:
    array = np.asarray(rows, np.int64)
    bits = np.zeros(int(array.max()) + 1 if len(array) else 0, np.bool_)
    bits[array] = True
    return Bitmap(np.packbits(bits, bitorder="little").tobytes())


def write_rows(path: Path, rows: Bitmap) -> str:
    """Write a row list, durable when it returns; its checksum. The file must not exist: it never changes."""
    body = zlib.compress(rows.data.rstrip(b"\0"), 1)
    data = ROWS_MAGIC + zlib.crc32(body).to_bytes(4, "little") + body
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)
    return f"{zlib.crc32(body):08x}"


def read_rows(path: Path) -> Bitmap:
    """Raises StoreError when it can't be read, CorruptStore when it is not what was written."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: {error}") from error
    head, checksum, body = data[: len(ROWS_MAGIC)], data[len(ROWS_MAGIC) :][:4], data[len(ROWS_MAGIC) + 4 :]
    if head != ROWS_MAGIC or zlib.crc32(body).to_bytes(4, "little") != checksum:
        raise CorruptStore(f"{path} is not the row list that was written")
    return Bitmap(zlib.decompress(body))


def sync_folder(path: Path) -> None:
    """Make the names in `path` survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
