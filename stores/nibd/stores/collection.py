"""Removing what no kept snapshot needs.

A snapshot whose listing is *damaged* is none that is kept: it can't be read, and nothing can be repaired
from it. It is to be dropped, whichever checkout shows it, and named, so that whoever collects can have
that checkout repaired; the rest is collected as ever.

Two steps, so that whoever serves can come between them: `removable` says what could go, and `collect`
removes of it what no request reads. What a request reads is left for the next collection.

Only for the process that writes, between two jobs; it may not publish between the two steps.
Relations have a writer of their own, which collects them by `collect_relations`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from nibd.stores.bitmap import Bitmap
from nibd.stores.catalog import Catalog
from nibd.stores.errors import CorruptStore
from nibd.stores.relations import RelationStore
from nibd.stores.repository import RepositoryStores, sweep
from nibd.stores.snapshot import Generation, Snapshot


@dataclass(frozen=True, slots=True)
class Removable:
    """Snapshots that nothing needs, and damaged ones with what is wrong with them."""

    unneeded: list[Generation]
    damaged: dict[Generation, str]


def removable(stores: RepositoryStores, keep: int) -> Removable:
    """`keep` as in `Catalog.unneeded`. What serves in the place of a damaged snapshot is needed."""
    found = {snapshot.generation: _damage(stores, snapshot) for snapshot in stores.catalog.snapshots()}
    damaged = {generation: damage for generation, damage in found.items() if damage}
    return Removable(stores.catalog.unneeded(keep, damaged), damaged)


def collect(
    stores: RepositoryStores, removed: Collection[Generation], deep: bool
) -> tuple[int, dict[str, int]]:
    """Drop snapshots and remove what only they used: how many artifacts, and how many rows by kind.

    `deep` also removes the rows that no kept snapshot uses, which takes a pass over all of them.
    """
    stores.catalog.retire(removed)
    swept = sweep(stores.folder, stores.catalog)
    return len(swept), _collect_rows(stores) if deep else {}


def collect_relations(
    catalog: Catalog,
    relations: RelationStore,
    interrupt: Callable[[], None] = lambda: None,
) -> dict[str, int]:
    """Remove the relations that no kept snapshot names, nor is of the tree of one: how many rows by kind.

    Only for the process that writes relations, between two of its works. What it made last of a kept tree
    stays, also where nobody has published it yet, and what first builds have so far.
    `interrupt` as in `RelationStore.collect`.
    """
    relations.abandon()
    snapshots = catalog.snapshots()
    named = {number for snapshot in snapshots for number in snapshot.resolutions().values()}
    trees = {snapshot.tree for snapshot in snapshots}
    return relations.collect(named, trees, interrupt)


def _damage(stores: RepositoryStores, snapshot: Snapshot) -> str | None:
    try:
        stores.structure.listing(snapshot.listing)
    except CorruptStore as error:
        return str(error)
    return None


def _collect_rows(stores: RepositoryStores) -> dict[str, int]:
    kept = [snapshot for snapshot in stores.catalog.snapshots() if not _damage(stores, snapshot)]
    listings = {snapshot.listing for snapshot in kept}
    live = Bitmap()
    for listing in listings:
        live = live.union(stores.structure.listing(listing))
    stores.trigrams.keep(live)  # before the rows go, whose numbers may come again
    removed = stores.structure.collect(listings)
    keys = stores.structure.keys()
    dead = [key for key in stores.facts.keys() if key not in keys]  # noqa: SIM118 - not a dict
    stores.facts.remove(dead)
    stores.facts.remove_other_profiles()
    return removed | {"facts": len(dead)}
