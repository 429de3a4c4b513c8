"""Relations of a commit, for the structural plan: by language servers on a private tree, from nothing.

They are published with the views, so the next run finds them. A family whose server is not found, or fails,
has none; its record says why.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from nibd.bench.relations_world import server_folders, silent
from nibd.repair.relations.aside import aside
from nibd.repair.servers.driver import Search
from nibd.repair.transition import Target, Transition, publish_relations
from nibd.stores.relations import RelationStore
from nibd.stores.snapshot import Snapshot


def lacks_relations(snapshot: Snapshot) -> bool:
    return any(record.resolution is None for record in snapshot.relations.values())


def with_relations(step: Transition, target: Target, snapshot: Snapshot, servers: Sequence[Path]) -> Snapshot:
    """`snapshot`, which the checkout shows, with the relations of each family that has a server."""
    stores, source = step.stores, step.source
    with (
        tempfile.TemporaryDirectory(prefix="nibd-bench-") as made,
        closing(RelationStore.open(stores.folder.relations)) as store,
    ):
        folder = Path(made).resolve()
        search = Search(
            path=os.environ.get("PATH", ""),
            folders=tuple(server_folders(servers)),
            forbidden=(source.work_tree, folder),
            home=Path.home(),
        )
        with aside(folder / "aside", source, stores.structure, stores.facts, search, store) as relating:
            records = {
                family: relating.relate(snapshot, family, [], silent)
                for family, record in snapshot.relations.items()
                if record.resolution is None
            }
    outcome = publish_relations(step, target, records)
    assert outcome is not None, "nothing else publishes in this folder"
    return outcome.publication.snapshot
