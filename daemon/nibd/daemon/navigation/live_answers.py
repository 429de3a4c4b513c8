"""Live answers to navigation questions, on the event loop: which snapshot, and the steps to an answer.

The snapshot is pinned until the answer is whole, and the navigator is asked about its tree: so places, texts
and what the server says are of one tree.

*Patience* is how long one question waits for a server that has to be started, or brought to the tree. Who
did not insist on a live answer has little, less for a while after it was used up in vain, and none while
servers are known to fail.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from nibd.daemon.answers import Blobs
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.host import NEEDS_STRUCTURE, Host
from nibd.daemon.navigation.live import LiveNavigation, Steps
from nibd.daemon.navigation.question import Navigated, Question
from nibd.daemon.navigation.reasons import live_limits
from nibd.daemon.navigation.shown_places import Answered, ShownPlaces
from nibd.daemon.navigation.texts import Texts
from nibd.daemon.reading import Reading
from nibd.daemon.relations.live_wire import Ask
from nibd.daemon.views import At
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.stores.types import RepositoryId, TreeId

PATIENCE_S = 20.0
"""For who asked for a live answer: most servers have started and settled by then."""
CASUAL_PATIENCE_S = 1.5
"""For who asked for whatever there is. A server that has settled takes milliseconds."""
VAIN_PATIENCE_S = 0.1
VAIN_FOR_S = 10.0
"""For so long after patience was used up for a tree in vain, there is only `VAIN_PATIENCE_S` for it."""
_FAILED = (ErrorCode.VIEW_ABSENT, ErrorCode.VIEW_NOT_READY, ErrorCode.INTERNAL)
"""What the next question would get as well, after as much work for nothing."""


@dataclass(frozen=True, slots=True)
class _InVain:
    """A server was wanted for `tree` and not there, for the reason of `error`; that counts `until` then."""

    tree: TreeId
    until: float
    error: RpcError


class LiveAnswers:
    """See the module."""

    def __init__(self, coordinator: Coordinator, blobs: Blobs, texts: Texts, host: Host) -> None:
        self._coordinator = coordinator
        self._blobs = blobs
        self._texts = texts
        self._host = host
        self._in_vain: dict[RepositoryId, _InVain] = {}

    async def answer(self, state: CheckoutState, at: At, question: Question) -> Answered | None:
        """Of who insists. `None` when nothing is published. Raises RpcError, StoreError."""
        with self._reading(state, at) as reading:
            return None if reading is None else await self._answered(state, reading, question, PATIENCE_S)

    async def casual(self, state: CheckoutState, question: Question) -> Answered | None:
        """Of who takes something else as well. As `answer`, at the newest snapshot."""
        repository = state.checkout.repository
        with self._reading(state, None) as reading:
            if reading is None:
                return None
            tree, now = reading.snapshot.tree, asyncio.get_running_loop().time()
            before = self._in_vain.get(repository)
            in_vain = before if before and before.tree == tree and now < before.until else None
            if in_vain and in_vain.error.code in _FAILED:
                raise in_vain.error
            patience_s = VAIN_PATIENCE_S if in_vain else CASUAL_PATIENCE_S
            try:
                return await self._answered(state, reading, question, patience_s)
            except RpcError as error:
                if in_vain is None and error.code in (ErrorCode.TIMEOUT, *_FAILED):
                    self._in_vain[repository] = _InVain(tree, now + VAIN_FOR_S, error)
                raise

    def _reading(self, state: CheckoutState, at: At) -> Any:
        views = self._coordinator.views(state.checkout.repository)
        return views.reading(state.checkout.id, NEEDS_STRUCTURE, at)

    async def _answered(
        self, state: CheckoutState, reading: Reading, question: Question, patience_s: float
    ) -> Answered:
        checkout = state.checkout
        files = self._texts.of_tree(reading, checkout)
        steps = LiveNavigation(reading, files, question, patience_s).steps()
        said: JsonObject = {"found": None, "server": None}
        while True:
            next_one: Ask | Navigated = await self._host.in_query(_advanced, steps, said["found"])
            if isinstance(next_one, Navigated):
                break
            said = await self._coordinator.relations.navigators.ask(checkout, reading.snapshot, next_one)
        places = ShownPlaces(self._blobs, checkout, files)
        answered: Answered = await self._host.in_query(places.answered, reading, next_one, question.operation)
        server = said["server"]
        if server is not None:
            record = reading.snapshot.relations.get(server["family"])
            more = live_limits(question.operation, server, record)
            server = server | {"limits": [*server["limits"], *more]}
        return replace(answered, server=server)


def _advanced(steps: Steps, said: Any) -> Ask | Navigated:
    """In a query thread: the next question, or the answer."""
    try:
        return steps.send(said)
    except StopIteration as stop:
        found: Navigated = stop.value
        return found
