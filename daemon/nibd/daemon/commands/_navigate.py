"""What `def`, `refs`, `callers`, `callees` and `impls` share: a place or a name in, places out."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import short, warnings
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import Style, counted, emit, style_of, visible, visible_line
from nibd.ipc.messages import Json, JsonObject

_PLACE = re.compile(r"(?P<file>.+):(?P<line>[1-9][0-9]{0,8}):(?P<col>[1-9][0-9]{0,8})", re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="FILE:LINE:COL|NAME",
        help="a place (line and column from 1), or a name, also partly qualified, such as Flask.run",
    )
    parser.add_argument(
        "--repo",
        metavar="PATH",
        help="a file or folder in the checkout to ask; FILE is then relative to it"
        " (default: the working directory)",
    )
    parser.add_argument(
        "--provider",
        choices=("auto", "static", "live"),
        default="auto",
        help="answer from the stored relations, from a language server, or as it fits (default)",
    )
    parser.add_argument(
        "-k", metavar="N", type=_daemon.natural, default=100, help="at most N hits (default: 100)"
    )
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace, operation: str, **more: Json) -> int:
    """Ask, print, and give the exit code: whether anything was found."""
    params: JsonObject = {"operation": operation, "provider": arguments.provider, "k": arguments.k, **more}
    place = _PLACE.fullmatch(arguments.what)
    if place:
        repo = arguments.repo or ""
        path = _daemon.real_path(os.path.join(repo, place["file"]))  # noqa: PTH118 - pathlib costs its import
        params |= {"line": int(place["line"]), "col": int(place["col"])}
    else:
        path = _daemon.real_path(arguments.repo)
        params["name"] = _daemon.text_argument(arguments.what)
    params |= {"path": path, "at": _daemon.commit(arguments, path)}
    answer = _daemon.ask("navigate", params)
    emit(arguments, answer, "" if arguments.json else _render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO


def _render(answer: JsonObject, style: Style) -> str:
    lines = [style("dim", _header(answer))]
    lines += [style("loud", f"! {text}") for text in _warnings(answer)]
    for hit in answer["hits"]:
        lines += ["", *_hit(hit, style)]
    more = answer["total"] - len(answer["hits"])
    if more > 0:
        lines += ["", style("dim", f"… {more} more")]
    if not answer["hits"]:
        lines.append(visible_line(answer["reason"] or "nothing found"))
    for candidate in answer["candidates"]:
        lines.append(f"  {_named(candidate, style)}")
    return "\n".join(lines)


def _header(answer: JsonObject) -> str:
    used = [f"{name} {view['assurance'] or view['state']}" for name, view in answer["views"].items()]
    used += [f"{name} relations {view['assurance'] or view['state']}" for name, view in _relations(answer)]
    return "; ".join([f"commit {short(answer['snapshot']['commit'])}", *used, answer["provider"]])


def _warnings(answer: JsonObject) -> Iterator[str]:
    """As of every answer, of the place that was asked about, and of what the relations do not know."""
    asked = [answer["asked"]] if answer["asked"] else []
    views = answer["views"] | {f"{name} relations": view for name, view in _relations(answer)}
    yield from warnings({**answer, "views": views, "hits": [*asked, *answer["hits"]]})
    if answer["unknown"]:
        yield f"UNKNOWN: {counted(answer['unknown'], 'sites')} could belong here; no server has answered"
    if answer["lost"]:
        yield f"LOST: {counted(answer['lost'], 'targets')} can't be found in the files any more"


def _relations(answer: JsonObject) -> list[tuple[str, JsonObject]]:
    """The families whose relations were used."""
    relations: JsonObject = answer["views"]["structural"]["relations"]
    return [(name, view) for name, view in relations.items() if view["used"]]


def _hit(hit: JsonObject, style: Style) -> Iterator[str]:
    yield _named(hit, style)
    yield from (f"    {line}".rstrip() for line in visible(hit["snippet"] or "").splitlines())


def _named(hit: JsonObject, style: Style) -> str:
    outside = hit["external"]
    if outside:
        where = " ".join(part for part in (outside["package"], outside["path"]) if part)
    else:
        where = f"{hit['path']}:{hit['line']}:{hit['col']}"
    edited = style("loud", "  edited") if hit["edited"] else ""
    what = [style("bold", visible_line(where)), hit["kind"], visible_line(hit["name"])]
    return " ".join(part for part in what if part) + edited
