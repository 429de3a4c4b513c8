"""What who waits for a view is told meanwhile, and what to wait with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import structlog

from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.heads import HeadState
from nibd.daemon.host import Host
from nibd.daemon.lanes import Running
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout, Registry
from nibd.daemon.scheduler import Job, Kind, Lane
from nibd.daemon.settings import Settings
from nibd.daemon.status import Standing
from nibd.daemon.token_counting import TokenCounting
from nibd.daemon.waiting import awaited
from nibd.ipc.messages import JsonObject
from nibd.stores.errors import CorruptStore, CorruptStructure, StoreError
from nibd.stores.types import CheckoutId, CommitId, RepositoryId, View

DEFAULT = frozenset({View.LEXICAL, View.STRUCTURAL})
DENSE = frozenset({View.DENSE})
FACTS: JsonObject = {"stage": "facts", "done": 610, "total": 666}
TEXTS: JsonObject = {"stage": "dense", "done": 421, "total": 6240}


@pytest.fixture
def coordinator() -> Coordinator:
    """Not started: nothing runs but what a test says."""
    paths = Paths.from_environment(os.environ, os.getuid())
    registry = Registry(paths.registry_file)
    for name in ("small", "zod"):
        registry.add(checkout(name))
    return Coordinator(paths, Settings(), registry, structlog.stdlib.get_logger())


def checkout(name: str) -> Checkout:
    folder = Path("/home/ann") / name
    return Checkout(
        CheckoutId(f"{name}-main"), RepositoryId(name), folder, folder / ".git", folder / ".git", 0.0
    )


def runs(coordinator: Coordinator, name: str, progress: JsonObject | None, lane: Lane = Lane.BUILD) -> None:
    job = Job(RepositoryId(name), Kind.REPAIR, lane, CheckoutId(f"{name}-main"), CommitId("1"))
    coordinator.lanes.running[lane] = Running(job, progress=progress)


def waits(coordinator: Coordinator, name: str, lane: Lane = Lane.BUILD) -> None:
    job = Job(RepositoryId(name), Kind.REPAIR, lane, CheckoutId(f"{name}-main"), CommitId("1"))
    coordinator.lanes.scheduler.want(job)


def test_the_work_of_another_repository_is_no_progress(coordinator: Coordinator) -> None:
    runs(coordinator, "zod", FACTS)
    coordinator.embedding.progress = TEXTS

    assert awaited(coordinator, checkout("small"), DEFAULT) == []
    assert awaited(coordinator, checkout("zod"), DEFAULT) == [FACTS]


def test_what_the_lane_is_waited_for_is_named(coordinator: Coordinator) -> None:
    waits(coordinator, "small")
    runs(coordinator, "zod", None, Lane.REPAIR)
    assert awaited(coordinator, checkout("small"), DEFAULT) == []  # the other lane is in nobody's way

    runs(coordinator, "zod", FACTS)
    behind = FACTS | {"stage": "waiting for /home/ann/zod: facts"}
    assert awaited(coordinator, checkout("small"), DENSE) == [behind]

    runs(coordinator, "zod", None)
    behind = {"stage": "waiting for /home/ann/zod: repair", "done": 0, "total": None}
    assert awaited(coordinator, checkout("small"), DEFAULT) == [behind]


def test_embedding_is_the_progress_of_who_waits_for_vectors(coordinator: Coordinator) -> None:
    coordinator.embedding.progress = TEXTS
    assert awaited(coordinator, checkout("small"), DENSE) == [TEXTS]


@pytest.mark.parametrize(
    ("needed", "command"), [(DENSE, "`nibd wait --view dense`"), (DEFAULT, "`nibd wait`")]
)
def test_who_lacks_a_view_is_told_the_command_that_waits_for_it(
    coordinator: Coordinator, needed: frozenset[View], command: str
) -> None:
    state = CheckoutState(checkout("small"))
    now = Standing(HeadState(CommitId("1"), None, "main"), None, {}, {})
    host = Host(coordinator, TokenCounting(coordinator.settings))

    assert f"being built; {command} tells" in host.not_served(state, now, needed, None).message
    assert f"built again, {command} tells" in host.damage(state, needed, CorruptStore("torn")).message
    structure: StoreError = CorruptStructure("torn")
    assert "built again, `nibd wait` tells" in host.damage(state, needed, structure).message
