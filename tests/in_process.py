"""A coordinator in the test's own process: what it is given, and waiting for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from gitrepo import Repo
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.registry import Checkout, checkout_id, repository_id
from nibd.repair.git import discover

WAIT_S = 120.0


def checkout_of(repo: Repo) -> Checkout:
    found = discover(repo.path)
    return Checkout(
        checkout_id(found.git_dir),
        repository_id(found.common_dir),
        found.work_tree,
        found.git_dir,
        found.common_dir,
        time.time(),
    )


async def changed(coordinator: Coordinator, is_so: Callable[[], bool]) -> None:
    """Wait until something is so, looked at whenever what a status shows has changed."""
    async with asyncio.timeout(WAIT_S):
        while not is_so():
            await coordinator.changed()
