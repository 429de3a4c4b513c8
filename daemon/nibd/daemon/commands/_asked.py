"""What commands share of what is asked, as options and as parameters: filters, pages, a search's plan."""

from __future__ import annotations

import argparse
import importlib

from nibd.daemon.commands import _daemon
from nibd.ipc.messages import JsonObject

STDIN = "-"
PLANS = ("auto", "lexical", "dense", "hybrid", "structural")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which files, and which of their units."""
    parser.add_argument(
        "--path",
        dest="paths",
        metavar="GLOB",
        action="append",
        default=[],
        help="only files that this matches, as in .gitignore; with ! before, not those (may be repeated)",
    )
    parser.add_argument("--language", metavar="L", help="only files in this language, such as python")
    parser.add_argument(
        "--kind",
        dest="kinds",
        metavar="K",
        action="append",
        default=[],
        help="only units of this kind, such as function, or lines in these (may be repeated)",
    )
    tests = parser.add_mutually_exclusive_group()
    tests.add_argument(
        "--tests", dest="tests", action="store_const", const="only", help="only files of tests"
    )
    tests.add_argument(
        "--no-tests", dest="tests", action="store_const", const="without", help="no files of tests"
    )
    parser.add_argument(
        "--changed-since",
        metavar="COMMIT",
        help="only files that are otherwise than this commit had them, by id or as git names it",
    )


def filters(arguments: argparse.Namespace, path: str) -> JsonObject:
    """The parameters that `add_filters` is for. `path` is in the repository."""
    params: JsonObject = {}
    if arguments.paths:
        params["paths"] = arguments.paths
    if arguments.language is not None:
        params["language"] = arguments.language
    if arguments.kinds:
        params["kinds"] = arguments.kinds
    if arguments.tests is not None:
        params["tests"] = arguments.tests
    if arguments.changed_since is not None:
        params["changed_since"] = _daemon.commit_id(arguments.changed_since, path)
    return params


def add_page(parser: argparse.ArgumentParser, k: int, *, of: str = "hits") -> None:
    parser.add_argument(
        "-k", metavar="N", type=_daemon.natural, default=k, help=f"at most N {of} (default: {k})"
    )
    parser.add_argument(
        "--offset", metavar="N", type=_daemon.whole, default=0, help="after the first N (default: 0)"
    )


def page(arguments: argparse.Namespace) -> JsonObject:
    return {"k": arguments.k, "offset": arguments.offset}


def add_search(parser: argparse.ArgumentParser) -> None:
    """A query, and how it is answered."""
    parser.add_argument(
        "query", metavar="QUERY", nargs="+", help="words, names, a question; - reads it from standard input"
    )
    _daemon.add_repo(parser)
    parser.add_argument(
        "--plan",
        choices=PLANS,
        help="rank by terms (lexical, the default), by meaning (dense), by both (hybrid), by terms and what "
        "the best hits are related to (structural), or as fits the query (auto)",
    )
    parser.add_argument(
        "--width",
        dest="widths",
        metavar="NAME=N",
        type=_width,
        action="append",
        default=[],
        help="how wide a stage looks: widening, fused, seeds, hops or neighbours (may be repeated)",
    )
    parser.add_argument(
        "--time-ms",
        metavar="N",
        type=_daemon.whole,
        help="with --plan auto: what the answer may take longer than one by terms (default: what it takes)",
    )
    parser.add_argument(
        "--level", choices=("L0", "L1", "L2"), help="only files, scopes or callables (default: any)"
    )
    add_page(parser, 10)
    parser.add_argument(
        "--no-rerank", action="store_true", help="leave the first hits as they are, where a reranker is set"
    )
    add_filters(parser)
    _daemon.add_commit(parser)


def search(arguments: argparse.Namespace) -> JsonObject:
    """The parameters that `add_search` is for."""
    path = _daemon.place(arguments.repo)
    params: JsonObject = {
        "path": path,
        "query": _query(arguments.query),
        "at": _daemon.commit(arguments, path),
        **page(arguments),
        **filters(arguments, path),
    }
    for name in ("plan", "level", "time_ms"):
        if getattr(arguments, name) is not None:
            params[name] = getattr(arguments, name)
    if arguments.no_rerank:
        params["rerank"] = False
    if arguments.widths:
        params["widths"] = dict(arguments.widths)
    return params


def _query(words: list[str]) -> str:
    if words != [STDIN]:
        return _daemon.text_argument(" ".join(words))
    # Only here, for what it imports would cost every query time.
    stdin = importlib.import_module("nibd.daemon.commands._stdin")
    return str(stdin.query())


def _width(text: str) -> tuple[str, int]:
    """An argparse type: `seeds=10`."""
    name, is_one, number = text.partition("=")
    if not is_one or not name:
        raise argparse.ArgumentTypeError(f"a name and a number are needed, such as seeds=10, not {text!r}")
    return name, _daemon.natural(number)
