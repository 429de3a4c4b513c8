"""Damage that only a collection meets is healed at once, not at the next repair."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import structlog

from gitrepo import Repo
from in_process import changed, checkout_of
from nibd.daemon import statistics
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout, Registry
from nibd.daemon.scheduler import Job, Kind, Lane
from nibd.daemon.settings import DenseSettings, RelationsSettings, Settings
from nibd.stores.repository import RepositoryFolder

PAGE = 4096


def spoil(database: Path) -> None:
    """Write over pages of all tables but that of listings, as a disk may do; the schema stays."""
    with closing(sqlite3.connect(database)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sql = "SELECT rootpage FROM sqlite_master WHERE tbl_name IN ('source', 'file', 'unit', 'import')"
        roots = [row[0] for row in opened.execute(sql)]
    with database.open("r+b") as file:
        for root in roots:
            file.seek((root - 1) * PAGE)
            file.write(b"\xff" * PAGE)


def test_a_store_that_a_collection_finds_damaged_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "FIRST_COLLECTION_S", -1.0)  # each repository's first goes over all rows
    repo = Repo(tmp_path / "repo")
    for number in range(30):
        repo.write(f"m{number}.py", "".join(f"def f{n}():\n    pass\n\n\n" for n in range(20)))
    repo.commit()
    asyncio.run(_damaged_and_healed(checkout_of(repo)))


async def _damaged_and_healed(checkout: Checkout) -> None:
    paths = Paths.from_environment(os.environ, os.getuid())
    settings = Settings(dense=DenseSettings(enabled=False), relations=RelationsSettings(enabled=False))
    coordinator = Coordinator(paths, settings, Registry(paths.registry_file), structlog.stdlib.get_logger())
    await coordinator.start()
    try:
        await coordinator.add(checkout)
        state = coordinator.states[checkout.id]
        await changed(coordinator, lambda: state.is_current and not coordinator.lanes.running)
        for child in coordinator.lanes.children.values():
            await child.rest()  # else it has the pages in memory
        folder = RepositoryFolder(paths.repository_dir(checkout.repository))
        before, units = folder.identity(), unit_count(folder)
        spoil(folder.structure)
        coordinator.statistics = statistics.Statistics()
        coordinator.lanes.want(Job(checkout.repository, Kind.COLLECT, Lane.REPAIR))
        await changed(coordinator, lambda: folder.identity() != before and is_sound(coordinator, state))
        assert unit_count(folder) == units
    finally:
        await coordinator.stop()


def is_sound(coordinator: Coordinator, state: CheckoutState) -> bool:
    return state.is_current and not coordinator.lanes.running and state.failure is None


def unit_count(folder: RepositoryFolder) -> int:
    with closing(sqlite3.connect(folder.structure)) as database:
        return int(database.execute("SELECT count(*) FROM unit").fetchone()[0])
