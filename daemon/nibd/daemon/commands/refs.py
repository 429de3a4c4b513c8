"""`nibd refs`: a place or a name in, the sites that refer to it out."""

from __future__ import annotations

import argparse

from nibd.daemon.commands import _navigate

ABOUT = "Find the sites that refer to a symbol; exit status 1 when none does."


def configure(parser: argparse.ArgumentParser) -> None:
    _navigate.configure(parser)
    parser.add_argument("--declaration", action="store_true", help="also where it is declared")


def run(arguments: argparse.Namespace) -> int:
    return _navigate.run(arguments, "references", include_declaration=arguments.declaration)
