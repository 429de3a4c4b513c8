"""What a service offers to the wire: handlers by method name, and what a running handler is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from nibd.ipc.messages import ErrorCode, Json, JsonObject, RequestId
from nibd.ipc.sockets import Peer

Notify: TypeAlias = Callable[[RequestId, str, Json], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may cost."""

    max_request_bytes: int = 4 * 1024 * 1024
    max_response_bytes: int = 64 * 1024 * 1024
    max_clients: int = 64
    max_in_flight: int = 64
    """Requests of one client at work. Further ones are answered `busy` at once rather than left unread,
    so that a cancellation behind them is always seen."""
    request_timeout_s: float = 30.0
    frame_timeout_s: float = 10.0
    """For a frame to come in whole, once it has begun."""
    write_buffer_bytes: int = 1024 * 1024
    """Past this, a client that does not read is not read from either, and its handlers wait."""
    write_stall_s: float = 30.0
    """A client that takes nothing for so long, with the write buffer full, is disconnected."""


class Lifetime:
    """That of one client's connection, for what is to end with it. Used on the event loop only."""

    def __init__(self) -> None:
        self._ends: dict[int, Callable[[], None]] = {}
        self._ended = False
        self._count = 0

    def on_end(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` (quick) called once the connection is lost; at once when it is already.

        Returns what takes that back.
        """
        if self._ended:
            callback()
            return _nothing
        self._count += 1
        number = self._count
        self._ends[number] = callback
        return lambda: self._forget(number)

    def end(self) -> None:
        """For the connection: it is lost."""
        self._ended = True
        ends, self._ends = self._ends, {}
        for callback in ends.values():
            callback()

    def _forget(self, number: int) -> None:
        self._ends.pop(number, None)


def _nothing() -> None:
    """Takes back what has happened."""


class RequestContext:
    """One running request, as its handler sees it. Used on the event loop only.

    Cancelled (by the client, its disconnection, the time limit or a shutdown), the handler's task is
    cancelled: it sees `asyncio.CancelledError` where it awaits and lets it pass. Work handed to a
    thread is told through `on_cancel`.
    """

    def __init__(
        self, request_id: RequestId, method: str, peer: Peer, notify: Notify, lifetime: Lifetime
    ) -> None:
        self.id = request_id
        self.method = method
        self.peer = peer
        self.lifetime = lifetime
        """That of the connection, by which requests of one client can be told to belong together."""
        self._notify = notify
        self._callbacks: list[Callable[[], None]] = []
        self._task: asyncio.Task[Any] | None = None
        self._answered = False
        self.cancelled: ErrorCode | None = None
        """Why it was cancelled: CANCELLED (by the client, or it left), TIMEOUT or SHUTTING_DOWN."""

    async def notify(self, method: str, value: Json) -> None:
        """Send the client a notification about this request; waits while the client is slow to read."""
        if self._answered:
            raise RuntimeError(f"{self.method} is answered already: nothing more can be said about it")
        await self._notify(self.id, method, value)

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` (quick, on the loop; such as a threading.Event's set) once cancelled."""
        if self.cancelled is not None:
            callback()
        else:
            self._callbacks.append(callback)

    def start(self) -> None:
        """For the connection: the current task runs the handler.

        Not called before its first step: a task that is cancelled earlier never runs at all, and
        the request would stay unanswered.
        """
        self._task = asyncio.current_task()

    def cancel(self, why: ErrorCode) -> None:
        """For the connection: the first reason counts; without effect once the handler has ended."""
        if self._answered or self.cancelled is not None:
            return
        self.cancelled = why
        for callback in self._callbacks:
            callback()
        if self._task is not None:
            self._task.cancel()

    def end(self) -> None:
        """For the connection: the handler has ended."""
        self._answered = True


class Handler(Protocol):
    """Answers one method. Raises RpcError to refuse; any other exception is an internal error."""

    async def __call__(self, params: JsonObject, context: RequestContext, /) -> Json: ...


@dataclass(frozen=True, slots=True)
class Method:
    """A handler with a time limit of its own; None for one that bounds itself, such as `wait`.

    One without a time limit is cancelled at once by a shutdown, since it may never end.
    """

    handler: Handler
    timeout_s: float | None
