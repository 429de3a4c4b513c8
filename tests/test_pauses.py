"""When what failed is tried again: later and later for the same tree, at once for another."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from nibd.daemon.relations import pauses
from nibd.daemon.relations.installed import have_changed
from nibd.daemon.relations.pauses import FIRST_S, LONGEST_S, Pauses
from nibd.repair.private_tree import stamp
from nibd.stores.types import CheckoutId, TreeId

MAIN, LINKED = CheckoutId("main"), CheckoutId("linked")
ONE, TWO = TreeId("1" * 40), TreeId("2" * 40)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pauses, "time", made)
    return made


def test_what_fails_in_the_same_way_is_tried_later_and_later() -> None:
    found = Pauses()
    seconds = [found.failed(MAIN, ONE, "died", {}) for _ in range(12)]
    assert seconds[:3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S]
    assert seconds == sorted(seconds)
    assert seconds[-1] == LONGEST_S
    assert found.times(MAIN, ONE) == 12
    assert found.failed(MAIN, ONE, "refused", {}) == FIRST_S


def test_a_pause_is_for_one_tree_of_one_checkout(clock: Clock) -> None:
    found = Pauses()
    found.failed(MAIN, ONE, "died", {})
    paused = found.of(MAIN, ONE)
    assert paused is not None
    assert not paused.is_over
    assert found.of(MAIN, TWO) is None
    assert found.of(LINKED, ONE) is None
    clock.now += FIRST_S
    assert paused.is_over
    assert found.failed(MAIN, TWO, "died", {}) == FIRST_S
    assert found.of(MAIN, ONE) is None


def test_what_was_begun_again_remembers_how_often_it_failed_and_what_ended_does_not() -> None:
    found = Pauses()
    found.failed(MAIN, ONE, "died", {})
    found.begun(MAIN)
    assert found.of(MAIN, ONE) is None
    assert found.failed(MAIN, ONE, "died", {}) == 2 * FIRST_S
    found.end(MAIN)
    assert (found.of(MAIN, ONE), found.times(MAIN, ONE)) == (None, 0)
    assert found.failed(MAIN, ONE, "died", {}) == FIRST_S


def test_what_failed_so_often_is_left_alone_until_something_is_installed(
    clock: Clock, tmp_path: Path
) -> None:
    found, watched = Pauses(), {str(tmp_path): stamp(tmp_path)}
    assert [found.failed(MAIN, ONE, "died", watched, most=2) for _ in range(3)] == [2.0, 4.0, math.inf]
    clock.now += 1e9
    paused = found.of(MAIN, ONE)
    assert paused is not None
    assert not paused.is_over
    assert not have_changed(paused.watched)
    (tmp_path / "ty").touch()
    assert have_changed(paused.watched)
