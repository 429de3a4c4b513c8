"""`nibd remove`: forget a checkout and take its hooks away.

PATH is the top of the checkout, which may be gone, or the name by which `nibd list` has it. A path further
down is refused: who names a folder of a checkout hardly means all of it.
Linked work trees share hooks: these go with the last one (`nibd.hooks` keeps count).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands._hooks import as_json, worth_saying
from nibd.daemon.commands._launch import connect_or_start, user_paths
from nibd.daemon.commands._output import counted, emit, note, visible_line
from nibd.hooks import HookReport, HooksError, Outcome, remove
from nibd.ipc.client import Client
from nibd.ipc.messages import JsonObject

ABOUT = "Forget a checkout, delete its views and take nibd's hooks out; starts the daemon when none runs."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        help="the top folder of the checkout, which may be gone, or its name in 'nibd list' "
        "(default: the working directory)",
    )


def run(arguments: argparse.Namespace) -> int:
    client, _ = connect_or_start()
    with client:
        path = _path_of(client, arguments.path)
        # First the hooks: were we interrupted between the two, the checkout could be removed again.
        reports, trouble = _remove_hooks(Path(path))
        removed = _daemon.expect(client.call("repository.remove", {"path": path}))
    for line in worth_saying(reports):
        note(line)
    if trouble:
        note(f"its hooks could not be looked at: {trouble}")
    document = {**removed, "hooks": as_json(reports), "hooks_error": trouble}
    emit(arguments, document, _text(removed, reports))
    unfinished = any(report.outcome is Outcome.FAILED for report in reports)
    return Exit.ENVIRONMENT if unfinished else Exit.OK


def _path_of(client: Client, argument: str | None) -> str:
    """The path of the registered checkout whose top the argument is, or whose name. Raises CommandError."""
    checkouts = _daemon.expect(client.call("repository.list"))["checkouts"]
    real = Path(_daemon.real_path(argument))
    holding = [str(each["path"]) for each in checkouts if _holds(each["path"], real)]
    top = max(holding, key=len) if holding else None
    if top == str(real):
        return top
    named = [str(each["path"]) for each in checkouts if argument in (each["name"], each["checkout"])]
    if top is not None and named != [top]:
        calls = f", and the name of {', '.join(named)}" if named else ""
        message = f"{real} is in the checkout {top}{calls}; give the top of the one to forget"
        raise CommandError(message, Exit.USAGE, "usage")
    if len(named) > 1:
        raise CommandError(
            f"several are called {argument}: {', '.join(named)}; say which", Exit.USAGE, "usage"
        )
    if not named:
        what = (
            f"{real} is " + ("" if os.path.lexists(real) else "not there, and ") + "in no registered checkout"
        )
        if argument is not None and "/" not in argument:
            what += ", and none is called so"
        raise CommandError(f"{what}; 'nibd list' shows them", code="unknown_repository")
    return named[0]


def _holds(work_tree: str, path: Path) -> bool:
    """Whether the path is meant of this checkout: a misspelt name is no file of the one we stand in."""
    return path.is_relative_to(work_tree) and (os.path.lexists(path) or not os.path.lexists(work_tree))


def _remove_hooks(work_tree: Path) -> tuple[list[HookReport], str | None]:
    try:
        return remove(work_tree, user_paths().hook_records_dir), None
    except HooksError as error:
        # Without its folder there is nothing to look at, and nothing of ours was on record.
        return [], str(error) if os.path.lexists(work_tree) else None


def _text(removed: JsonObject, reports: list[HookReport]) -> str:
    gone = sum(report.outcome in (Outcome.REMOVED, Outcome.RESTORED) for report in reports)
    hooks = f"{counted(gone, 'hooks')} taken out" if gone else "no hooks to take out"
    return f"{visible_line(removed['path'])} is no longer followed; {hooks}"
