"""The methods of docs/protocol.md: parameters in, an answer with its provenance out.

Methods that are more than a few lines have modules of their own, which this one names; what they share is in
`host`. A request never waits for an index job, but for `wait`, whose purpose that is, and for the model when
a plan cannot do without it.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nibd.daemon import answers, broken_files
from nibd.daemon.answering import Answering
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.contexts import Contexts
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.filtering import Changes
from nibd.daemon.grep_method import GrepMethod
from nibd.daemon.host import NEEDS_STRUCTURE, Host
from nibd.daemon.navigation.navigating import Navigating
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout, RegistryError, checkout_id, repository_id
from nibd.daemon.searching import Searching
from nibd.daemon.session_methods import SessionMethods
from nibd.daemon.status import doctor, standing, status
from nibd.daemon.token_counting import TokenCounting
from nibd.daemon.verification import Verifications
from nibd.daemon.waiting import Waiting
from nibd.ipc.handlers import Handler, Method, RequestContext
from nibd.ipc.messages import PROTOCOL_VERSION, ErrorCode, Json, JsonObject, RpcError
from nibd.query.hits import Hit
from nibd.repair.git import GitError, discover, open_source
from nibd.stores.types import RepoPath


class Service:
    def __init__(self, coordinator: Coordinator, stop: Callable[[], None]) -> None:
        self._coordinator = coordinator
        self._stop = stop
        self._version = importlib.metadata.version("nibd")  # reading it takes longer than an answer
        self._started_at = time.time()
        counting, changes = TokenCounting(coordinator.settings), Changes()
        self._blobs = answers.Blobs()
        self._host = host = Host(coordinator, counting)
        self._waiting = Waiting(coordinator, host)
        self._navigating = Navigating(coordinator, self._blobs, host)
        self._answering = Answering(coordinator, host)
        self._searching = Searching(coordinator, self._blobs, changes, host, self._answering)
        self._grep = GrepMethod(coordinator, self._blobs, changes, host, self._answering)
        self._contexts = Contexts(self._searching.search, self._blobs, counting, host)
        self._session_methods = SessionMethods(coordinator, host)
        self._verifications = Verifications(coordinator, host)

    def methods(self) -> dict[str, Handler | Method]:
        traced = self._host.sessions.traced
        return {
            "hello": self.hello,
            "repository.add": self.add,
            "repository.remove": self.remove,
            "repository.list": self.list_checkouts,
            "status": self.status,
            "wait": Method(self._waiting.wait, None),
            "search": traced(self._searching.search),
            "symbols": traced(self._searching.symbols),
            "outline": traced(self.outline),
            "grep": traced(self._grep.grep),
            "navigate": traced(self._navigating.navigate),
            "context": traced(self._contexts.context),
            "context.compact": self._contexts.compact,
            "session.open": self._session_methods.open,
            "session.trace": self._session_methods.trace,
            "session.close": self._session_methods.close,
            "verify": Method(self._verifications.verify, None),
            "doctor": self.doctor,
            "shutdown": self.shutdown,
        }

    def close(self) -> None:
        self._host.close()
        self._grep.close()

    async def hello(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        return {
            "version": self._version,
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
        state = self._host.state_of(given.path("path"))
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
        state = self._host.state_of(given.path("path"))
        given.done()
        return await status(self._coordinator, state)

    async def outline(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        path = given.path("path")
        state = self._host.state_of(path)
        at = self._host.sessions.at(given, context, state.checkout.id)
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

    async def doctor(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        return doctor(self._coordinator)

    async def shutdown(self, params: JsonObject, context: RequestContext) -> Json:
        Parameters(params).done()
        asyncio.get_running_loop().call_soon(self._stop)
        return {"stopping": True}

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
