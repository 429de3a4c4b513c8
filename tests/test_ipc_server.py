"""Clients and the server over real sockets: answers, many at once, and the server's end."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ipc_world
from ipc_world import Raw, Running
from nibd.ipc import sockets
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.handlers import Limits
from nibd.ipc.messages import (
    ErrorCode,
    JsonObject,
    Request,
    Response,
    RpcError,
)
from nibd.ipc.server import Server
from waiting import wait_until

# The fixtures of these names.
path = ipc_world.path
raw = ipc_world.raw
running = ipc_world.running


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
