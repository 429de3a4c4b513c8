"""What failed of a checkout's relations, and for how long it is said."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import structlog

from nibd.daemon.coordinator import Coordinator
from nibd.daemon.navigation.unserved import refusal
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout, Registry
from nibd.daemon.relations.failures import Failures
from nibd.daemon.relations.steps import after_failure
from nibd.daemon.settings import Settings
from nibd.ipc.messages import ErrorCode
from nibd.stores.snapshot import Coverage, Generation, Publication, Snapshot, ViewRecord
from nibd.stores.structure import ListingId
from nibd.stores.types import Assurance, CheckoutId, CommitId, RepositoryId, State, TreeId, View

HERE, THERE = CheckoutId("c"), CheckoutId("d")
TREE, OTHER = TreeId("1"), TreeId("2")


def test_a_failure_is_of_its_checkout_and_tree() -> None:
    failures = Failures()
    failures.failed(HERE, "relate", TREE, "disk full")
    assert [failures.of(HERE, TREE), failures.of(HERE, OTHER), failures.of(THERE, TREE)] == [
        "disk full",
        None,
        None,
    ]
    failures.forget(HERE)
    assert failures.of(HERE, TREE) is None


@pytest.mark.parametrize(
    ("failed", "done", "is_over"),
    [
        ("relate", "relate", True),
        ("verify", "verify", True),
        ("verify", "relate", True),
        ("verify", "look", False),
        ("relate", "agree", False),
        ("relate", "audit", False),
        ("look", "look", True),
        ("look", "relate", True),
        ("agree", "look", True),
    ],
)
def test_only_work_that_makes_relations_ends_a_failure_to_make_them(
    failed: str, done: str, is_over: bool
) -> None:
    failures = Failures()
    failures.failed(HERE, failed, TREE, "disk full")
    failures.succeeded(HERE, done)
    assert (failures.of(HERE, TREE) is None) is is_over


DIED = "the navigator was ended by SIGKILL"
BUILDING = ViewRecord(State.BUILDING, None, reason="2 of 9 sites are still to be asked about")
FAILED = ViewRecord(State.FAILED, None, reason="no space left")
READY = ViewRecord(State.READY, Assurance.REPAIRED)


@pytest.mark.parametrize(
    ("record", "failure", "is_remade", "state", "reason"),
    [
        (BUILDING, None, True, State.BUILDING, BUILDING.reason),
        (BUILDING, DIED, False, State.FAILED, f"it failed and is tried again: {DIED}"),
        (BUILDING, DIED, True, State.BUILDING, f"{BUILDING.reason}; before, that failed: {DIED}"),
        (FAILED, None, False, State.FAILED, "no space left"),
        (
            FAILED,
            None,
            True,
            State.BUILDING,
            "they are being made again; before, that failed: no space left",
        ),
        (FAILED, DIED, True, State.BUILDING, f"they are being made again; before, that failed: {DIED}"),
        (READY, DIED, True, State.READY, f"what was done last with them failed: {DIED}"),
        (READY, None, False, State.READY, None),
    ],
)
def test_what_failed_and_is_being_made_again_is_building(
    record: ViewRecord, failure: str | None, is_remade: bool, state: State, reason: str | None
) -> None:
    found = after_failure(record, failure, is_remade=is_remade)
    assert (found.state, found.reason) == (state, reason)


def test_who_asks_for_relations_that_are_being_made_again_is_told_to_wait() -> None:
    refused = refusal("python", "/home/ann/shop", None, "not there", FAILED, "")
    assert refused.message == "/home/ann/shop has no relations of python: no space left"
    tried = refusal("python", "/home/ann/shop", None, "not there", FAILED, "they are being made")
    assert tried.code == ErrorCode.VIEW_NOT_READY
    assert "they are being made; `nibd wait --view relations`" in tried.message


def test_relations_are_being_made_of_the_tree_that_the_navigator_works_at() -> None:
    structural = ViewRecord(
        State.READY, Assurance.EXACT, counts={"language:python": 1}, coverage=Coverage(1, 1)
    )
    snapshot = Snapshot(TREE, Generation(1), ListingId(1), {}, {}, {View.STRUCTURAL: structural})
    folder = Path("/home/ann/shop")
    checkout = Checkout(HERE, RepositoryId("r"), folder, folder / ".git", folder / ".git", 0.0)

    async def follow() -> list[bool]:
        paths = Paths.from_environment(os.environ, os.getuid())
        registry = Registry(paths.registry_file)
        upkeep = Coordinator(paths, Settings(), registry, structlog.stdlib.get_logger()).relations
        found = [upkeep.is_making(checkout, TREE)]
        upkeep.follow(checkout, Publication(HERE, CommitId("1"), snapshot, 0.0), again=False)
        found += [upkeep.is_making(checkout, TREE), upkeep.is_making(checkout, OTHER)]
        await upkeep.stop()
        return found

    assert asyncio.run(follow()) == [False, True, False]
