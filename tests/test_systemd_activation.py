"""Socket activation under the real `systemd-socket-activate`, and with descriptors that are wrong."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nibd.systemd.activation import listen_sockets
from waiting import wait_until

ACTIVATE = "systemd-socket-activate"

SERVER = """
import os
from nibd.systemd.activation import listen_sockets
(listening,) = listen_sockets(os.environ, os.getpid())
left = sorted(name for name in os.environ if name.startswith("LISTEN_"))
client, _ = listening.accept()
asked = client.recv(100).decode()
client.sendall(f"{asked} {listening.fileno()} {listening.get_inheritable()} {left}".encode())
"""

# Puts a descriptor at 3 as the first argument says, then asks for it; prints the result or the refusal.
ADOPT = """
import os, socket, sys
from nibd.systemd.activation import listen_sockets
from nibd.systemd.errors import ActivationError
what, path = sys.argv[1:3]
if what == "file":
    given = os.open("/dev/null", os.O_RDONLY)
elif what == "closed":
    given = None
else:
    kind = socket.SOCK_DGRAM if what == "datagram" else socket.SOCK_STREAM
    made = socket.socket(socket.AF_INET if what == "internet" else socket.AF_UNIX, kind)
    made.bind(("127.0.0.1", 0) if what == "internet" else path)
    if what in ("listening", "internet"):
        made.listen()
    given = made.detach()
if given is None:
    os.closerange(3, 50)
elif given != 3:
    os.dup2(given, 3)
os.environ.update(LISTEN_FDS=sys.argv[3], LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES=sys.argv[4])
try:
    print("adopted", len(listen_sockets(os.environ, os.getpid())))
except ActivationError as error:
    print(error)
"""


def _adopt(what: str, count: str = "1", names: str = "") -> str:
    with tempfile.TemporaryDirectory(dir=os.environ["XDG_RUNTIME_DIR"]) as folder:
        command = [sys.executable, "-c", ADOPT, what, f"{folder}/s", count, names]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(shutil.which(ACTIVATE) is None, reason=f"{ACTIVATE} is missing")
def test_a_client_is_answered_on_the_socket_that_systemd_listens_on(tmp_path: Path) -> None:
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "nibd.sock"
    command = [ACTIVATE, "-l", str(path)]
    with (
        (tmp_path / "stderr").open("wb") as errors,
        subprocess.Popen([*command, sys.executable, "-c", SERVER], stderr=errors) as server,
    ):
        try:
            wait_until(path.exists, what="the socket")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(20)
                client.connect(str(path))
                client.sendall(b"hello")
                answer = client.recv(1000).decode()
            assert answer == "hello 3 False []", (tmp_path / "stderr").read_text()
            assert server.wait(20) == 0
        finally:
            server.kill()


def test_a_process_that_was_not_activated_has_no_sockets_and_passes_nothing_on() -> None:
    assert listen_sockets({}, os.getpid()) == []

    for_another = {"LISTEN_FDS": "1", "LISTEN_PID": "1", "LISTEN_FDNAMES": "x", "PATH": "/bin"}
    assert listen_sockets(for_another, os.getpid()) == []
    assert for_another == {"PATH": "/bin"}


def test_a_listening_unix_socket_is_adopted() -> None:
    assert _adopt("listening", names="nibd.socket") == "adopted 1"


@pytest.mark.parametrize(
    ("what", "refusal"),
    [
        ("bound", "descriptor 3 of LISTEN_FDS is not listening"),
        ("datagram", "descriptor 3 of LISTEN_FDS is of type SOCK_DGRAM, not a stream socket"),
        ("internet", "descriptor 3 of LISTEN_FDS is of family AF_INET, not a Unix socket"),
        ("file", "descriptor 3 of LISTEN_FDS is not a socket"),
        ("closed", "descriptor 3 of LISTEN_FDS: Bad file descriptor"),
    ],
)
def test_anything_but_a_listening_unix_socket_is_refused(what: str, refusal: str) -> None:
    assert _adopt(what) == refusal


def test_counts_that_make_no_sense_are_refused() -> None:
    assert _adopt("listening", count="many") == "LISTEN_FDS is not a number: 'many'"
    assert "does not name 1 sockets" in _adopt("listening", names="a:b")
    assert "Bad file descriptor" in _adopt("listening", count="999999999")
