"""`nibd outline`: a file in, its units out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._answers import render_outline
from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands._output import emit, style_of
from nibd.ipc.messages import ErrorCode, RpcError

ABOUT = "List the units of a file; exit status 1 when it has none."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file in a checkout")
    _daemon.add_commit(parser)


def run(arguments: argparse.Namespace) -> int:
    path = _daemon.real_path(arguments.file)
    params = {"path": path, "at": _daemon.commit(arguments, path)}
    try:
        answer = _daemon.ask("outline", params)
    except RpcError as error:
        if error.code == ErrorCode.NOT_FOUND and Path(path).is_dir():
            message = f"{path} is a folder; outline takes a file"
            raise CommandError(message, Exit.USAGE, "usage") from error
        raise
    emit(arguments, answer, "" if arguments.json else render_outline(answer, style_of(sys.stdout)))
    return Exit.OK if answer["hits"] else Exit.NO
