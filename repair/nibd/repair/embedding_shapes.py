"""The shapes in which texts go through a model.

A matrix product's kernel, and with it the last bits of its result, may depend on the shape of what is
multiplied. So there are few shapes, and a text's own length alone decides which one it takes: its length
is padded to the next of `LENGTHS`, and it goes with as many rows as make about `BATCH_TOKENS` tokens,
empty places filled with copies. In a shape that is always the same a row's result depends on that row only.

About the same number of tokens in each pass also makes passes equally long (some 50 ms): a
query that comes in waits for one of them at most, and an ordinary commit of three functions takes three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LENGTHS = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512)
MAX_LENGTH = LENGTHS[-1]
"""Longer texts are cut here even where the model takes more: attention costs the square of it."""
BATCH_TOKENS = 512
SHAPES_VERSION = 1
"""Part of the profile: raise it with any change of the numbers above."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One pass: texts by their index, at most `rows` of them, each padded to `length` tokens."""

    length: int
    rows: int
    texts: tuple[int, ...]


def batches(token_counts: Sequence[int], several_rows: bool) -> Iterator[Batch]:
    """Every text in one batch, the shortest first. `several_rows` False: one text a pass."""
    by_length: dict[int, list[int]] = {}
    for text, count in enumerate(token_counts):
        by_length.setdefault(padded_length(count), []).append(text)
    for length in sorted(by_length):
        texts = by_length[length]
        rows = max(1, BATCH_TOKENS // length) if several_rows else 1
        for at in range(0, len(texts), rows):
            yield Batch(length, rows, tuple(texts[at : at + rows]))


def padded_length(token_count: int) -> int:
    """Raises ValueError beyond `MAX_LENGTH`: the tokenizer was to cut there."""
    for length in LENGTHS:
        if token_count <= length:
            return length
    raise ValueError(f"{token_count} tokens, at most {MAX_LENGTH} fit")
