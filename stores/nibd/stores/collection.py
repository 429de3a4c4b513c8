"""Removing what no kept snapshot needs.

A snapshot whose listing is *damaged* is none that is kept: it can't be read, and nothing can be repaired
from it. It is dropped, whichever checkout shows it, and named, so that whoever collects can have that
checkout repaired; the rest is collected as ever. One that a request reads is left until the request is
done (which finds the damage by itself), without holding up anything else.

Only for the process that writes, between two jobs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from nibd.stores.errors import CorruptStore
from nibd.stores.repository import RepositoryStores, sweep
from nibd.stores.snapshot import Generation, Snapshot


@dataclass(frozen=True, slots=True)
class Collected:
    """`retired` and `swept` count snapshots and artifacts, `rows` what else was removed, by kind.

    `damaged` says of each snapshot that was dropped for its damage what was found.
    """

    retired: int
    swept: int
    damaged: dict[Generation, str]
    rows: dict[str, int]


def collect(stores: RepositoryStores, keep: int, pinned: Collection[Generation], deep: bool) -> Collected:
    """Retire snapshots (see `Catalog.retire`) and remove what only they used.

    `deep` also removes the rows that no kept snapshot uses, which takes a pass over all of them.
    """
    # Before anything retires: what serves in the place of a damaged one has to be kept.
    damaged = _damaged(stores)
    dropped = {generation: found for generation, found in damaged.items() if generation not in pinned}
    stores.catalog.drop(dropped)
    retired = stores.catalog.retire(keep, pinned)
    swept = sweep(stores.folder, stores.catalog)
    rows = _collect_rows(stores, damaged) if deep else {}
    return Collected(len(retired), len(swept), dropped, rows)


def _damaged(stores: RepositoryStores) -> dict[Generation, str]:
    found = {snapshot.generation: _damage(stores, snapshot) for snapshot in stores.catalog.snapshots()}
    return {generation: damage for generation, damage in found.items() if damage}


def _damage(stores: RepositoryStores, snapshot: Snapshot) -> str | None:
    try:
        stores.structure.listing(snapshot.listing)
    except CorruptStore as error:
        return str(error)
    return None


def _collect_rows(stores: RepositoryStores, damaged: Collection[Generation]) -> dict[str, int]:
    kept = [snapshot for snapshot in stores.catalog.snapshots() if snapshot.generation not in damaged]
    removed = stores.structure.collect({snapshot.listing for snapshot in kept})
    keys = stores.structure.keys()
    dead = [key for key in stores.facts.keys() if key not in keys]  # noqa: SIM118 - not a dict
    stores.facts.remove(dead)
    stores.facts.remove_other_profiles()
    return removed | {"facts": len(dead)}
