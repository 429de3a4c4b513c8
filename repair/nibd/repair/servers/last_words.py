"""Why a server ended, from what it wrote on stderr: one line for people.

A crash is told by its message, not by the trace below it: that of Rust (`panicked at PLACE:` and the message
on the next line), of Go (`panic: …`, `fatal error: …`) or of LLVM. Of several the last counts, as a server
may outlive one; but a thread that waited for one that panicked panics too, of `Any { .. }`, which says
nothing. Without a crash it is the last line.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 200
_CRASH = re.compile(
    r"panicked at [^\n]*:\n(?![^\n]*\bAny \{ \.\. \})[^\n]+"
    r"|^(?:panic|fatal error|LLVM ERROR): [^\n]+"
    r"|[^\n]*\bAssertion [^\n]+ failed\b[^\n]*",
    re.MULTILINE,
)


def last_words(said: str) -> str:
    """Empty when it said nothing."""
    crashes = _CRASH.findall(said)
    words = crashes[-1] if crashes else said.strip().rpartition("\n")[2]
    return " ".join(words.split())[:MOST_CHARACTERS]
