"""`python -m nibd.bench maintain --repository NAME=PATH ...`: measure how views follow commits."""

from __future__ import annotations

import argparse
from pathlib import Path

from nibd.bench import maintain
from nibd.bench.report import Report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m nibd.bench", description="Measure nibd.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    maintenance = commands.add_parser(
        "maintain",
        help="how views follow commits",
        description="Measure how views follow commits. Docs: docs/bench.md. The repositories are cloned.",
    )
    _configure(maintenance)
    options = parser.parse_args(arguments)
    report = Report("nibd: how views follow commits")
    maintain.run(_plan(options), report)
    return report.end(options.json)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repository",
        action="append",
        default=[],
        metavar="NAME=PATH",
        type=named_clone,
        help="a clone to measure on, and the name of its rows (repeatable; bars are for flask and sympy)",
    )
    parser.add_argument("--transitions", type=int, default=20, metavar="N", help="counted ones (default: 20)")
    parser.add_argument(
        "--made-files", type=int, default=50_000, metavar="N", help="files of the made repository; 0: none"
    )
    parser.add_argument("--idle-seconds", type=float, default=60.0, metavar="S", help="(default: 60)")
    parser.add_argument(
        "--full-dense-texts",
        type=int,
        default=5000,
        metavar="N",
        help="up to so many texts all vectors are made anew at every transition; else at the first and last "
        "one, and a sample at the others (default: 5000)",
    )
    parser.add_argument("--no-dense", action="store_true", help="leave the dense view out")
    parser.add_argument(
        "--only", nargs="+", default=list(maintain.PARTS), choices=list(maintain.PARTS), metavar="PART",
        help=f"parts to measure: {', '.join(maintain.PARTS)} (default: all)",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all samples there")


def _plan(options: argparse.Namespace) -> maintain.Plan:
    return maintain.Plan(
        repositories=dict(options.repository),
        transitions=options.transitions,
        made_files=options.made_files,
        idle_s=options.idle_seconds,
        full_dense_texts=options.full_dense_texts,
        dense=not options.no_dense,
        only=tuple(options.only),
    )


def named_clone(text: str) -> tuple[str, Path]:
    """An option's NAME=PATH."""
    name, found, path = text.partition("=")
    if not found or not name or "/" in name or not Path(path).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH of a clone")
    return name, Path(path).resolve()
