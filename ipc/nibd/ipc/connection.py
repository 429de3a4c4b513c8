"""One client's connection, on the event loop.

Steps of a request: a checked frame → its method, limits and id → a task that runs the handler → the
answer, written when the client has taken what came before.

A client that is idle costs its socket and this object: no task, no timer. One that sends half a frame
gets `frame_timeout_s`; one that does not read is not read from (pause_writing pauses reading), its
handlers wait in `_drained`, and it is disconnected when it takes nothing for `write_stall_s`. So
unsent bytes are bounded by the write buffer, one answer, and the refusals of one received chunk.
The end of the client's stream is its disconnection and cancels its requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Protocol, cast

from nibd.ipc.framing import Frame, Malformed, Parser, encode, is_request_id
from nibd.ipc.handlers import Lifetime, Limits, Method, RequestContext
from nibd.ipc.messages import (
    CANCEL_METHOD,
    PROTOCOL_VERSION,
    ErrorCode,
    ErrorResponse,
    Json,
    Notification,
    Request,
    RequestId,
    Response,
    RpcError,
    progress,
)
from nibd.ipc.sockets import Peer, peer_of
from nibd.ipc.statistics import Statistics

CANCEL_MESSAGES = {
    ErrorCode.CANCELLED: "cancelled, as the client asked",
    ErrorCode.TIMEOUT: "not done within {timeout_s} s; ask for less, or again when the daemon is less busy",
    ErrorCode.SHUTTING_DOWN: "the daemon is shutting down; ask again once it runs",
}


class Service(Protocol):
    """What a connection needs of its server."""

    methods: Mapping[str, Method]
    limits: Limits
    statistics: Statistics
    closing: bool

    def admit(self, connection: Connection, peer: Peer) -> RpcError | None:
        """Take the connection in, or say why not."""

    def is_own(self, peer: Peer) -> bool: ...

    def leave(self, connection: Connection) -> None: ...

    def internal_error(self, method: str, error: BaseException) -> RpcError:
        """Report what a handler raised; what to tell the client."""


class Connection(asyncio.Protocol):
    """See the module."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._limits = service.limits
        self._parser = Parser(max_body_bytes=service.limits.max_request_bytes)
        self._running: dict[RequestId, tuple[RequestContext, asyncio.Task[None]]] = {}
        self._lifetime = Lifetime()
        self._transport: asyncio.Transport
        self._peer: Peer
        self._drain: asyncio.Future[None] | None = None
        self._frame_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    # What the server calls

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return [task for _, task in self._running.values()]

    def cancel_all(self, why: ErrorCode, only_unbounded: bool = False) -> None:
        """Cancel the running requests, or those of methods without a time limit."""
        for context, _ in list(self._running.values()):
            if not only_unbounded or self._service.methods[context.method].timeout_s is None:
                context.cancel(why)

    def close(self) -> None:
        """Close once what was written is sent; a client that does not read is cut off."""
        self._transport.close()
        self._watch_stall()

    def abort(self) -> None:
        self._transport.abort()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._limits.write_buffer_bytes)
        self._peer = peer_of(transport.get_extra_info("socket"))
        if not self._service.is_own(self._peer):
            self._transport.abort()
            return
        refusal = self._service.admit(self, self._peer)
        if refusal is not None:
            self._refuse(None, refusal)
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._frame_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        self.cancel_all(ErrorCode.CANCELLED)
        self._lifetime.end()
        self._release_writers()
        self._service.leave(self)

    def data_received(self, data: bytes) -> None:
        frames = self._parser.feed(data)
        for frame in frames:
            self._dispatch(frame)
        self._watch_frame(restart=bool(frames))

    def pause_writing(self) -> None:
        self._drain = asyncio.get_running_loop().create_future()
        self._transport.pause_reading()
        self._stop_frame_timer()
        self._watch_stall()

    def resume_writing(self) -> None:
        self._release_writers()
        if self._stall_timer is not None and not self._transport.is_closing():
            self._stall_timer.cancel()
            self._stall_timer = None
        self._transport.resume_reading()
        self._watch_frame(restart=True)

    # Requests

    def _dispatch(self, frame: Frame) -> None:
        if isinstance(frame, Request):
            refusal = self._start(frame)
            if refusal is not None:
                # An id that is in use would be taken for the other request's answer.
                self._refuse(None if frame.id in self._running else frame.id, refusal)
        elif isinstance(frame, Malformed):
            self._refuse(frame.id, frame.error)
            if frame.fatal:
                self._service.statistics.dropped["bad_frame"] += 1
                self.close()
        elif isinstance(frame, Notification) and frame.method == CANCEL_METHOD:
            self._cancel(frame)
        else:
            self._service.statistics.ignored += 1

    def _start(self, request: Request) -> RpcError | None:
        """Start the request's task, or say why not."""
        if self._service.closing:
            return RpcError(ErrorCode.SHUTTING_DOWN, CANCEL_MESSAGES[ErrorCode.SHUTTING_DOWN])
        if request.id in self._running:
            return RpcError(ErrorCode.INVALID_REQUEST, f"the id {request.id!r} is that of a running request")
        if len(self._running) >= self._limits.max_in_flight:
            limit = self._limits.max_in_flight
            return RpcError(
                ErrorCode.BUSY, f"{limit} requests of yours are at work; await one first", {"limit": limit}
            )
        method = self._service.methods.get(request.method)
        if method is None:
            known = ", ".join(sorted(self._service.methods))
            message = f"no method {request.method!r}; protocol {PROTOCOL_VERSION} of this daemon has: {known}"
            return RpcError(ErrorCode.METHOD_NOT_FOUND, message)
        if isinstance(request.params, list):
            return RpcError(ErrorCode.INVALID_PARAMS, f"{request.method} takes params by name: an object")
        context = RequestContext(
            request.id, request.method, self._peer, self._notify, self._lifetime
        )
        task = asyncio.get_running_loop().create_task(self._run(request, method, context))
        self._running[request.id] = context, task
        return None

    async def _run(self, request: Request, method: Method, context: RequestContext) -> None:
        started, failed = time.monotonic(), False
        try:
            context.start()
            try:
                frame = await self._result(request, method, context)
            except RpcError as error:
                failed = True
                frame = self._error_frame(request.id, error)
            context.end()
            self._service.statistics.methods[request.method].add(time.monotonic() - started, failed)
            await self._drained()
        finally:
            del self._running[request.id]
        self._write(frame)

    async def _result(self, request: Request, method: Method, context: RequestContext) -> bytes:
        """The frame of the response. Raises the RpcError to answer instead."""
        timer = None
        if method.timeout_s is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(method.timeout_s, context.cancel, ErrorCode.TIMEOUT)
        try:
            if context.cancelled is not None:
                raise _cancellation(request.method, method, context.cancelled)
            params = request.params if isinstance(request.params, dict) else {}
            frame = encode(Response(request.id, await method.handler(params, context)))
        except RpcError:
            raise
        except asyncio.CancelledError as error:
            if context.cancelled is not None:
                raise _cancellation(request.method, method, context.cancelled) from error
            if _is_being_cancelled():  # the loop ends
                raise
            raise self._service.internal_error(request.method, error) from error
        except Exception as error:
            raise self._service.internal_error(request.method, error) from error
        finally:
            if timer is not None:
                timer.cancel()
        self._check_size(request.method, len(frame))
        return frame

    def _check_size(self, method: str, size_bytes: int) -> None:
        limit = self._limits.max_response_bytes
        if size_bytes > limit:
            message = f"the answer to {method} has {size_bytes} bytes, over {limit}; ask for less at once"
            raise RpcError(ErrorCode.TOO_LARGE, message, {"limit_bytes": limit})

    def _cancel(self, notification: Notification) -> None:
        params = notification.params
        request_id = params.get("id") if isinstance(params, dict) else None
        running = self._running.get(request_id) if is_request_id(request_id) else None
        if running is not None:
            running[0].cancel(ErrorCode.CANCELLED)

    # Writing

    async def _notify(self, request_id: RequestId, method: str, value: Json) -> None:
        frame = encode(progress(request_id, method, value))
        await self._drained()
        self._write(frame)

    def _refuse(self, request_id: RequestId | None, error: RpcError) -> None:
        self._write(self._error_frame(request_id, error))

    def _error_frame(self, request_id: RequestId | None, error: RpcError) -> bytes:
        self._service.statistics.count_error(error.code)
        try:
            return encode(ErrorResponse(request_id, error))
        except (TypeError, ValueError, RecursionError) as fault:  # what a handler put into `data`
            internal = self._service.internal_error("the error's data", fault)
            return encode(ErrorResponse(request_id, internal))

    def _write(self, frame: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(frame)

    async def _drained(self) -> None:
        """Wait until the write buffer has room or the client is gone."""
        while self._drain is not None:
            await asyncio.shield(self._drain)

    def _release_writers(self) -> None:
        if self._drain is not None:
            self._drain.set_result(None)
            self._drain = None

    # Slow clients

    def _watch_frame(self, restart: bool) -> None:
        """Give a frame that has begun its time; `restart` when the one before came to its end."""
        if restart or not self._parser.partial:
            self._stop_frame_timer()
        reading = self._drain is None and not self._transport.is_closing()
        if self._parser.partial and self._frame_timer is None and reading:
            loop = asyncio.get_running_loop()
            self._frame_timer = loop.call_later(self._limits.frame_timeout_s, self._frame_late)

    def _stop_frame_timer(self) -> None:
        if self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None

    def _frame_late(self) -> None:
        self._service.statistics.dropped["slow_frame"] += 1
        limit = self._limits.frame_timeout_s
        self._refuse(None, RpcError(ErrorCode.TIMEOUT, f"half a frame came, and no more of it in {limit} s"))
        self.close()

    def _watch_stall(self) -> None:
        if self._stall_timer is None:
            self._expect_less(self._transport.get_write_buffer_size())

    def _expect_less(self, unsent_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self._stall_timer = loop.call_later(self._limits.write_stall_s, self._check_stall, unsent_bytes)

    def _check_stall(self, unsent_before: int) -> None:
        unsent = self._transport.get_write_buffer_size()
        if unsent < unsent_before:
            self._expect_less(unsent)
            return
        self._service.statistics.dropped["slow_reader"] += 1
        self._transport.abort()


def _is_being_cancelled() -> bool:
    """Whether this task itself was cancelled, and not just something that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _cancellation(name: str, method: Method, why: ErrorCode) -> RpcError:
    return RpcError(why, f"{name}: {CANCEL_MESSAGES[why].format(timeout_s=method.timeout_s)}")
