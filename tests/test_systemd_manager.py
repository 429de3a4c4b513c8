"""Asking the user's service manager, where there is none and what it prints where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nibd.systemd.errors import ManagerRefused, ManagerUnavailable
from nibd.systemd.manager import UnitStatus, disable, enable, parse_show, reload, status

SHOWN = """\
MainPID=60
Result=success
StatusText=serving = 2 repositories
MemoryCurrent=73400320
Id=nibd.service
LoadState=loaded
ActiveState=active
SubState=running
FragmentPath=/home/ann/.config/systemd/user/nibd.service
UnitFileState=enabled
NeedDaemonReload=yes

Result=success
MemoryCurrent=18446744073709551615
Id=nibd.socket
LoadState=not-found
ActiveState=inactive
SubState=dead
FragmentPath=
UnitFileState=
NeedDaemonReload=no
"""


def test_without_a_user_manager_every_request_says_so_and_what_to_do() -> None:
    environment = dict(os.environ)
    environment.pop("DBUS_SESSION_BUS_ADDRESS", None)

    for request in (status, enable, disable, reload):
        with pytest.raises(ManagerUnavailable, match="nibd serve"):
            request(environment)


def test_without_systemd_it_says_that_systemctl_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ManagerUnavailable, match="systemctl is not installed"):
        status({"PATH": str(tmp_path)})


def test_what_the_manager_refuses_is_passed_on_in_its_words(tmp_path: Path) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text("#!/bin/sh\necho 'Failed to enable unit: Unit nibd.socket is masked.' >&2\nexit 1\n")
    systemctl.chmod(0o755)

    with pytest.raises(ManagerRefused, match=r"Unit nibd\.socket is masked"):
        status({"PATH": f"{tmp_path}:/usr/bin:/bin"})


def test_the_output_of_show_becomes_one_status_a_unit() -> None:
    service, missing = parse_show(SHOWN)

    assert service == UnitStatus(
        name="nibd.service",
        load_state="loaded",
        unit_file_state="enabled",
        active_state="active",
        sub_state="running",
        result="success",
        fragment_path="/home/ann/.config/systemd/user/nibd.service",
        needs_reload=True,
        main_pid=60,
        status_text="serving = 2 repositories",
        memory_bytes=73_400_320,
    )
    assert (missing.name, missing.load_state, missing.main_pid, missing.memory_bytes) == (
        "nibd.socket",
        "not-found",
        None,
        None,
    )
