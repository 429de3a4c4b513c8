"""A commit that is published in the middle of a search: it is planned and answered on one snapshot."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import structlog

from gitrepo import Repo
from in_process import changed, checkout_of
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Registry
from nibd.daemon.service import Service
from nibd.daemon.settings import RelationsSettings, Settings
from nibd.ipc.handlers import Lifetime, RequestContext
from nibd.ipc.sockets import Peer
from nibd.stores.types import State, View

pytestmark = pytest.mark.dense

SOURCE = '''def bake_bread(flour, water):
    """Mix dough, let it rise and put it into the oven."""
    return oven(flour + water)
'''


def has_vectors(state: CheckoutState) -> bool:
    shown = state.published
    return shown is not None and shown.snapshot.views[View.DENSE].state is State.READY


async def nothing(*_: Any) -> None:
    """Nobody listens."""


def request() -> RequestContext:
    return RequestContext(1, "search", Peer(os.getpid(), os.getuid(), os.getgid()), nothing, Lifetime())


@pytest.mark.parametrize("plan", ["auto", "hybrid"])
def test_a_commit_while_the_query_is_embedded_is_planned_on(tmp_path: Path, plan: str) -> None:
    """The first commit has vectors, so the query is embedded; meanwhile a second one is published."""
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", SOURCE)
    first = repo.commit("one")
    answer, second = asyncio.run(_searched_while_committed(repo, plan))

    commits = {answer["snapshot"]["commit"], *(view["commit"] for view in answer["views"].values())}
    assert answer["plan"] == answer["explain"]["plan"]["used"]
    if plan == "hybrid":  # who names it gets the newest snapshot that has vectors
        assert answer["plan"] == "hybrid"
        assert commits in ({first}, {second})
        assert {view["used"] for view in answer["views"].values()} == {True}
        return
    assert commits == {second}
    (why,) = answer["explain"]["plan"]["why"]
    assert (answer["plan"] == "hybrid") == (why == "prose is found by its meaning too")
    assert (answer["plan"] == "hybrid") == ("dense" in answer["views"])


async def _searched_while_committed(repo: Repo, plan: str) -> tuple[Any, str]:
    paths = Paths.from_environment(os.environ, os.getuid())
    settings = Settings(relations=RelationsSettings(enabled=False))
    coordinator = Coordinator(paths, settings, Registry(paths.registry_file), structlog.stdlib.get_logger())
    service = Service(coordinator, lambda: None)
    await coordinator.start()
    try:
        checkout = checkout_of(repo)
        await coordinator.add(checkout)
        state = coordinator.states[checkout.id]
        await changed(coordinator, lambda: state.is_current and has_vectors(state))
        embedded = coordinator.embedding.query

        async def embed_late(text: str) -> bytes:
            vector = await embedded(text)
            repo.write("b.py", SOURCE.replace("bread", "cake"))
            repo.commit("two")
            await coordinator.look(state)
            await changed(coordinator, lambda: state.is_current)
            return vector

        coordinator.embedding.query = embed_late  # type: ignore[method-assign]
        asked = {"path": str(repo.path), "query": "cooking a loaf", "plan": plan, "explain": True}
        search: Any = service.methods()["search"]
        return await search(asked, request()), repo.head()
    finally:
        service.close()
        await coordinator.stop()
