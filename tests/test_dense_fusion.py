"""Fusing rankings by reciprocal rank."""

from __future__ import annotations

from collections.abc import Sequence

from nibd.query.fusion import fuse
from nibd.query.hits import Hit
from nibd.stores.types import BlobId, Level, RepoPath


def hit(path: str, line: int = 1) -> Hit:
    blob = BlobId("0" * 40)
    return Hit(RepoPath(path.encode()), line, line, "function", "f", Level.CALLABLE, "python", blob, 0.0)


def paths(hits: Sequence[Hit]) -> list[str]:
    return [found.path.decode() for found in hits]


def test_fusion_adds_reciprocal_ranks() -> None:
    a, b, c = hit("a"), hit("b"), hit("c")
    fused = fuse([[a, b], [b, c]], 10)
    assert paths(fused) == ["b", "a", "c"]
    assert [found.score for found in fused] == [1 / 62 + 1 / 61, 1 / 61, 1 / 62]
    assert paths(fuse([[a, b], [b, c]], 1)) == ["b"]


def test_fusion_breaks_ties_by_address_whatever_the_order_of_the_lists() -> None:
    lists = [[hit("z"), hit("m")], [hit("a"), hit("z", 5)], [hit("m"), hit("z")]]
    assert fuse(lists, 9) == fuse(lists[::-1], 9)
    assert paths(fuse([[hit("z")], [hit("a")]], 9)) == ["a", "z"]


def test_fusion_counts_a_unit_once_a_list() -> None:
    assert [found.score for found in fuse([[hit("a"), hit("a"), hit("b")]], 9)] == [1 / 61, 1 / 62]
