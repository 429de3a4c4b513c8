"""What a navigator does in quiet: when it is due, and what the daemon takes of a failure of it."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout
from nibd.daemon.relations.idle import COLLECT_RUNNING, COLLECT_STARTING, QUIET_S, IdleWork
from nibd.daemon.relations.installed import Seen
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.daemon.relations.upkeep import Upkeep, _Work
from nibd.daemon.settings import RelationsSettings
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.types import CheckoutId, RepositoryId, TreeId
from test_catalog import snapshot

TREE, OTHER = TreeId("1" * 40), TreeId("2" * 40)
HERE, SHOWN = RepositoryId("r"), CheckoutId("c")


def seen(tree: TreeId) -> Seen:
    return Seen(tree, {}, {}, {}, frozenset(), ("python",))


def test_an_audit_waits_for_quiet_and_is_tried_once_for_each_tree() -> None:
    idle = IdleWork()
    idle.be_quiet(HERE, 100.0)
    steps = [idle.step(HERE, SHOWN, snapshot(1), seen(TREE), now) for now in (100.0, 100.0 + QUIET_S)]
    assert steps == [None, ("audit", ["python"])]
    idle.tried(SHOWN, "audit", TREE)
    later = [idle.step(HERE, SHOWN, snapshot(1), seen(tree), 200.0) for tree in (TREE, OTHER)]
    assert later == [None, ("audit", ["python"])]


def test_a_collection_is_due_earlier_where_a_navigator_runs_anyway() -> None:
    idle = IdleWork()
    idle.dropped(HERE, COLLECT_RUNNING)
    assert [idle.is_collection_due(HERE, is_running=runs) for runs in (False, True, True)] == [
        False,
        True,
        False,
    ]
    idle.dropped(HERE, COLLECT_STARTING)
    assert idle.is_collection_due(HERE, is_running=False)


def test_a_collection_that_failed_neither_audited_nor_measured_anything(tmp_path: Path) -> None:
    log = structlog.get_logger()
    paths = Paths.from_environment({"HOME": str(tmp_path)}, os.getuid())
    settings = RelationsSettings()
    places = ServerPlaces.of(settings, {"HOME": str(tmp_path)})
    upkeep = Upkeep(settings, places, paths, log, lambda _: None, lambda *_: None, 60.0)
    checkout = Checkout(SHOWN, HERE, tmp_path, tmp_path, tmp_path, 0.0)
    due = {}
    for method in ("collect", "audit"):
        upkeep._failed(_Work(checkout, method, TREE), RpcError(ErrorCode.INTERNAL, "the disk is full"), log)
        due[method] = upkeep._idle.step(HERE, SHOWN, snapshot(1), seen(TREE), 0.0)
    assert due == {"collect": ("audit", ["python"]), "audit": None}
    assert upkeep.failures.of(SHOWN, TREE) is None
