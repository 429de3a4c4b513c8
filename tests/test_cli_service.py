"""`nibd service`: units written, enabled and taken away; and what the rest does where systemd listens.

A user manager can't run here, so where one has to answer a script stands for `systemctl`: it writes down
what it was asked and says that the units are as a file tells.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_run import Home
from gitrepo import Repo
from nibd.systemd.units import is_as_written
from waiting import wait_until

SYSTEMCTL = """#!/bin/sh
echo "$*" >>{folder}/asked
case "$*" in *show*) cat {folder}/units ;; esac
"""
UNIT = """\
Id={name}
LoadState=loaded
UnitFileState={enabled}
ActiveState={active}
SubState=x
Result=success
FragmentPath=/units/{name}
NeedDaemonReload=no
MainPID=0

"""


class Manager:
    """What stands for the user manager."""

    def __init__(self, home: Home) -> None:
        self.folder = home.folder / "manager"
        self.folder.mkdir()
        program = self.folder / "systemctl"
        program.write_text(SYSTEMCTL.format(folder=self.folder))
        program.chmod(0o755)
        home.environment["PATH"] = f"{self.folder}:{home.environment['PATH']}"
        self.says(enabled="disabled", service="inactive", socket="inactive")

    def says(self, enabled: str, service: str, socket: str) -> None:
        states = {"nibd.service": service, "nibd.socket": socket}
        text = "".join(UNIT.format(name=n, enabled=enabled, active=a) for n, a in states.items())
        (self.folder / "units").write_text(text)

    @property
    def asked(self) -> list[str]:
        asked = self.folder / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        return [line.removeprefix("--user --no-pager --no-ask-password ").split()[0] for line in lines]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.close()


def unit(home: Home, name: str) -> Path:
    return home.folder / "config" / "systemd" / "user" / name


def test_units_are_written_for_this_very_program_and_removed_again(home: Home) -> None:
    written = home.json("service", "install", "--no-enable")

    assert [each["change"] for each in written["units"]] == ["written", "written"]
    text = unit(home, "nibd.service").read_text()
    assert is_as_written(text)
    assert f'ExecStart=:"{Path(sys.executable).parent}/nibd" serve' in text
    assert f'"XDG_STATE_HOME={home.folder}/state"' in text
    assert "current" in home.nibd("service", "install", "--no-enable").out

    removed = home.nibd("service", "uninstall")
    assert "nibd.service: removed" in removed.out
    assert "without telling systemd" in removed.err
    assert not unit(home, "nibd.socket").exists()
    assert "nibd.service: absent" in home.nibd("service", "uninstall").out


def test_edited_units_are_kept_unless_forced(home: Home) -> None:
    home.nibd("service", "install", "--no-enable")
    service = unit(home, "nibd.service")
    service.write_text(service.read_text() + "# mine\n")

    kept = home.nibd("service", "install", "--no-enable", status=1)
    assert "nibd.service: kept, edited" in kept.out
    assert "--force" in kept.out
    assert service.read_text().endswith("# mine\n")
    home.nibd("service", "install", "--no-enable", "--force")
    assert is_as_written(service.read_text())


def test_without_a_user_manager_nothing_is_written(home: Home) -> None:
    for action in ("install", "status"):
        error = home.json("service", action, status=3)["error"]
        assert error["code"] == "systemd"
        assert "nibd serve" in error["message"]
    assert not unit(home, "nibd.service").exists()


def test_install_ends_a_daemon_that_was_started_by_hand_and_enables(home: Home) -> None:
    process = home.start("serve")
    wait_until(home.socket.exists, what="the daemon's socket")
    manager = Manager(home)

    done = home.nibd("service", "install")

    assert process.wait(60) == 0
    assert "was ended" in done.err
    assert done.out.endswith("enabled and running\n")
    assert manager.asked == ["show", "daemon-reload", "enable"]
    assert unit(home, "nibd.socket").exists()


def test_status_tells_whether_the_units_run(home: Home) -> None:
    manager = Manager(home)
    assert "nibd.service: loaded, disabled, inactive" in home.nibd("service", "status", status=1).out

    manager.says("enabled", service="inactive", socket="active")
    assert home.json("service", "status")["active"] is True


def test_uninstall_disables_before_and_reloads_after(home: Home) -> None:
    home.nibd("service", "install", "--no-enable")
    manager = Manager(home)

    home.nibd("service", "uninstall")

    assert manager.asked == ["disable", "daemon-reload"]


def test_stop_does_not_wake_a_daemon_that_systemd_would_start(home: Home) -> None:
    home.nibd("service", "install", "--no-enable")
    Manager(home).says("enabled", service="inactive", socket="active")

    done = home.nibd("stop")

    assert done.out == "no daemon runs\n"
    assert "systemd still listens" in done.err
    assert home.json("stop")["systemd_listens"] is True


def test_init_asks_systemd_only_where_the_units_are_enabled(home: Home, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    home.nibd("service", "install", "--no-enable")
    manager = Manager(home)  # installed, and disabled by the user

    assert home.json("init", repo.path, "--no-wait")["daemon"] == "started"
    assert "enable" not in manager.asked
