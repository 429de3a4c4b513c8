"""The daemon's side of the wire: accepts clients of the same user and runs handlers for them.

What one client may cost is in `Limits`; how it is held to that, in `connection`. This module knows
only methods and handlers, nothing of what they mean, and it does not log: what a handler raised goes,
with the id that the client was told, to `on_internal_error`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from nibd.ipc.connection import Connection
from nibd.ipc.handlers import Handler, Limits, Method
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.ipc.sockets import Peer
from nibd.ipc.statistics import MethodStatistics, Statistics

CANCEL_GRACE_S = 1.0

OnInternalError: TypeAlias = Callable[[str, str, BaseException], None]
"""Given the error's id, the method, and what the handler raised."""


class Server:
    """Serves `handlers` on one listening socket. All of it runs on one event loop."""

    def __init__(
        self,
        handlers: Mapping[str, Handler | Method],
        on_internal_error: OnInternalError,
        limits: Limits | None = None,
        uid: int | None = None,
    ) -> None:
        """`uid` is whose clients are served; the process's own by default."""
        self.limits = limits or Limits()
        self.methods: Mapping[str, Method] = {
            name: given if isinstance(given, Method) else Method(given, self.limits.request_timeout_s)
            for name, given in handlers.items()
        }
        self.statistics = Statistics({name: MethodStatistics() for name in self.methods})
        self.closing = False
        self._on_internal_error = on_internal_error
        self._uid = os.getuid() if uid is None else uid
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._empty = asyncio.Event()

    async def serve(self, listener: socket.socket) -> None:
        """Accept from a socket of `sockets.listen` or `sockets.adopt`; returns once it does."""
        loop = asyncio.get_running_loop()
        if sys.version_info >= (3, 13):
            self._server = await loop.create_unix_server(
                lambda: Connection(self), sock=listener, cleanup_socket=False
            )
        else:
            self._server = await loop.create_unix_server(lambda: Connection(self), sock=listener)

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no more, let running requests end within `grace_s`, cancel the rest, disconnect.

        Requests of methods without a time limit are cancelled at once. The socket file stays: it is
        removed by the one who holds the daemon's lock.
        """
        self.closing = True
        if self._server is not None:
            self._server.close()
        self._cancel(only_unbounded=True)
        await _ended(self._tasks(), grace_s)
        self._cancel(only_unbounded=False)
        await _ended(self._tasks(), CANCEL_GRACE_S)
        await self._disconnect()

    async def _disconnect(self) -> None:
        for connection in list(self._connections):
            connection.close()
        try:
            async with asyncio.timeout(CANCEL_GRACE_S):
                while self._connections:
                    self._empty.clear()
                    await self._empty.wait()
        except TimeoutError:
            for connection in list(self._connections):
                connection.abort()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [task for connection in self._connections for task in connection.tasks]

    def _cancel(self, only_unbounded: bool) -> None:
        for connection in list(self._connections):
            connection.cancel_all(ErrorCode.SHUTTING_DOWN, only_unbounded)

    def statistics_json(self) -> JsonObject:
        """Counts since the start, and what is open now."""
        now = {"clients": len(self._connections), "in_flight": len(self._tasks())}
        return now | self.statistics.as_json()

    # What connections call

    def is_own(self, peer: Peer) -> bool:
        if peer.uid == self._uid:
            return True
        self.statistics.refused["foreign_uid"] += 1
        return False

    def admit(self, connection: Connection, peer: Peer) -> RpcError | None:
        if len(self._connections) >= self.limits.max_clients:
            self.statistics.refused["too_many"] += 1
            limit = self.limits.max_clients
            return RpcError(ErrorCode.BUSY, f"{limit} clients are connected already; close one, or wait")
        self._connections.add(connection)
        self.statistics.clients_total += 1
        return None

    def leave(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def internal_error(self, method: str, error: BaseException) -> RpcError:
        error_id = secrets.token_hex(4)
        self._on_internal_error(error_id, method, error)
        message = f"{method} failed inside the daemon; its log has the details under {error_id}"
        return RpcError(ErrorCode.INTERNAL, message, {"error_id": error_id})


async def _ended(tasks: Collection[asyncio.Task[None]], timeout_s: float) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=timeout_s)
