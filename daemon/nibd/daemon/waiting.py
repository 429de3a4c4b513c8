"""The method `wait`: until what a checkout stands at is published, with the views that are asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.host import Host
from nibd.daemon.lanes import Running
from nibd.daemon.parameters import Parameters
from nibd.daemon.registry import Checkout, Registry
from nibd.daemon.relations.steps import have_come
from nibd.daemon.scheduler import Lane
from nibd.daemon.status import standing, status
from nibd.daemon.verification import RELATIONS
from nibd.ipc.children import ChildDied
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.stores.types import Assurance, State, View

WAITED_FOR = (Assurance.REPAIRED, Assurance.VERIFIED, Assurance.EXACT)
PROGRESS_S = 0.5
"""How often the progress of relations is told, which changes without notice."""
ONE_LOOK_S = 0.5
"""`wait` takes so long at least: who doesn't want to wait is told what is there, not that time was up."""
LASTING_FAILURES = 4
"""After so many in a row, about 7 s, a failure is not one that passes by itself."""


class Waiting:
    """For the event loop."""

    def __init__(self, coordinator: Coordinator, host: Host) -> None:
        self._coordinator = coordinator
        self._host = host

    async def wait(self, params: JsonObject, context: RequestContext) -> Json:
        """Until HEAD, whatever it is by then, is published with the views that are asked for.

        With the dense view also until the model is loaded, so that the next search need not wait for it.
        """
        given = Parameters(params)
        state = self._host.state_of(given.path("path"))
        view = given.choice("view", [*(view.value for view in View), RELATIONS], None)
        least = given.choice("assurance", [each.value for each in WAITED_FOR], None)
        timeout_s = given.number("timeout_s", 3600.0)
        given.done()
        if least and view != RELATIONS:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"assurance: only for the view {RELATIONS}")
        wanted = {View(view)} if view and view != RELATIONS else {View.LEXICAL, View.STRUCTURAL}
        reached = False
        try:
            async with asyncio.timeout(max(timeout_s, ONE_LOOK_S)):
                reached = await self._reach(state, wanted, context)
                if reached and view == RELATIONS:
                    reached = await self._relate(state, Assurance(least) if least else None, context)
                if reached and View.DENSE in wanted:
                    await self._load_model(context)
        except TimeoutError:
            reached = False
        return {"published": reached, "status": await status(self._coordinator, state)}

    async def _reach(self, state: CheckoutState, wanted: set[View], context: RequestContext) -> bool:
        """Whether it was reached; `False` when it cannot be, as things are."""
        while True:
            changed = asyncio.ensure_future(self._coordinator.changed())
            try:
                now = await standing(self._coordinator, state)
                if now.head.error or (now.head.commit is None and now.newest is None):
                    return False
                repairing = self._coordinator.lanes.is_repairing(state.checkout.id)
                if now.newest and now.newest.commit == now.head.commit and not repairing:
                    states = {now.newest.snapshot.views[view].state for view in wanted}
                    if states == {State.READY}:
                        return True
                    if State.ABSENT in states:
                        return False
                if self._coordinator.states.get(state.checkout.id) is not state:
                    return False
                if state.failures >= LASTING_FAILURES and not state.is_current:
                    return False  # it is tried again, but the reason may need somebody
                for progress in awaited(self._coordinator, state.checkout, wanted):
                    await context.notify("progress", progress)
                await changed
            finally:
                changed.cancel()

    async def _relate(self, state: CheckoutState, least: Assurance | None, context: RequestContext) -> bool:
        """Whether HEAD, whatever it is by then, has its relations; `False` when they cannot be had soon."""
        relations = self._coordinator.relations
        while True:
            changed = asyncio.ensure_future(self._coordinator.changed())
            try:
                if not await self._reach(state, {View.STRUCTURAL}, context):
                    return False
                shown = state.published
                if shown is not None and state.is_current:
                    # What was made anew counts when it is published: until then the old is named.
                    outdated = relations.is_outdated(state.checkout, shown.snapshot)
                    if not outdated and have_come(shown.snapshot, least):
                        return True
                    if not outdated and relations.is_settled(state.checkout, shown.snapshot):
                        return False
                progress = relations.progress().get(state.checkout.repository)
                if progress:
                    await context.notify("progress", progress)
                await asyncio.wait([changed], timeout=PROGRESS_S)
            finally:
                changed.cancel()

    async def _load_model(self, context: RequestContext) -> None:
        """Wait for the model. Raises `RpcError` when it can't be loaded."""
        embedding = self._coordinator.embedding
        if not embedding.is_warm:
            await context.notify("progress", {"stage": "loading the model", "done": 0, "total": None})
        try:
            await embedding.load()
        except (RpcError, ChildDied, OSError) as error:
            message = f"the dense view is there, but its model can't be loaded: {error}"
            raise RpcError(ErrorCode.VIEW_NOT_READY, message) from error


def awaited(coordinator: Coordinator, checkout: Checkout, wanted: Collection[View]) -> list[JsonObject]:
    """How far the work is that the views of a checkout wait for: their repository's own; or another's, which
    is then named, where that has the lane. Embedding is of the texts of all repositories."""
    lanes = coordinator.lanes
    own = [each.progress for each in lanes.of_repository(checkout.repository) if each.progress]
    if own:
        return own
    waiting = {job.lane for job in lanes.scheduler.waiting() if job.checkout == checkout.id}
    ahead = [lanes.running[lane] for lane in Lane if lane in waiting and lane in lanes.running]
    others = [each for each in ahead if each.job.repository != checkout.repository]
    if others:
        return [_behind(coordinator.registry, each) for each in others]
    embedding = coordinator.embedding.progress if View.DENSE in wanted else None
    return [embedding] if embedding else []


def _behind(registry: Registry, running: Running) -> JsonObject:
    job, begun = running.job, {"stage": running.job.kind.value, "done": 0, "total": None}
    found = registry.get(job.checkout) if job.checkout else None
    found = found or next(iter(registry.of_repository(job.repository)), None)
    progress: JsonObject = begun | (running.progress or {})
    where = found.work_tree if found else job.repository
    return progress | {"stage": f"waiting for {where}: {progress['stage']}"}
