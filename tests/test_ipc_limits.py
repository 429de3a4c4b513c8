"""What a client may not do: too much, too slowly, out of form, or as another user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ipc_world
from ipc_world import LIMITS, Raw, Running
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.framing import encode
from nibd.ipc.messages import (
    CANCEL_METHOD,
    ErrorCode,
    ErrorResponse,
    Notification,
    Request,
    Response,
    RpcError,
)
from waiting import wait_until

# The fixtures of these names.
impatient = ipc_world.impatient
path = ipc_world.path
raw = ipc_world.raw
running = ipc_world.running
slow = ipc_world.slow


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
