"""`nibd wait`: come back when HEAD is published."""

from __future__ import annotations

import argparse
import math

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import short
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit, visible_line
from nibd.daemon.commands._progress import ProgressBar
from nibd.ipc.client import Client
from nibd.ipc.messages import JsonObject

ABOUT = "Wait until HEAD is published; exit status 1 when it was not in time or a build failed."

NEVER_S = 1e9
"""For the daemon, which gives up after an hour unless told otherwise."""


def configure(parser: argparse.ArgumentParser) -> None:
    _daemon.add_path(parser)
    parser.add_argument(
        "--view",
        choices=("lexical", "structural", "dense"),
        help="wait for this view (default: lexical and structural)",
    )
    parser.add_argument(
        "--timeout", metavar="S", type=_daemon.seconds, help="give up after S seconds (default: never)"
    )


def run(arguments: argparse.Namespace) -> int:
    params: JsonObject = {"path": _daemon.real_path(arguments.path)}
    if arguments.view is not None:
        params["view"] = arguments.view
    params["timeout_s"] = NEVER_S if arguments.timeout is None else arguments.timeout
    with _daemon.connect() as client:
        result = until_published(client, params)
    emit(arguments, result, outcome_text(result))
    return Exit.OK if is_settled(result) else Exit.NO


def until_published(client: Client, params: JsonObject) -> JsonObject:
    """The result of the method `wait`, with progress on stderr meanwhile."""
    with ProgressBar() as bar:
        return _daemon.expect(client.call("wait", params, bar.notified, timeout_s=math.inf))


def is_settled(result: JsonObject) -> bool:
    """Whether there is nothing to wait for: HEAD is published, or shows no commit yet."""
    head, error = result["status"]["head"], result["status"]["error"]
    return bool(result["published"]) or (head["commit"] is None and not error)


def outcome_text(result: JsonObject) -> str:
    """Whether HEAD is published, and what is known of why not."""
    status = result["status"]
    if result["published"]:
        return f"published {short(status['snapshot']['commit'])}"
    if is_settled(result):
        return "nothing is committed yet: the first commit will be published"
    reasons = [status["error"], *(view["reason"] for view in status["views"].values())]
    because = "; ".join(dict.fromkeys(visible_line(reason) for reason in reasons if reason))
    return f"not published {short(status['head']['commit'])}{f': {because}' if because else ''}"
