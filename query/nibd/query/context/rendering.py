"""How a packet, and what a compaction keeps, look in a prompt.

A unit is a line with its address, then its text between fences. A fence is longer than any run of
backquotes in the text, so no text can end it and pass for what follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nibd.query.hits import Hit
from nibd.stores.types import CommitId, RepoPath

SHORT = 10
"""Digits of an id in a prompt; the packet has it whole."""
ALSO = 3
"""How many further addresses of one text are named."""
_RUNS = re.compile("`+")
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


def head(commit: CommitId) -> str:
    return f"Source units of commit {commit[:SHORT]}:\n"


def unit(hit: Hit, text: str, also: Sequence[Hit] = ()) -> str:
    """One unit whole, with the addresses of others that have the same text."""
    what = " ".join(filter(None, (place(hit), hit.kind, one_line(hit.name))))
    lines = ["", f"{what} (blob {hit.blob[:SHORT]})"]
    if also:
        places = ", ".join(place(each) for each in also[:ALSO])
        more = f" and {len(also) - ALSO} more" if len(also) > ALSO else ""
        lines.append(f"the same text: {places}{more}")
    return "\n".join([*lines, fenced(text, hit.language), ""])


def place(hit: Hit) -> str:
    return f"{shown_path(hit.path)}:{hit.start_line}-{hit.end_line}"


def shown_path(path: RepoPath) -> str:
    """A path on one line; bytes that are not UTF-8 as `\\xNN`."""
    return one_line(path.decode("utf-8", "backslashreplace"))


def one_line(text: str) -> str:
    return text.translate(_CONTROLS)


def fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
