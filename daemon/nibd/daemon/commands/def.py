# ruff: noqa: N999 - a command's module is called what the command is
"""`nibd def`: a place or a name in, its definitions out."""

from __future__ import annotations

import argparse

from nibd.daemon.commands import _navigate

ABOUT = "Find where a symbol is defined; exit status 1 when it is nowhere."


def configure(parser: argparse.ArgumentParser) -> None:
    _navigate.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    return _navigate.run(arguments, "definition")
