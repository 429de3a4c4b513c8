"""A bitmap behaves as the set of its members."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nibd.stores.bitmap import Bitmap

members = st.sets(st.integers(0, 300))


@given(members, members, members)
def test_changes_are_those_of_a_set(start: set[int], removed: set[int], added: set[int]) -> None:
    changed = Bitmap.of(start).changed(remove=removed, add=added)
    assert list(changed) == sorted((start - removed) | added)
    assert len(changed) == len((start - removed) | added)


@given(members, members)
def test_difference_and_union_are_those_of_sets(left: set[int], right: set[int]) -> None:
    assert list(Bitmap.of(left).minus(Bitmap.of(right))) == sorted(left - right)
    assert list(Bitmap.of(left).union(Bitmap.of(right))) == sorted(left | right)


@given(members, st.integers(0, 400))
def test_membership(start: set[int], asked: int) -> None:
    assert (asked in Bitmap.of(start)) == (asked in start)
