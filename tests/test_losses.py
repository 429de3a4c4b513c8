"""Relations that are lost until they were made anew, and who finds that out late."""

from __future__ import annotations

from nibd.daemon.relations.losses import Losses, Lost
from nibd.daemon.relations.unpublished import Unpublished
from nibd.stores.types import CheckoutId, RepositoryId, TreeId

HERE, THERE = RepositoryId("r"), RepositoryId("s")


def test_what_is_lost_is_so_once_whoever_finds_it_again() -> None:
    losses = Losses()
    assert losses.lose(HERE, "a difference", discard=True)
    assert not losses.lose(HERE, "removed", discard=False)
    assert not losses.lose(HERE, "a difference", discard=True)
    assert (losses.of(HERE), losses.of(THERE)) == (Lost("a difference", True), None)


def test_what_was_lost_when_they_were_begun_is_over_when_they_are_made() -> None:
    losses = Losses()
    losses.made(HERE, losses.of(HERE))
    assert losses.remade(HERE) == 0
    losses.lose(HERE, "removed", discard=False)
    losses.made(HERE, losses.of(HERE))
    assert (losses.of(HERE), losses.remade(HERE), losses.remade(THERE)) == (None, 1, 0)


def test_what_is_found_while_they_are_made_anew_does_not_have_them_made_once_more() -> None:
    losses = Losses()
    losses.lose(HERE, "a difference", discard=True)
    begun = losses.of(HERE)
    losses.lose(HERE, "can't be read: they are being made", discard=False)
    losses.lose(HERE, "the same difference", discard=True)
    losses.made(HERE, begun)
    assert (losses.of(HERE), losses.remade(HERE)) == (None, 1)


def test_what_has_been_lost_since_they_were_begun_stays_lost() -> None:
    losses = Losses()
    begun = losses.of(HERE)
    losses.lose(HERE, "removed", discard=False)
    losses.made(HERE, begun)
    assert (losses.of(HERE), losses.remade(HERE)) == (Lost("removed", False), 0)
    begun = losses.of(HERE)
    assert losses.lose(HERE, "a difference", discard=True), "more is to be discarded"
    losses.made(HERE, begun)
    assert (losses.of(HERE), losses.remade(HERE)) == (Lost("a difference", True), 1)


def test_what_is_shown_is_not_relied_on_until_what_was_made_in_its_place_is_published() -> None:
    unpublished, checkout, tree = Unpublished(), CheckoutId("c"), TreeId("1" * 40)
    lost = Lost("a difference", True)
    unpublished.put(checkout, tree, {"python": 1})
    assert unpublished.instead_of(checkout, tree) is None
    unpublished.put(checkout, tree, {"python": 2}, lost)
    unpublished.put(checkout, tree, {"python": 3})  # verified, before anything was published
    assert unpublished.instead_of(checkout, tree) == lost
    assert unpublished.instead_of(checkout, TreeId("2" * 40)) is None
    unpublished.taken(checkout, {"python": 3})
    unpublished.put(checkout, tree, {"python": 4})
    assert unpublished.instead_of(checkout, tree) is None
