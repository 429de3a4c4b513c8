"""What `def`, `refs`, `callers`, `callees` and `impls` share: a place or a name in, places out.

What ends in numbers (`FILE:12`, `FILE:12:5`, also with the `:` that compilers and grep put behind it) is a
place, and what names a file that is there is meant as one: neither is looked for as a name, so that a place
that is written wrongly is an error and not "nothing found". A single word is always a name.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import relations_used, short, used_views, warnings
from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands._output import Style, counted, emit, kind_beside, style_of, visible, visible_line
from nibd.ipc.messages import Json, JsonObject

WHAT = "FILE:LINE[:COL]|NAME"
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[-+]?[0-9]+)(?::(?P<col>[-+]?[0-9]+))?:?", re.DOTALL)
_VERSION = re.compile(r"v?\d+\.[\w.+-]+")
_NUMBER = re.compile(r"0*[1-9][0-9]{0,8}")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar=WHAT,
        help="a place (line and column from 1; without a column, what is declared on the line or the only"
        " symbol there), or a name, also partly qualified, such as Flask.run",
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
    path, asked = _meant(arguments.what, arguments.repo)
    params |= {**asked, "path": path, "at": _daemon.commit(arguments, path)}
    answer = _daemon.ask("navigate", params)
    emit(arguments, answer, "" if arguments.json else _render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO


def _meant(what: str, repo: str | None) -> tuple[str, JsonObject]:
    """The path to ask about, and a place in it or a name. Raises for what is neither."""
    checkout = _daemon.place(repo)
    place = _PLACE.fullmatch(what)
    if place is None or ":" in place["file"]:
        _refuse_file(what, repo)
    if place is None:
        return checkout, {"name": _daemon.text_argument(what)}
    numbers = {"line": place["line"], "col": place["col"]}
    asked: JsonObject = {}
    for key, number in numbers.items():
        if number is not None and not _NUMBER.fullmatch(number):
            said = f"{number} is no {_WORDS[key]}: lines and columns count from 1"
            raise _usage(f"{visible_line(what)}: {said}")
        if number is not None:
            asked[key] = int(number)
    path = _inside(repo, place["file"])
    if _is_folder(path):
        raise _usage(f"{visible_line(place['file'])} is a folder; {_ADVICE}")
    return path, asked


def _refuse_file(what: str, repo: str | None) -> None:
    """Raise for a file, or a place in one that is written wrongly. `::` is of names, a bare word is one."""
    file, colon, _ = what.partition(":")
    if what.startswith(f"{file}::") or (not colon and not {*"./"} & {*file}):
        return
    path, shown = _inside(repo, file), visible_line(what)
    if _is_folder(path):
        raise _usage(f"{shown} is a folder; {_ADVICE}")
    if os.path.isfile(path):  # noqa: PTH113 - of what can't be a path it says no
        raise _usage(f"{shown} is {'no place' if colon else 'a file'}; {_ADVICE}")


def _inside(repo: str | None, file: str) -> str:
    return _daemon.real_path(os.path.join(repo or "", file))  # noqa: PTH118 - as below


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - of what can't be a path it says no


def _usage(message: str) -> CommandError:
    return CommandError(message, Exit.USAGE, "usage")


_ADVICE = "give a place in a file, as FILE:LINE:COL or FILE:LINE, or a name"
_WORDS = {"line": "line", "col": "column"}


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
    commit = f"commit {short(answer['snapshot']['commit'])}"
    server = answer["server"]
    asked = f" from {server_text(server)}" if server else ""
    return "; ".join([commit, *used_views(answer), answer["provider"] + asked])


def server_text(server: JsonObject) -> str:
    """Its name, and the number in what its program says of its version."""
    number = _VERSION.search(server["version"])
    return visible_line(f"{server['name']} {number.group()}" if number else server["name"])


def _warnings(answer: JsonObject) -> Iterator[str]:
    """As of every answer, of the place that was asked about, and of what the relations do not know."""
    asked = [answer["asked"]] if answer["asked"] else []
    views = answer["views"] | {f"{name} relations": view for name, view in relations_used(answer)}
    yield from warnings({**answer, "views": views, "hits": [*asked, *answer["hits"]]})
    for limit in answer["server"]["limits"] if answer["server"] else ():
        yield f"LIMITED: {visible_line(limit)}"
    if answer["unknown"]:
        yield f"UNKNOWN: {counted(answer['unknown'], 'sites')} could belong here; no server says whether"
    if answer["lost"]:
        yield f"LOST: {counted(answer['lost'], 'targets')} can't be found in the files any more"


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
    name = visible_line(hit["name"])
    what = [style("bold", visible_line(where)), kind_beside(name, hit["kind"]), name]
    return " ".join(part for part in what if part) + edited
