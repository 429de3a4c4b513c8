"""`nibd impls`: a place or a name in, what inherits from it out."""

from __future__ import annotations

import argparse

from nibd.daemon.commands import _navigate

ABOUT = "Find what inherits from a symbol or implements it; exit status 1 when nothing does."


def configure(parser: argparse.ArgumentParser) -> None:
    _navigate.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    return _navigate.run(arguments, "implementations")
