"""The methods `session.open`, `session.trace` and `session.close`.

A session states what it requires: views, and families of relations. The newest snapshot (of a commit, if one
is given) that has all of it is pinned; when there is none, opening fails and says which is missing.
"""

from __future__ import annotations

from contextlib import ExitStack

from nibd.daemon import wire
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.host import Host
from nibd.daemon.navigation.unserved import refusal
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.sessions import MAX_TRACE, Session, Sessions
from nibd.daemon.status import has_relations, lag, relations_now, standing
from nibd.daemon.views import At
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import Json, JsonObject, RpcError
from nibd.stores.relation_types import FAMILIES
from nibd.stores.snapshot import Publication
from nibd.stores.types import View

REQUIRED = (View.LEXICAL, View.STRUCTURAL)
"""Unless a session says otherwise."""


class SessionMethods:
    def __init__(self, coordinator: Coordinator, host: Host) -> None:
        self._coordinator = coordinator
        self._host = host

    @property
    def _sessions(self) -> Sessions:
        return self._host.sessions

    async def open(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._host.state_of(given.path("path"))
        named = given.choices("views", [view.value for view in View]) if given.has("views") else REQUIRED
        families = given.some("relations", FAMILIES)
        at = given.commit("at")
        given.done()
        needed = frozenset(View(name) for name in named) | ({View.STRUCTURAL} if families else set())
        await self._coordinator.look(state)
        self._sessions.admit()
        session = self._pinned(state, needed, families, at, context)
        if session is None:
            raise await self._missing(state, needed, families, at)
        return await self._described(state, session, needed, families)

    async def trace(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        session = self._sessions.take(given, context)
        given.done()
        return {
            "snapshot": wire.snapshot(session.reading.publication),
            "requests": [entry.wire() for entry in session.trace],
            "dropped": max(0, session.requests - MAX_TRACE),
        }

    async def close(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        session = self._sessions.take(given, context)
        given.done()
        self._sessions.close(session)
        return {"closed": True, "requests": session.requests}

    def _pinned(
        self,
        state: CheckoutState,
        needed: frozenset[View],
        families: list[str],
        at: At,
        context: RequestContext,
    ) -> Session | None:
        """Without an await, so that nothing can end the request between pinning and opening."""

        def accepts(publication: Publication) -> bool:
            return all(has_relations(publication.snapshot, family) for family in families)

        views = self._coordinator.views(state.checkout.repository)
        profile = self._coordinator.embedding.profile
        with ExitStack() as stack:
            reading: Reading | None = stack.enter_context(
                views.reading(state.checkout.id, needed, at, profile, accepts)
            )
            if reading is None:
                return None
            return self._sessions.open(state.checkout.id, reading, stack.pop_all(), context.lifetime)

    async def _missing(
        self, state: CheckoutState, needed: frozenset[View], families: list[str], at: At
    ) -> RpcError:
        """What keeps a session that requires this from beginning."""
        now = await standing(self._coordinator, state)
        newest = now.newest
        lacking = [family for family in families if newest and not has_relations(newest.snapshot, family)]
        if not lacking or at is not None:
            return self._host.not_served(state, now, needed, at)
        where = str(state.checkout.work_tree)
        family = lacking[0]
        record, progress = relations_now(self._coordinator, state, newest, family)
        return refusal(family, where, newest, f"no relations of {family} yet", record, progress)

    async def _described(
        self, state: CheckoutState, session: Session, needed: frozenset[View], families: list[str]
    ) -> JsonObject:
        publication = session.reading.publication
        snapshot = publication.snapshot
        head = await self._coordinator.look(state)
        behind = await lag(self._coordinator, state, head, publication)
        records = {view.value: snapshot.views[view] for view in sorted(needed)}
        records |= {family: snapshot.relations[family] for family in families}
        return {
            "session": session.id,
            "snapshot": wire.snapshot(publication),
            "views": {name: wire.view(each, publication, behind, None) for name, each in records.items()},
            "head": {"commit": head.commit},
            "idle_seconds": self._sessions.idle_s,
        }
