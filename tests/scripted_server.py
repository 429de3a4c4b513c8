"""A server that follows a script, as a real process: what servers should not do, at will.

`write_server(folder, body)` makes a program whose `body` is called for each message, with

    message     the message, a dict
    reply(x)    answer it with result x
    say(m)      send any message
    raw(b)      send bytes
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

_PROGRAM = """\
#!{python} -IS
import json, os, sys

state = {{}}

def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def say(message):
    body = json.dumps({{"jsonrpc": "2.0", **message}}).encode()
    raw(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))

def reply(result):
    say({{"id": message["id"], "result": result}})

def handle():
{body}

while line := sys.stdin.buffer.readline():
    size = int(line.split(b":")[1])
    while sys.stdin.buffer.readline().strip():
        pass
    message = json.loads(sys.stdin.buffer.read(size))
    handle()
"""


def write_server(folder: Path, body: str) -> Path:
    program = folder / "server"
    text = _PROGRAM.format(python=sys.executable, body=textwrap.indent(textwrap.dedent(body).strip(), "    "))
    program.write_text(text)
    program.chmod(0o755)
    return program
