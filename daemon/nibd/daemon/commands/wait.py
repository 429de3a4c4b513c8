"""`nibd wait`: come back when HEAD is published."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import short
from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands._output import clipped, emit, visible_line
from nibd.daemon.commands._progress import ProgressBar
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError

ABOUT = "Wait until HEAD is published; exit status 1 when it was not in time, or can't be."

RELATIONS = "relations"
DEFAULT_VIEWS = ("lexical", "structural")
NEVER_S = 1e9
"""For the daemon, which gives up after an hour unless told otherwise."""


def configure(parser: argparse.ArgumentParser) -> None:
    _daemon.add_path(parser)
    parser.add_argument(
        "--view",
        choices=("lexical", "structural", "dense", RELATIONS),
        help="wait for this view (default: lexical and structural)",
    )
    parser.add_argument(
        "--assurance",
        choices=("repaired", "verified", "exact"),
        help="wait until relations are as certain as that; means --view relations",
    )
    parser.add_argument(
        "--timeout", metavar="S", type=_daemon.seconds, help="give up after S seconds (default: never)"
    )


def run(arguments: argparse.Namespace) -> int:
    params: JsonObject = {"path": _daemon.place(arguments.path)}
    view = arguments.view or (RELATIONS if arguments.assurance else None)
    if view is not None:
        params["view"] = view
    if arguments.assurance:
        params["assurance"] = arguments.assurance
    params["timeout_s"] = NEVER_S if arguments.timeout is None else arguments.timeout
    try:
        with _daemon.connect() as client:
            result = until_published(client, params)
    except RpcError as error:
        if error.code == ErrorCode.VIEW_NOT_READY:  # the model can't be loaded: waiting is no use
            raise CommandError(error.message, Exit.NO, ErrorCode.VIEW_NOT_READY.wire_name) from error
        raise
    emit(arguments, result, outcome_text(result, [view] if view else DEFAULT_VIEWS, arguments.assurance))
    return Exit.OK if result["published"] else Exit.NO


def until_published(client: Client, params: JsonObject) -> JsonObject:
    """The result of the method `wait`, with progress on stderr meanwhile."""
    with ProgressBar() as bar:
        return _daemon.expect(client.call("wait", params, bar.notified, timeout_s=math.inf))


def is_unborn(result: JsonObject) -> bool:
    """Whether HEAD can be read and shows no commit yet."""
    status = result["status"]
    return status["head"]["commit"] is None and not status["error"]


def outcome_text(
    result: JsonObject, views: Sequence[str] = DEFAULT_VIEWS, assurance: str | None = None
) -> str:
    """Whether HEAD is published, and what is known of why `views` are not: each reason once, a line each.

    `assurance` is what was asked for of relations.
    """
    status = result["status"]
    relations = status["relations"] if RELATIONS in views else {}
    if RELATIONS in views and not result["published"] and _is_shown(status):
        what = f"published {short(status['head']['commit'])}, but relations are not {assurance or 'there'}"
        return "\n  ".join([what, *(_lacking(family, found) for family, found in relations.items())])
    if result["published"]:
        what = f"published {short(status['snapshot']['commit'])}"
        return "\n  ".join([what, *(_family(family, found) for family, found in relations.items())])
    if is_unborn(result):
        return "not published: nothing is committed yet, the first commit will be"
    head, known = status["head"]["commit"], status["views"]
    what = f"not published {short(head)}" if head else "not published"
    reasons = [status["error"], *(known[name]["reason"] for name in views if name in known)]
    reasons += [_family(family, found) for family, found in relations.items()]
    said: list[str] = []
    for reason in filter(None, reasons):
        if not any(reason in earlier or earlier in reason for earlier in said):
            said.append(reason)
    return "\n  ".join([f"{what}: {_line(said[0])}" if said else what, *map(_line, said[1:])])


def _is_shown(status: JsonObject) -> bool:
    """Whether HEAD is published with its lexical and structural views."""
    snapshot, head = status["snapshot"], status["head"]["commit"]
    ready = all(status["views"][name]["state"] == "ready" for name in DEFAULT_VIEWS)
    return not status["error"] and snapshot is not None and snapshot["commit"] == head and ready


def _lacking(family: str, found: JsonObject) -> str:
    """As `_family`, with how far verification is."""
    counts = found["counts"]
    files, verified = counts.get("files", 0), counts.get("verified", 0)
    is_left = found["state"] == "ready" and verified < files
    return _family(family, found) + (f" ({verified} of {files} files verified)" if is_left else "")


def _family(family: str, found: JsonObject) -> str:
    """What is there of a family's relations, and what it lacks."""
    state = found["assurance"] if found["state"] == "ready" else found["state"]
    return _line(f"{family} relations are {state}" + (f": {found['reason']}" if found["reason"] else ""))


def _line(reason: str) -> str:
    return clipped(visible_line(reason))
