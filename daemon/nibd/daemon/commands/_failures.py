"""The one place where errors become a message and an exit code.

Exit codes:

    0    done, or the answer is yes
    1    the answer is no: nothing found; of commands that ask how things are, not as they should be
    2    what was typed is wrong: an option, a pattern, a commit that there is not
    3    it can't be answered as things are: no daemon, a view that is missing, an unpublished commit,
         no Git repository, settings refused
    70   a mistake in nibd itself (or its daemon), which is worth a report
    130  interrupted

An error is recognised by the name of its class, so that a command that reads no Git does not import
pygit2 to tell that an error is not Git's.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from nibd.daemon.commands._typed import as_typed
from nibd.ipc.messages import ErrorCode, Json, RpcError


class Exit(IntEnum):
    """Exit codes; the module's text says when each is used."""

    OK = 0
    NO = 1
    USAGE = 2
    ENVIRONMENT = 3
    DEFECT = 70
    BROKEN_PIPE = 141
    INTERRUPTED = 130


class CommandError(Exception):
    """A command can't go on. The message says what, where and what to do."""

    def __init__(self, message: str, exit_code: Exit = Exit.ENVIRONMENT, code: str = "environment") -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code


class Failure(NamedTuple):
    """`code` is for programs: an ErrorCode's wire name, or one of the words below."""

    message: str
    exit_code: Exit
    code: str
    data: Json = None


ENVIRONMENT_ERRORS = {
    "nibd.daemon.paths.PathsError": "environment",
    "nibd.daemon.registry.RegistryError": "environment",
    "nibd.daemon.settings.SettingsError": "settings",
    "nibd.hooks.report.HooksError": "hooks",
    "nibd.ipc.client.DaemonUnavailable": "no_daemon",
    "nibd.ipc.sockets.SocketError": "environment",
    "nibd.repair.git.errors.GitError": "git",
    "nibd.systemd.errors.SystemdError": "systemd",
}
"""Classes whose messages are fit to be shown as they are, with the code for programs."""

EXITS = {
    ErrorCode.NOT_FOUND: Exit.NO,
    ErrorCode.INVALID_PARAMS: Exit.USAGE,
    ErrorCode.TOO_LARGE: Exit.USAGE,
    ErrorCode.INTERNAL: Exit.DEFECT,
    ErrorCode.PARSE_ERROR: Exit.DEFECT,
    ErrorCode.INVALID_REQUEST: Exit.DEFECT,
}
"""Of the daemon's errors; all others are the environment's."""


def explain(error: BaseException) -> Failure | None:
    """What to say of `error`; `None` when it is none that was foreseen."""
    if isinstance(error, CommandError):
        return Failure(str(error), error.exit_code, error.code)
    if isinstance(error, RpcError):
        return _of_daemon(error)
    for base in type(error).__mro__:
        code = ENVIRONMENT_ERRORS.get(f"{base.__module__}.{base.__qualname__}")
        if code is not None:
            return Failure(str(error), Exit.ENVIRONMENT, code)
    if isinstance(error, OSError):
        return Failure(_of_system(error), Exit.ENVIRONMENT, "environment")
    return None


def _of_daemon(error: RpcError) -> Failure:
    if not isinstance(error.code, ErrorCode):  # of a newer daemon
        return Failure(error.message, Exit.ENVIRONMENT, str(error.code), error.data)
    message = error.message
    if error.code is ErrorCode.METHOD_NOT_FOUND:
        message = f"{message}: the running daemon is of another version; 'nibd stop' and ask again"
    elif error.code in (ErrorCode.INVALID_PARAMS, ErrorCode.UNSUPPORTED):
        message = as_typed(message)
    return Failure(message, EXITS.get(error.code, Exit.ENVIRONMENT), error.code.wire_name, error.data)


def _of_system(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename is not None else what
