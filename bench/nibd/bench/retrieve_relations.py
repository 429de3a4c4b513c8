"""Relations of a commit, for the structural plan: by language servers on a private tree, from nothing.

They are published with the views, so the next run finds them, if the server is of the same version. A family
whose server is not found, or fails, has none; its record says why.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path

from nibd.bench.relations_world import server_folders, silent
from nibd.repair.relations.aside import aside
from nibd.repair.relations.relating import profile_of
from nibd.repair.servers.driver import Installed, Search
from nibd.repair.servers.registry import DRIVERS
from nibd.repair.transition import Target, Transition, publish_relations
from nibd.stores.relations import RelationStore
from nibd.stores.snapshot import Snapshot


@cache
def identities(servers: tuple[Path, ...]) -> Mapping[str, str]:
    """By family, the server that is found now, with its version; nothing of a family without one."""
    search = _search(servers)
    found = {driver.family: driver.find(search) for driver in DRIVERS}
    return {family: each.identity for family, each in found.items() if isinstance(each, Installed)}


def lacking(snapshot: Snapshot, found: Mapping[str, str]) -> list[str]:
    """The families of which there are no relations by the servers that are `found` now."""
    return [
        family
        for family, record in snapshot.relations.items()
        if record.resolution is None or record.profile != profile_of(found.get(family, ""))
    ]


def with_relations(
    step: Transition, target: Target, snapshot: Snapshot, servers: tuple[Path, ...]
) -> Snapshot:
    """`snapshot`, which the checkout shows, with the relations of each family that has a server."""
    stores, source = step.stores, step.source
    with (
        tempfile.TemporaryDirectory(prefix="nibd-bench-") as made,
        closing(RelationStore.open(stores.folder.relations)) as store,
    ):
        folder = Path(made).resolve()
        search = _search(servers, source.work_tree, folder)
        with aside(folder / "aside", source, stores.structure, stores.facts, search, store) as relating:
            records = {
                family: relating.relate(snapshot, family, [], silent)
                for family in lacking(snapshot, identities(servers))
            }
    outcome = publish_relations(step, target, records)
    assert outcome is not None, "nothing else publishes in this folder"
    return outcome.publication.snapshot


def _search(servers: tuple[Path, ...], *forbidden: Path) -> Search:
    folders = tuple(server_folders(servers))
    return Search(os.environ.get("PATH", ""), folders, forbidden, Path.home())
