"""The daemon as systemd runs it: started by a client on an inherited socket, telling when it is ready."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from daemon_world import NO_DENSE, READY_S, Daemon, configure
from nibd.ipc.client import Client
from waiting import wait_until


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="no systemd-socket-activate")
def test_a_client_starts_the_daemon_on_the_managers_socket_which_stays() -> None:
    configure(NO_DENSE)
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "activated.sock"
    passed = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "PATH"]
    activate = ["systemd-socket-activate", "-l", str(path), *(f"--setenv={name}" for name in passed)]
    program = [sys.executable, "-m", "nibd.daemon.main"]
    manager = subprocess.Popen([*activate, *program], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(path.exists, READY_S, "the manager to listen")
        with Client(path, READY_S) as client:
            pid = client.call("hello")["pid"]
            assert pid == manager.pid  # it executes the daemon in its own place
            assert client.call("shutdown") == {"stopping": True}
        assert manager.wait(60) == 0
        assert path.exists()
        assert not (Path(os.environ["XDG_RUNTIME_DIR"]) / "nibd").exists()
    finally:
        if manager.poll() is None:
            os.killpg(manager.pid, signal.SIGKILL)
            manager.wait()


def test_readiness_is_told_when_it_answers_then_signs_of_life_then_the_stop() -> None:
    configure(NO_DENSE)
    address = f"{os.environ['XDG_RUNTIME_DIR']}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(READY_S)
        daemon = Daemon({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"})
        daemon.process = subprocess.Popen(
            [sys.executable, "-m", "nibd.daemon.main"], env=daemon.environment, stderr=subprocess.PIPE
        )
        ready = manager.recv(4096).decode()
        assert "READY=1" in ready.splitlines()
        assert daemon.call("hello")["pid"] == daemon.process.pid
        assert manager.recv(4096) == b"WATCHDOG=1"
        assert manager.recv(4096) == b"WATCHDOG=1"
        assert daemon.stop() == 0
        told = [b"WATCHDOG=1"]
        while told[-1] == b"WATCHDOG=1":
            told.append(manager.recv(4096))
        assert b"STOPPING=1" in told[-1].splitlines()


@pytest.mark.parametrize("text", ["[index]\nmax_file_bytes = 'big'\n", "[nothing]\n", "[index"])
def test_settings_with_a_mistake_are_refused_by_name(text: str) -> None:
    configure(text)
    refused = subprocess.run(
        [sys.executable, "-m", "nibd.daemon.main"],
        env=dict(os.environ),
        capture_output=True,
        check=False,
        text=True,
    )
    assert refused.returncode == 3
    assert "config.toml" in refused.stderr
    assert "Traceback" not in refused.stderr
