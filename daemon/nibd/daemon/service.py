"""The methods of docs/protocol.md: parameters in, an answer with its provenance out.

Every answer is made in a query thread from one pinned snapshot, and carries what it rests on beside
what the checkout stands at now. A request never waits for an index job, but for `wait`, whose
purpose that is, and for the model when a plan cannot do without it.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from nibd.daemon import answers, broken_files, grepping
from nibd.daemon.answering import NEEDS_STRUCTURE, Answering
from nibd.daemon.contexts import Contexts
from nibd.daemon.coordinator import CheckoutState, Coordinator
from nibd.daemon.filtering import Changes
from nibd.daemon.indexer import DAMAGED
from nibd.daemon.navigating import Host, Navigating
from nibd.daemon.navigation_steps import VERIFIED, have_come
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout, RegistryError, checkout_id, repository_id
from nibd.daemon.searching import Searching
from nibd.daemon.session_methods import SessionMethods
from nibd.daemon.sessions import Sessions, not_in_session
from nibd.daemon.status import Standing, doctor, standing, status
from nibd.daemon.token_counting import TokenCounting
from nibd.daemon.verification import RELATIONS, Verifications
from nibd.daemon.views import At
from nibd.ipc.children import ChildDied
from nibd.ipc.handlers import Handler, Method, RequestContext
from nibd.ipc.messages import PROTOCOL_VERSION, ErrorCode, Json, JsonObject, RpcError
from nibd.query.hits import Hit
from nibd.repair.git import GitError, discover, open_source
from nibd.stores.errors import CorruptStore, CorruptStructure, StoreError
from nibd.stores.snapshot import Generation
from nibd.stores.trigram_store import Candidates
from nibd.stores.types import Assurance, CheckoutId, RepoPath, Skip, State, View

QUERY_THREADS = 4
GREP_THREADS = 2
WAITED_FOR = (Assurance.REPAIRED, Assurance.VERIFIED, Assurance.EXACT)
PROGRESS_S = 0.5
"""How often the progress of relations is told, which changes without notice."""
ONE_LOOK_S = 0.5
"""`wait` takes so long at least: who doesn't want to wait is told what is there, not that time was up."""
LASTING_FAILURES = 4
"""After so many in a row, about 7 s, a failure is not one that passes by itself."""

T = TypeVar("T")


