"""`nibd stop`: end the daemon and come back when its process is gone."""

from __future__ import annotations

import argparse
import os
import select

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands._launch import hello, systemd_listens, user_paths
from nibd.daemon.commands._output import emit, note
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.systemd import manager
from nibd.systemd.errors import SystemdError
from nibd.systemd.units import SERVICE

ABOUT = "End the daemon and wait until it is gone; fine when none runs."

TIMEOUT_S = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Takes no arguments of its own."""


def run(arguments: argparse.Namespace) -> int:
    listens = systemd_listens(user_paths())
    pid = None if listens and not _service_runs() else stop_daemon()
    if listens:
        note(
            "systemd still listens on the socket, so the next command starts the daemon again; "
            "'systemctl --user stop nibd.socket' or 'nibd service uninstall' ends that"
        )
    text = "no daemon runs" if pid is None else f"the daemon (process {pid}) has ended"
    emit(arguments, {"stopped": pid is not None, "pid": pid, "systemd_listens": listens}, text)
    return Exit.OK


def stop_daemon() -> int | None:
    """End the running daemon and wait for its process; its id, `None` when none ran."""
    try:
        client = _daemon.connect()
    except DaemonUnavailable as error:
        if error.reason == "not_running":
            return None
        raise
    with client:
        pid = int(hello(client)["pid"])
        process = _open_process(pid)
        if process is not None:
            try:
                _shut_down(client)
                _await_end(process, pid)
            finally:
                os.close(process)
    return pid


def _shut_down(client: Client) -> None:
    try:
        client.call("shutdown")
    except DaemonUnavailable as error:
        if error.reason != "lost":  # it may end before its answer is out
            raise


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def _await_end(process: int, pid: int) -> None:
    """Wait on the process itself: with systemd the socket stays, and probing it would start another."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    if not poll.poll(TIMEOUT_S * 1000):
        raise CommandError(f"the daemon (process {pid}) still runs after {TIMEOUT_S:.0f} s; see its log")


def _service_runs() -> bool:
    """Whether systemd has a daemon running, asked without connecting, which would start one."""
    try:
        units = manager.status(os.environ)
    except SystemdError:
        return True  # it can't be told: connecting finds out
    return any(unit.name == SERVICE and unit.main_pid is not None for unit in units)
