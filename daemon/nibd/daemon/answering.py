"""How an answer is made: one look at what is published, and what the answer rests on.

A request looks *once* at the publications, under one lock. The one that is found there is pinned for as long
as it is read, and all that depends on what a snapshot has (which plan answers, from which views) is decided
by that one. So whatever is published meanwhile, an answer is planned on the snapshot that it was made from.

The looking and reading are done in a thread, all else on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from nibd.daemon import wire
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.heads import HeadState
from nibd.daemon.host import Host, is_shown, unreadable_relations
from nibd.daemon.reading import Reading
from nibd.daemon.status import Standing, lag, standing, view_json
from nibd.daemon.views import At, Wanted
from nibd.ipc.messages import Json, JsonObject, RpcError
from nibd.stores.errors import StoreError
from nibd.stores.relations import CorruptRelations
from nibd.stores.snapshot import Publication
from nibd.stores.types import View

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Looked(Generic[T]):
    """What was found in a publication, of which the views `used` were read; an error took its place."""

    publication: Publication
    used: frozenset[View]
    found: T | StoreError


class Answering:
    """See the module."""

    def __init__(self, coordinator: Coordinator, host: Host) -> None:
        self._coordinator = coordinator
        self._host = host

    async def answer(
        self,
        state: CheckoutState,
        needed: frozenset[View],
        at: At,
        find: Callable[[Reading], list[Json]],
        threads: ThreadPoolExecutor | None = None,
    ) -> JsonObject:
        """The hits of the newest snapshot that serves `needed`, with what they rest on. Raises RpcError."""
        publication, hits = await self.look(state, [Wanted(needed)], at, lambda _: needed, find, threads)
        return await self.described(state, publication, needed, hits)

    async def look(
        self,
        state: CheckoutState,
        wanted: Sequence[Wanted],
        at: At,
        uses: Callable[[Publication], frozenset[View]],
        find: Callable[[Reading], T],
        threads: ThreadPoolExecutor | None = None,
    ) -> tuple[Publication, T]:
        """What `find` finds in the publication that is preferred, of which it reads the views that `uses`
        tells. Raises RpcError: there is none, or it can't be read."""
        views = self._coordinator.views(state.checkout.repository)
        profile = self._coordinator.embedding.profile
        remade = self._coordinator.remade(state)

        def looked() -> Looked[T] | None:
            with views.preferred(state.checkout.id, wanted, at, profile) as reading:
                if reading is None:
                    return None
                used = uses(reading.publication)
                try:
                    return Looked(reading.publication, used, find(reading))
                except StoreError as error:
                    return Looked(reading.publication, used, error)

        result: Looked[T] | None
        if threads:
            result = await asyncio.get_running_loop().run_in_executor(threads, looked)
        else:
            result = await self._host.in_query(looked)
        if result is None:
            raise self._host.not_served(state, await self._now(state), wanted[-1].views, at)
        if isinstance(result.found, StoreError):
            raise self._unreadable(state, at, result.used, result.found, remade) from result.found
        return result.publication, result.found

    async def described(
        self,
        state: CheckoutState,
        publication: Publication,
        used: frozenset[View],
        hits: list[Json],
        missing: Mapping[View, str | None] | None = None,
    ) -> JsonObject:
        """Hits with what they rest on, and the views that are `missing`, each with a reason of its own."""
        # HEAD is looked at afterwards: it may have moved meanwhile, and then the answer lags.
        head = await self._coordinator.look(state)
        described = {view.value: await self._used(state, head, publication, view) for view in sorted(used)}
        for view, reason in (missing or {}).items():
            described[view.value] = await self._not_used(state, view, reason)
        return {
            "snapshot": wire.snapshot(publication),
            "views": dict(sorted(described.items())),
            "head": {"commit": head.commit},
            "hits": hits,
        }

    async def _now(self, state: CheckoutState) -> Standing:
        return await standing(self._coordinator, state)

    async def _used(
        self, state: CheckoutState, head: HeadState, publication: Publication, view: View
    ) -> JsonObject:
        behind = await lag(self._coordinator, state, head, publication)
        record = publication.snapshot.views[view]
        reason = head.error or (state.failure if behind["commits"] != 0 else None)
        return wire.view(record, publication, behind, reason) | {"used": True}

    async def _not_used(self, state: CheckoutState, view: View, reason: str | None) -> JsonObject:
        described = await view_json(self._coordinator, state, await self._now(state), view)
        return described | {"used": False} | ({"reason": reason} if reason else {})

    def _unreadable(
        self, state: CheckoutState, at: At, used: frozenset[View], error: StoreError, remade: int | None
    ) -> RpcError:
        if isinstance(error, CorruptRelations):
            shown = is_shown(state, at)
            self._coordinator.relations_damaged(state, error, remade, shown=shown)
            return unreadable_relations(str(error), shown=shown)
        return self._host.damage(state, used, error)
