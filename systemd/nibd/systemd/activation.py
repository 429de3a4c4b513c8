"""Socket activation: taking over the sockets that a service manager already listens on.

The protocol of sd_listen_fds(3): LISTEN_FDS sockets, from descriptor 3 on, for the process
LISTEN_PID; LISTEN_FDNAMES names them. The variables are taken out of the mapping whatever they say
and the descriptors are closed on exec, so that no child takes the sockets for its own.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import MutableMapping

from nibd.systemd.errors import ActivationError

_FIRST_DESCRIPTOR = 3


def listen_sockets(environment: MutableMapping[str, str], pid: int) -> list[socket.socket]:
    """Return the listening Unix stream sockets passed to process `pid`; none when it was not activated.

    The caller owns them; their path stays the manager's, so it must not be unlinked. Raises
    ActivationError when a descriptor is anything else.
    """
    count_text = environment.pop("LISTEN_FDS", "")
    for_pid = environment.pop("LISTEN_PID", "")
    names = environment.pop("LISTEN_FDNAMES", "")
    if not count_text or for_pid != str(pid):
        return []
    count = _count(count_text)
    if names and len(names.split(":")) != count:
        raise ActivationError(f"LISTEN_FDNAMES {names!r} does not name {count} sockets")
    descriptors = range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + count)
    for descriptor in descriptors:
        _require_open(descriptor)
        os.set_inheritable(descriptor, False)
    return [_adopt(descriptor) for descriptor in descriptors]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ActivationError(f"LISTEN_FDS is not a number: {text!r}")
    return int(text)


def _require_open(descriptor: int) -> None:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        raise ActivationError(f"descriptor {descriptor} of LISTEN_FDS: {error.strerror}") from error
    if not stat.S_ISSOCK(mode):
        raise ActivationError(f"descriptor {descriptor} of LISTEN_FDS is not a socket")


def _adopt(descriptor: int) -> socket.socket:
    adopted = socket.socket(fileno=descriptor)
    problem = _problem(adopted)
    if problem:
        adopted.detach()
        raise ActivationError(f"descriptor {descriptor} of LISTEN_FDS {problem}")
    return adopted


def _problem(candidate: socket.socket) -> str | None:
    if candidate.family != socket.AF_UNIX:
        return f"is of family {candidate.family.name}, not a Unix socket"
    if candidate.type != socket.SOCK_STREAM:
        return f"is of type {candidate.type.name}, not a stream socket"
    if not candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "is not listening"
    return None
