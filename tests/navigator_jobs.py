"""What a navigator is told to work on, for a test's repository."""

from __future__ import annotations

from typing import Any

from language_servers import search
from nibd.daemon.relations.navigator_job import Job
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.stores.snapshot import Snapshot
from relations_world import World


def job(world: World, snapshot: Snapshot) -> dict[str, Any]:
    found = search()
    return Job(
        folder=str(world.folder.root),
        work_tree=str(world.repo.path),
        generation=snapshot.generation,
        tree=snapshot.tree,
        places=ServerPlaces(
            path=found.path,
            folders=tuple(map(str, found.folders)),
            home=str(found.home),
            go_modules=str(found.home),
            cargo_home=str(found.home),
        ),
        families=["python"],
    ).as_params()
