"""`nibd search`: a query in, ranked source units out."""

from __future__ import annotations

import argparse
import sys

from nibd.daemon.commands import _asked, _daemon
from nibd.daemon.commands._answers import render
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit, style_of

ABOUT = "Find source units that match a query; exit status 1 when none does."


def configure(parser: argparse.ArgumentParser) -> None:
    _asked.add_search(parser)
    parser.add_argument(
        "--explain", action="store_true", help="say why this plan, and how the ranking came to each hit"
    )


def run(arguments: argparse.Namespace) -> int:
    params = _asked.search(arguments)
    if arguments.explain:
        params["explain"] = True
    answer = _daemon.ask("search", params)
    emit(arguments, answer, "" if arguments.json else render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO
