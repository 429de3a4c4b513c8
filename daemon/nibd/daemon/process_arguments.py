"""Programs that take no arguments, but for `--help`: the daemon, and the children that only it talks to.

Who starts one by hand and mistypes is told so with exit status 2, before anything is done.
"""

from __future__ import annotations

import argparse


def take_none(module: str, about: str) -> None:
    """Exits when the command line says anything."""
    argparse.ArgumentParser(prog=f"python -m {module}", description=about, allow_abbrev=False).parse_args()
