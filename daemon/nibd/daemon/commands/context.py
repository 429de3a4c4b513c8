"""`nibd context`: a query in, a packet of whole source units for a prompt out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nibd.daemon.commands import _asked, _daemon
from nibd.daemon.commands._answers import short, warnings
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import counted, emit, note, style_of, visible, visible_line
from nibd.ipc.messages import JsonObject

ABOUT = "Print the best source units for a query, whole, within a budget of tokens; exit status 1 for none."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", metavar="N", type=_daemon.natural, default=8000, help="at most N tokens (default: 8000)"
    )
    _asked.add_search(parser)


def run(arguments: argparse.Namespace) -> int:
    params = _asked.search(arguments) | {"budget": arguments.budget}
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
