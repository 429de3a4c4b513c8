"""Blanks for conditional compilation (`#if … #else … #endif`) in languages whose grammar trips on it.

The lines of directives are blanked, and every branch stays: what each declares is a unit. Only where
a branch is no whole (a signature without its body, a brace without its partner) do the branches
after the first go too, since together they would not parse. All offsets and line ends stay.
"""

from __future__ import annotations

import re
from itertools import pairwise

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(if|elif|elseif|else|endif|[a-z]+)\b")
_NOT_LINE_END = re.compile(rb"[^\r\n]")
_LINE_COMMENT = re.compile(rb"//[^\n]*")
_MAX_NESTING = 20
"""Branches deeper than this all stay: each level reads its lines once more."""
_WHOLE_ENDS = (b";", b"}", b"]", b",", b"/")


def blanked(text: bytes) -> bytes:
    """Spaces for all but the line ends."""
    return _NOT_LINE_END.sub(b" ", text)


def without_directives(content: bytes) -> bytes:
    """Blank every line that is a directive, and branches that don't go with the one before."""
    if b"#" not in content:
        return content
    lines = content.splitlines(keepends=True)
    groups: list[list[int]] = []
    for at, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            continue
        lines[at] = blanked(line)
        if directive[1] == b"if":
            groups.append([at])
        elif directive[1] in (b"elif", b"elseif", b"else") and groups:
            groups[-1].append(at)
        elif directive[1] == b"endif" and groups:
            bounds = [*groups.pop(), at]
            if len(groups) < _MAX_NESTING:
                _keep_what_parses(lines, bounds)
    return b"".join(lines)


def _keep_what_parses(lines: list[bytes], bounds: list[int]) -> None:
    """Blank the branches after the first when one is no whole; `bounds` are their directives."""
    if len(bounds) < 3:
        return
    if all(_is_whole(b"".join(lines[start + 1 : end])) for start, end in pairwise(bounds)):
        return
    for at in range(bounds[1], bounds[-1]):
        lines[at] = blanked(lines[at])


def _is_whole(branch: bytes) -> bool:
    code = _LINE_COMMENT.sub(b"", branch).strip()
    return not code or (code.endswith(_WHOLE_ENDS) and code.count(b"{") == code.count(b"}"))
