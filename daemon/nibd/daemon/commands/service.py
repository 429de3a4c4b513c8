"""`nibd service`: the systemd user units of the daemon."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands._launch import user_paths
from nibd.daemon.commands._output import emit, note, visible_line
from nibd.daemon.commands.stop import stop_daemon
from nibd.ipc.messages import Json
from nibd.systemd import files, manager, units
from nibd.systemd.errors import ManagerUnavailable
from nibd.systemd.files import UnitChange, UnitReport
from nibd.systemd.manager import UnitStatus

ABOUT = "Install, show or remove the systemd user units that run the daemon."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="install|status|uninstall",
        choices=("install", "status", "uninstall"),
        help="install: write the units and start them now and at each login; "
        "status: what systemd says of them, exit status 1 when they don't run; uninstall: undo install",
    )
    parser.add_argument(
        "--no-enable", action="store_true", help="install: only write the units, without asking systemd"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace or remove units that were edited since they were written",
    )


def run(arguments: argparse.Namespace) -> int:
    actions = {"install": _install, "status": _status, "uninstall": _uninstall}
    return actions[arguments.action](arguments)


def program() -> Path:
    """The absolute path of the `nibd` that systemd is to start: this one, in its virtual environment."""
    beside = Path(sys.executable).parent / "nibd"
    if os.access(beside, os.X_OK):
        return beside
    called = shutil.which(sys.argv[0])
    if called is not None and Path(called).name == "nibd":
        return Path(called).absolute()
    raise CommandError(f"there is no program 'nibd' beside {sys.executable}: install nibd with pip or pipx")


def _install(arguments: argparse.Namespace) -> int:
    paths = user_paths()
    executable = program()
    if not arguments.no_enable:
        _stop_hand_run(manager.status(os.environ))  # first of all whether there is a manager
    environment = units.passed_environment(os.environ, paths.home)
    folder = files.unit_folder(paths.config_home)
    reports = files.install(folder, executable, environment, replace_edited=arguments.force)
    if not arguments.no_enable:
        manager.enable(os.environ)
    state = "written" if arguments.no_enable else "enabled and running"
    emit(arguments, {"units": _as_json(reports), "enabled": not arguments.no_enable}, _text(reports, state))
    return _refused(reports)


def _stop_hand_run(known: Sequence[UnitStatus]) -> None:
    """End a daemon that systemd did not start: systemd would take its socket from it."""
    if any(unit.active_state == "active" for unit in known):
        return
    pid = stop_daemon()
    if pid is not None:
        note(f"the daemon that ran outside systemd (process {pid}) was ended")


def _status(arguments: argparse.Namespace) -> int:
    known = manager.status(os.environ)
    active = any(unit.active_state == "active" for unit in known)
    document = [
        {
            "name": unit.name,
            "load_state": unit.load_state,
            "unit_file_state": unit.unit_file_state,
            "active_state": unit.active_state,
            "sub_state": unit.sub_state,
            "result": unit.result,
            "fragment_path": unit.fragment_path or None,
            "main_pid": unit.main_pid,
            "status_text": unit.status_text,
            "memory_bytes": unit.memory_bytes,
        }
        for unit in known
    ]
    emit(arguments, {"units": document, "active": active}, "\n".join(map(_line, known)))
    return Exit.OK if active else Exit.NO


def _uninstall(arguments: argparse.Namespace) -> int:
    paths = user_paths()
    folder = files.unit_folder(paths.config_home)
    managed = True
    try:
        if any((folder / name).exists() for name in units.UNIT_NAMES):
            manager.disable(os.environ)
    except ManagerUnavailable as error:
        managed = False
        note(f"the units are removed without telling systemd: {error}")
    reports = files.uninstall(folder, remove_edited=arguments.force)
    if managed and any(report.change is UnitChange.REMOVED for report in reports):
        manager.reload(os.environ)
    emit(arguments, {"units": _as_json(reports)}, _text(reports, "done"))
    return _refused(reports)


def _refused(reports: Sequence[UnitReport]) -> int:
    return Exit.NO if any(report.refused for report in reports) else Exit.OK


def _as_json(reports: Sequence[UnitReport]) -> list[Json]:
    return [{"name": each.name, "path": str(each.path), "change": each.change.value} for each in reports]


def _text(reports: Sequence[UnitReport], state: str) -> str:
    lines = [f"{each.name}: {each.change.value} ({visible_line(str(each.path))})" for each in reports]
    if any(each.change is UnitChange.KEPT_EDITED for each in reports):
        lines.append("edited units are yours; --force gives the edits up, a drop-in keeps them apart")
    return "\n".join([*lines, state])


def _line(unit: UnitStatus) -> str:
    parts = [unit.load_state, unit.unit_file_state, f"{unit.active_state} ({unit.sub_state})"]
    if unit.main_pid is not None:
        parts.append(f"process {unit.main_pid}")
    if unit.status_text:
        parts.append(visible_line(unit.status_text))
    return f"{unit.name}: {', '.join(part for part in parts if part)}"
