"""The navigator processes, one a repository at most: what each is sent, and questions to them.

A navigator is started by the first call, and ends when it has had none for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout
from nibd.daemon.relations.live_wire import Ask
from nibd.daemon.relations.navigator_job import Job
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.daemon.settings import RelationsSettings
from nibd.daemon.supervisor import Supervisor
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import RepositoryId

ANSWER_S = 0.5
"""What an answer may take beyond its asker's patience: the navigator says best what kept it."""


class Navigators:
    """All of it on one event loop."""

    def __init__(
        self,
        settings: RelationsSettings,
        places: ServerPlaces,
        paths: Paths,
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self._settings = settings
        self._places = places
        self._paths = paths
        self._log = log
        self._children: dict[RepositoryId, Supervisor] = {}
        self._asking: set[asyncio.Future[Any]] = set()

    def pids(self) -> dict[RepositoryId, int | None]:
        return {repository: child.pid for repository, child in self._children.items()}

    def is_running(self, repository: RepositoryId) -> bool:
        child = self._children.get(repository)
        return child is not None and child.pid is not None

    def job(
        self,
        checkout: Checkout,
        snapshot: Snapshot,
        families: list[str] | None = None,
        commit: str = "",
        *,
        discard: bool = False,
    ) -> JsonObject:
        """What a navigator of the checkout is sent, or who does its work aside."""
        return Job(
            folder=str(self._paths.repository_dir(checkout.repository)),
            work_tree=str(checkout.work_tree),
            generation=snapshot.generation,
            tree=snapshot.tree,
            places=self._places,
            families=families or [],
            commit=commit,
            discard=discard,
            audit_transitions=self._settings.audit_transitions,
        ).as_params()

    async def work(
        self,
        repository: RepositoryId,
        method: str,
        job: JsonObject,
        reported: Callable[[str, Any], None],
        unwanted: asyncio.Event,
    ) -> JsonObject:
        """Raises RpcError, ChildDied, and OSError when no process could be started."""
        result: JsonObject = await self._child(repository).call(method, job, reported, unwanted)
        return result

    async def rest_if_unused(self, repository: RepositoryId) -> None:
        """End the repository's, unless it has something to do."""
        child = self._children.get(repository)
        if child:
            await child.rest_if_unused()

    async def ask(self, checkout: Checkout, snapshot: Snapshot, ask: Ask) -> Any:
        """What a language server says now of the snapshot's tree (`found`, see `live_wire`), and which does.

        Starts the navigator, and the server, where none runs; what was begun goes on when the patience of
        `ask` is at its end. Raises RpcError.
        """
        patience_s = ask.scope.patience_s
        if self._settings.absent:
            raise RpcError(ErrorCode.VIEW_ABSENT, f"there are no live answers: {self._settings.absent}")
        job = self.job(checkout, snapshot)
        call = self._child(checkout.repository).call("ask", {"job": job, "ask": ask.as_params()})
        task = asyncio.ensure_future(call)
        self._asking.add(task)
        task.add_done_callback(self._asked)
        done, _ = await asyncio.wait([task], timeout=patience_s + ANSWER_S)
        if not done:
            raise RpcError(ErrorCode.TIMEOUT, f"the navigator did not answer in {patience_s:g} s")
        try:
            answer = task.result()
        except (ChildDied, OSError) as error:
            raise RpcError(ErrorCode.VIEW_NOT_READY, f"the navigator ended; ask again: {error}") from error
        if answer["tree"] != snapshot.tree:
            raise RpcError(ErrorCode.MOVING, "the language servers hold another tree; ask again")
        return answer

    async def remove(self, repository: RepositoryId) -> None:
        child = self._children.pop(repository, None)
        if child:
            await child.stop()

    async def stop(self) -> None:
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*(child.stop() for child in self._children.values()))

    def _asked(self, task: asyncio.Future[Any]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # who asked has it, or has lost patience

    def _child(self, repository: RepositoryId) -> Supervisor:
        child = self._children.get(repository)
        if child is None:
            log = self._log.bind(repository=repository)
            child = Supervisor("nibd.daemon.navigator", log, idle_s=self._settings.idle_seconds)
            self._children[repository] = child
        return child
