"""`nibd symbols`: a name in, its definitions out."""

from __future__ import annotations

import argparse
import sys

from nibd.daemon.commands import _asked, _daemon
from nibd.daemon.commands._answers import render
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit, style_of
from nibd.ipc.messages import JsonObject

ABOUT = "Find where a name is defined; exit status 1 when it is nowhere."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name, also partly qualified, such as Flask.run")
    _daemon.add_repo(parser)
    _asked.add_page(parser, 100)
    _asked.add_filters(parser)
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace) -> int:
    path = _daemon.place(arguments.repo)
    params: JsonObject = {
        "path": path,
        "name": _daemon.text_argument(arguments.name),
        "at": _daemon.commit(arguments, path),
        **_asked.page(arguments),
        **_asked.filters(arguments, path),
    }
    answer = _daemon.ask("symbols", params)
    emit(arguments, answer, "" if arguments.json else render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO
