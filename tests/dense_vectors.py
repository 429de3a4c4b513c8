"""Vectors for tests of the dense view, and cosine in numpy as their oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nibd.stores.types import TextId

DIMENSION = 24
Floats = npt.NDArray[np.float32]


def unit_vectors(count: int, seed: int = 0) -> Floats:
    values = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), np.float32)


def text_id(number: int) -> TextId:
    return TextId(number.to_bytes(16, "big"))


def by_text(vectors: Floats, numbers: Sequence[int]) -> dict[TextId, bytes]:
    return {text_id(n): vectors[n].astype("<f4").tobytes() for n in numbers}


def cosine(query: Floats, vectors: Floats) -> npt.NDArray[np.float64]:
    """In double precision, from the definition."""
    q, v = query.astype(np.float64), vectors.astype(np.float64)
    return np.asarray((v * q).sum(axis=1) / np.sqrt((v * v).sum(axis=1) * (q * q).sum()))
