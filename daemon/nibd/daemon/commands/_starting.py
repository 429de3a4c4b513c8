"""Starting a daemon as a process of its own, and waiting until one listens: ours, or one that was faster.

It belongs to no terminal: it has a session of its own, `/` as working directory, and no descriptor of ours.
What it says before its log is open goes to `stderr.txt` beside the log, and is shown when it ends before it
answers.

Of several that start at once one gets the lock. It is waited for as long as it lives and does something,
and so is one that is about to end: when it lets go of the lock and nothing listens, ours is started again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import CommandError
from nibd.daemon.commands._output import note
from nibd.daemon.lock import ANOTHER_RUNS, holder, is_held
from nibd.daemon.paths import Paths
from nibd.ipc.client import DaemonUnavailable

STUCK_S = 30.0
"""A process that does nothing for so long will not do anything."""
SAID_AFTER_S = 3.0
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


def start(paths: Paths) -> bool:
    """Come back when a daemon listens: whether it is ours. Raises CommandError, DaemonUnavailable."""
    said = paths.log_file.parent / "stderr.txt"
    said.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    started: set[int | None] = set()
    while not listens():
        process = _spawn(said)
        started.add(process.pid)
        status = _ended(process, said)
        if status not in (None, ANOTHER_RUNS) and not listens():
            last = said.read_text("utf-8", "replace").strip()[-2000:] or _silent(said.parent)
            raise CommandError(f"the daemon ended at its start (status {status}): {last}")
        await_other(paths.lock_file)
    return holder(paths.lock_file) in started


def await_other(lock: Path) -> None:
    """Wait for another that starts or ends: until a daemon listens, or none is there. Raises CommandError."""
    activity, began, is_said = Activity(), time.monotonic(), False
    while is_held(lock) and not listens():
        pid = holder(lock)
        other = f"another daemon (process {pid})" if pid else f"another daemon, which holds {lock},"
        if activity.has_ceased(pid):
            advice = f"'kill -9 {pid}' ends it" if pid else "end that process"
            raise CommandError(
                f"{other} does not listen and has done nothing for {STUCK_S:.0f} s; {advice}, then try again"
            )
        if not is_said and time.monotonic() - began >= SAID_AFTER_S:
            note(f"waiting for {other} that is starting or ending")
            is_said = True
        time.sleep(POLL_S)


def listens() -> bool:
    """Whether a daemon can be connected to. Raises DaemonUnavailable: one is there that can't be used."""
    try:
        _daemon.connect().close()
    except DaemonUnavailable as error:
        if error.reason == "not_running":
            return False
        raise
    return True


class Activity:
    """Whether a process still does something, told from whether the system lets it run."""

    def __init__(self) -> None:
        self._seen: tuple[int | None, str] | None = None
        self._since = time.monotonic()

    def has_ceased(self, pid: int | None) -> bool:
        """Whether it has done nothing, or is not known, for STUCK_S."""
        now, seen = time.monotonic(), (pid, _scheduled(pid))
        if seen != self._seen:
            self._seen, self._since = seen, now
        return now - self._since >= STUCK_S


def _scheduled(pid: int | None) -> str:
    """How long its main thread has run, and how often; empty where the system doesn't tell."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/schedstat").read_text()
    return ""


def _spawn(said: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    with os.fdopen(
        os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb"
    ) as stderr:
        return subprocess.Popen(
            [sys.executable, "-m", "nibd.daemon.main"],
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            umask=0o077,
        )


def _ended(process: subprocess.Popen[bytes], said: Path) -> int | None:
    """The status with which it ended; `None` as soon as a daemon listens. Raises CommandError."""
    activity = Activity()
    while not listens():
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        if activity.has_ceased(process.pid):
            raise CommandError(
                f"the daemon (process {process.pid}) does not listen and has done nothing for "
                f"{STUCK_S:.0f} s; see {said} and the log beside it"
            )
    return None


def _silent(folder: Path) -> str:
    """Why it said nothing into this folder."""
    if shutil.disk_usage(folder).free < FULL_BYTES:
        return f"no space left on the disk of {folder}; make room there, then try again"
    return f"its log is in {folder}"
