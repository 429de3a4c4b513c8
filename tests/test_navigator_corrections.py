"""What a navigator tells of relations that are other than a snapshot says: corrected since, or gone."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from navigator_jobs import job
from nibd.daemon.relations.navigator_job import RELATIONS_DAMAGED
from nibd.ipc.children import ChildProcess
from nibd.ipc.messages import RpcError
from nibd.repair.progress import Interrupted, Progress
from nibd.stores.relation_types import Relation, Target
from nibd.stores.snapshot import Snapshot, decode_view
from nibd.stores.types import Assurance, RepoPath, State
from relations_world import World, compared

LIB = "def greet(name: str) -> str:\n    return name\n"
APP = "from lib import greet\n\n\ndef use():\n    greet('a')\n"


def told(world: World, snapshot: Snapshot, method: str) -> dict[str, Any]:
    async def asked() -> dict[str, Any]:
        child = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.navigator"])
        try:
            answer: dict[str, Any] = await child.call(method, job(world, snapshot))
            return answer
        finally:
            await child.stop()

    world.shut()
    try:
        return asyncio.run(asked())
    finally:
        world.open()


def test_it_gives_the_records_of_what_was_corrected_and_not_published(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == "verify":
            raise Interrupted

    with World(tmp_path, "python", {"lib.py": LIB, "app.py": APP}) as world:
        world.relate()
        right = world.contents()
        relations = right[RepoPath(b"app.py")].relations
        target = Target("", RepoPath(b"app.py"), "use", 0, "nobody", 7)
        world.plant("app.py", len(relations) - 1, Relation(relations[-1].site, (target,)))
        snapshot = world.current()
        assert snapshot.relations["python"].assurance is Assurance.EXACT
        assert told(world, snapshot, "look")["families"] == {}

        world.verifying.verify(snapshot, "python", stop, world.kept())
        record = decode_view(told(world, snapshot, "look")["families"]["python"])
        assert (record.assurance, record.counts["verified"]) == (Assurance.REPAIRED, 0)
        world.put(record)
        assert compared(world.contents(), right) == []
        assert told(world, world.current(), "look")["families"] == {}


def related(world: World) -> Snapshot:
    """HEAD's, with relations that a navigator made."""
    record = decode_view(told(world, world.publish(), "relate")["families"]["python"])
    assert record.state is State.READY
    world.put(record)
    return world.current()


def test_relations_that_one_snapshot_names_in_vain_cost_no_others(tmp_path: Path) -> None:
    with World(tmp_path, "python", {"lib.py": LIB, "app.py": APP}) as world:
        kept = related(world)
        world.commit({"lib.py": "import os\n" + LIB})
        lost = related(world)
        world.relating.store.collect([], [kept.tree])
        with pytest.raises(RpcError) as error:
            told(world, lost, "verify")
        assert error.value.data == RELATIONS_DAMAGED
        assert world.relating.holds(kept.relations["python"])
        assert not world.relating.holds(lost.relations["python"])
        again = related(world)
        assert world.relating.holds(again.relations["python"])
