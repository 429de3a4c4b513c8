"""A server that comes to know of nothing in a whole file is not believed: a fresh one decides."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from language_servers import require
from nibd.repair.servers import room
from nibd.stores.types import Assurance
from relations_world import World

FILES = {
    "go.mod": "module example.com/m\n\ngo 1.21\n",
    "lib.go": "package m\n\nfunc Greet() int { return 1 }\n",
    "app.go": "package m\n\nfunc Use() int { return Greet() + Greet() + Greet() + Greet() }\n",
}
_PROXY = """\
#!{python} -IS
# gopls, but the first process of it knows of nothing in app.go once the file `forget` is there
import json, os, subprocess, sys, threading

folder = {folder!r}
number = len(os.listdir(folder + "/started"))
open(folder + "/started/%d" % number, "w").close()
server = subprocess.Popen([{program!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
asked, lock = set(), threading.Lock()

def messages(stream):
    while line := stream.readline():
        size = int(line.split(b":")[1])
        while stream.readline().strip():
            pass
        yield json.loads(stream.read(size))

def send(stream, message):
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    stream.flush()

def answer():
    for message in messages(server.stdout):
        if message.get("id") in asked and "method" not in message:
            message = {{"jsonrpc": "2.0", "id": message["id"], "result": None}}
        send(sys.stdout.buffer, message)

threading.Thread(target=answer, daemon=True).start()
for message in messages(sys.stdin.buffer):
    is_forgotten = number == 0 and os.path.exists(folder + "/forget")
    if is_forgotten and message.get("method") == "textDocument/definition":
        if message["params"]["textDocument"]["uri"].endswith("/app.go"):
            asked.add(message["id"])
    send(server.stdin, message)
server.terminate()
"""


def forgetful(world: World, folder: Path) -> Path:
    """Have the world's first server forget from when the path that is given exists."""
    _, installed = require("go")
    (folder / "started").mkdir(parents=True)
    program = folder / "gopls"
    program.write_text(
        _PROXY.format(python=sys.executable, folder=str(folder), program=str(installed.program))
    )
    program.chmod(0o755)
    world.relating.workspace._installed["go"] = replace(installed, program=program)
    return folder / "forget"


def test_a_file_that_lost_its_targets_is_asked_of_a_fresh_server(tmp_path: Path) -> None:
    with World(tmp_path, "go", FILES) as world:
        forget = forgetful(world, tmp_path / "proxy")
        world.relate()
        world.commit({"other.go": "package m\n\nvar other = 1\n"})
        world.relate()
        expected = world.contents()
        forget.touch()

        made, verified = world.verify()

        assert verified.differences == []
        assert verified.contradicted >= 4
        assert world.contents() == expected
        assert made.record.assurance is Assurance.VERIFIED
        assert world.relating.workspace.running("go") is None  # another one is started for what comes next
        assert world.relating.workspace.starts == 2


def test_without_room_for_a_fresh_server_nothing_is_taken_away_and_that_is_said(tmp_path: Path) -> None:
    with World(tmp_path, "go", FILES) as world:
        forget = forgetful(world, tmp_path / "proxy")
        world.relate()
        world.commit({"other.go": "package m\n\nvar other = 1\n"})
        world.relate()
        expected = world.contents()
        forget.touch()

        with patch.object(room, "available_bytes", lambda: 100 << 20):
            made, verified = world.verify()

        assert world.contents() == expected
        assert verified.unanswered >= 4
        assert made.record.assurance is Assurance.PARTIAL
