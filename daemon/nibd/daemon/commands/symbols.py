"""`nibd symbols`: a name in, its definitions out."""

from __future__ import annotations

import argparse
import sys

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import render
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit, style_of

ABOUT = "Find where a name is defined; exit status 1 when it is nowhere."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name, also partly qualified, such as Flask.run")
    _daemon.add_repo(parser)
    parser.add_argument(
        "-k", metavar="N", type=_daemon.natural, default=100, help="at most N hits (default: 100)"
    )
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace) -> int:
    path = _daemon.real_path(arguments.repo)
    answer = _daemon.ask(
        "symbols",
        {
            "path": path,
            "name": _daemon.text_argument(arguments.name),
            "k": arguments.k,
            "at": _daemon.commit(arguments, path),
        },
    )
    emit(arguments, answer, "" if arguments.json else render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO
