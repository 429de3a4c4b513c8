"""`nibd init`: register a checkout, install its hooks, and see it built.

Run again it changes nothing that is in place. The hooks are written by this process and not by the daemon,
which may be kept by systemd from writing into repositories.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._hooks import as_json, worth_saying
from nibd.daemon.commands._launch import connect_or_start, hello, user_paths
from nibd.daemon.commands._output import clipped, emit, note, visible_line
from nibd.daemon.commands.version import installed_version
from nibd.daemon.commands.wait import NEVER_S, is_unborn, outcome_text, until_published
from nibd.hooks import HookReport, HooksError, install
from nibd.ipc.client import Client
from nibd.ipc.messages import JsonObject
from nibd.repair.git import open_source

STATES = ("ready", "absent")
"""Of relations to which nothing is about to be done."""

NOT_LOOKED_AT = "'nibd status' shows what there is of its views"

ABOUT = "Register a checkout, install its Git hooks and build its views; starts the daemon when none runs."


def configure(parser: argparse.ArgumentParser) -> None:
    _daemon.add_path(parser)
    parser.add_argument(
        "--no-hooks", action="store_true", help="install no Git hooks; commits are noticed a little later"
    )
    parser.add_argument("--no-wait", action="store_true", help="come back while the views are being built")


def run(arguments: argparse.Namespace) -> int:
    work_tree = _work_tree(_daemon.real_path(arguments.path))
    client, found = connect_or_start()
    with client:
        _compare_versions(client)
        added = _daemon.expect(client.call("repository.add", {"path": str(work_tree)}))
        reports, trouble = ([], None) if arguments.no_hooks else _install_hooks(work_tree, added["marker"])
        for line in (*([] if found == "running" else [f"daemon {found}"]), *worth_saying(reports)):
            note(line)
        if trouble:
            note(f"no hooks were installed, so commits are noticed a little later: {trouble}")
        result = None if arguments.no_wait else _wait(client, work_tree)
    document = {
        **added,
        "daemon": found,
        "hooks": as_json(reports),
        "hooks_error": trouble,
        "published": result and result["published"],
        "status": result and result["status"],
    }
    emit(arguments, document, _text(added, result))
    return Exit.OK if result is None or result["published"] or is_unborn(result) else Exit.NO


def _work_tree(path: str) -> Path:
    """The top of the checkout that holds `path`. Raises GitError for what nibd could not read."""
    source = open_source(Path(path))
    try:
        source.head()
        return source.work_tree
    finally:
        source.close()


def _install_hooks(work_tree: Path, marker: str) -> tuple[list[HookReport], str | None]:
    """What was done for each hook; and why nothing could be, which keeps nobody from going on."""
    try:
        return install(work_tree, Path(marker), user_paths().hook_records_dir), None
    except HooksError as error:
        return [], str(error)


def _wait(client: Client, work_tree: Path) -> JsonObject:
    try:
        return until_published(client, {"path": str(work_tree), "timeout_s": NEVER_S})
    except KeyboardInterrupt:
        note("the build goes on without you; 'nibd status' shows it")
        raise


def _compare_versions(client: Client) -> None:
    running = hello(client)["version"]
    if running != installed_version():
        note(f"the running daemon is nibd {running}, this is {installed_version()}: 'nibd stop', then again")


def _text(added: JsonObject, result: JsonObject | None) -> str:
    state = "registered" if added["added"] else "was registered already"
    text = f"{visible_line(added['path'])} {state}"
    if result is None:
        return f"{text}; {'its views are being built' if added['added'] else NOT_LOOKED_AT}"
    relations = _relations(result["status"]["relations"]) if result["published"] else None
    return "\n".join(filter(None, (f"{text}; {outcome_text(result)}", relations)))


def _relations(families: JsonObject) -> str | None:
    """What becomes of who refers to what: one line, `None` where no language has relations."""
    if not families:
        return None
    by_state = {s: [name for name, found in families.items() if found["state"] == s] for s in STATES}
    others = [name for name, found in families.items() if found["state"] not in STATES]
    if others:
        follow = "follow in the background; 'nibd wait --view relations' waits for them"
        return f"relations ({', '.join(others)}) {follow}"
    said = [f"{', '.join(names)} {state}" for state, names in by_state.items() if names]
    if not by_state["ready"]:
        said.append(families[by_state["absent"][0]]["reason"])
    return clipped(visible_line(f"relations: {'; '.join(said)}"))
