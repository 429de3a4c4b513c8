"""`nibd grep`: a regular expression in, the lines of a snapshot that match it out."""

from __future__ import annotations

import argparse
import sys

from nibd.daemon.commands import _asked, _daemon
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._matches import render
from nibd.daemon.commands._output import emit, style_of
from nibd.ipc.messages import JsonObject

ABOUT = "Find the lines that match a regular expression (of RE2); exit status 1 when none does."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", metavar="PATTERN", help="a regular expression, matched line by line")
    _daemon.add_repo(parser)
    parser.add_argument("-i", dest="ignore_case", action="store_true", help="take no notice of case")
    parser.add_argument("-w", dest="word", action="store_true", help="only whole words")
    parser.add_argument("-F", dest="literal", action="store_true", help="PATTERN is text, no expression")
    _asked.add_filters(parser)
    parser.add_argument(
        "-C",
        dest="context",
        metavar="N",
        type=_daemon.whole,
        default=0,
        help="show N lines around each, at most 20",
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--count", dest="mode", action="store_const", const="count", help="files, with how many lines match"
    )
    modes.add_argument("--files", dest="mode", action="store_const", const="files", help="files with a match")
    _asked.add_page(parser, 100, of="lines or files")
    parser.add_argument("--from", dest="start", metavar="FILE", help="begin at this path of the snapshot")
    parser.add_argument(
        "--time",
        metavar="S",
        type=_daemon.seconds,
        default=3.0,
        help="search for S seconds, at most 25 (default: 3)",
    )
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace) -> int:
    path = _daemon.place(arguments.repo)
    params: JsonObject = {
        "path": path,
        "pattern": _daemon.text_argument(arguments.pattern),
        "ignore_case": arguments.ignore_case,
        "word": arguments.word,
        "literal": arguments.literal,
        "context": arguments.context,
        "mode": arguments.mode or "lines",
        "time_s": arguments.time,
        "at": _daemon.commit(arguments, path),
        **_asked.page(arguments),
        **_asked.filters(arguments, path),
    }
    if arguments.start is not None:
        params["from"] = arguments.start
    answer = _daemon.ask("grep", params)
    emit(arguments, answer, "" if arguments.json else render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO
