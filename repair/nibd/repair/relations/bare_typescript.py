"""Which names of TypeScript and JavaScript are bare: no member, key, attribute, pattern; and which are local.

The text before a name tells: an operator, an opening parenthesis or a keyword that an expression or a type
may follow. What else may stand before it, such as a brace, behind which may be an object or a block, or a
tag's attribute, tells nothing, and so is not bare.
"""

from __future__ import annotations

import re

from nibd.stores.relation_types import RelationKind, Site

_SPACE = b" \t\r\n"
_LOOKED_AT = 2_000
"""Bytes before a name in which the bracket around it is looked for."""
_BEFORE = (*(bytes([each]) for each in b"([=+-*%&|!?:~^;"), b"=>")
_BEFORE_CALL = (*_BEFORE, b"{", b"}", b")")
"""What could be declared behind a brace is no call."""
_TYPES = frozenset({RelationKind.TYPE, RelationKind.INHERIT})
_OF_WORDS = bytes(each for each in range(256) if each >= 128 or chr(each).isalnum()) + b"_$"
_GO_ON = frozenset(
    b"return default typeof keyof as satisfies extends implements in of new await yield case throw else do"
    b" void delete instanceof is asserts infer".split()
)
"""Words that an expression or a type follows."""
_DECLARE = frozenset(b"const let var function class interface type enum namespace".split())
_LINE = 200
"""Bytes in which `export` is looked for."""
_EXPORTED = re.compile(rb"\bexport\b[^;{}]*\Z")
_KEY = re.compile(rb"\s*(?:[?!]?\s*:|=(?![=>])|`)")
"""Behind a name that may be a key, an attribute with its value, a default, or a tag."""
_BRACKET = re.compile(rb"[()\[\]{}]")
_QUOTES = re.compile(rb"[\"'`/]")
"""Behind which brackets may be text."""


def is_bare(site: Site, content: bytes) -> bool:
    before = _before(site, content)
    word = _word(before)
    if site.kind in (RelationKind.DEFINITION, RelationKind.WRITE):
        return word in _DECLARE
    if site.kind in _TYPES:
        return bool(before) and not before.endswith(b".")
    if _KEY.match(content, site.end_byte):
        return False
    if word:
        return word in _GO_ON
    if before.endswith(b","):
        return _opening(before) in (b"(", b"[")
    return before.endswith(_BEFORE_CALL if site.kind is RelationKind.CALL else _BEFORE)


def is_local(site: Site, content: bytes) -> bool:
    """Whether it is the name of a parameter, or of what is declared and not exported there."""
    if site.kind is not RelationKind.DEFINITION:
        return False
    before = _before(site, content)
    word = _word(before)
    if word:
        line = before[: -len(word)][-_LINE:]
        return word in _DECLARE and not _EXPORTED.search(line)
    return before.endswith(b"(") or (before.endswith(b",") and _opening(before) == b"(")


def is_member(site: Site, content: bytes) -> bool:
    return _before(site, content).endswith(b".")


def _before(site: Site, content: bytes) -> bytes:
    """Empty behind a comment, before which anything may stand."""
    before = content[max(0, site.start_byte - _LOOKED_AT) : site.start_byte].rstrip(_SPACE)
    line = before[before.rfind(b"\n") + 1 :]
    return b"" if b"//" in line or before.endswith(b"*/") else before


def _word(before: bytes) -> bytes:
    """The word at the end of this text, if it stands alone; one that is none in place of a member."""
    rest = before.rstrip(_OF_WORDS)
    return b"." if rest.endswith((b".", b"#", b"@")) and rest != before else before[len(rest) :]


def _opening(before: bytes) -> bytes:
    """The bracket around what comes behind this text, where nothing in it may be a string."""
    depth = 0
    for found in reversed(list(_BRACKET.finditer(before))):
        if found[0] in (b")", b"]", b"}"):
            depth += 1
        elif depth:
            depth -= 1
        else:
            return b"" if _QUOTES.search(before, found.start()) else found[0]
    return b""
