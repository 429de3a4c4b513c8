"""The client by itself: what it says of no daemon, a lost one, a stranger; and that it is light."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ipc_world
from ipc_world import Running
from nibd.ipc import sockets
from nibd.ipc.client import Client, DaemonUnavailable

# The fixtures of these names.
path = ipc_world.path
running = ipc_world.running


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
