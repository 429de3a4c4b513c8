"""Relations that are lost until they were made anew, and who finds that out late."""

from __future__ import annotations

from nibd.daemon.relations.losses import Losses, Lost
from nibd.stores.types import RepositoryId

HERE, THERE = RepositoryId("r"), RepositoryId("s")


def test_what_is_to_be_discarded_stays_so_whatever_is_found_after_it() -> None:
    losses = Losses()
    losses.lose(HERE, "a difference", discard=True)
    losses.lose(HERE, "removed", discard=False)
    assert (losses.of(HERE), losses.of(THERE)) == (Lost("removed", True), None)


def test_what_was_lost_when_they_were_begun_is_over_when_they_are_made() -> None:
    losses = Losses()
    losses.made(HERE, losses.of(HERE))
    assert losses.remade(HERE) == 0
    losses.lose(HERE, "removed", discard=False)
    losses.made(HERE, losses.of(HERE))
    assert (losses.of(HERE), losses.remade(HERE), losses.remade(THERE)) == (None, 1, 0)


def test_what_was_lost_since_they_were_begun_stays_lost() -> None:
    losses = Losses()
    begun = losses.of(HERE)
    losses.lose(HERE, "a difference", discard=True)
    losses.made(HERE, begun)
    assert (losses.of(HERE), losses.remade(HERE)) == (Lost("a difference", True), 0)
    begun = losses.of(HERE)
    losses.lose(HERE, "another difference", discard=True)
    losses.made(HERE, begun)
    assert (losses.of(HERE), losses.remade(HERE)) == (Lost("another difference", True), 1)