class Service:
    def __init__(self, coordinator: Coordinator, stop: Callable[[], None]) -> None:
        self._coordinator = coordinator
        self._stop = stop
        self._started_at = time.time()
        self._threads = ThreadPoolExecutor(QUERY_THREADS, "nibd-query")
        self._grep_threads = ThreadPoolExecutor(GREP_THREADS, "nibd-grep")
        self._precedence = grepping.Precedence()
        self._covering: dict[CheckoutId, Generation] = {}
        self._blobs = answers.Blobs()
        counting = TokenCounting(coordinator.settings)
        bounds = coordinator.settings.daemon

        async def count(texts: list[str]) -> int | None:
            return await self._in_query(counting.count, texts)

        self._sessions = Sessions(bounds.max_sessions, bounds.session_idle_s, count)
        host = Host(self._state, self._in_query, self._damage, self._not_served, self._sessions)
        self._navigating = Navigating(coordinator, self._blobs, host)
        self._changes = Changes()
        self._answering = Answering(coordinator, host)
        self._searching = Searching(coordinator, self._blobs, self._changes, host, self._answering)
        self._contexts = Contexts(self._searching.search, self._blobs, counting, host)
        self._session_methods = SessionMethods(coordinator, host)
        self._verifications = Verifications(coordinator)

    def methods(self) -> dict[str, Handler | Method]:
        traced = self._sessions.traced
        return {
            "hello": self.hello,
            "repository.add": self.add,
            "repository.remove": self.remove,
            "repository.list": self.list_checkouts,
            "status": self.status,
            "wait": Method(self.wait, None),
            "search": traced(self._searching.search),
            "symbols": traced(self._searching.symbols),
            "outline": traced(self.outline),
            "grep": traced(self.grep),
            "navigate": traced(self._navigating.navigate),
            "context": traced(self._contexts.context),
            "context.compact": self._contexts.compact,
            "session.open": self._session_methods.open,
            "session.trace": self._session_methods.trace,
            "session.close": self._session_methods.close,
            "verify": Method(self.verify, None),
            "doctor": self.doctor,
            "shutdown": self.shutdown,
        }

    def close(self) -> None:
        self._sessions.close_all()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._grep_threads.shutdown(wait=False, cancel_futures=True)

    async def hello(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        return {
            "version": importlib.metadata.version("nibd"),
            "protocol": PROTOCOL_VERSION,
            "pid": os.getpid(),
            "started_at": self._started_at,
        }

    async def add(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        path = given.path("path")
        given.done()
        try:
            checkout = await self._coordinator.in_git(_checkout_at, path)
        except GitError as error:
            raise RpcError(ErrorCode.UNSUPPORTED, str(error)) from error
        with _registering():
            added = await self._coordinator.add(checkout)
        return _identity(checkout) | {
            "git_dir": str(checkout.git_dir),
            "marker": str(self._coordinator.paths.marker(checkout.repository)),
            "added": added,
        }

    async def remove(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._state(given.path("path"))
        given.done()
        with _registering():
            await self._coordinator.remove(state.checkout)
        self._blobs.forget(state.checkout)
        return _identity(state.checkout) | {"removed": True}

    async def list_checkouts(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        return {"checkouts": [await self._listed(state) for state in self._coordinator.states.values()]}

    async def status(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._state(given.path("path"))
        given.done()
        return await status(self._coordinator, state)

    async def wait(self, params: JsonObject, context: RequestContext) -> Json:
        """Until HEAD, whatever it is by then, is published with the views that are asked for.

        With the dense view also until the model is loaded, so that the next search need not wait for it.
        """
        given = Parameters(params)
        state = self._state(given.path("path"))
        view = given.choice("view", [*(view.value for view in View), RELATIONS], None)
        least = given.choice("assurance", [each.value for each in WAITED_FOR], None)
        timeout_s = given.number("timeout_s", 3600.0)
        given.done()
        if least and view != RELATIONS:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"assurance is for the view {RELATIONS}")
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

    async def outline(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        path = given.path("path")
        state = self._state(path)
        at = self._sessions.at(given, context, state.checkout.id)
        given.done()
        inside = RepoPath(os.fsencode(path.relative_to(state.checkout.work_tree)))
        own: JsonObject = {}

        def find(reading: Reading) -> list[Json]:
            found = answers.outline(reading, inside)
            if found is None:
                raise RpcError(
                    ErrorCode.NOT_FOUND,
                    f"{path} is not in the snapshot: not committed yet, or not at that commit",
                )
            hits = answers.shown(self._blobs, state.checkout, [hit for hit, _ in found])
            own["broken"] = broken_files.of_files(reading, {inside})
            return [
                hit | {"level": _level_name(unit), "parent": parent}
                for hit, (unit, parent) in zip(hits, found, strict=True)
            ]

        return await self._answering.answer(state, NEEDS_STRUCTURE, at, find) | own

    async def grep(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._state(given.path("path"))
        loop = asyncio.get_running_loop()
        # A stranger's pattern may take a moment to be read.
        request = await loop.run_in_executor(self._grep_threads, grepping.Request.take, given)
        at = self._sessions.at(given, context, state.checkout.id)
        given.done()
        cancelled = threading.Event()
        context.on_cancel(cancelled.set)
        own: JsonObject = {}

        def find(reading: Reading) -> list[Json]:
            def cover(candidates: Candidates) -> None:
                loop.call_soon_threadsafe(self._cover, state, reading.snapshot.generation, candidates.damage)

            grep = grepping.Grep(
                request, state.checkout, self._blobs, self._changes, cancelled, cover, self._precedence
            )
            own.update(grep.answer(reading))
            hits: list[Json] = own["hits"]
            return hits

        answer = await self._answering.answer(state, NEEDS_STRUCTURE, at, find, self._grep_threads)
        return answer | own

    async def verify(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._state(given.path("path"))
        relations = given.flag("relations", False)
        named = [] if relations and "views" not in params else [view.value for view in View]
        wanted = given.choices("views", named)
        given.done()
        views = self._coordinator.views(state.checkout.repository)
        needed = frozenset({View.LEXICAL, View.STRUCTURAL})
        with views.reading(state.checkout.id, needed) as reading:
            if reading is None:
                raise RpcError(ErrorCode.VIEW_NOT_READY, "nothing is published yet; `nibd wait` first")
            try:
                asked = [*wanted, RELATIONS] if relations else wanted
                verdict = await self._verifications.verify(state, reading.publication, asked, context)
            except RpcError as error:
                if error.data == DAMAGED:
                    raise self._damage(state, NEEDS_STRUCTURE, CorruptStore(error.message)) from error
                raise
        lacks = reading.snapshot.skipped.get(Skip.MISSING_OBJECT)
        for name, view in verdict["views"].items():
            if not view["equal"] and not lacks:  # objects may have arrived, which damages nothing
                self._coordinator.damaged(state, View(name), f"{view['count']} differences from a rebuild")
        self._wrong_relations(state, verdict["relations"] or {})
        return verdict

    def _wrong_relations(self, state: CheckoutState, families: JsonObject) -> None:
        """Have relations made anew that were said to be right and are not; others are verified anyway.

        What differs in requests alone is no server's doing: what leads to records is damaged.
        """
        for family, found in families.items():
            is_damaged = any(each["kind"] == "request" for each in found["differences"])
            if found["equal"] is False and (is_damaged or found["assurance"] in VERIFIED):
                reason = f"{found['count']} differences of {family} relations from a rebuild"
                self._coordinator.navigation.lose(state.checkout.repository, reason, discard=True)
                self._coordinator.related(state.checkout)

    async def doctor(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        return doctor(self._coordinator)

    async def shutdown(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        asyncio.get_running_loop().call_soon(self._stop)
        return {"stopping": True}

    def _cover(self, state: CheckoutState, generation: Generation, damage: str | None) -> None:
        """Once a snapshot where trigrams are but lacking: they may not be to be had."""
        if damage or self._covering.get(state.checkout.id) != generation:
            self._covering[state.checkout.id] = generation
            self._coordinator.cover(state, damage)

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

    async def _in_query(self, function: Callable[..., T], *arguments: Any) -> T:
        with self._precedence.going_first():
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _damage(self, state: CheckoutState, needed: frozenset[View], error: StoreError) -> RpcError:
        """What cannot be read is built again; until then it is not served."""
        if isinstance(error, CorruptStore):
            # A search reads structure.db too, and to build the lexical view again would not mend that.
            for view in NEEDS_STRUCTURE if isinstance(error, CorruptStructure) else needed:
                self._coordinator.damaged(state, view, str(error))
        else:
            self._coordinator.compare_all()
        return RpcError(
            ErrorCode.VIEW_NOT_READY, f"{error}; it is being built again, `nibd wait` tells when it is there"
        )

    def _not_served(self, state: CheckoutState, now: Standing, needed: frozenset[View], at: At) -> RpcError:
        where = state.checkout.work_tree
        names = " and ".join(sorted(view.value for view in needed))
        if isinstance(at, Reading):
            return not_in_session(at, needed)
        if at is not None:
            kept = f"keep_snapshots = {self._coordinator.settings.daemon.keep_snapshots}"
            return RpcError(
                ErrorCode.UNPUBLISHED_COMMIT,
                f"{where}: {at[:10]} is not published with {names}, or no longer kept ({kept}); "
                "check it out, or ask for the latest snapshot",
            )
        if now.newest:
            for view in needed:
                record = now.newest.snapshot.views[view]
                if record.state is State.ABSENT:
                    message = f"{where} has no {view.value} view: {record.reason}"
                    return RpcError(ErrorCode.VIEW_ABSENT, message)
        unborn = None if now.head.commit else "the branch has no commit yet"
        building = "it is being built; `nibd wait` tells when it is there"
        why = now.head.error or state.failure or unborn or building
        return RpcError(ErrorCode.VIEW_NOT_READY, f"{where}: the {names} view is not there yet: {why}")

    async def _reach(self, state: CheckoutState, wanted: set[View], context: RequestContext) -> bool:
        """Whether it was reached; `False` when it cannot be, as things are."""
        while True:
            changed = asyncio.ensure_future(self._coordinator.changed())
            try:
                now = await standing(self._coordinator, state)
                if now.head.error or (now.head.commit is None and now.newest is None):
                    return False
                repairing = self._coordinator.is_repairing(state)
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
                for progress in self._progress(state):
                    await context.notify("progress", progress)
                await changed
            finally:
                changed.cancel()

    async def _relate(self, state: CheckoutState, least: Assurance | None, context: RequestContext) -> bool:
        """Whether HEAD, whatever it is by then, has its relations; `False` when they cannot be had soon."""
        navigation = self._coordinator.navigation
        while True:
            changed = asyncio.ensure_future(self._coordinator.changed())
            try:
                if not await self._reach(state, {View.STRUCTURAL}, context):
                    return False
                shown = state.published
                if shown is not None and state.is_current:
                    # What was made anew counts when it is published: until then the old is named.
                    outdated = state.checkout.repository in navigation.lost or navigation.has_result(
                        state.checkout.id, shown.snapshot.tree
                    )
                    if not outdated and have_come(shown.snapshot, least):
                        return True
                    if not outdated and navigation.is_settled(state.checkout, shown.snapshot):
                        return False
                progress = navigation.progress().get(state.checkout.repository)
                if progress:
                    await context.notify("progress", progress)
                await asyncio.wait([changed], timeout=PROGRESS_S)
            finally:
                changed.cancel()

    def _progress(self, state: CheckoutState) -> list[Json]:
        running = self._coordinator.running.values()
        found = [r.progress for r in running if r.progress and r.job.repository == state.checkout.repository]
        if not found and self._coordinator.embedding.progress:
            found = [self._coordinator.embedding.progress]
        return [*found]

    async def _listed(self, state: CheckoutState) -> Json:
        now = await standing(self._coordinator, state)
        current = now.newest is not None and now.newest.commit == now.head.commit
        return _identity(state.checkout) | {
            "name": state.checkout.name,
            "branch": now.head.branch,
            "head": now.head.commit,
            "published": now.newest.commit if now.newest else None,
            "state": "ready" if current else "building" if now.head.commit else "absent",
            "error": now.head.error or state.failure,
        }

    def _state(self, path: Path) -> CheckoutState:
        checkout = self._coordinator.registry.containing(path)
        if checkout is None:
            raise RpcError(
                ErrorCode.UNKNOWN_REPOSITORY,
                f"{path} is in no registered checkout; run `nibd init` there first",
            )
        nested = _nested_checkout(checkout.work_tree, path)
        if nested:
            raise RpcError(
                ErrorCode.UNKNOWN_REPOSITORY,
                f"{nested} is a checkout of its own and not registered; run `nibd init` there first",
            )
        return self._coordinator.states[checkout.id]


@contextmanager
def _registering() -> Iterator[None]:
    try:
        yield
    except RegistryError as error:
        raise RpcError(ErrorCode.NOT_STORED, str(error)) from error


def _identity(checkout: Checkout) -> JsonObject:
    return {
        "checkout": checkout.id,
        "repository": checkout.repository,
        "path": str(checkout.work_tree),
    }


def _nested_checkout(work_tree: Path, path: Path) -> Path | None:
    """The checkout (a submodule, a linked work tree, a clone) inside `work_tree` that `path` lies in."""
    for folder in (path, *path.parents):
        if folder == work_tree:
            return None
        if os.path.lexists(folder / ".git"):
            return folder
    return None


def _level_name(unit: Hit) -> str | None:
    return None if unit.level is None else f"L{int(unit.level)}"


def _checkout_at(path: Path) -> Checkout:
    """The checkout that holds `path`; opening it finds out whether it can be read. Raises `GitError`."""
    location = discover(path)
    open_source(location.work_tree).close()
    return Checkout(
        checkout_id(location.git_dir),
        repository_id(location.common_dir),
        location.work_tree,
        location.git_dir,
        location.common_dir,
        time.time(),
    )
