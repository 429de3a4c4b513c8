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


def test_only_what_was_made_from_nothing_stored_counts_as_made_anew() -> None:
    losses = Losses()
    losses.made(HERE)
    losses.lose(HERE, "removed", discard=False)
    losses.made(HERE)
    assert (losses.of(HERE), losses.remade(HERE)) == (None, 0)
    losses.lose(HERE, "a difference", discard=True)
    losses.made(HERE)
    assert (losses.of(HERE), losses.remade(HERE), losses.remade(THERE)) == (None, 1, 0)
