"""`nibd callers`: a place or a name in, the units that call it out."""

from __future__ import annotations

import argparse

from nibd.daemon.commands import _navigate

ABOUT = "Find the units that call a symbol; exit status 1 when none does."


def configure(parser: argparse.ArgumentParser) -> None:
    _navigate.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    return _navigate.run(arguments, "callers")
