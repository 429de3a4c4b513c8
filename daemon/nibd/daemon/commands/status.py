"""`nibd status`: what each view of a checkout rests on, once or for as long as someone looks."""

from __future__ import annotations

import argparse
import copy
import importlib
import sys
import time

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit, emit_json, style_of, width_of_terminal
from nibd.daemon.commands._status_text import has_failed, render
from nibd.ipc.client import Client
from nibd.ipc.messages import JsonObject

ABOUT = "Show what the views of a checkout rest on and what is at work; exit status 1 when one has failed."

INTERVAL_S = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    _daemon.add_path(parser)
    parser.add_argument(
        "--watch", action="store_true", help="go on until Ctrl-C; with --json, a line for each change"
    )


def run(arguments: argparse.Namespace) -> int:
    params = {"path": _daemon.place(arguments.path)}
    with _daemon.connect() as client:
        status = _daemon.expect(client.call("status", params))
        if not arguments.watch:
            text = "" if arguments.json else render(status, style_of(sys.stdout), width_of_terminal())
            emit(arguments, status, text)
            return Exit.NO if has_failed(status) else Exit.OK
        if arguments.json or not sys.stdout.isatty():
            return _each_change(client, params, status, arguments.json)
        # The module with the live view imports rich, which takes longer than the answer.
        watch = importlib.import_module("nibd.daemon.commands._watch")
        return int(watch.live(client, params, status, INTERVAL_S))


def significant(status: JsonObject) -> JsonObject:
    """A status without what changes by the mere passing of time."""
    kept = copy.deepcopy(status)
    kept.pop("statistics", None)
    for view in kept["views"].values():
        if view.get("lag"):
            view["lag"].pop("seconds", None)
    return kept


def _each_change(client: Client, params: JsonObject, status: JsonObject, as_json: bool) -> int:
    while True:
        if as_json:
            emit_json(status)
        else:
            print(render(status, style_of(sys.stdout), None), end="\n\n")
        sys.stdout.flush()
        shown = significant(status)
        while significant(status) == shown:
            time.sleep(INTERVAL_S)
            status = _daemon.expect(client.call("status", params))
