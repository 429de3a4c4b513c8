"""Covering files by trigrams that no repair covered: those of an older nibd, and what was damaged or lost.

A repair covers the files that it lists (`nibd.repair.listing`), from texts that it has read anyway. Until the
rest is covered, patterns are looked for in it without a filter, so this can wait for its turn.
"""

from __future__ import annotations

from nibd.repair.git import GitSource
from nibd.repair.progress import Progress, Reporter
from nibd.repair.text import decode
from nibd.stores.batches import batches
from nibd.stores.bitmap import Bitmap
from nibd.stores.repository import RepositoryStores
from nibd.stores.trigrams import grams_of, has_text, pack
from nibd.stores.types import BlobId, FileVersion, Skip

BATCH_FILES = 64
STAGE = "trigrams"


def packed_trigrams(data: bytes) -> bytes | None:
    """Of a blob; `None` when it is no text."""
    text = decode(data)
    return None if isinstance(text, Skip) else pack(grams_of(text.content))


def is_due(stores: RepositoryStores, listing: Bitmap) -> bool:
    """Whether `cover` has something to do."""
    return stores.trigrams.is_old or bool(len(listing.minus(stores.trigrams.covered())))


def cover(source: GitSource, stores: RepositoryStores, listing: Bitmap, report: Reporter) -> None:
    """Remove what is damaged, cover the files of `listing` that are not, and fold.

    Raises what `report` raises; what is done until then is kept.
    """
    stores.trigrams.mend()
    left = listing.minus(stores.trigrams.covered())
    done, of = 0, len(left)
    for batch in batches(stores.structure.files(left), BATCH_FILES):
        report(Progress(STAGE, done, of))
        rows: list[tuple[int, BlobId | None]] = []
        texts: dict[BlobId, bytes] = {}
        for row, file in batch:
            data = _text(source, file)
            if data == b"":
                rows.append((row, None))
            elif data is not None:
                texts[file.blob] = data
                rows.append((row, file.blob))
        stores.trigrams.put(texts.items())
        stores.trigrams.place(rows)
        done += len(batch)
    stores.trigrams.fold(lambda: report(Progress(STAGE, done, of)))


def _text(source: GitSource, file: FileVersion) -> bytes | None:
    """Packed trigrams; empty for a file without text, `None` when its object is not there now."""
    if not has_text(file.skip):
        return b""
    data = source.read(file.blob)
    return None if data is None else packed_trigrams(data) or b""
