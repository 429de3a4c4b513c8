"""The socket's place, and who may have it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from nibd.ipc import sockets
from nibd.ipc.sockets import SocketError, SocketInUse


@pytest.fixture
def folder(isolated_home: Path) -> Path:
    del isolated_home
    return Path(os.environ["XDG_RUNTIME_DIR"]) / "nibd"


@pytest.fixture
def path(folder: Path) -> Path:
    sockets.prepare_folder(folder, os.getuid())
    return folder / "nibd.sock"


@pytest.fixture
def listener(path: Path) -> Iterator[socket.socket]:
    with sockets.listen(path) as listening:
        yield listening


def test_the_runtime_folder_is_preferred() -> None:
    place = sockets.socket_path("/run/user/7", 7)
    assert place == (Path("/run/user/7/nibd/nibd.sock"), None)


@pytest.mark.parametrize(
    ("runtime_dir", "why"),
    [(None, "not set"), ("", "not set"), ("relative", "absolute"), ("/" + "d" * 100, "107 bytes")],
)
def test_without_a_usable_runtime_folder_it_falls_back_and_says_why(
    runtime_dir: str | None, why: str
) -> None:
    place = sockets.socket_path(runtime_dir, 7, "/var/tmp")
    assert place.path == Path("/var/tmp/nibd-7/nibd.sock")
    assert place.fallback_reason is not None
    assert why in place.fallback_reason


def test_the_longest_path_can_be_bound(tmp_path: Path, folder: Path) -> None:
    del tmp_path
    room = sockets.MAX_PATH_BYTES - len(os.fsencode(folder.parent)) - len("//nibd/nibd.sock")
    runtime = folder.parent / ("é" * (room // 2) + "x" * (room % 2))
    runtime.mkdir()
    place = sockets.socket_path(str(runtime), 7)
    assert place.fallback_reason is None
    assert len(os.fsencode(place.path)) == sockets.MAX_PATH_BYTES
    sockets.prepare_folder(place.path.parent, os.getuid())
    sockets.listen(place.path).close()
    assert sockets.socket_path(str(runtime) + "x", 7).fallback_reason is not None


def test_folder_and_socket_are_closed_to_others(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    sockets.prepare_folder(folder, os.getuid())
    with sockets.listen(folder / "s"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600


def test_a_folder_that_is_not_ours_is_refused(folder: Path) -> None:
    with pytest.raises(SocketError, match=r"does .* exist"):
        sockets.prepare_folder(folder / "deep" / "er", os.getuid())
    folder.parent.joinpath("real").mkdir()
    folder.symlink_to(folder.parent / "real")
    with pytest.raises(SocketError, match="symlink"):
        sockets.prepare_folder(folder, os.getuid())
    folder.unlink()
    folder.write_text("")
    with pytest.raises(SocketError, match="not a folder"):
        sockets.prepare_folder(folder, os.getuid())
    folder.unlink()
    folder.mkdir()
    with pytest.raises(SocketError, match="belongs to uid"):
        sockets.prepare_folder(folder, os.getuid() + 1)


def test_a_dead_daemons_socket_is_replaced(path: Path) -> None:
    sockets.listen(path).close()
    assert path.is_socket()
    assert not sockets.is_alive(path)
    with sockets.listen(path):
        assert sockets.is_alive(path)


def test_a_living_daemons_socket_is_refused_and_stays(path: Path, listener: socket.socket) -> None:
    del listener
    before = path.stat().st_ino
    with pytest.raises(SocketInUse, match="another daemon listens"):
        sockets.listen(path)
    assert path.stat().st_ino == before
    assert sockets.is_alive(path)


def test_a_daemon_whose_backlog_is_full_lives(path: Path) -> None:
    with sockets.listen(path, backlog=0):
        waiting = []
        for _ in range(3):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            waiting.append(client)
            client.connect_ex(str(path))
        with pytest.raises(SocketInUse):
            sockets.listen(path)
        for client in waiting:
            client.close()


def test_what_is_no_socket_is_not_removed(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(SocketError, match="not a socket"):
        sockets.listen(path)
    assert path.read_text() == "precious"


def test_an_inherited_listener_is_adopted(path: Path, listener: socket.socket) -> None:
    passed = os.dup(listener.fileno())
    os.set_inheritable(passed, True)
    with sockets.adopt(passed) as adopted, socket.socket(socket.AF_UNIX) as client:
        assert not adopted.get_inheritable()
        client.connect(str(path))
        served, _ = adopted.accept()
        assert sockets.peer_of(served) == (os.getpid(), os.getuid(), os.getgid())
        served.close()


def test_other_inherited_descriptors_are_refused_and_left_open(path: Path, listener: socket.socket) -> None:
    del path, listener
    with socket.socket(socket.AF_UNIX) as deaf, Path(os.devnull).open() as file:
        for fd in (deaf.fileno(), file.fileno()):
            with pytest.raises(SocketError, match="not a"):
                sockets.adopt(fd)
            os.fstat(fd)


@pytest.mark.parametrize(
    ("pid", "fds", "expected"),
    [
        ("10", "2", [3, 4]),
        ("10", "0", []),
        ("11", "1", []),
        (None, "1", []),
        ("10", None, []),
        ("x", "1", []),
        ("10", "-1", []),
    ],
)
def test_descriptors_are_taken_only_when_meant_for_this_process(
    pid: str | None, fds: str | None, expected: list[int]
) -> None:
    assert list(sockets.inherited_fds(pid, fds, 10)) == expected
