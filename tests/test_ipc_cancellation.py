"""A request that is not wanted any more: cancelled, out of time, its client gone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import ipc_world
from ipc_world import Raw, Running
from nibd.ipc.client import Client
from nibd.ipc.messages import (
    CANCEL_METHOD,
    ErrorCode,
    Notification,
    Request,
    Response,
    RpcError,
)

# The fixtures of these names.
path = ipc_world.path
raw = ipc_world.raw
running = ipc_world.running


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
