"""A query that comes in on standard input, such as an issue that is pasted or piped."""

from __future__ import annotations

import sys

from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.parameters import MAX_QUERY_CHARACTERS

UTF_8_BYTES = 4
"""A character has at most so many."""


def query() -> str:
    """All that stands on standard input. Raises CommandError: it can't be a query."""
    if sys.stdin is None or sys.stdin.closed:
        raise _refused("there is none")
    if sys.stdin.isatty():
        raise _refused("it is a terminal; pipe or redirect the query into it")
    most = UTF_8_BYTES * MAX_QUERY_CHARACTERS
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise _too_long()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"it is not UTF-8: byte 0x{data[error.start]:02x} at {error.start}") from error
    if len(text) > MAX_QUERY_CHARACTERS:
        raise _too_long()
    if not text.strip():
        raise _refused("it is empty")
    return text


def _too_long() -> CommandError:
    return _refused(f"it has more than {MAX_QUERY_CHARACTERS} characters; cut it to what tells")


def _refused(why: str) -> CommandError:
    return CommandError(f"the query was to come from standard input, but {why}", Exit.USAGE, "usage")
