"""What was typed for each parameter that commands send: a refusal names that, and not the protocol's word.

A refusal begins with the parameter (`time_s: found 30; …`), or with a part of one (`widths.seeds: …`).
"""

from __future__ import annotations

TYPED = {
    "assurance": "--assurance",
    "at": "--at",
    "budget": "--budget",
    "changed_since": "--changed-since",
    "col": "COL",
    "context": "-C",
    "explain": "--explain",
    "from": "--from",
    "ignore_case": "-i",
    "include_declaration": "--declaration",
    "k": "-k",
    "kinds": "--kind",
    "language": "--language",
    "level": "--level",
    "line": "LINE",
    "literal": "-F",
    "mode": "--count or --files",
    "name": "NAME",
    "offset": "--offset",
    "paths": "--path",
    "pattern": "PATTERN",
    "plan": "--plan",
    "provider": "--provider",
    "query": "QUERY",
    "relations": "--relations",
    "rerank": "--no-rerank",
    "tests": "--tests or --no-tests",
    "time_ms": "--time-ms",
    "time_s": "--time",
    "timeout_s": "--timeout",
    "view": "--view",
    "views": "--view",
    "widths": "--width",
    "word": "-w",
}


def as_typed(message: str) -> str:
    """A refusal, in the words of the command line."""
    parameter, colon, rest = message.partition(": ")
    name, _, part = parameter.partition(".")
    if not colon or name not in TYPED:
        return message
    return f"{' '.join(filter(None, (TYPED[name], part)))}: {rest}"
