"""Clients and the server over real sockets: answers, limits, hostile and slow clients, shutdown."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nibd.ipc import sockets
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.framing import Frame, Parser, encode
from nibd.ipc.handlers import Limits, Method, RequestContext
from nibd.ipc.messages import (
    CANCEL_METHOD,
    ErrorCode,
    ErrorResponse,
    JsonObject,
    Notification,
    Request,
    Response,
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


# Answers


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"result": 1, "error": {"code": 1}, "id": None, "jsonrpc": "x"},
        {"path": os.fsdecode(b"odd\xff\x80name"), "é": "\x00\u2028", "n": 2**70, "f": 1e-300, "deep": [[[]]]},
        {"text": "x" * 90_000},
    ],
)
def test_a_value_comes_back_as_it_went(running: Running, value: JsonObject) -> None:
    with Client(running.path) as client:
        assert client.call("echo", value) == value


def test_a_refusal_reaches_the_client_whole(running: Running) -> None:
    with Client(running.path) as client:
        with pytest.raises(RpcError, match=r"install nibd\[dense\]") as caught:
            client.call("refuse")
        assert caught.value.code is ErrorCode.VIEW_ABSENT
        assert caught.value.data == {"view": "dense"}
        assert client.call("echo", {"still": "open"}) == {"still": "open"}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crash", {}),
        ("cancelled_inside", {}),
        ("unsendable", {"what": "nan"}),
        ("unsendable", {"what": "bytes"}),
        ("unsendable_error", {}),
    ],
)
def test_a_fault_of_a_handler_is_reported_inside_and_only_named_outside(
    running: Running, method: str, params: JsonObject
) -> None:
    with Client(running.path) as client, pytest.raises(RpcError) as caught:
        client.call(method, params)
    assert caught.value.code is ErrorCode.INTERNAL
    assert "secret" not in str(caught.value)
    ((error_id, _, error),) = running.service.internal_errors
    assert caught.value.data == {"error_id": error_id}
    assert error_id in caught.value.message
    if method == "crash":
        assert isinstance(error, KeyError)


def test_an_unknown_method_is_told_what_there_is(running: Running) -> None:
    with Client(running.path) as client, pytest.raises(RpcError, match=r"no method 'ech'.*echo") as caught:
        client.call("ech")
    assert caught.value.code is ErrorCode.METHOD_NOT_FOUND
    assert "ech" not in running.statistics()["methods"]


def test_positional_params_are_refused(raw: Raw) -> None:
    raw.ask(Request(1, "echo", [1]))
    assert raw.fault() == (1, ErrorCode.INVALID_PARAMS)


def test_the_handler_knows_its_client(running: Running) -> None:
    with Client(running.path) as client:
        assert client.call("peer") == [os.getpid(), os.getuid()]


def test_answers_come_as_they_are_ready(running: Running, raw: Raw) -> None:
    raw.ask(Request("a", "hold", {"name": "a"}), Request("b", "hold", {"name": "b"}), Request(3, "echo", {}))
    assert raw.receive() == Response(3, {})
    running.wait_started("a", "b")
    running.let_go("b")
    assert raw.receive() == Response("b", "b")
    running.let_go("a")
    assert raw.receive() == Response("a", "a")


def test_many_clients_at_once(running: Running) -> None:
    def ask(number: int) -> bool:
        with Client(running.path) as client:
            return all(
                client.call("echo", {"n": [number, turn]})["n"] == [number, turn] for turn in range(100)
            )

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(ask, range(6)))
    running.wait_count("clients", value=0)
    statistics = running.statistics()
    assert statistics["clients_total"] == 6
    assert statistics["methods"]["echo"]["requests"] == 600
    assert statistics["methods"]["echo"]["errors"] == 0


def test_progress_arrives_before_the_answer(running: Running) -> None:
    seen: list[tuple[str, int]] = []
    with Client(running.path) as client:
        result = client.call("count", {"to": 5}, lambda method, value: seen.append((method, value["number"])))
    assert result == "counted"
    assert seen == [("counted", number) for number in range(5)]


# Cancellation, time limits, disconnection


def test_a_cancelled_request_is_answered_once_as_cancelled(running: Running, raw: Raw) -> None:
    raw.ask(Request(1, "hold", {"name": "a"}))
    running.wait_started("a")
    raw.ask(Notification(CANCEL_METHOD, {"id": 1}), Notification(CANCEL_METHOD, {"id": 1}))
    assert raw.fault() == (1, ErrorCode.CANCELLED)
    assert running.service.ended == [("a", "cancelled")]
    assert running.service.told_threads == [ErrorCode.CANCELLED]
    raw.ask(Request(1, "echo", {"id": "free again"}))
    assert raw.receive() == Response(1, {"id": "free again"})


def test_a_request_cancelled_before_it_began_is_answered(running: Running, raw: Raw) -> None:
    raw.ask(Request(1, "hold", {"name": "a"}), Notification(CANCEL_METHOD, {"id": 1}))
    assert raw.fault() == (1, ErrorCode.CANCELLED)
    assert running.service.started == []


@pytest.mark.parametrize("params", [None, [1], {}, {"id": 99}, {"id": True}, {"id": [1]}, {"id": None}])
def test_cancelling_nothing_does_nothing(raw: Raw, params: Any) -> None:
    raw.ask(Notification(CANCEL_METHOD, params), Notification("unheard"), Request(1, "echo", {}))
    assert raw.receive() == Response(1, {})


def test_a_request_past_its_time_limit_is_ended(running: Running) -> None:
    with Client(running.path) as client:
        with pytest.raises(RpcError, match=r"hold_short: not done within 0.05 s") as caught:
            client.call("hold_short", {"name": "a"})
        assert client.call("echo") == {}
    assert caught.value.code is ErrorCode.TIMEOUT
    assert running.service.ended == [("a", "cancelled")]


def test_a_client_out_of_patience_cancels_and_goes_on(running: Running) -> None:
    with Client(running.path) as client:
        with pytest.raises(RpcError, match="no answer to hold in time") as caught:
            client.call("hold", {"name": "a"}, timeout_s=0.5)
        assert caught.value.code is ErrorCode.TIMEOUT
        running.wait_ended("a", "cancelled")
        assert client.call("echo", {"n": 2}) == {"n": 2}


def test_a_client_that_leaves_cancels_its_requests_only(running: Running, raw: Raw) -> None:
    other = Raw(running.path)
    other.ask(Request(1, "hold", {"name": "other"}))
    raw.ask(Request(1, "hold", {"name": "a"}), Request(2, "hold", {"name": "b"}))
    running.wait_started("a", "b", "other")
    raw.socket.close()
    running.wait_ended("a", "cancelled")
    running.wait_ended("b", "cancelled")
    running.let_go("other")
    assert other.receive() == Response(1, "other")
    other.socket.close()


def test_a_client_killed_in_the_midst_is_cleaned_up(running: Running) -> None:
    code = "import sys; from nibd.ipc.client import Client; Client(sys.argv[1]).call('hold', {'name': 'a'})"
    client = subprocess.Popen([sys.executable, "-c", code, str(running.path)])
    running.wait_started("a")
    client.kill()
    client.wait()
    running.wait_ended("a", "cancelled")
    running.wait_count("clients", value=0)


# Limits and hostile clients


def test_requests_past_the_limit_are_busy_and_a_cancel_behind_them_is_seen(
    running: Running, raw: Raw
) -> None:
    raw.ask(*(Request(number, "hold", {"name": str(number)}) for number in range(5)))
    assert raw.fault() == (4, ErrorCode.BUSY)
    raw.ask(Notification(CANCEL_METHOD, {"id": 0}))
    assert raw.fault() == (0, ErrorCode.CANCELLED)
    raw.ask(Request(9, "echo", {}))
    assert raw.receive() == Response(9, {})
    assert running.statistics()["errors"] == {"busy": 1, "cancelled": 1}


def test_an_id_in_use_is_refused_without_that_id(running: Running, raw: Raw) -> None:
    raw.ask(Request(1, "hold", {"name": "a"}), Request(1, "echo", {}))
    assert raw.fault() == (None, ErrorCode.INVALID_REQUEST)
    running.wait_started("a")
    running.let_go("a")
    assert raw.receive() == Response(1, "a")


def test_clients_past_the_limit_are_told_and_closed(running: Running) -> None:
    clients = [Client(running.path) for _ in range(LIMITS.max_clients)]
    for client in clients:
        client.call("echo")
    with Client(running.path) as late, pytest.raises(RpcError, match="8 clients") as caught:
        late.call("echo")
    assert caught.value.code is ErrorCode.BUSY
    clients.pop().close()
    running.wait_count("clients", value=LIMITS.max_clients - 1)
    with Client(running.path) as now:
        assert now.call("echo") == {}
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\n\n",
        b'{"jsonrpc": "2.0", "id": 1, "method": "echo"}\n',
        b"\x16\x03\x01garbage",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"Content-Length: 9" + b"9" * 5000 + b"\r\n\r\n",
        b"x" * 5000,
        b"Content-Type: text/plain\r\n\r\n{}",
    ],
)
def test_a_client_that_does_not_frame_is_told_and_closed(running: Running, raw: Raw, data: bytes) -> None:
    raw.send(data)
    request_id, code = raw.fault()
    assert request_id is None
    assert code in (ErrorCode.PARSE_ERROR, ErrorCode.TOO_LARGE)
    assert raw.is_closed()
    running.wait_count("dropped", "bad_frame")
    with Client(running.path) as client:
        assert client.call("echo") == {}


@pytest.mark.parametrize(
    "body",
    [
        b"5",
        b"null",
        b"",
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"echo"}]',
        b"[" * 90_000,
        b'{"a":NaN}',
        b"\xff",
    ],
)
def test_a_frame_that_is_no_request_is_refused_and_the_next_served(raw: Raw, body: bytes) -> None:
    valid = encode(Request(1, "echo", {"n": 1}))
    raw.send(valid, b"Content-Length: %d\r\n\r\n%b" % (len(body), body), valid.replace(b'"id":1', b'"id":2'))
    answers = [raw.receive() for _ in range(3)]
    assert [one for one in answers if isinstance(one, Response)] == [
        Response(1, {"n": 1}),
        Response(2, {"n": 1}),
    ]
    (refusal,) = (one for one in answers if isinstance(one, ErrorResponse))
    assert refusal.id is None
    assert refusal.error.code in (ErrorCode.PARSE_ERROR, ErrorCode.INVALID_REQUEST)


def test_an_oversized_request_is_refused_in_words(running: Running) -> None:
    with Client(running.path) as client:
        with pytest.raises(RpcError, match="at most 100000") as caught:
            client.call("echo", {"text": "x" * 1_000_000})
        assert caught.value.code is ErrorCode.TOO_LARGE
        assert client.call("echo") == {}
        with pytest.raises(RpcError, match="at most 100000"):
            client.call("echo", {"text": "x" * 3_000_000})


def test_an_oversized_answer_is_refused_in_words(running: Running) -> None:
    with Client(running.path) as client:
        with pytest.raises(RpcError, match="ask for less") as caught:
            client.call("large", {"size": LIMITS.max_response_bytes})
        assert caught.value.code is ErrorCode.TOO_LARGE
        assert len(client.call("large", {"size": LIMITS.max_response_bytes - 1000})) == 2_999_000


def test_half_a_frame_is_given_up_after_a_while(impatient: Running, slow: Raw) -> None:
    slow.send(encode(Request(1, "echo", {}))[:-5])
    assert slow.fault() == (None, ErrorCode.TIMEOUT)
    assert slow.is_closed()
    assert impatient.statistics()["dropped"] == {"slow_frame": 1}


def test_dribbling_does_not_prolong_a_frame(impatient: Running, slow: Raw) -> None:
    def dribble_on() -> bool:
        try:
            slow.send(b"x")
        except (BrokenPipeError, ConnectionResetError):
            return True
        return False

    slow.send(b"Content-Length: 90000\r\n\r\n")
    wait_until(dribble_on, what="the connection to be closed")
    assert impatient.statistics()["dropped"] == {"slow_frame": 1}


def test_half_a_frame_and_then_the_end_is_no_request(running: Running, raw: Raw) -> None:
    raw.send(encode(Request(1, "hold", {"name": "a"}))[:-1])
    running.wait_count("clients")
    raw.socket.close()
    running.wait_count("clients", value=0)
    assert running.service.started == []
    assert running.statistics()["errors"] == {}


def test_a_client_that_does_not_read_is_dropped(impatient: Running, slow: Raw) -> None:
    slow.ask(*(Request(number, "large", {"size": 2_000_000}) for number in range(4)))
    impatient.wait_count("dropped", "slow_reader")
    impatient.wait_count("clients", value=0)
    impatient.wait_count("in_flight", value=0)


def test_a_stream_waits_for_its_reader_and_ends_without_one(impatient: Running, slow: Raw) -> None:
    slow.ask(Request(1, "count", {"to": 10_000_000, "pad": 1000}))
    impatient.wait_count("dropped", "slow_reader")
    impatient.wait_count("in_flight", value=0)


def test_a_reader_that_keeps_reading_gets_everything(raw: Raw) -> None:
    raw.ask(*(Request(number, "large", {"size": 2_000_000}) for number in range(3)))
    raw.ask(Request(3, "count", {"to": 3}))
    seen = [raw.receive() for _ in range(7)]
    results = {one.id: one.result for one in seen if isinstance(one, Response)}
    assert [len(results[number]) for number in range(3)] == [2_000_000] * 3
    assert results[3] == "counted"
    assert [one.method for one in seen if isinstance(one, Notification)] == ["counted"] * 3


def test_refusals_to_a_client_that_does_not_read_do_not_pile_up(raw: Raw) -> None:
    raw.socket.settimeout(0.5)
    flood = encode(Request(1, "nothing", {})) * 1000

    def send_until_it_is_not_taken() -> None:
        for _ in range(200):
            raw.send(flood)

    with pytest.raises(TimeoutError):
        send_until_it_is_not_taken()


def connect_as_nobody(path: Path) -> tuple[int, bytes]:
    """What a process of another uid is sent; (exit status, bytes)."""
    code = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(20)\n"
        "s.connect(sys.argv[1])\n"
        "try:\n"
        "    s.sendall(sys.argv[2].encode())\n"
        "    data = s.recv(1000)\n"
        "except (ConnectionResetError, BrokenPipeError):\n"
        "    data = b''\n"
        "sys.stdout.write(data.decode())\n"
    )
    request = encode(Request(1, "echo", {})).decode()
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(path), request], capture_output=True, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_closed_without_a_word(running: Running) -> None:
    for opened in (running.path.parent.parent, running.path.parent, running.path):
        opened.chmod(0o777)
    assert connect_as_nobody(running.path) == (0, b"")
    running.wait_count("refused", "foreign_uid")
    assert running.statistics()["clients_total"] == 0


def test_only_the_given_uid_is_served(path: Path) -> None:
    running = Running(path, uid=os.getuid() + 1)
    try:
        with Client(path) as client, pytest.raises(DaemonUnavailable) as caught:
            client.call("echo")
        assert caught.value.reason == "lost"
        running.wait_count("refused", "foreign_uid")
    finally:
        running.end()


# The client's own errors


def test_no_daemon_is_said_plainly(path: Path) -> None:
    with pytest.raises(DaemonUnavailable, match="nibd serve") as caught:
        Client(path)
    assert caught.value.reason == "not_running"
    sockets.listen(path).close()
    with pytest.raises(DaemonUnavailable) as caught:
        Client(path)
    assert caught.value.reason == "not_running"


def test_a_daemon_that_ends_in_the_midst_is_lost(running: Running) -> None:
    with Client(running.path) as client:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.call, "hold", {"name": "a"})
            running.wait_started("a")
            (connection,) = running.server._connections
            running.loop.call_soon_threadsafe(connection.abort)
            with pytest.raises(DaemonUnavailable, match="lost the connection") as caught:
                asked.result(20)
        assert caught.value.reason == "lost"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"Content-Length: 1\r\n\r\n5"])
def test_a_stranger_on_the_socket_is_recognised(path: Path, answer: bytes) -> None:
    with sockets.listen(path) as listener, Client(path) as client:
        listener.setblocking(True)
        served, _ = listener.accept()
        served.sendall(answer)
        with pytest.raises(DaemonUnavailable, match="does not speak our protocol"):
            client.call("echo")
        served.close()


def test_unencodable_params_are_the_callers_error_and_harm_nothing(running: Running) -> None:
    with Client(running.path) as client:
        for bad in ({"x": float("nan")}, {"x": b""}):
            with pytest.raises((TypeError, ValueError)):
                client.call("echo", bad)
        assert client.call("echo") == {}


def test_the_client_is_light() -> None:
    code = (
        "import sys; before = set(sys.modules); import nibd.ipc.client; "
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "nibd.ipc.framing" in loaded
    heavy = {"asyncio", "dataclasses", "inspect", "logging", "pathlib", "pylsp_jsonrpc", "threading"}
    assert heavy & loaded == set()


# Shutdown


def test_shutdown_lets_requests_end(running: Running, raw: Raw) -> None:
    raw.ask(Request(1, "hold", {"name": "a"}))
    running.wait_started("a")
    closing = asyncio.run_coroutine_threadsafe(running.server.close(grace_s=20), running.loop)
    wait_until(lambda: running.server.closing)
    raw.ask(Request(2, "echo", {}))
    assert raw.fault() == (2, ErrorCode.SHUTTING_DOWN)
    with pytest.raises(DaemonUnavailable):
        Client(running.path)
    running.let_go("a")
    assert raw.receive() == Response(1, "a")
    assert raw.is_closed()
    closing.result(20)


def test_shutdown_cancels_what_does_not_end(running: Running, raw: Raw) -> None:
    raw.ask(Request(1, "hold", {"name": "a"}))
    running.wait_started("a")
    running.run(running.server.close(grace_s=0.05))
    assert raw.fault() == (1, ErrorCode.SHUTTING_DOWN)
    assert raw.is_closed()


def test_shutdown_does_not_wait_for_requests_without_end(running: Running, raw: Raw) -> None:
    raw.ask(Request(1, "hold_unbounded", {"name": "a"}))
    running.wait_started("a")
    closing = asyncio.run_coroutine_threadsafe(running.server.close(grace_s=3600), running.loop)
    assert raw.fault() == (1, ErrorCode.SHUTTING_DOWN)
    closing.result(20)


def test_shutdown_cuts_off_a_client_that_does_not_read(path: Path) -> None:
    running = Running(path, Limits(write_stall_s=3600, write_buffer_bytes=1000))
    client = Raw(path)
    client.ask(Request(1, "large", {"size": 5_000_000}))
    running.wait_count("methods", "large", "requests")
    running.end()
    with pytest.raises((ConnectionResetError, AssertionError)):
        client.receive()
    client.socket.close()


def test_an_adopted_listener_serves(running: Running, path: Path) -> None:
    other = path.with_name("other.sock")
    adopted = sockets.adopt(sockets.listen(other).detach())
    second = Server({"echo": running.service.echo}, lambda *_: None)
    running.run(second.serve(adopted))
    with Client(other) as client:
        assert client.call("echo", {"n": 1}) == {"n": 1}
    running.run(second.close())
    assert other.is_socket()
