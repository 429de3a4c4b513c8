"""The notify protocol over real datagram sockets, and from a real child process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nibd.systemd.errors import NotifyError
from nibd.systemd.notify import Notifier

CHILD = """
import os, sys
from nibd.systemd.notify import Notifier
notifier = Notifier.from_environment(os.environ, os.getpid())
notifier.ready("serving 2 repositories")
print(notifier.watchdog_interval_s, "NOTIFY_SOCKET" in os.environ, flush=True)
for _ in range(2):
    notifier.watchdog()
notifier.stopping()
"""


@pytest.fixture
def manager(isolated_home: Path) -> Iterator[socket.socket]:
    """A service manager's end: a bound datagram socket in the (short) runtime folder."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"{os.environ['XDG_RUNTIME_DIR']}/notify")
        bound.settimeout(20)
        yield bound


def _notifier(manager: socket.socket, **more: str) -> Notifier:
    return Notifier.from_environment({"NOTIFY_SOCKET": manager.getsockname(), **more}, os.getpid())


def test_a_child_says_ready_alive_and_stopping(manager: socket.socket) -> None:
    environment = {**os.environ, "NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "3000000"}

    command = [sys.executable, "-c", CHILD]
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert [manager.recv(4096).decode() for _ in range(4)] == [
        "READY=1\nSTATUS=serving 2 repositories",
        "WATCHDOG=1",
        "WATCHDOG=1",
        "STOPPING=1",
    ]
    assert child.stdout.split() == ["1.5", "False"]


def test_an_abstract_socket_is_reached(tmp_path: Path) -> None:
    name = f"nibd-test-{os.getpid()}-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("\0" + name)
        bound.settimeout(20)
        Notifier.from_environment({"NOTIFY_SOCKET": "@" + name}, os.getpid()).main_pid(4711)

        assert bound.recv(4096) == b"MAINPID=4711"


def test_a_status_of_several_lines_cannot_smuggle_an_assignment(manager: socket.socket) -> None:
    _notifier(manager).status("building\nMAINPID=1  views")

    assert manager.recv(4096) == b"STATUS=building MAINPID=1 views"


def test_a_reload_carries_the_monotonic_time_and_ends_with_ready(manager: socket.socket) -> None:
    notifier = _notifier(manager)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notifier.reloading()
    notifier.ready()

    first, second = manager.recv(4096).decode(), manager.recv(4096).decode()
    lines = dict(line.split("=") for line in first.splitlines())
    assert lines["RELOADING"] == "1"
    assert before <= int(lines["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert second == "READY=1"


def test_without_a_manager_nothing_is_sent_and_nothing_is_watched() -> None:
    notifier = Notifier.from_environment({"WATCHDOG_USEC": "1000000"}, os.getpid())

    notifier.ready("unheard")
    notifier.watchdog()
    assert not notifier.connected
    assert notifier.watchdog_interval_s is None


def test_the_watchdog_of_another_process_is_not_ours(manager: socket.socket) -> None:
    pid = os.getpid()

    assert _notifier(manager, WATCHDOG_USEC="500000", WATCHDOG_PID=str(pid + 1)).watchdog_interval_s is None
    assert _notifier(manager, WATCHDOG_USEC="500000", WATCHDOG_PID=str(pid)).watchdog_interval_s == 0.25


def test_children_inherit_none_of_the_variables(manager: socket.socket) -> None:
    environment = {
        "NOTIFY_SOCKET": manager.getsockname(),
        "WATCHDOG_USEC": "1000000",
        "WATCHDOG_PID": "1",
        "PATH": "/usr/bin",
    }
    Notifier.from_environment(environment, os.getpid())

    assert environment == {"PATH": "/usr/bin"}


@pytest.mark.parametrize("address", ["vsock:2:1", "relative/notify", "@", "/nowhere/notify", "/" + "x" * 200])
def test_a_socket_that_cannot_be_used_is_an_error_that_names_it(address: str) -> None:
    with pytest.raises(NotifyError) as refusal:
        Notifier.from_environment({"NOTIFY_SOCKET": address}, os.getpid())

    assert repr(address) in str(refusal.value)


@pytest.mark.parametrize("usec", ["soon", "0", "-5", "²"])
def test_a_watchdog_time_that_is_no_time_is_an_error(manager: socket.socket, usec: str) -> None:
    with pytest.raises(NotifyError, match="WATCHDOG_USEC"):
        _notifier(manager, WATCHDOG_USEC=usec)


def test_a_manager_that_went_away_is_an_error_that_says_what_was_lost(manager: socket.socket) -> None:
    notifier = _notifier(manager)
    manager.close()

    with pytest.raises(NotifyError, match="STOPPING=1"):
        notifier.stopping()
    notifier.close()
    notifier.watchdog()
