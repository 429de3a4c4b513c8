"""What the methods of the service share: which checkout is meant, the query threads, sessions, and refusals.

What can't be read is built again; until then it is not served.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.grepping import Precedence
from nibd.daemon.reading import Reading
from nibd.daemon.sessions import Sessions, not_in_session
from nibd.daemon.status import Standing
from nibd.daemon.token_counting import TokenCounting
from nibd.daemon.views import At
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.errors import CorruptStore, CorruptStructure, StoreError
from nibd.stores.types import State, View

QUERY_THREADS = 4
NEEDS_STRUCTURE = frozenset({View.STRUCTURAL})

T = TypeVar("T")


class Host:
    """For the event loop."""

    def __init__(self, coordinator: Coordinator, counting: TokenCounting) -> None:
        self.precedence = Precedence()
        self._coordinator = coordinator
        self._threads = ThreadPoolExecutor(QUERY_THREADS, "nibd-query")
        bounds = coordinator.settings.daemon

        async def count(texts: list[str]) -> int | None:
            return await self.in_query(counting.count, texts)

        self.sessions = Sessions(bounds.max_sessions, bounds.session_idle_s, count)

    def close(self) -> None:
        self.sessions.close_all()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def state_of(self, path: Path) -> CheckoutState:
        checkout = self._coordinator.registry.containing(path)
        if checkout is None:
            advice = "run `nibd init` there first" if os.path.lexists(path) else "nothing is there"
            message = f"{path} is in no registered checkout; {advice}"
            raise RpcError(ErrorCode.UNKNOWN_REPOSITORY, message)
        nested = _nested_checkout(checkout.work_tree, path)
        if nested:
            raise RpcError(
                ErrorCode.UNKNOWN_REPOSITORY,
                f"{nested} is a checkout of its own and not registered; run `nibd init` there first",
            )
        return self._coordinator.states[checkout.id]

    async def in_query(self, function: Callable[..., T], *arguments: Any) -> T:
        with self.precedence.going_first():
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def damage(self, state: CheckoutState, needed: frozenset[View], error: StoreError) -> RpcError:
        """What cannot be read is built again; until then it is not served."""
        if isinstance(error, CorruptStore):
            # A search reads structure.db too, and to build the lexical view again would not mend that.
            needed = NEEDS_STRUCTURE if isinstance(error, CorruptStructure) else needed
            for view in needed:
                self._coordinator.damaged(state, view, str(error))
        else:
            self._coordinator.compare_all()
        building = f"it is being built again, {_wait_for(needed)} tells when it is there"
        return RpcError(ErrorCode.VIEW_NOT_READY, f"{error}; {building}")

    def not_served(self, state: CheckoutState, now: Standing, needed: frozenset[View], at: At) -> RpcError:
        where = state.checkout.work_tree
        names = " and ".join(sorted(view.value for view in needed))
        if isinstance(at, Reading):
            return not_in_session(at, needed)
        if at is not None:
            kept = f"keep_snapshots = {self._coordinator.settings.daemon.keep_snapshots}"
            return RpcError(
                ErrorCode.UNPUBLISHED_COMMIT,
                f"{where}: {at[:10]} is not published with the {names} view, or no longer kept ({kept}); "
                "check it out, or ask for the latest snapshot",
            )
        if now.newest:
            for view in needed:
                record = now.newest.snapshot.views[view]
                if record.state is State.ABSENT:
                    message = f"{where} has no {view.value} view: {record.reason}"
                    return RpcError(ErrorCode.VIEW_ABSENT, message)
        unborn = None if now.head.commit else "the branch has no commit yet"
        building = f"it is being built; {_wait_for(needed)} tells when it is there"
        why = now.head.error or state.failure or unborn or building
        return RpcError(ErrorCode.VIEW_NOT_READY, f"{where}: the {names} view is not there yet: {why}")


def is_shown(state: CheckoutState, at: At) -> bool:
    """Whether a request that rests on `at` reads the relations that the checkout shows."""
    if at is None or state.published is None:
        return True
    if isinstance(at, Reading):
        return at.snapshot.relations == state.published.snapshot.relations
    return at == state.published.commit


def unreadable_relations(why: str, *, shown: bool = True) -> RpcError:
    """That relations were damaged, which the coordinator has been told; unless they are those of a snapshot
    that is not `shown` any more, which are not made again."""
    again = "they are being made again, `nibd wait --view relations` tells when they are there"
    if not shown:
        again = "those of a snapshot that is not shown are not made again: ask without it"
    return RpcError(ErrorCode.VIEW_NOT_READY, f"the relations can't be read: {why}; {again}")


def _wait_for(needed: frozenset[View]) -> str:
    """The command that comes back when these views are there."""
    return "`nibd wait --view dense`" if View.DENSE in needed else "`nibd wait`"


def _nested_checkout(work_tree: Path, path: Path) -> Path | None:
    """The checkout (a submodule, a linked work tree, a clone) inside `work_tree` that `path` lies in."""
    for folder in (path, *path.parents):
        if folder == work_tree:
            return None
        if os.path.lexists(folder / ".git"):
            return folder
    return None
