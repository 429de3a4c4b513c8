"""`nibd verify`: do the views equal a fresh build of the same tree?"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import short
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import Style, counted, emit, style_of, visible_line
from nibd.daemon.commands._progress import ProgressBar
from nibd.ipc.messages import Json, JsonObject

ABOUT = "Compare views with a fresh build of the same tree; exit status 1 when they differ."

_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    _daemon.add_path(parser)
    parser.add_argument(
        "--view",
        action="append",
        choices=("lexical", "structural", "dense"),
        help="compare this view; can be given again (default: all that are ready)",
    )


def run(arguments: argparse.Namespace) -> int:
    params: JsonObject = {"path": _daemon.real_path(arguments.path)}
    if arguments.view:
        params["views"] = list(dict.fromkeys(arguments.view))
    with _daemon.connect() as client, ProgressBar() as bar:
        result = _daemon.expect(client.call("verify", params, bar.notified, timeout_s=math.inf))
    emit(arguments, result, "\n".join(_render(result, style_of(sys.stdout))))
    return Exit.OK if result["equal"] else Exit.NO


def _render(result: JsonObject, style: Style) -> Iterator[str]:
    verdict = style("green", "equal") if result["equal"] else style("red", "DIFFERENT")
    yield f"{verdict}: commit {short(result['commit'])}, generation {result['generation']}"
    for name, view in result["views"].items():
        compared = ", ".join(counted(n, what.replace("_", " ")) for what, n in view["compared"].items())
        yield f"{name}: {'equal' if view['equal'] else 'DIFFERENT'}; compared {compared or 'nothing'}"
        named, count = view["differences"], view.get("count", len(view["differences"]))
        yield from (f"  {_difference(each)}" for each in named[:_SHOWN])
        if count > len(named[:_SHOWN]):
            yield f"  … {count - len(named[:_SHOWN])} more"


def _difference(difference: Json) -> str:
    text = difference if isinstance(difference, str) else json.dumps(difference, ensure_ascii=False)
    return visible_line(text)
