"""Reaching the daemon, and what commands send it."""

from __future__ import annotations

import argparse
import importlib
import os
import re
from pathlib import Path

from nibd.daemon.commands._failures import CommandError, Exit
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.ipc.sockets import socket_path

_COMMIT_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
CALL_TIMEOUT_S = 60.0
"""Longer than the daemon's own limit for a request (30 s unless set), whose message is the better one."""


def socket_file() -> str:
    """Where the daemon of this user listens."""
    return str(socket_path(os.environ.get("XDG_RUNTIME_DIR"), os.getuid()).path)


def connect() -> Client:
    """A connection; with systemd's socket this starts the daemon. Raises DaemonUnavailable."""
    try:
        return Client(socket_file(), CALL_TIMEOUT_S)
    except DaemonUnavailable as error:
        if error.reason != "not_running":
            raise
        advice = "'nibd init' in a checkout starts one, 'nibd service install' one at each login"
        raise DaemonUnavailable(error.reason, f"no daemon listens on {socket_file()}; {advice}") from error


def ask(method: str, params: JsonObject | None = None) -> JsonObject:
    """The result of one short request on a connection of its own."""
    try:
        with connect() as client:
            return expect(client.call(method, params))
    except RpcError as error:
        if error.code == ErrorCode.UNPUBLISHED_COMMIT and params:
            _look_up(params["at"], params["path"])  # of a commit that there is not it is no wonder
        raise


def expect(result: object) -> JsonObject:
    """A result that the protocol has as an object."""
    if not isinstance(result, dict):
        raise CommandError(f"the daemon answered {result!r} instead of an object", Exit.DEFECT, "internal")
    return result


def real_path(path: str | None) -> str:
    """`path`, or the working directory, as the daemon wants it: absolute and without symlinks."""
    try:
        return os.path.realpath(path if path is not None else Path.cwd())
    except FileNotFoundError as error:
        raise CommandError("the working directory is gone; change to one that exists") from error
    except ValueError as error:
        raise CommandError(f"not a path: {path!r}", Exit.USAGE, "usage") from error


def place(path: str | None) -> str:
    """`real_path` of what tells only which checkout is meant. Raises CommandError for a slip in a path within
    a checkout, which would be answered from that; of a checkout that is gone itself the daemon knows."""
    real = real_path(path)
    if path is not None and not os.path.lexists(path) and _is_in_checkout(real):
        raise CommandError(f"{real} is not there; give a file or folder in the checkout", Exit.USAGE, "usage")
    return real


def _is_in_checkout(path: str) -> bool:
    return any(os.path.lexists(parent / ".git") for parent in Path(path).parents)


def commit(arguments: argparse.Namespace, path: str) -> str:
    """What `--at` asks for, as the protocol has it. `path` is in the repository."""
    at: str = arguments.at
    return at if at == "latest" else commit_id(at, path)


def commit_id(revision: str, path: str) -> str:
    """The whole id of a commit as people write it."""
    return revision if _COMMIT_ID.fullmatch(revision) else _look_up(revision, path)


def _look_up(revision: str, path: str) -> str:
    # Only here, for it imports subprocess, which takes as long as the question itself.
    revisions = importlib.import_module("nibd.daemon.commands._revisions")
    return str(revisions.commit_of(revision, path))


def text_argument(argument: str) -> str:
    """An argument that is text and no path: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(argument).decode("utf-8", "replace")


def add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        help="a file or folder in a checkout (default: the working directory)",
    )


def add_repo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repo",
        metavar="PATH",
        help="a file or folder in the checkout to ask (default: the working directory)",
    )


def add_commit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at",
        metavar="COMMIT",
        default="latest",
        help="a published commit, by id or as git names it (default: the newest snapshot)",
    )


def natural(text: str) -> int:
    """An argparse type: a whole number from 1."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise argparse.ArgumentTypeError(f"a whole number from 1 is needed, not {text!r}")
    return int(text)


def whole(text: str) -> int:
    """An argparse type: a whole number from 0."""
    return 0 if text == "0" else natural(text)


def seconds(text: str) -> float:
    """An argparse type: a number of seconds from 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"a number of seconds from 0 is needed, not {text!r}")
    return value
