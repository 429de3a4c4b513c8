"""`go list` as gopls runs it, so that it takes no file of ours for one of a package that is absent.

Of a package that is not there, go says where it is imported first: a file of the importer. go/packages, which
gopls reads that with, takes such a place for a file of the absent package whenever that package ends its own
import stack, as it does since Go 1.24; and gopls, which takes the smallest package that a file is of, then
knows nothing of what the file imports, not even of the standard library. Which file that is depends on the
order in which go was asked. So a name is put behind such stacks.

Run as a program by the interpreter alone (`command`), in the place of `go`: it imports nothing of nibd.
Never changed is what go says of packages that are there, nor its exit status.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence

_ABSENT = "(absent)"


def command(go: str) -> str:
    """The text of a program to be found as `go`."""
    real, ours = shlex.quote(go), shlex.join([sys.executable, "-IS", __file__, go])
    return f'#!/bin/sh\n[ "$1" = list ] && exec {ours} "$@"\nexec {real} "$@"\n'


def packages(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The objects of `-json`, one by one; of other output, all at once."""
    gathered = list[bytes]()
    for line in lines:
        gathered.append(line)
        if line == b"}\n":
            yield b"".join(gathered)
            gathered.clear()
    yield b"".join(gathered)


def told(package: bytes) -> bytes:
    """What gopls is told of a package; the same unless it has no file and ends its own import stack."""
    if b'"ImportStack"' not in package or b'"GoFiles"' in package:
        return package
    said = json.loads(package)
    stack = said.get("Error", {}).get("ImportStack")
    if not stack or stack[-1] != said.get("ImportPath"):
        return package
    stack.append(_ABSENT)
    return json.dumps(said).encode() + b"\n"


def main(arguments: Sequence[str]) -> int:
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda sent, _: process.send_signal(sent))
    assert process.stdout is not None
    for package in packages(process.stdout):
        sys.stdout.buffer.write(told(package))
    sys.stdout.buffer.flush()
    status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
