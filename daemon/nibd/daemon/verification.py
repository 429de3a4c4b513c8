"""The daemon's side of `verify`: one verifier at a time, for it builds a whole tree and may load the model.

A request for what is being verified already, or waits to be, *joins*: it gets the same progress and the
same verdict. Another waits for its turn, and is told that it does. A verification ends early when the
last request that wants it is gone.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

from nibd.daemon.coordinator import CheckoutState, Coordinator
from nibd.daemon.indexer import VERIFY_PREFIX
from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import CommitId, RepositoryId

Key = tuple[RepositoryId, Generation, CommitId, tuple[str, ...]]

RELATIONS = "relations"
"""Among the views: compare the relations too."""
WAITING: Json = {"stage": "waiting for another verification", "done": 0, "total": None}
BEGUN: Json = {"stage": "rebuild", "done": 0, "total": None}


@dataclass(slots=True)
class _Shared:
    """A verification and who wants it: each listener gets its progress, then None."""

    task: asyncio.Task[dict[str, Any]] | None = None
    listeners: list[asyncio.Queue[Json]] = field(default_factory=list)
    progress: Json = None

    def report(self, value: Json) -> None:
        self.progress = value
        for listener in self.listeners:
            listener.put_nowait(value)


class Verifications:
    """All of it on one event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._shared: dict[Key, _Shared] = {}
        self._turn = asyncio.Lock()

    async def verify(
        self, state: CheckoutState, publication: Publication, views: list[str], context: RequestContext
    ) -> dict[str, Any]:
        """Compare a publication, which the caller pins, with a rebuild of its tree.

        Raises `RpcError` when there is no verdict.
        """
        generation, commit = publication.snapshot.generation, publication.commit
        key = (state.checkout.repository, generation, commit, tuple(sorted(views)))
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _Shared()
            shared.task = asyncio.ensure_future(self._run(key, shared, state, publication, views))
        assert shared.task is not None, "begun with the first request"
        listener: asyncio.Queue[Json] = asyncio.Queue()
        shared.listeners.append(listener)
        try:
            report = shared.progress or await listener.get()
            while report is not None:
                await context.notify("progress", report)
                report = await listener.get()
            return await asyncio.shield(shared.task)
        finally:
            shared.listeners.remove(listener)
            if not shared.listeners and not shared.task.done():
                self._shared.pop(key, None)  # nobody joins what is being ended
                shared.task.cancel()
                await asyncio.wait([shared.task])

    async def _run(
        self, key: Key, shared: _Shared, state: CheckoutState, publication: Publication, views: list[str]
    ) -> dict[str, Any]:
        try:
            if self._turn.locked():
                shared.report(WAITING)
            async with self._turn:
                shared.report(BEGUN)
                return await self._verdict(shared, state, publication, views)
        finally:
            if self._shared.get(key) is shared:
                del self._shared[key]
            shared.report(None)

    async def _verdict(
        self, shared: _Shared, state: CheckoutState, publication: Publication, views: list[str]
    ) -> dict[str, Any]:
        repositories = self._coordinator.paths.repositories_dir
        scratch = await asyncio.to_thread(tempfile.mkdtemp, prefix=VERIFY_PREFIX, dir=repositories)
        params: JsonObject = {
            "scratch": scratch,
            **self._coordinator.job_parameters(state, publication.commit),
            "generation": publication.snapshot.generation,
            "views": [view for view in views if view != RELATIONS],
            "navigation": self._navigation(state, publication) if RELATIONS in views else None,
        }
        child = None
        try:
            child = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.verifier"])
            compared = await child.call("verify", params, lambda _, value: shared.report(value))
        except ChildDied as died:
            words = died.stderr_tail.splitlines()[-1:] or [str(died)]
            raise RpcError(ErrorCode.INTERNAL, f"the verification ended early: {words[0]}") from died
        finally:
            if child:
                child.kill()
                await child.wait()
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
        return {
            "equal": all(each["equal"] for part in compared.values() for each in (part or {}).values()),
            "commit": publication.commit,
            "tree": publication.snapshot.tree,
            "generation": publication.snapshot.generation,
            **compared,
        }

    def _navigation(self, state: CheckoutState, publication: Publication) -> JsonObject:
        return self._coordinator.navigation.job(state.checkout, publication.snapshot)
