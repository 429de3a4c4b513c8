"""Fusing rankings, by reciprocal rank and by score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nibd.query.fusion import fuse, fuse_scores
from nibd.query.hits import Hit
from nibd.stores.types import BlobId, Level, RepoPath


def hit(path: str, line: int = 1, score: float = 0.0) -> Hit:
    blob = BlobId("0" * 40)
    return Hit(RepoPath(path.encode()), line, line, "function", "f", Level.CALLABLE, "python", blob, score)


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


def scored(scores: Mapping[str, float]) -> list[Hit]:
    return [hit(path, score=score) for path, score in scores.items()]


def told(hits: Sequence[Hit]) -> dict[str, float]:
    return {found.path.decode(): found.score for found in hits}


def test_scores_of_the_second_list_are_stretched_and_added_with_their_weight() -> None:
    first = scored({"a": 9.0, "b": 5.0, "c": 4.0})
    second = scored({"c": 0.7, "b": 0.6, "d": 0.5})
    assert told(fuse_scores(first, second, 2.0, 9)) == {
        "a": 9.0,
        "b": 5.0 + 2 * (0.6 - 0.5) / (0.7 - 0.5),
        "c": 6.0,
        "d": 4.0,
    }
    assert paths(fuse_scores(first, second, 6.0, 2)) == ["c", "a"]


def test_a_hit_far_ahead_stays_first_where_ranks_would_not_keep_it() -> None:
    first, second = scored({"a": 9.0, "b": 2.0, "c": 1.0}), scored({"b": 0.7, "c": 0.3, "a": 0.2})
    assert paths(fuse_scores(first, second, 3.0, 1)) == ["a"]
    assert paths(fuse([first, second], 1)) == ["b"]


def test_scores_of_one_list_alone_keep_its_order() -> None:
    some = scored({"z": 3.0, "a": 2.0, "b": 2.0})
    assert fuse_scores(some, [], 3.0, 9) == some
    assert paths(fuse_scores([], some, 3.0, 9)) == ["z", "a", "b"]
    assert told(fuse_scores([], scored({"b": 0.4, "a": 0.4}), 3.0, 9)) == {"a": 3.0, "b": 3.0}


def test_a_unit_that_is_there_twice_counts_by_its_better_score() -> None:
    twice = [hit("a", score=2.0), hit("b", score=1.5), hit("a", score=1.0)]
    assert told(fuse_scores(twice, twice, 1.0, 9)) == {"a": 3.0, "b": 2.0}
