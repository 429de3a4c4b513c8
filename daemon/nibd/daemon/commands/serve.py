"""`nibd serve`: the daemon, in the foreground."""

from __future__ import annotations

import argparse
import importlib
import sys

from nibd.daemon.commands._failures import Exit
from nibd.daemon.lock import ANOTHER_RUNS

ABOUT = (
    "Run the daemon in the foreground until Ctrl-C or 'nibd stop'; it logs to the terminal, else to its file."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Takes no arguments of its own."""


def run(arguments: argparse.Namespace) -> int:
    # Only here, so that `nibd serve --help` and the parser's tests don't load the whole daemon.
    main = importlib.import_module("nibd.daemon.main").main
    status = int(main(foreground=sys.stderr.isatty()))
    return Exit.ENVIRONMENT if status == ANOTHER_RUNS else status
