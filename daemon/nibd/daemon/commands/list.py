"""`nibd list`: every registered checkout."""

from __future__ import annotations

import argparse
import sys

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import short
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import Style, emit, style_of, visible_line, width_of_terminal
from nibd.daemon.commands._tables import table
from nibd.ipc.messages import JsonObject

ABOUT = "List the checkouts that nibd follows."

_HEADER = ("name", "state", "branch", "head", "published", "path")


def configure(parser: argparse.ArgumentParser) -> None:
    """Takes no arguments of its own."""


def run(arguments: argparse.Namespace) -> int:
    listed = _daemon.ask("repository.list")
    emit(arguments, listed, "" if arguments.json else _render(listed["checkouts"], style_of(sys.stdout)))
    return Exit.OK


def _render(checkouts: list[JsonObject], style: Style) -> str:
    if not checkouts:
        return "no checkout is registered; 'nibd init' in one registers it"
    rows = [
        (
            visible_line(checkout["name"]),
            checkout["state"] or "-",
            visible_line(checkout["branch"] or "-"),
            short(checkout["head"]),
            short(checkout["published"]),
            visible_line(checkout["path"]),
        )
        for checkout in checkouts
    ]
    errors = [
        style("red", f"{visible_line(each['path'])}: {visible_line(each['error'])}")
        for each in checkouts
        if each["error"]
    ]
    return "\n".join([*table(_HEADER, rows, style, width_of_terminal()), *errors])
