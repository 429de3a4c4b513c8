"""`python -m nibd.bench.relations --repository NAME=PATH ...`: measure how relations follow commits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from nibd.bench import relations_chain, relations_inverse, relations_static
from nibd.bench.relations_cases import FAMILY_OF_NAME, Chain, listed, newest
from nibd.bench.relations_figures import report_build, report_transitions
from nibd.bench.relations_follow import Followed, How, first_build, follow
from nibd.bench.relations_world import server_folders
from nibd.bench.report import Report
from nibd.repair.relations.cycles import rarely_look_for_cycles

PARTS = ("transitions", "inverse", "static", "first", "chain")
DEFAULT_PARTS = PARTS[:3]
"""Where transitions are measured, so are first builds."""
DEFAULT_TRANSITIONS = 20


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    rarely_look_for_cycles()  # as a navigator does
    if options.chain:
        options.only, options.transitions = ["chain"], options.chain
    report = Report("nibd: how relations follow commits")
    how = How(tuple(server_folders(options.servers)), not options.warm_only, options.cold, options.again)
    chains = _chains(options, report)
    for part in dict.fromkeys(options.only):
        _measure(part, chains, how, options.samples, report)
    return report.end(options.json)


def _measure(part: str, chains: Sequence[Chain], how: How, samples: int, report: Report) -> None:
    followed: list[Followed] = []
    for chain in chains:
        with report.timed(f"{chain.name}: {part}"):
            match part:
                case "transitions":
                    followed.append(follow(chain, how))
                case "inverse":
                    relations_inverse.measure(chain, how, samples, report)
                case "static":
                    relations_static.measure(chain, how.servers, samples, report)
                case "first":
                    report_build(first_build(chain, how), report)
                case "chain":
                    relations_chain.measure(chain, how, report)
    report_transitions(followed, report)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m nibd.bench.relations",
        description="Measure how relations follow commits. Docs: docs/bench.md. The repositories are cloned.",
    )
    add = parser.add_argument
    add(
        "--repository", action="append", default=[], type=_repository, metavar="NAME=PATH",
        help="a clone to measure on, and the name of its rows (repeatable)",
    )  # fmt: skip
    add(
        "--transitions", type=int, metavar="N",
        help=f"the newest N of each clone (default: {DEFAULT_TRANSITIONS}), the first N of each repository "
        "of the cases (default: all)",
    )  # fmt: skip
    add("--cases", type=Path, metavar="FILE", help="transitions as JSON lines: repo, language, parent, child")
    add("--clones", type=Path, default=Path(), metavar="DIR", help="holds the clones of the cases")
    families = sorted(set(FAMILY_OF_NAME.values()))
    add("--family", choices=families, help="only this one (default: that of most files of each clone)")
    add(
        "--servers", action="append", default=[], type=Path, metavar="DIR",
        help="where language servers are looked for before PATH (repeatable)",
    )  # fmt: skip
    add(
        "--only", nargs="+", default=list(DEFAULT_PARTS), choices=PARTS, metavar="PART",
        help=f"parts to measure: {', '.join(PARTS)} (default: {', '.join(DEFAULT_PARTS)})",
    )  # fmt: skip
    add(
        "--samples", type=int, default=1000, metavar="N",
        help="how many requests of a kind each clone is asked, statically and live (default: 1000)",
    )  # fmt: skip
    add(
        "--chain", type=int, metavar="N",
        help="only the part chain, of N transitions: repaired one after another, then back and forth",
    )  # fmt: skip
    add("--warm-only", action="store_true", help="leave out repair by file, and its servers")
    add("--cold", type=int, default=3, metavar="N", help="repairs of each clone with no server running (3)")
    add("--again", type=int, default=3, metavar="N", help="second rebuilds of each clone, on differences (3)")
    add("--json", type=Path, metavar="FILE", help="save all samples there")
    return parser


def _chains(options: argparse.Namespace, report: Report) -> list[Chain]:
    chains: list[Chain] = []
    count = DEFAULT_TRANSITIONS if options.transitions is None else options.transitions
    for name, path in options.repository:
        with report.timed(name):
            chains.append(newest(name, path, options.family, count))
    if options.cases:
        with report.timed(str(options.cases)):
            chains += listed(options.cases, options.clones, options.transitions or 0, options.family)
    return chains


def _repository(text: str) -> tuple[str, Path]:
    name, found, path = text.partition("=")
    if not found or not name or not Path(path).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH of a clone")
    return name, Path(path).resolve()
