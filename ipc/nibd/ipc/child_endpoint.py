"""The child's end of the pipes to the daemon: synchronous, for processes that compute.

The framing is python-lsp-jsonrpc's, since the parent is trusted; what it gets wrong is made good here:
its writer swallows what can't be encoded (a reply would be lost and the parent wait for ever), so each
write is checked to have come out, and NaN is refused.

Threads: one reads requests into a queue; the child's own threads take them with `receive`, and reply
and notify from wherever they are. The end of stdin means that the parent is gone or wants this process
gone: the reading thread then calls `on_end` and ends the process at once, however busy it is. A child
that never lets go of the interpreter lock is ended by the death signal when the parent dies, and by
`ChildProcess.stop` otherwise.

`over_stdio` keeps descriptor 1 for itself and points it at stderr, so that a stray print, or a
library's, can't corrupt frames; stdin likewise reads as empty.
"""

from __future__ import annotations

import ctypes
import logging
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import BinaryIO, Self

from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

from nibd.ipc.framing import check_message
from nibd.ipc.messages import (
    CANCEL_METHOD,
    ErrorCode,
    Json,
    JsonObject,
    Notification,
    Request,
    RequestId,
    RpcError,
    progress,
)

PR_SET_PDEATHSIG = 1


class ChildRequest:
    """A request of the parent; `reply` or `fail` it exactly once, from any thread."""

    def __init__(self, endpoint: ChildEndpoint, request: Request) -> None:
        self._endpoint = endpoint
        self.id = request.id
        self.method = request.method
        self.params: JsonObject = request.params if isinstance(request.params, dict) else {}
        self.cancelled = threading.Event()
        """Set when the parent no longer wants the answer; fail it with CANCELLED when convenient."""

    def reply(self, result: Json) -> None:
        """Answer. A result that JSON can't carry is answered as an internal error, and raised here."""
        try:
            self._answer({"result": result})
        except ValueError as error:
            self.fail(RpcError(ErrorCode.INTERNAL, f"{self.method}: {error}"))
            raise

    def fail(self, error: RpcError) -> None:
        data = {} if error.data is None else {"data": error.data}
        self._answer({"error": {"code": int(error.code), "message": error.message} | data})

    def notify(self, method: str, value: Json) -> None:
        """Tell the caller of this request about its progress."""
        message = progress(self.id, method, value)
        self._endpoint.notify(message.method, message.params)

    def _answer(self, outcome: JsonObject) -> None:
        self._endpoint.write({"jsonrpc": "2.0", "id": self.id} | outcome)
        self._endpoint.forget(self.id)


class ChildEndpoint:
    """See the module. Made once, in the main thread, before the child starts its work."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO, on_end: Callable[[], None] | None = None) -> None:
        """Starts the reading thread. `on_end` runs in it; keep it short (end own children, no more)."""
        self._reader = JsonRpcStreamReader(stdin)
        self._out = _CountingFile(stdout)
        logging.getLogger("pylsp_jsonrpc.streams").addFilter(_not_a_failed_write)
        self._writer = JsonRpcStreamWriter(
            self._out, ensure_ascii=True, allow_nan=False, escape_forward_slashes=False
        )
        self._write_lock = threading.Lock()
        self._received: queue.SimpleQueue[ChildRequest | Notification] = queue.SimpleQueue()
        self._open: dict[RequestId, ChildRequest] = {}
        self._on_end = on_end
        threading.Thread(target=self._read, name="parent-reader", daemon=True).start()

    @classmethod
    def over_stdio(
        cls, on_end: Callable[[], None] | None = None, death_signal: int | None = signal.SIGKILL
    ) -> Self:
        """Take over this process's stdin and stdout.

        `death_signal` is what the kernel sends when the parent dies (Linux). SIGKILL leaves `on_end`
        no time to run: give None where it must.
        """
        if death_signal is not None:
            _die_with_parent(death_signal)
        sys.stdout.flush()
        stdin, stdout = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        return cls(os.fdopen(stdin, "rb"), os.fdopen(stdout, "wb"), on_end)

    def receive(self, timeout_s: float | None = None) -> ChildRequest | Notification | None:
        """The next request or notification; None when none comes in time. None waits for ever."""
        try:
            return self._received.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def notify(self, method: str, params: JsonObject | list[Json] | None = None) -> None:
        """Tell the parent something that belongs to no request. Raises ValueError as `write` does."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        self.write(message if params is None else message | {"params": params})

    def write(self, message: JsonObject) -> None:
        """Send one message whole. Raises ValueError when it is not JSON or the parent is gone."""
        with self._write_lock:
            before = self._out.written
            self._writer.write(message)
            if self._out.written == before:
                raise ValueError("the message is not JSON (NaN, bytes, an object), or the pipe is closed")

    def forget(self, request_id: RequestId) -> None:
        """For ChildRequest: it is answered."""
        self._open.pop(request_id, None)

    def _read(self) -> None:
        status = 1
        try:
            self._reader.listen(self._take)
            status = 0
        finally:
            self._end(status)

    def _end(self, status: int) -> None:
        try:
            if sys.exception() is not None:
                traceback.print_exc()
            if self._on_end is not None:
                self._on_end()
        finally:
            os._exit(status)

    def _take(self, value: Json) -> None:
        message = check_message(value)
        if isinstance(message, Request):
            request = ChildRequest(self, message)
            self._open[request.id] = request
            self._received.put(request)
        elif isinstance(message, Notification) and message.method == CANCEL_METHOD:
            params = message.params if isinstance(message.params, dict) else {}
            open_request = self._open.get(params.get("id", ""))
            if open_request is not None:
                open_request.cancelled.set()
        elif isinstance(message, Notification):
            self._received.put(message)
        else:
            raise RuntimeError(f"the parent sent what is neither request nor notification: {message!r}")


class _CountingFile:
    """Counts whole frames that were flushed, which the writer does not report."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.written = 0

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: bytes) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()
        self.written += 1

    def close(self) -> None:
        self._file.close()


def _not_a_failed_write(record: logging.LogRecord) -> bool:
    """A failed write is raised by `ChildEndpoint.write`; its log record would hold the whole message."""
    return not str(record.msg).startswith("Failed to write")


def _die_with_parent(death_signal: int) -> None:
    """Linux only; elsewhere the end of stdin has to do. A parent that died before is seen there too."""
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is not None and prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
