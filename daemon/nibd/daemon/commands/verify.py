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

ABOUT = "Compare views, or relations, with a fresh build of the same tree; exit status 1 when they differ."

_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    _daemon.add_path(parser)
    parser.add_argument(
        "--view",
        action="append",
        choices=("lexical", "structural", "dense"),
        help="compare this view; can be given again (default: all that are ready)",
    )
    parser.add_argument(
        "--relations",
        action="store_true",
        help="compare relations with those of fresh language servers, alone or with the views that are given",
    )


def run(arguments: argparse.Namespace) -> int:
    params: JsonObject = {"path": _daemon.place(arguments.path)}
    if arguments.view:
        params["views"] = list(dict.fromkeys(arguments.view))
    if arguments.relations:
        params["relations"] = True
    with _daemon.connect() as client, ProgressBar() as bar:
        result = _daemon.expect(client.call("verify", params, bar.notified, timeout_s=math.inf))
    emit(arguments, result, "\n".join(_render(result, style_of(sys.stdout))))
    return Exit.OK if result["equal"] else Exit.NO


def _render(result: JsonObject, style: Style) -> Iterator[str]:
    families: JsonObject = result["relations"] or {}
    unknown = [each for each in families.values() if each["equal"] is None]
    differs = any(each["equal"] is False for each in (*result["views"].values(), *families.values()))
    verdict = "DIFFERENT" if differs else "NOT COMPARED IN FULL" if unknown else "equal"
    shown = style("green" if verdict == "equal" else "red", verdict)
    yield f"{shown}: commit {short(result['commit'])}, generation {result['generation']}"
    for name, view in result["views"].items():
        yield from _part(name, view)
    for family, relations in families.items():
        yield from _relations(f"relations {family}", relations)
    if result["relations"] == {}:
        yield "relations: there are no files of a language that has them"


def _part(name: str, part: JsonObject) -> Iterator[str]:
    compared = ", ".join(counted(n, what.replace("_", " ")) for what, n in part["compared"].items())
    yield f"{name}: {'equal' if part['equal'] else 'DIFFERENT'}; compared {compared or 'nothing'}"
    yield from _listed(part["differences"], part.get("count", len(part["differences"])))


def _relations(name: str, relations: JsonObject) -> Iterator[str]:
    if relations["equal"] is None:
        yield f"{name}: not compared: {visible_line(relations['reason'])}"
        return
    yield from _part(name, relations)
    varying = relations["varying"]
    if varying["count"]:
        yield f"{name}: two fresh servers differ in {counted(varying['count'], 'sites')}; left out"
        yield from _listed(varying["differences"], varying["count"])


def _listed(named: list[Json], count: int) -> Iterator[str]:
    yield from (f"  {_difference(each)}" for each in named[:_SHOWN])
    if count > len(named[:_SHOWN]):
        yield f"  … {count - len(named[:_SHOWN])} more"


def _difference(difference: Json) -> str:
    if isinstance(difference, dict) and "published" in difference:
        return visible_line(_of_site(difference))
    text = difference if isinstance(difference, str) else json.dumps(difference, ensure_ascii=False)
    return visible_line(text)


def _of_site(difference: JsonObject) -> str:
    where = difference["path"] if difference["line"] is None else f"{difference['path']}:{difference['line']}"
    nothing = "missing" if difference["kind"] == "file" else "unknown"
    published, fresh = (_targets(difference[side], nothing) for side in ("published", "fresh"))
    name = f" {difference['name']}" if difference["name"] else ""
    return f"{where}{name} ({difference['kind']}): published {published}; a fresh server {fresh}"


def _targets(targets: list[str] | None, nothing: str) -> str:
    return nothing if targets is None else ", ".join(targets) or "nothing"
