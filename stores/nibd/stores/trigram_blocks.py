"""How a segment of trigrams is stored: blocks of postings, and what is found in one.

A *segment* holds the texts of up to `MAX_DOCUMENTS` file rows; a row's place in it is its *document*
number. Its *postings* are, by trigram, the documents that hold it. They lie in *blocks* of some thousand,
each a stretch of trigrams in ascending order, packed as

    trigrams, postings | zlib( trigram u32[trigrams] | count u16[trigrams] | document u16[postings] )

where a document number is the difference from the one before it, modulo 2^16, which compresses well.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nibd.stores.trigrams import Grams

Documents = npt.NDArray[np.uint16]
Pairs = npt.NDArray[np.uint64]
"""Postings as numbers: the trigram above the lowest 16 bits, the document in them."""

MAX_DOCUMENTS = 1 << 16
BLOCK_POSTINGS = 4096
COMPRESSION = 1
_HEADER = struct.Struct("=II")


@dataclass(frozen=True, slots=True)
class Block:
    """Trigrams with their documents: those of `grams[i]` are `documents[starts[i]:starts[i + 1]]`."""

    grams: Grams
    starts: npt.NDArray[np.int64]
    documents: Documents

    @property
    def size_bytes(self) -> int:
        return self.grams.nbytes + self.starts.nbytes + self.documents.nbytes

    def documents_of(self, gram: int) -> Documents:
        at = int(np.searchsorted(self.grams, gram))
        if at == len(self.grams) or self.grams[at] != gram:
            return self.documents[:0]
        return self.documents[self.starts[at] : self.starts[at + 1]]

    def pairs(self) -> Pairs:
        grams = np.repeat(self.grams.astype(np.uint64), np.diff(self.starts))
        return (grams << np.uint64(16)) | self.documents


def inverted(texts: Sequence[Grams]) -> Pairs:
    """The postings of texts that are documents 0, 1, …, in ascending order."""
    documents = np.repeat(np.arange(len(texts), dtype=np.uint64), [len(grams) for grams in texts])
    pairs = np.concatenate([*texts, np.empty(0, np.uint32)]).astype(np.uint64)
    pairs <<= np.uint64(16)
    pairs |= documents
    pairs.sort()
    return pairs


def blocks_of(pairs: Pairs) -> Iterator[tuple[int, bytes]]:
    """Sorted postings as packed blocks, each with its first trigram. A trigram is never divided."""
    grams, starts = np.unique(pairs >> np.uint64(16), return_index=True)
    starts = np.append(starts, len(pairs))
    documents = (pairs & np.uint64(0xFFFF)).astype(np.uint16)
    begin = 0
    while begin < len(grams):
        end = int(np.searchsorted(starts, starts[begin] + BLOCK_POSTINGS, "right")) - 1
        end = max(end, begin + 1)
        within = documents[starts[begin] : starts[end]]
        counts = np.diff(starts[begin : end + 1]) - 1  # a trigram has 1 to 65,536
        yield int(grams[begin]), _packed(grams[begin:end].astype(np.uint32), counts.astype(np.uint16), within)
        begin = end


def unpack(payload: bytes) -> Block:
    """Raises `ValueError`, `struct.error` or `zlib.error` when the bytes are not a packed block."""
    trigrams, postings = _HEADER.unpack_from(payload)
    data = zlib.decompress(payload[_HEADER.size :])
    grams = np.frombuffer(data, np.uint32, trigrams)
    counts = np.frombuffer(data, np.uint16, trigrams, trigrams * 4)
    differences = np.frombuffer(data, np.uint16, postings, trigrams * 6)
    starts = np.zeros(trigrams + 1, np.int64)
    np.cumsum(counts.astype(np.int64) + 1, out=starts[1:])
    if starts[-1] != postings:
        raise ValueError("a block of trigrams counts other postings than it has")
    return Block(grams, starts, np.cumsum(differences, dtype=np.uint16))


def _packed(grams: Grams, counts: npt.NDArray[np.uint16], documents: Documents) -> bytes:
    differences = np.diff(documents, prepend=np.uint16(0))  # of unsigned numbers, so modulo 2^16
    data = grams.tobytes() + counts.tobytes() + differences.tobytes()
    return _HEADER.pack(len(grams), len(documents)) + zlib.compress(data, COMPRESSION)
