"""Seeing that a daemon runs: through systemd where its units are enabled, else by starting one.

Connecting is enough where systemd listens on the socket.
"""

from __future__ import annotations

import os
from typing import Literal

from nibd.daemon.commands import _daemon, _starting
from nibd.daemon.commands._output import note
from nibd.daemon.paths import Paths
from nibd.daemon.settings import load
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.messages import JsonObject
from nibd.systemd import manager
from nibd.systemd.errors import SystemdError
from nibd.systemd.files import unit_folder
from nibd.systemd.units import SOCKET, UNIT_NAMES

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
    found: Found = "started" if _starting.start(paths) else "running"
    return _greeted(_daemon.connect()), found


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
