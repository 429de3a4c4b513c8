"""Taking many things some at a time: a statement of SQL has room for so many values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items in the order given; the last may be shorter, and none is empty."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
