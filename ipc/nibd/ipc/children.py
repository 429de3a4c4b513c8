"""The daemon's end of the pipes to a child process: calls, notifications, death.

A child speaks JSON-RPC over its stdin and stdout (`child_endpoint` is its side) and writes free text to
stderr. Its stdin's end tells it to end itself. When it dies, or writes something else than frames
(then it is killed), every call that waits fails with `ChildDied`, which carries the end of stderr.

It is a session of its own: a terminal's Ctrl-C reaches only the daemon, and killing reaches what the
child started. All of it runs on one event loop; spawn from the loop's thread, since the kernel ties a
child's death signal to the thread that started it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from nibd.ipc.framing import Frame, Malformed, Parser, encode
from nibd.ipc.messages import (
    CANCEL_METHOD,
    ErrorCode,
    ErrorResponse,
    IpcError,
    Json,
    JsonObject,
    Notification,
    Request,
    Response,
    RpcError,
    progress_of,
)

MAX_MESSAGE_BYTES = 256 * 1024 * 1024
STDERR_TAIL_BYTES = 8192
LAST_OUTPUT_S = 1.0
"""How long after its death output is awaited: what the child started may hold the pipes open."""

OnNotification: TypeAlias = Callable[[str, Json], None]
OnStderr: TypeAlias = Callable[[bytes], None]


class ChildDied(IpcError):  # noqa: N818 - reads as what it is
    """The child ended, with calls unanswered or before one was made. `returncode` as subprocess has it."""

    def __init__(
        self, returncode: int, stderr_tail: str, why: str | None = None, name: str = "child process"
    ) -> None:
        if why is None:
            why = (
                f"was ended by {_signal_name(-returncode)}" if returncode < 0 else f"exited with {returncode}"
            )
        super().__init__(f"the {name} {why}" + (f"; its last words: {stderr_tail}" if stderr_tail else ""))
        self.returncode = returncode
        self.stderr_tail = stderr_tail


class ChildProcess:
    """A running child. Made by `spawn`."""

    def __init__(self, name: str, on_notification: OnNotification | None, on_stderr: OnStderr | None) -> None:
        self._name = name
        self._on_notification = on_notification
        self._wire = _Wire(self._take, on_stderr)
        self._calls: dict[int, tuple[asyncio.Future[Json], OnNotification | None]] = {}
        self._last_id = 0
        self._breach: str | None = None
        self._wire.ended.add_done_callback(self._fail_calls)

    @classmethod
    async def spawn(
        cls,
        argv: Sequence[str],
        *,
        name: str = "child process",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        on_notification: OnNotification | None = None,
        on_stderr: OnStderr | None = None,
    ) -> ChildProcess:
        """Start `argv` with exactly `env` (None: the daemon's own). Raises OSError when it can't.

        `on_notification` gets what belongs to no call; `on_stderr` the child's free text as it comes,
        in arbitrary pieces. `name` is what its death is told by.
        """
        child = cls(name, on_notification, on_stderr)
        await asyncio.get_running_loop().subprocess_exec(
            lambda: child._wire, *argv, env=env, cwd=cwd, start_new_session=True
        )
        return child

    @property
    def pid(self) -> int:
        return self._wire.transport.get_pid()

    @property
    def returncode(self) -> int | None:
        """None while it lives."""
        return self._wire.transport.get_returncode()

    async def call(
        self,
        method: str,
        params: JsonObject | None = None,
        on_notification: OnNotification | None = None,
        timeout_s: float | None = None,
        unwanted: asyncio.Event | None = None,
    ) -> Json:
        """The child's answer. When the caller is cancelled or out of time, the child is told so.

        When `unwanted` is set the child is told too, and its answer awaited all the same: for a
        caller that must know when the child has really let go.
        `on_notification(method, value)` gets what the child reports about this call.
        Raises RpcError (the child's, or TIMEOUT), ChildDied, and TypeError or ValueError for params that
        JSON can't carry.
        """
        self._last_id += 1
        request_id = self._last_id
        frame = encode(Request(request_id, method, params))
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._calls[request_id] = future, on_notification
        teller = None
        try:
            async with asyncio.timeout(timeout_s):
                await self._send(frame)
                if unwanted is not None:  # from now on: before the request the child would make nothing of it
                    teller = asyncio.ensure_future(self._tell(unwanted, request_id))
                return await future
        except TimeoutError as error:
            self._cancel(request_id)
            raise RpcError(
                ErrorCode.TIMEOUT, f"{method}: the child did not answer in {timeout_s} s"
            ) from error
        except asyncio.CancelledError:
            self._cancel(request_id)
            raise
        finally:
            del self._calls[request_id]
            if teller is not None:
                teller.cancel()

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification. Raises ChildDied."""
        await self._send(encode(Notification(method, params)))

    async def wait(self) -> int:
        """The return code, once the child has ended and its output was read."""
        return await asyncio.shield(self._wire.ended)

    async def stop(self, grace_s: float = 2.0) -> int:
        """End its stdin, which ends a child in order; after each `grace_s`, SIGTERM, then SIGKILL."""
        self._wire.close_stdin()
        for number in (signal.SIGTERM, signal.SIGKILL):
            await asyncio.wait([self._wire.ended], timeout=grace_s)
            if self._wire.ended.done():
                break
            self._signal(number)
        return await self.wait()

    def kill(self) -> None:
        """End it, and what it started, without ceremony; `wait` tells when it is gone."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.returncode is None:  # not reaped yet, so the group's id is still its own
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return  # it has just ended

    async def _send(self, frame: bytes) -> None:
        await self._wire.writable()
        if self._wire.ended.done():
            raise self._death()
        self._wire.write(frame)

    async def _tell(self, unwanted: asyncio.Event, request_id: int) -> None:
        await unwanted.wait()
        self._cancel(request_id)

    def _cancel(self, request_id: int) -> None:
        """Written even when the pipe is full: small, and one for each call at most."""
        self._wire.write(encode(Notification(CANCEL_METHOD, {"id": request_id})))

    def _take(self, frame: Frame) -> None:
        match frame:
            case Response(request_id, result):
                future = self._future(request_id)
                if future is not None:
                    future.set_result(result)
            case ErrorResponse(request_id, error):
                future = self._future(request_id)
                if future is not None:
                    future.set_exception(error)
            case Notification():
                self._take_notification(frame)
            case Malformed(_, error, _):
                self._breach = f"sent what is no message ({error.message})"
                self.kill()
            case Request():
                self._breach = f"sent a request ({frame.method}), which it may not"
                self.kill()

    def _future(self, request_id: object) -> asyncio.Future[Json] | None:
        """Of a call that still waits: one that was given up is answered too, to nobody."""
        call = self._calls.get(request_id) if isinstance(request_id, int) else None
        return call[0] if call is not None and not call[0].done() else None

    def _take_notification(self, notification: Notification) -> None:
        about = progress_of(notification)
        if about is None:
            if self._on_notification is not None:
                self._report(self._on_notification, notification.method, notification.params)
            return
        call = self._calls.get(about[0]) if isinstance(about[0], int) else None
        if call is not None and call[1] is not None:
            self._report(call[1], notification.method, about[1])

    def _report(self, callback: OnNotification, method: str, value: Json) -> None:
        """Apart from reading, which a fault of the callback would end; still before a later answer."""
        asyncio.get_running_loop().call_soon(callback, method, value)

    def _fail_calls(self, _: asyncio.Future[int]) -> None:
        for future, _on_notification in self._calls.values():
            if not future.done():
                future.set_exception(self._death())

    def _death(self) -> ChildDied:
        return ChildDied(self._wire.ended.result(), self._wire.stderr_tail(), self._breach, self._name)


class _Wire(asyncio.SubprocessProtocol):
    """The pipes. `ended` has the return code once the child is dead and its last output was taken."""

    transport: asyncio.SubprocessTransport

    def __init__(self, take: Callable[[Frame], None], on_stderr: OnStderr | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._take = take
        self._on_stderr = on_stderr
        self._parser = Parser(max_body_bytes=MAX_MESSAGE_BYTES)
        self._tail = b""
        self._open_outputs = {1, 2}
        self._room: asyncio.Future[None] | None = None
        self.ended: asyncio.Future[int] = self._loop.create_future()

    def write(self, frame: bytes) -> None:
        stdin = self._stdin()
        if not stdin.is_closing():
            stdin.write(frame)

    def close_stdin(self) -> None:
        self._stdin().close()

    def _stdin(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self.transport.get_pipe_transport(0))

    async def writable(self) -> None:
        """Wait until the pipe takes more, or the child is dead."""
        while self._room is not None:
            await asyncio.shield(self._room)

    def stderr_tail(self) -> str:
        return self._tail.decode("utf-8", "replace").strip()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            for frame in self._parser.feed(data):
                self._take(frame)
            return
        self._tail = (self._tail + data)[-STDERR_TAIL_BYTES:]
        if self._on_stderr is not None:
            self._loop.call_soon(self._on_stderr, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open_outputs.discard(fd)
        self._resolve()

    def process_exited(self) -> None:
        self._resolve()
        self._loop.call_later(LAST_OUTPUT_S, self._give_up_output)

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._room is not None:
            self._room.set_result(None)
            self._room = None

    def _resolve(self) -> None:
        returncode = self.transport.get_returncode()
        if returncode is not None and not self._open_outputs and not self.ended.done():
            self.ended.set_result(returncode)
            self.resume_writing()

    def _give_up_output(self) -> None:
        self._open_outputs.clear()
        self._resolve()
        self.transport.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
