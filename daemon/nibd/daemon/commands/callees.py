"""`nibd callees`: a place or a name in, what that unit calls out."""

from __future__ import annotations

import argparse

from nibd.daemon.commands import _navigate

ABOUT = "Find what the calls in a unit refer to; exit status 1 when it calls nothing."


def configure(parser: argparse.ArgumentParser) -> None:
    _navigate.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    return _navigate.run(arguments, "callees")
