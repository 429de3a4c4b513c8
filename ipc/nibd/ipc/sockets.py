"""Where the daemon's socket is, and how it is made, taken over or adopted.

Place: `$XDG_RUNTIME_DIR/nibd/nibd.sock`; when that variable is unset or relative, or the path would
exceed the 107 bytes that the system allows, `/tmp/nibd-<uid>/nibd.sock`. Daemon and clients call
`socket_path` with the same values and so agree. The folder is 0700 and the user's own, never a
symlink; the socket is 0600.

Never: a socket that a living process listens on is not removed, nor is anything that is no socket.
Between the probe and the bind another daemon could start, so a caller of `listen` holds the daemon's
lock file. Nothing here reads the environment.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
from pathlib import Path
from typing import NamedTuple

from nibd.ipc.messages import IpcError

MAX_PATH_BYTES = 107
SOCKET_NAME = "nibd.sock"
FIRST_INHERITED_FD = 3


class SocketError(IpcError):
    """The socket or its folder can't be used; the message says what to do."""


class SocketInUse(SocketError):  # noqa: N818 - reads as what it is
    """Another daemon listens there."""


class SocketPlace(NamedTuple):
    """`fallback_reason` says why the runtime folder was not used; None when it was."""

    path: Path
    fallback_reason: str | None


class Peer(NamedTuple):
    """Who is at the other end, as the kernel knows it."""

    pid: int
    uid: int
    gid: int


def socket_path(runtime_dir: str | None, uid: int, temporary_dir: str = "/tmp") -> SocketPlace:
    """The socket's place for this user. Pure: makes and looks at nothing."""
    fallback = Path(temporary_dir) / f"nibd-{uid}" / SOCKET_NAME
    if not runtime_dir:
        return SocketPlace(fallback, "XDG_RUNTIME_DIR is not set")
    path = Path(runtime_dir) / "nibd" / SOCKET_NAME
    if not path.is_absolute():
        return SocketPlace(fallback, f"XDG_RUNTIME_DIR is not an absolute path: {runtime_dir}")
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        return SocketPlace(fallback, f"the path of a socket can't exceed {MAX_PATH_BYTES} bytes: {path}")
    return SocketPlace(path, None)


def prepare_folder(folder: Path, uid: int) -> None:
    """Make the socket's folder, or make sure that it is the user's own, and close it to others."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise SocketError(f"can't make {folder}: {error.strerror}; does {folder.parent} exist?") from error
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise SocketError(f"{folder} is not a folder (or is a symlink); remove it and start again")
    if status.st_uid != uid:
        raise SocketError(f"{folder} belongs to uid {status.st_uid}; set XDG_RUNTIME_DIR elsewhere")
    if stat.S_IMODE(status.st_mode) != 0o700:
        folder.chmod(0o700)


def listen(path: Path, backlog: int = 128) -> socket.socket:
    """A listening socket at `path`, mode 0600; a dead daemon's socket file is replaced.

    The folder was prepared and the caller holds the daemon's lock. Raises SocketInUse, SocketError.
    """
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)  # before listen: until then every connect is refused
        listener.listen(backlog)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise SocketInUse(f"another daemon has just bound {path}") from error
        raise SocketError(f"can't listen on {path}: {error.strerror or error}") from error
    listener.setblocking(False)
    return listener


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketError(f"{path} is not a socket; remove it and start again")
    if is_alive(path):
        raise SocketInUse(f"another daemon listens on {path}; 'nibd stop' ends it")
    path.unlink(missing_ok=True)


def is_alive(path: Path) -> bool:
    """Whether a process listens on the socket file (one too busy to accept counts)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except BlockingIOError:  # its backlog is full
            return True
        except OSError as error:
            raise SocketError(f"can't probe {path}: {error.strerror or error}") from error
    return True


def inherited_fds(listen_pid: str | None, listen_fds: str | None, pid: int) -> range:
    """The descriptors that LISTEN_PID and LISTEN_FDS (systemd's socket activation) pass to process `pid`."""
    if listen_pid is None or listen_fds is None or not listen_pid.isdigit() or not listen_fds.isdigit():
        return range(0)
    count = int(listen_fds) if int(listen_pid) == pid else 0
    return range(FIRST_INHERITED_FD, FIRST_INHERITED_FD + count)


def adopt(fd: int) -> socket.socket:
    """The listening Unix socket that was inherited as `fd`; from now on closed on exec."""
    try:
        listener = socket.socket(fileno=fd)
    except OSError as error:
        raise SocketError(f"the inherited descriptor {fd} is not a socket: {error.strerror}") from error
    accepts = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if listener.family != socket.AF_UNIX or listener.type != socket.SOCK_STREAM or not accepts:
        listener.detach()
        raise SocketError(f"the inherited descriptor {fd} is not a listening Unix stream socket")
    listener.set_inheritable(False)
    listener.setblocking(False)
    return listener


def peer_of(connection: socket.socket) -> Peer:
    """The process at the other end: on a client's side, the one that called listen."""
    layout = struct.Struct("iII")
    return Peer(*layout.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, layout.size)))
