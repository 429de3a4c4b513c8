"""A language server that answers only as often as a test lets it: `ty`, as a real process.

    gate = Gate(tmp_path)            # a folder with a program `ty` in it
    gate.open(3)                     # it may answer 3 times `ANSWERS` questions more
    gate.is_used_up()                # whether it has
    gate.asked()                     # every place that a definition was asked of, by path, in order
    gate.refuse()                    # from now on it answers with errors, and of `slow.py` not at all

It knows of nothing: each answer is an empty list, but that of a file named `odd.py` is an error.
"""

from __future__ import annotations

import fcntl
import os
import sys
import termios
from array import array
from collections import defaultdict
from pathlib import Path

ANSWERS = 100
_PROGRAM = """\
#!{python} -IS
import json, os, sys

if sys.argv[1:] == ["--version"]:
    print("ty 99.0.0")
    sys.exit()

refuses = {refuses!r}
gate = open({gate!r}, "rb", buffering=0)
log = open({log!r}, "a", buffering=1)
left = 0

def answer(message):
    global left
    method, params = message["method"], message.get("params")
    if method == "initialize":
        return {{"capabilities": {{"positionEncoding": "utf-8"}}}}
    if method != "textDocument/definition":
        return None
    if os.path.exists(refuses):
        return None
    if not left:
        gate.read(1)
        left = {answers}
    left -= 1
    place = params["position"]
    print(params["textDocument"]["uri"].rpartition("/")[2], place["line"], place["character"], file=log)
    return []

while line := sys.stdin.buffer.readline():
    size = int(line.split(b":")[1])
    while sys.stdin.buffer.readline().strip():
        pass
    message = json.loads(sys.stdin.buffer.read(size))
    if "id" in message and "method" in message:
        reply = {{"result": answer(message)}}
        is_refused = "/odd.py" in str(message.get("params")) or os.path.exists(refuses)
        if message["method"] == "textDocument/definition" and is_refused:
            if "/slow.py" in str(message["params"]) and os.path.exists(refuses):
                continue
            reply = {{"error": {{"code": -32603, "message": "not this one"}}}}
        body = json.dumps({{"jsonrpc": "2.0", "id": message["id"], **reply}}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
        sys.stdout.buffer.flush()
"""


class Gate:
    """`folder` holds the program; one gate for all processes of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gated"
        self.folder.mkdir(parents=True)
        self._log, gate, program = self.folder / "log", self.folder / "gate", self.folder / "ty"
        self._log.touch()
        os.mkfifo(gate)
        self._gate = os.open(gate, os.O_RDWR)
        self._refuses = self.folder / "refuses"
        text = _PROGRAM.format(
            python=sys.executable,
            gate=str(gate),
            log=str(self._log),
            answers=ANSWERS,
            refuses=str(self._refuses),
        )
        program.write_text(text)
        program.chmod(0o755)

    def open(self, times: int) -> None:
        os.write(self._gate, b"." * times)

    def is_used_up(self) -> bool:
        """Whether the server has taken all that it was let; of the last it may still be at work."""
        unread = array("i", [0])
        fcntl.ioctl(self._gate, termios.FIONREAD, unread)
        return not unread[0]

    def refuse(self) -> None:
        self._refuses.touch()

    def asked(self) -> dict[str, list[tuple[int, int]]]:
        found = defaultdict(list)
        for line in self._log.read_text().splitlines():
            path, row, column = line.split()
            found[path].append((int(row), int(column)))
        return found
