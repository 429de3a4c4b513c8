"""`nibd version`: which nibd this is."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform

from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._output import emit
from nibd.ipc.messages import PROTOCOL_VERSION

ABOUT = "Print the versions of nibd and its protocol; 'nibd doctor' says whether the daemon's is the same."


def configure(parser: argparse.ArgumentParser) -> None:
    """Takes no arguments of its own."""


def run(arguments: argparse.Namespace) -> int:
    version, python = installed_version(), platform.python_version()
    document = {"version": version, "protocol": PROTOCOL_VERSION, "python": python}
    emit(arguments, document, f"nibd {version} (protocol {PROTOCOL_VERSION}, Python {python})")
    return Exit.OK


def installed_version() -> str:
    return importlib.metadata.version("nibd")
