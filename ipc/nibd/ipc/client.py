"""The synchronous client: what the command line speaks with.

One connection, one call at a time. Light on purpose, since a command's time is mostly imports: no
asyncio, no logging, and not python-lsp-jsonrpc's streams (importing them costs 25 ms here, as much as
the interpreter; they have no time limit and would take an unbounded reply).

The daemon's uid is checked as the daemon checks ours: in the fallback folder under /tmp another user
could have been first.
"""

from __future__ import annotations

import errno
import math
import os
import socket
import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self, TypeAlias

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

MAX_REPLY_BYTES = 256 * 1024 * 1024
RECEIVE_BYTES = 256 * 1024

OnNotification: TypeAlias = Callable[[str, Json], None]
Unavailable: TypeAlias = Literal["not_running", "permission", "foreign", "lost"]


class DaemonUnavailable(IpcError):  # noqa: N818 - reads as what it is
    """No daemon answers. `reason` is for callers that act on it (start one, for `not_running`)."""

    def __init__(self, reason: Unavailable, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Client:
    """A connection to the daemon; connects when made. Use as a context manager. Not thread-safe."""

    def __init__(self, path: str | os.PathLike[str], timeout_s: float = 30.0) -> None:
        """`timeout_s` bounds connecting and, unless a call says otherwise, each call."""
        self._path = os.fspath(path)
        self._timeout_s = timeout_s
        self._parser = Parser(max_body_bytes=MAX_REPLY_BYTES)
        self._received: list[Frame] = []
        self._last_id = 0
        self._socket = _connect(self._path, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect; the daemon cancels what was still asked."""
        self._socket.close()

    def call(
        self,
        method: str,
        params: JsonObject | None = None,
        on_notification: OnNotification | None = None,
        timeout_s: float | None = None,
    ) -> Json:
        """The result of one request. `timeout_s` bounds the whole call; `math.inf` is no bound.

        `on_notification(method, value)` is called for what the daemon reports meanwhile.
        Raises RpcError (TIMEOUT for our own bound too; the daemon is then told to cancel),
        DaemonUnavailable, and TypeError or ValueError for params that JSON can't carry.
        """
        self._last_id += 1
        request_id = self._last_id
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        try:
            self._send(encode(Request(request_id, method, params)), deadline)
            return self._await_reply(request_id, on_notification, deadline)
        except TimeoutError as error:
            self._cancel(request_id)
            raise RpcError(
                ErrorCode.TIMEOUT,
                f"no answer to {method} in time; 'nibd status' shows whether the daemon is at work",
            ) from error
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from error

    def _await_reply(self, request_id: int, on_notification: OnNotification | None, deadline: float) -> Json:
        while True:
            message = self._receive(deadline)
            if isinstance(message, Notification):
                _report(message, request_id, on_notification)
            elif isinstance(message, Malformed):
                self.close()
                raise DaemonUnavailable("lost", f"{self._path} does not speak our protocol: {message.error}")
            elif isinstance(message, ErrorResponse) and message.id in (request_id, None):
                raise message.error
            elif isinstance(message, Response) and message.id == request_id:
                return message.result
            # else a late answer to a call that we gave up

    def _receive(self, deadline: float) -> Frame:
        while not self._received:
            self._set_timeout(deadline)
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise self._lost("it closed the connection")
            self._received = self._parser.feed(data)
        return self._received.pop(0)

    def _send(self, frame: bytes, deadline: float) -> None:
        self._set_timeout(deadline)
        try:
            self._socket.sendall(frame)
        except (BrokenPipeError, ConnectionResetError):
            return  # it closed, perhaps after saying why: reading finds the answer, or the end
        except TimeoutError:
            self.close()  # part of a frame is out: nothing can follow it
            raise

    def _set_timeout(self, deadline: float) -> None:
        if math.isinf(deadline):
            self._socket.settimeout(None)
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def _cancel(self, request_id: int) -> None:
        if self._socket.fileno() < 0:
            return
        self._socket.settimeout(0.1)
        try:
            self._socket.sendall(encode(Notification(CANCEL_METHOD, {"id": request_id})))
        except OSError:
            self.close()  # disconnecting cancels as well

    def _lost(self, what: str) -> DaemonUnavailable:
        self.close()
        return DaemonUnavailable(
            "lost", f"lost the connection to the daemon at {self._path} ({what}); ask again, or see its log"
        )


def _report(message: Notification, request_id: int, on_notification: OnNotification | None) -> None:
    progress = progress_of(message)
    if on_notification is None or (progress is not None and progress[0] != request_id):
        return
    on_notification(message.method, progress[1] if progress is not None else message.params)


def _connect(path: str, timeout_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(None if math.isinf(timeout_s) else timeout_s)
        connection.connect(path)
        _, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid != os.getuid():
            raise DaemonUnavailable(
                "foreign", f"uid {uid}, not you, listens on {path}; set XDG_RUNTIME_DIR to a folder of yours"
            )
    except OSError as error:
        connection.close()
        raise _unavailable(path, error) from error
    except DaemonUnavailable:
        connection.close()
        raise
    return connection


def _unavailable(path: str, error: OSError) -> DaemonUnavailable:
    if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR):
        return DaemonUnavailable("not_running", f"no daemon listens on {path}; start it with 'nibd serve'")
    if error.errno in (errno.EACCES, errno.EPERM):
        return DaemonUnavailable(
            "permission", f"{path} is closed to you: look at the owner and mode of it and its folder"
        )
    what = error.strerror or str(error)
    return DaemonUnavailable("lost", f"the daemon at {path} does not let us in ({what}); see its log")
