"""The last component of a symbol's name, however it is written.

Known symbols and units have it from different readers of the code: `Foo.operator ==` is `Foo::operator==`,
`formatter<day, Char>` is one component for all its spaces, and `<Job as Clone>` is `impl Clone for Job`.
"""

from __future__ import annotations

import re

_OPERATOR = re.compile(r"(?:^|[.:#\s])(operator\s*[^\w\s].*|operator\s+\w.*)$")
_IMPLEMENTATION = re.compile(r"impl(?:<[^>]*>)?\s+(?:(?P<trait>.+)\s+for\s+)?(?P<type>.+)$")
_OPENING, _CLOSING, _SEPARATORS = "<([{", ">)]}", ".:#/"


def last_component(name: str) -> str:
    """Without spaces; a separator in brackets separates nothing."""
    name = name.strip()
    if implementation := _IMPLEMENTATION.fullmatch(name):
        of_type, of_trait = implementation["type"], implementation["trait"]
        name = f"<{of_type} as {of_trait}>" if of_trait else of_type
    if operator := _OPERATOR.search(name):
        return _close(operator[1])
    depth = start = 0
    for at, character in enumerate(name):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character in _SEPARATORS and depth <= 0:
            start = at + 1
    return _close(name[start:])


def _close(name: str) -> str:
    return re.sub(r"\s+", "", name)
