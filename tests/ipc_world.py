"""What the tests of clients and server share: a server whose handlers tests steer, a client of raw bytes."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nibd.ipc import sockets
from nibd.ipc.framing import Frame, Parser, encode
from nibd.ipc.handlers import Limits, Method, RequestContext
from nibd.ipc.messages import (
    ErrorCode,
    ErrorResponse,
    JsonObject,
    Notification,
    Request,
    RpcError,
)
from nibd.ipc.server import Server
from waiting import wait_until

LIMITS = Limits(
    max_request_bytes=100_000,
    max_response_bytes=3_000_000,
    max_clients=8,
    max_in_flight=4,
    request_timeout_s=60,
    frame_timeout_s=60,
    write_buffer_bytes=100_000,
    write_stall_s=60,
)
IMPATIENT = replace(LIMITS, frame_timeout_s=0.2, write_stall_s=0.3)


class Service:
    """Handlers that tests steer; each `hold` waits for the test to let it go."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.started: list[str] = []
        self.ended: list[tuple[str, str]] = []
        self.told_threads: list[ErrorCode | None] = []
        self.internal_errors: list[tuple[str, str, BaseException]] = []

    def handlers(self) -> dict[str, Any]:
        return {
            "echo": self.echo,
            "hold": self.hold,
            "hold_short": Method(self.hold, 0.05),
            "hold_unbounded": Method(self.hold, None),
            "refuse": self.refuse,
            "crash": self.crash,
            "cancelled_inside": self.cancelled_inside,
            "unsendable": self.unsendable,
            "unsendable_error": self.unsendable_error,
            "large": self.large,
            "count": self.count,
            "peer": self.peer,
        }

    async def echo(self, params: JsonObject, context: RequestContext) -> JsonObject:
        return params

    async def hold(self, params: JsonObject, context: RequestContext) -> str:
        name = str(params["name"])
        gate = self.gates.setdefault(name, asyncio.Event())
        context.on_cancel(lambda: self.told_threads.append(context.cancelled))
        self.started.append(name)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.ended.append((name, "cancelled"))
            raise
        self.ended.append((name, "done"))
        return name

    async def refuse(self, params: JsonObject, context: RequestContext) -> None:
        raise RpcError(ErrorCode.VIEW_ABSENT, "no dense view here; install nibd[dense]", {"view": "dense"})

    async def crash(self, params: JsonObject, context: RequestContext) -> None:
        raise KeyError("secret detail")

    async def cancelled_inside(self, params: JsonObject, context: RequestContext) -> None:
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lost.cancel()
        await lost

    async def unsendable(self, params: JsonObject, context: RequestContext) -> Any:
        return {"score": float("nan")} if params["what"] == "nan" else {"path": b"bytes"}

    async def unsendable_error(self, params: JsonObject, context: RequestContext) -> None:
        raise RpcError(ErrorCode.BUSY, "busy", object())

    async def large(self, params: JsonObject, context: RequestContext) -> str:
        return "x" * int(params["size"])

    async def count(self, params: JsonObject, context: RequestContext) -> str:
        for number in range(int(params["to"])):
            await context.notify("counted", {"number": number, "padding": "x" * int(params.get("pad", 0))})
        return "counted"

    async def peer(self, params: JsonObject, context: RequestContext) -> list[int]:
        return [context.peer.pid, context.peer.uid]


class Running:
    """A server in a thread of its own; the tests are its clients."""

    def __init__(self, path: Path, limits: Limits = LIMITS, uid: int | None = None) -> None:
        self.path = path
        self.service = Service()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = Server(
            self.service.handlers(), lambda *seen: self.service.internal_errors.append(seen), limits, uid
        )
        self.run(self.server.serve(sockets.listen(path)))

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def let_go(self, name: str) -> None:
        self.loop.call_soon_threadsafe(self.service.gates[name].set)

    def statistics(self) -> JsonObject:
        async def read() -> JsonObject:
            return self.server.statistics_json()

        statistics: JsonObject = self.run(read())
        return statistics

    def wait_started(self, *names: str) -> None:
        wait_until(lambda: set(names) <= set(self.service.started), what=f"{names} to start")

    def wait_ended(self, name: str, how: str) -> None:
        wait_until(lambda: (name, how) in self.service.ended, what=f"{name} to be {how}")

    def wait_count(self, *keys: str, value: int = 1) -> None:
        def current() -> Any:
            found: Any = self.statistics()
            for key in keys:
                found = found.get(key, {})
            return found

        wait_until(lambda: current() == value, what=f"{keys} to be {value}")

    def end(self) -> None:
        self.run(self.server.close(grace_s=0))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class Raw:
    """A client that sends whatever bytes it likes."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self.parser = Parser(max_body_bytes=10**9)
        self.frames: list[Frame] = []

    def send(self, *data: bytes) -> None:
        self.socket.sendall(b"".join(data))

    def ask(self, *requests: Request | Notification) -> None:
        self.send(*map(encode, requests))

    def receive(self) -> Frame:
        while not self.frames:
            data = self.socket.recv(65536)
            assert data, "the server closed the connection"
            self.frames += self.parser.feed(data)
        return self.frames.pop(0)

    def fault(self) -> tuple[Any, int]:
        got = self.receive()
        assert isinstance(got, ErrorResponse), got
        return got.id, got.error.code

    def is_closed(self) -> bool:
        try:
            return not self.frames and self.socket.recv(65536) == b""
        except ConnectionResetError:
            return True


@pytest.fixture
def path(isolated_home: Path) -> Path:
    del isolated_home
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "nibd"
    sockets.prepare_folder(folder, os.getuid())
    return folder / "nibd.sock"


@pytest.fixture
def running(path: Path) -> Iterator[Running]:
    server = Running(path)
    yield server
    server.end()


@pytest.fixture
def impatient(path: Path) -> Iterator[Running]:
    server = Running(path, IMPATIENT)
    yield server
    server.end()


@pytest.fixture
def slow(impatient: Running) -> Iterator[Raw]:
    client = Raw(impatient.path)
    yield client
    client.socket.close()


@pytest.fixture
def raw(running: Running) -> Iterator[Raw]:
    client = Raw(running.path)
    yield client
    client.socket.close()
