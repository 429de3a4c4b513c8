"""Sessions: a client's questions that belong together, all answered from one snapshot.

A session pins the snapshot that it begins with, so no collection takes it away, and its requests name the
session where others name a commit. It is its connection's alone. It ends when it is closed, when its
connection is lost, or when nothing was asked of it for the idle time; how many there can be at once is
limited. A request that is at work when its session ends is still answered: only then is the snapshot let go.

Of each request it keeps a *trace*: what was asked, what answered, how long that took, and how many tokens of
text were delivered. The newest MAX_TRACE requests are kept.

All of it on the event loop.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.traces import TraceEntry, delivered, entry_of
from nibd.daemon.views import At
from nibd.ipc.handlers import Handler, Lifetime, RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.stores.types import CheckoutId, State, View

MAX_TRACE = 1000
SHORT = 10

CountTokens = Callable[[list[str]], Awaitable[int | None]]
"""The tokens of some texts; `None` when they can't be counted."""


@dataclass(slots=True, eq=False)
class Session:
    """`reading` is what it pins, `pin` what lets go of it."""

    id: str
    checkout: CheckoutId
    lifetime: Lifetime
    reading: Reading
    pin: ExitStack
    trace: deque[TraceEntry] = field(default_factory=lambda: deque(maxlen=MAX_TRACE))
    requests: int = 0
    running: int = 0
    ended: bool = False
    leave: Callable[[], None] = lambda: None
    idle: asyncio.TimerHandle | None = None


class Sessions:
    """See the module."""

    def __init__(self, limit: int, idle_s: float, count: CountTokens) -> None:
        self.limit = limit
        self.idle_s = idle_s
        self._count = count
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def admit(self) -> None:
        """Raises RpcError when there are as many as there can be."""
        if len(self._sessions) >= self.limit:
            message = f"{self.limit} sessions are open already; close one, or raise max_sessions"
            raise RpcError(ErrorCode.BUSY, message)

    def open(self, checkout: CheckoutId, reading: Reading, pin: ExitStack, lifetime: Lifetime) -> Session:
        """`pin` holds what `reading` reads; from here on the session lets go of it."""
        session = Session(secrets.token_hex(8), checkout, lifetime, reading, pin)
        self._sessions[session.id] = session
        session.leave = lifetime.on_end(functools.partial(self.close, session))
        self._rest(session)
        return session

    def close(self, session: Session) -> None:
        """End it, once."""
        if session.ended:
            return
        session.ended = True
        del self._sessions[session.id]
        session.leave()
        if session.idle:
            session.idle.cancel()
        self._let_go(session)

    def close_all(self) -> None:
        for session in list(self._sessions.values()):
            self.close(session)

    def take(self, given: Parameters, context: RequestContext) -> Session:
        """The session that the parameter names. Raises RpcError."""
        session = self._find(given.text("session"), context)
        if session is None:
            message = "this connection has no such session: it was closed, or nothing was asked for too long"
            raise RpcError(ErrorCode.NOT_FOUND, f"{message}; open another")
        return session

    def at(self, given: Parameters, context: RequestContext, checkout: CheckoutId) -> At:
        """What a request about `checkout` is to rest on. Raises RpcError."""
        commit = given.commit("at")
        if not given.has("session"):
            return commit
        session = self.take(given, context)
        if commit is not None:
            raise RpcError(ErrorCode.INVALID_PARAMS, "at: a session has its commit already; leave one out")
        if session.checkout != checkout:
            raise RpcError(ErrorCode.INVALID_PARAMS, "path: the session is of another checkout")
        return session.reading

    def traced(self, handler: Handler) -> Handler:
        """The handler, whose requests within a session are kept in its trace."""

        @functools.wraps(handler)
        async def within(params: JsonObject, context: RequestContext) -> Json:
            session = self._find(params.get("session"), context)
            if session is None:
                return await handler(params, context)
            session.running += 1
            started_at, started = time.time(), time.perf_counter()
            result: JsonObject | None = None
            tokens: int | None = None
            error: str | None = ErrorCode.INTERNAL.wire_name
            milliseconds = 0.0
            try:
                result = await handler(params, context)
                milliseconds, error = _since(started), None
                tokens = await self._tokens(result)
                return result
            except RpcError as refusal:
                error = refusal.code.wire_name if isinstance(refusal.code, ErrorCode) else str(refusal.code)
                raise
            except asyncio.CancelledError:
                error = ErrorCode.CANCELLED.wire_name
                raise
            finally:
                entry = entry_of(context.method, params, result, error)
                self._keep(session, entry.timed(started_at, milliseconds or _since(started), tokens))

        return within

    async def _tokens(self, result: JsonObject) -> int | None:
        counted = result.get("tokens")
        if isinstance(counted, dict):
            return int(counted["count"])
        return await self._count(delivered(result))

    def _keep(self, session: Session, entry: TraceEntry) -> None:
        session.trace.append(entry)
        session.requests += 1
        session.running -= 1
        if session.ended:
            self._let_go(session)
        else:
            self._rest(session)

    def _find(self, identity: Json, context: RequestContext) -> Session | None:
        session = self._sessions.get(identity) if isinstance(identity, str) else None
        return session if session is not None and session.lifetime is context.lifetime else None

    def _rest(self, session: Session) -> None:
        """Begin its idle time anew."""
        if session.idle:
            session.idle.cancel()
        loop = asyncio.get_running_loop()
        session.idle = loop.call_later(self.idle_s, self._ended_by_idling, session)

    def _ended_by_idling(self, session: Session) -> None:
        if session.running:
            self._rest(session)
        else:
            self.close(session)

    def _let_go(self, session: Session) -> None:
        if not session.running:
            session.pin.close()


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def shown_at(at: At) -> str:
    """In a message."""
    if isinstance(at, Reading):
        return f"the session's snapshot of {at.publication.commit[:SHORT]}"
    return at[:SHORT] if at else "the newest snapshot"


def not_in_session(reading: Reading, needed: frozenset[View]) -> RpcError:
    """Why a session's snapshot can't answer: it lacks a view, or it is gone."""
    where = shown_at(reading)
    for view in sorted(needed):
        record = reading.snapshot.views[view]
        if not record.serves:
            code = ErrorCode.VIEW_ABSENT if record.state is State.ABSENT else ErrorCode.VIEW_NOT_READY
            reason = record.reason or "it was not there when the session began; require it, and it will be"
            return RpcError(code, f"{where} has no {view.value} view: {reason}")
    names = " and ".join(sorted(view.value for view in needed))
    gone = "its files are gone, or of another profile by now"
    message = f"{where} does not serve the {names} view any more: {gone}; open another session"
    return RpcError(ErrorCode.VIEW_NOT_READY, message)
