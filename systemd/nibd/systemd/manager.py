"""Asking and telling the user's service manager, through `systemctl --user`.

The caller passes the environment for `systemctl`, which finds the manager by XDG_RUNTIME_DIR. On a
machine without systemd, in a container, or in a shell that never logged in there is no user
manager: that is ManagerUnavailable with what to do about it, and nibd runs without.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from nibd.systemd.errors import ManagerRefused, ManagerUnavailable
from nibd.systemd.units import UNIT_NAMES

_TIMEOUT_S = 60.0
_PROPERTIES = (
    "Id,LoadState,UnitFileState,ActiveState,SubState,Result,FragmentPath,NeedDaemonReload,"
    "MainPID,StatusText,MemoryCurrent"
)


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """One unit as the manager sees it. Words are systemd's own (`loaded`, `active`, `running`).

    `fragment_path` is empty when the manager knows no file; `main_pid` and `memory_bytes` are `None`
    for a unit without processes.
    """

    name: str
    load_state: str
    unit_file_state: str
    active_state: str
    sub_state: str
    result: str
    fragment_path: str
    needs_reload: bool
    main_pid: int | None
    status_text: str
    memory_bytes: int | None


def status(environment: Mapping[str, str]) -> list[UnitStatus]:
    """Return the status of each unit. Raises ManagerUnavailable, ManagerRefused."""
    return parse_show(_systemctl(environment, "show", f"--property={_PROPERTIES}", *UNIT_NAMES))


def enable(environment: Mapping[str, str]) -> None:
    """Let the manager read the installed units, start them now and at each login.

    systemd unlinks a socket that is in its way: a daemon that runs outside it must be stopped first.
    """
    _systemctl(environment, "daemon-reload")
    _systemctl(environment, "enable", "--now", *reversed(UNIT_NAMES))


def disable(environment: Mapping[str, str]) -> None:
    """Stop the units and start them no more; call it before `uninstall`, and `reload` after."""
    _systemctl(environment, "disable", "--now", *reversed(UNIT_NAMES))


def reload(environment: Mapping[str, str]) -> None:
    """Let the manager read its units again."""
    _systemctl(environment, "daemon-reload")


def parse_show(text: str) -> list[UnitStatus]:
    """Return the units in the output of `systemctl show`: blocks of `Property=value`, blank lines between."""
    return [_unit(block) for block in text.split("\n\n") if block.strip()]


def _unit(block: str) -> UnitStatus:
    values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    return UnitStatus(
        name=values.get("Id", ""),
        load_state=values.get("LoadState", ""),
        unit_file_state=values.get("UnitFileState", ""),
        active_state=values.get("ActiveState", ""),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        fragment_path=values.get("FragmentPath", ""),
        needs_reload=values.get("NeedDaemonReload") == "yes",
        main_pid=_number(values.get("MainPID", "0")) or None,
        status_text=values.get("StatusText", ""),
        memory_bytes=_number(values.get("MemoryCurrent", "")),
    )


def _number(text: str) -> int | None:
    """systemd writes `[not set]` or 2^64-1 for a number that it doesn't have."""
    return int(text) if text.isdigit() and int(text) < 2**64 - 1 else None


def _systemctl(environment: Mapping[str, str], *arguments: str) -> str:
    program = shutil.which("systemctl", path=environment.get("PATH"))
    if program is None:
        raise ManagerUnavailable("systemctl is not installed: start nibd with `nibd serve`")
    command = [program, "--user", "--no-pager", "--no-ask-password", *arguments]
    try:
        done = subprocess.run(
            command,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ManagerUnavailable(f"the user manager did not answer within {_TIMEOUT_S:.0f} s") from error
    if done.returncode == 0:
        return done.stdout
    said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
    if "connect to bus" in said or "been booted with systemd" in said:
        raise ManagerUnavailable(
            f"no user service manager answers ({said}): log in anew, or run `loginctl enable-linger`; "
            "until then start nibd with `nibd serve`"
        )
    raise ManagerRefused(f"systemctl --user {arguments[0]}: {said}")
