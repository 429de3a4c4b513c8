"""The method `grep`: its own threads, since a search takes long, and trigrams made where they are lacking."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from nibd.daemon import grepping
from nibd.daemon.answering import Answering
from nibd.daemon.answers import Blobs
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.filtering import Changes
from nibd.daemon.host import NEEDS_STRUCTURE, Host
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import Json, JsonObject
from nibd.stores.snapshot import Generation
from nibd.stores.trigram_store import Candidates
from nibd.stores.types import CheckoutId

THREADS = 2


class GrepMethod:
    """For the event loop."""

    def __init__(
        self, coordinator: Coordinator, blobs: Blobs, changes: Changes, host: Host, answering: Answering
    ) -> None:
        self._coordinator = coordinator
        self._blobs = blobs
        self._changes = changes
        self._host = host
        self._answering = answering
        self._threads = ThreadPoolExecutor(THREADS, "nibd-grep")
        self._covering: dict[CheckoutId, Generation] = {}

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def grep(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._host.state_of(given.path("path"))
        loop = asyncio.get_running_loop()
        # A stranger's pattern may take a moment to be read.
        request = await loop.run_in_executor(self._threads, grepping.Request.take, given)
        at = self._host.sessions.at(given, context, state.checkout.id)
        given.done()
        cancelled = threading.Event()
        context.on_cancel(cancelled.set)
        own: JsonObject = {}

        def find(reading: Reading) -> list[Json]:
            def cover(candidates: Candidates) -> None:
                loop.call_soon_threadsafe(self._cover, state, reading.snapshot.generation, candidates.damage)

            grep = grepping.Grep(
                request, state.checkout, self._blobs, self._changes, cancelled, cover, self._host.precedence
            )
            own.update(grep.answer(reading))
            hits: list[Json] = own["hits"]
            return hits

        answer = await self._answering.answer(state, NEEDS_STRUCTURE, at, find, self._threads)
        return answer | own

    def _cover(self, state: CheckoutState, generation: Generation, damage: str | None) -> None:
        """Once a snapshot where trigrams are but lacking: they may not be to be had."""
        if damage or self._covering.get(state.checkout.id) != generation:
            self._covering[state.checkout.id] = generation
            self._coordinator.cover(state, damage)
