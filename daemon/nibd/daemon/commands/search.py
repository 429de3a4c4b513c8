"""`nibd search`: a query in, ranked source units out."""

from __future__ import annotations

import argparse
import sys

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import render
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit, style_of

ABOUT = "Find source units that match a query; exit status 1 when none does."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="+", help="words, names, or a question")
    _daemon.add_repo(parser)
    parser.add_argument(
        "--plan",
        choices=("lexical", "dense", "hybrid"),
        default="lexical",
        help="rank by terms (default), by meaning, or by both",
    )
    parser.add_argument(
        "--level", choices=("L0", "L1", "L2"), help="only files, scopes or callables (default: any)"
    )
    parser.add_argument(
        "-k", metavar="N", type=_daemon.natural, default=10, help="at most N hits (default: 10)"
    )
    parser.add_argument("--explain", action="store_true", help="say how the ranking came to each hit")
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace) -> int:
    path = _daemon.real_path(arguments.repo)
    params = {
        "path": path,
        "query": _daemon.text_argument(" ".join(arguments.query)),
        "plan": arguments.plan,
        "k": arguments.k,
        "at": _daemon.commit(arguments, path),
    }
    if arguments.level is not None:
        params["level"] = arguments.level
    if arguments.explain:
        params["explain"] = True
    answer = _daemon.ask("search", params)
    emit(arguments, answer, "" if arguments.json else render(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO
