"""`python -m nibd.bench.lifecycle --repository NAME=PATH ...`: materialise, load, serve; executed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nibd.bench import lifecycle_parts
from nibd.bench.command import named_clone
from nibd.bench.report import Report

SESSIONS = (1, 5, 20, 100)


def main(arguments: list[str] | None = None) -> int:
    options = make_parser().parse_args(arguments)
    report = Report("nibd: what views cost over their life")
    for name, repository in options.repository:
        print(f"{name} ...", file=sys.stderr, flush=True)
        with report.guarded(name):
            lifecycle_parts.measure(name, repository, sorted(options.sessions), not options.no_dense, report)
    return report.end(options.json, options.page)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nibd.bench.lifecycle", description=__doc__)
    parser.add_argument(
        "--repository", type=named_clone, action="append", required=True, metavar="NAME=PATH",
        help="a clone, at its HEAD (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--sessions", type=_count, nargs="+", default=list(SESSIONS), metavar="N",
        help=f"after how many sessions the cost is told (default: {' '.join(map(str, SESSIONS))})",
    )  # fmt: skip
    parser.add_argument("--no-dense", action="store_true", help="leave the dense view out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all samples there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="save a readable report there (HTML)")
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least one session")
    return count
