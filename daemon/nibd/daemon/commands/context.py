"""`nibd context`: a query in, a packet of whole source units for a prompt out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import short, warnings
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import counted, emit, note, style_of, visible, visible_line
from nibd.ipc.messages import JsonObject

ABOUT = "Print the best source units for a query, whole, within a budget of tokens; exit status 1 for none."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="+", help="words, names, or a question")
    _daemon.add_repo(parser)
    parser.add_argument(
        "--budget", metavar="N", type=_daemon.natural, default=8000, help="at most N tokens (default: 8000)"
    )
    parser.add_argument(
        "--plan",
        choices=("lexical", "dense", "hybrid"),
        help="rank as 'nibd search' does with it (default: as without it)",
    )
    parser.add_argument(
        "--level", choices=("L0", "L1", "L2"), help="only files, scopes or callables (default: any)"
    )
    parser.add_argument(
        "-k", metavar="N", type=_daemon.natural, default=10, help="of the best N hits (default: 10)"
    )
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace) -> int:
    path = _daemon.real_path(arguments.repo)
    params: JsonObject = {
        "path": path,
        "query": _daemon.text_argument(" ".join(arguments.query)),
        "budget": arguments.budget,
        "k": arguments.k,
        "at": _daemon.commit(arguments, path),
    }
    if arguments.plan is not None:
        params["plan"] = arguments.plan
    if arguments.level is not None:
        params["level"] = arguments.level
    answer = _daemon.ask("context", params)
    if not arguments.json:
        style = style_of(sys.stderr)
        for line in _notes(answer):
            note(style("loud" if line.startswith("!") else "dim", line))
    emit(arguments, answer, visible(answer["text"].rstrip("\n")))
    return Exit.OK if answer["units"] else Exit.NO


def _notes(answer: JsonObject) -> Iterator[str]:
    """On stderr: the packet alone is what goes into a prompt."""
    tokens = answer["tokens"]
    units = counted(len(answer["units"]), "units")
    used = f"{tokens['count']} of {tokens['budget']} tokens ({visible_line(tokens['tokenizer'])})"
    yield f"commit {short(answer['snapshot']['commit'])}; {units}; {used}"
    if not tokens["exact"]:
        yield f"! ESTIMATE: tokens were not counted: {visible_line(tokens['reason'])}"
    hits = [*answer["units"], *answer["left_out"]]
    yield from (f"! {text}" for text in warnings(answer | {"hits": hits}))
    for hit in answer["left_out"]:
        took = f", {counted(hit['tokens'], 'tokens')}" if hit["tokens"] is not None else ""
        place = f"{visible_line(hit['path'])}:{hit['start_line']}-{hit['end_line']}"
        yield f"left out: {place} ({hit['reason'].replace('_', ' ')}{took})"
