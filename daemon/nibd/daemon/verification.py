"""The method `verify`: one verifier at a time, for it builds a whole tree and may load the model.

A request for what is being verified already, or waits to be, *joins*: it gets the same progress and the
same verdict. Another waits for its turn, and is told that it does. A verification ends early when the
last request that wants it is gone.

What differs from a rebuild is made anew: that follows from the verdict, once, however many asked for it and
whenever they hear of it.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.child_jobs import DAMAGED
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.host import NEEDS_STRUCTURE, Host, unreadable_relations
from nibd.daemon.indexer import VERIFY_PREFIX
from nibd.daemon.parameters import Parameters
from nibd.daemon.relations.navigator_job import RELATIONS_DAMAGED
from nibd.daemon.relations.steps import VERIFIED
from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.stores.errors import CorruptStore
from nibd.stores.relations import CorruptRelations
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import CommitId, RepositoryId, Skip, View

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
    remade: int | None = None
    """How often relations had been made anew when these were pinned; `None`: they were outdated."""

    def report(self, value: Json) -> None:
        self.progress = value
        for listener in self.listeners:
            listener.put_nowait(value)


class Verifications:
    """All of it on one event loop."""

    def __init__(self, coordinator: Coordinator, host: Host) -> None:
        self._coordinator = coordinator
        self._host = host
        self._shared: dict[Key, _Shared] = {}
        self._turn = asyncio.Lock()

    async def verify(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._host.state_of(given.path("path"))
        relations = given.flag("relations", False)
        named = [] if relations and "views" not in params else [view.value for view in View]
        wanted = given.choices("views", named)
        given.done()
        views = self._coordinator.views(state.checkout.repository)
        with views.reading(state.checkout.id, frozenset({View.LEXICAL, View.STRUCTURAL})) as reading:
            if reading is None:
                raise RpcError(ErrorCode.VIEW_NOT_READY, "nothing is published yet; `nibd wait` first")
            asked = [*wanted, RELATIONS] if relations else wanted
            return await self._shared_verdict(state, reading.publication, asked, context)

    async def _shared_verdict(
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
            shared.remade = self._coordinator.relations.remade(state.checkout, publication.snapshot)
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
                verdict = await self._verdict(shared, state, publication, views)
                self._mend(shared, state, publication, verdict)
                return verdict
        finally:
            if self._shared.get(key) is shared:
                del self._shared[key]
            shared.report(None)

    async def _verdict(
        self, shared: _Shared, state: CheckoutState, publication: Publication, views: list[str]
    ) -> dict[str, Any]:
        repositories = self._coordinator.paths.repositories_dir
        job = self._coordinator.relations.navigators.job(state.checkout, publication.snapshot)
        scratch = await asyncio.to_thread(tempfile.mkdtemp, prefix=VERIFY_PREFIX, dir=repositories)
        params: JsonObject = {
            "scratch": scratch,
            **self._coordinator.job_parameters(state, publication.commit),
            "generation": publication.snapshot.generation,
            "views": [view for view in views if view != RELATIONS],
            "navigation": job if RELATIONS in views else None,
        }
        child = None
        try:
            program = [sys.executable, "-m", "nibd.daemon.verifier"]
            child = await ChildProcess.spawn(program, name="verifier")
            compared = await child.call("verify", params, lambda _, value: shared.report(value))
        except RpcError as error:
            if error.data == DAMAGED:
                raise self._host.damage(state, NEEDS_STRUCTURE, CorruptStore(error.message)) from error
            if error.data == RELATIONS_DAMAGED:
                damage = CorruptRelations(error.message)
                self._coordinator.relations_damaged(state, damage, shared.remade)
                raise unreadable_relations(error.message) from error
            raise
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

    def _mend(
        self, shared: _Shared, state: CheckoutState, publication: Publication, verdict: JsonObject
    ) -> None:
        """Have what differs made anew, if it is not gone by now."""
        if not publication.snapshot.skipped.get(Skip.MISSING_OBJECT):
            # else objects may have arrived since, which damages nothing
            for name, view in verdict["views"].items():
                if not view["equal"]:
                    reason = f"{view['count']} differences from a rebuild"
                    self._coordinator.damaged(state, View(name), reason)
        wrong = _wrong_relations(verdict["relations"] or {})
        if wrong:
            self._coordinator.relations_wrong(state, wrong, shared.remade)


def _wrong_relations(families: JsonObject) -> str | None:
    """What is wrong with relations that were said to be right, if something is; others are verified anyway.

    What differs in requests alone is no server's doing: what leads to records is damaged.
    """
    reasons = []
    for family, found in families.items():
        is_damaged = any(each["kind"] == "request" for each in found["differences"])
        if found["equal"] is False and (is_damaged or found["assurance"] in VERIFIED):
            reasons.append(f"{found['count']} differences of {family} relations from a rebuild")
    return "; ".join(reasons) or None
