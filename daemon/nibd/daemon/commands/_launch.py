"""Seeing that a daemon runs: through systemd where its units are enabled, else by starting one.

Connecting is enough where systemd listens on the socket. A daemon started here belongs to no terminal: it
has a session of its own, `/` as working directory, and no descriptor of ours. What it says before its log
is open goes to `stderr.txt` beside the log, and is shown when it ends before it answers.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import CommandError
from nibd.daemon.commands._output import note
from nibd.daemon.paths import Paths
from nibd.daemon.settings import load
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.messages import JsonObject
from nibd.systemd import manager
from nibd.systemd.errors import SystemdError
from nibd.systemd.files import unit_folder
from nibd.systemd.units import SOCKET, UNIT_NAMES

START_TIMEOUT_S = 30.0
POLL_S = 0.02
FULL_BYTES = 1 << 14
_NOT_PASSED_ON = (
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
)

Found = Literal["running", "started", "started by systemd"]


def user_paths() -> Paths:
    """Where this user's files are. Raises PathsError."""
    return Paths.from_environment(os.environ, os.getuid())


def connect_or_start() -> tuple[Client, Found]:
    """A connection to a daemon that answers. Raises DaemonUnavailable, SettingsError, CommandError."""
    try:
        return _greeted(_daemon.connect()), "running"
    except DaemonUnavailable as error:
        if error.reason != "not_running":
            raise
    paths = user_paths()
    load(paths.config_file)  # a file that would keep the daemon from starting is said at once
    if _started_by_systemd(paths):
        return _greeted(_daemon.connect()), "started by systemd"
    _spawn(paths)
    return _greeted(_daemon.connect()), "started"


def units_present(paths: Paths) -> bool:
    """Whether a unit of nibd's is in the user's folder: without one, systemd need not be asked."""
    return any((unit_folder(paths.config_home) / name).exists() for name in UNIT_NAMES)


def systemd_listens(paths: Paths) -> bool:
    """Whether systemd would start the daemon for the next one who connects."""
    if not units_present(paths):
        return False
    try:
        units = manager.status(os.environ)
    except SystemdError:  # there is no manager, so nothing of it listens
        return False
    return any(unit.name == SOCKET and unit.active_state == "active" for unit in units)


def hello(client: Client) -> JsonObject:
    return _daemon.expect(client.call("hello"))


def _greeted(client: Client) -> Client:
    try:
        hello(client)
    except BaseException:
        client.close()
        raise
    return client


def _started_by_systemd(paths: Paths) -> bool:
    """Start the units where the user has them enabled; whether that was so and worked."""
    if not units_present(paths):
        return False
    try:
        enabled = any(unit.unit_file_state == "enabled" for unit in manager.status(os.environ))
        if enabled:
            manager.enable(os.environ)
    except SystemdError as error:
        note(f"nibd: systemd did not start the daemon, so it is started without: {error}")
        return False
    return enabled


def _spawn(paths: Paths) -> None:
    """Start a daemon that outlives us, and wait until it listens."""
    said = paths.log_file.parent / "stderr.txt"
    said.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    with os.fdopen(
        os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb"
    ) as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "nibd.daemon.main"],
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            umask=0o077,
        )
    _await_listening(process, said, paths.lock_file)


def _await_listening(process: subprocess.Popen[bytes], said: Path, lock: Path) -> None:
    """Wait until a daemon listens: ours, or one that was started at the same time and was faster."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _listens():
        try:
            status = process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            status = None
        if status is not None:
            if not _is_held(lock) and not _listens():
                last = said.read_text("utf-8", "replace").strip()[-2000:] or _silent(said.parent)
                raise CommandError(f"the daemon ended at its start (status {status}): {last}")
            time.sleep(POLL_S)
        if time.monotonic() > deadline:
            raise CommandError(
                f"the daemon (process {process.pid}) does not listen after {START_TIMEOUT_S:.0f} s; "
                f"see {said} and the log beside it"
            )


def _silent(folder: Path) -> str:
    """Why it said nothing into this folder."""
    if shutil.disk_usage(folder).free < FULL_BYTES:
        return f"no space left on the disk of {folder}; make room there, then try again"
    return f"its log is in {folder}"


def _listens() -> bool:
    try:
        _daemon.connect().close()
    except DaemonUnavailable as error:
        if error.reason == "not_running":
            return False
        raise
    return True


def _is_held(lock: Path) -> bool:
    """Whether some daemon is alive, if not yet listening."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False
