"""Telling the service manager how the daemon is: the sd_notify(3) protocol.

Each message is one datagram of `NAME=value` lines to the socket named by NOTIFY_SOCKET; a name that
begins with `@` is in the abstract namespace. Without that variable every method does nothing. The
variables are taken out of the mapping, so that children neither speak for the daemon nor think
that they are watched.

A send waits at most a second: a manager that doesn't read must not stop the event loop.
"""

from __future__ import annotations

import socket
import time
from collections.abc import MutableMapping

from nibd.systemd.errors import NotifyError

_SEND_TIMEOUT_S = 1.0


class Notifier:
    """A connection to the service manager, or to nobody. Use it from one thread.

    `watchdog_interval_s` is how often `watchdog` has to be called: half of what the manager allows;
    `None` when it does not watch this process.
    """

    def __init__(self, connection: socket.socket | None, watchdog_interval_s: float | None = None) -> None:
        self._connection = connection
        self.watchdog_interval_s = watchdog_interval_s if connection is not None else None

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str], pid: int) -> Notifier:
        """Return the notifier for process `pid`; take its variables out of `environment`.

        Raises NotifyError when the socket named there cannot be reached.
        """
        address = environment.pop("NOTIFY_SOCKET", "")
        watchdog_usec = environment.pop("WATCHDOG_USEC", "")
        watchdog_pid = environment.pop("WATCHDOG_PID", "")
        if not address:
            return cls(None)
        interval = _watchdog_interval(watchdog_usec, watchdog_pid, pid)
        return cls(_connect(address), interval)

    @property
    def connected(self) -> bool:
        return self._connection is not None

    def ready(self, status: str = "") -> None:
        """Say that start-up, or a reload, is finished."""
        self._send(["READY=1", *_status(status)])

    def status(self, text: str) -> None:
        self._send(_status(text))

    def reloading(self) -> None:
        """Say that a reload began; `ready` ends it. The time is what `Type=notify-reload` asks for."""
        self._send(["RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"])

    def stopping(self, status: str = "") -> None:
        self._send(["STOPPING=1", *_status(status)])

    def watchdog(self) -> None:
        """Say that the daemon is alive. Call it from the loop that serves, or it proves nothing."""
        self._send(["WATCHDOG=1"])

    def main_pid(self, pid: int) -> None:
        self._send([f"MAINPID={pid}"])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, lines: list[str]) -> None:
        if self._connection is None or not lines:
            return
        try:
            self._connection.send("\n".join(lines).encode("utf-8", "replace"))
        except OSError as error:
            raise NotifyError(f"the service manager could not be told {lines[0]}: {error}") from error


def _status(text: str) -> list[str]:
    """One line of status; a newline would begin another assignment."""
    return [f"STATUS={' '.join(text.split())}"] if text else []


def _connect(address: str) -> socket.socket:
    if address[0] not in "/@" or len(address) == 1:
        raise NotifyError(f"NOTIFY_SOCKET is neither a path nor an abstract name: {address!r}")
    name = "\0" + address[1:] if address.startswith("@") else address
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        connection.settimeout(_SEND_TIMEOUT_S)
        connection.connect(name)
    except OSError as error:
        connection.close()
        raise NotifyError(f"NOTIFY_SOCKET {address!r} cannot be used: {error}") from error
    return connection


def _watchdog_interval(usec: str, watched_pid: str, pid: int) -> float | None:
    if not usec or (watched_pid and watched_pid != str(pid)):
        return None
    if not (usec.isascii() and usec.isdigit()) or int(usec) == 0:
        raise NotifyError(f"WATCHDOG_USEC is not a positive number of microseconds: {usec!r}")
    return int(usec) / 2 / 1_000_000
