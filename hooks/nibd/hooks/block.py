"""The marked block of shell text: making it, finding it, placing it, taking it out. Pure.

The block stands right after the shebang line, because an existing hook may `exit` or `exec` anywhere
below. So it may leave no trace for what follows:

- `true` is a builtin in every shell of the sh family, so PATH does not matter, nothing is forked, stdin
  is not read. (`:` would not do: it is a *special* builtin, and a failed redirection of one ends dash.)
- `>|` writes even under `set -C`; it only opens and truncates, so a full disk can at most refuse it.
- `|| true` keeps `set -e` from acting, and `$?` is 0 as at the start of any script.
- The group is redirected to /dev/null first, so not even the shell's own complaint is seen.

There is one form of block: a file holds none, one, or (after a user's copy and paste) several, which
`place` makes one again. A file with a begin line and no end line is *broken* and nobody's to repair.
"""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path

from nibd.hooks.report import HooksError

SHEBANG = b"#!/bin/sh\n"
BEGIN = b"# >>> nibd >>>"
END = b"# <<< nibd <<<"
_BLOCK = re.compile(
    rb"^%b[^\n]*\n.*?^%b[^\n]*(?:\n|\Z)" % (re.escape(BEGIN), re.escape(END)), re.DOTALL | re.MULTILINE
)
_EDGE = re.compile(rb"^(?:%b|%b)" % (re.escape(BEGIN), re.escape(END)), re.MULTILINE)


def render(marker: Path) -> bytes:
    """The block that touches `marker`, which may hold any byte a path can but not the block's own edges."""
    raw = os.fsencode(marker)
    if not marker.is_absolute():
        raise HooksError(f"the marker has to be an absolute path: {marker}")
    if b"\0" in raw or _EDGE.search(raw):
        raise HooksError(f"the marker can't be written into a script: {marker!r}")
    template = resources.files(__package__).joinpath("block.sh").read_bytes()
    return template.replace(b"@MARKER@", _single_quoted(raw))


def own_file(block: bytes) -> bytes:
    """The text of a hook that is nibd's alone."""
    return SHEBANG + block


def holds_block(text: bytes) -> bool:
    """Whether anything of nibd's is in the text, whole or broken."""
    return _EDGE.search(text) is not None


def is_broken(text: bytes) -> bool:
    """Whether an edge of a block is there without its other edge."""
    return holds_block(take_out(text)) or any(match.count(b"\n" + BEGIN) for match in _BLOCK.findall(text))


def place(text: bytes, block: bytes) -> bytes:
    """The text with exactly this block: where one stands already, else right after the shebang line."""
    first = _BLOCK.search(text)
    if first:
        return text[: first.start()] + block + take_out(text[first.end() :])
    if not text.startswith(b"#!"):
        return block + text
    line, _, rest = text.partition(b"\n")
    return line + b"\n" + block + rest


def take_out(text: bytes) -> bytes:
    """The text without any whole block."""
    return _BLOCK.sub(b"", text)


def _single_quoted(raw: bytes) -> bytes:
    return b"'" + raw.replace(b"'", b"'\\''") + b"'"
