"""Names that mean what scopes and imports say, whatever anything is of a type.

What a changed surface reaches it reaches through types: a member of what a function gives back, an argument
by name, what is made when a class is called. A *bare* name is none of these: it is bound by the lines of its
own file, of its package in Go, or of those that it is imported from, and these are the same. Only where the
text before and behind it tells the one from the other for certain; the rest counts as by type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from nibd.repair.relations import bare_typescript
from nibd.repair.relations.source_file import ECMASCRIPT
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import RelationKind, Site

_BLANK = b" \t\r\\"
_SPACE = b" \t\r\n"
_LOOKED_AT = 1_000
"""Bytes before a name."""
_ARGUMENT = re.compile(rb"(?:[ \t\r\n\\]|#[^\n]*\n)*+=(?!=)")
"""Behind a name: it is that of an argument or of a pattern's attribute, if it is not what is assigned to."""
_KEY = re.compile(rb"\s*:(?!=)")
"""Behind a name in Go: it may be that of a field in a literal."""
_ASSIGNED = frozenset({RelationKind.DEFINITION, RelationKind.WRITE})
_OVERLOADED = frozenset({"python", *ECMASCRIPT})
"""Where what a call leads to depends on types too: on how a class is made, or on which overload is meant."""

_DOTS = (b".", b"?.", b"!.")
_BEHIND: Mapping[str, tuple[bytes, ...]] = {
    "rust": (b"::",),
    "go": (b".",),
    **dict.fromkeys(ECMASCRIPT, _DOTS),
}
"""Where what stands behind these is nowhere to be found while what stands before them is not found."""


def has_names_by_scope(language: str) -> bool:
    return language in _IS_BARE


def is_by_scope(site: Site, content: bytes, language: str) -> bool:
    """Whether types decide nothing about what a site of this text refers to. Imports have their own rules."""
    if site.kind is RelationKind.CALL and language in _OVERLOADED:
        return False
    return site.kind is not RelationKind.IMPORT and is_bare(site, content, language)


def is_bare(site: Site, content: bytes, language: str) -> bool:
    """Whether a site of this text is looked for in the scopes around it, and nowhere else."""
    tells = _IS_BARE.get(language)
    return tells is not None and tells(site, content)


def _is_bare_python(site: Site, content: bytes) -> bool:
    if _is_member(content, site.start_byte):
        return False
    return site.kind in _ASSIGNED or not _ARGUMENT.match(content, site.end_byte)


def _is_bare_go(site: Site, content: bytes) -> bool:
    before = content[max(0, site.start_byte - _LOOKED_AT) : site.start_byte].rstrip(_SPACE)
    line = before[before.rfind(b"\n") + 1 :]
    if not before or b"//" in line or before.endswith(b"*/"):  # before a comment may stand a dot
        return False
    return not before.endswith(b".") and not _KEY.match(content, site.end_byte)


_IS_BARE: Mapping[str, Callable[[Site, bytes], bool]] = {
    "python": _is_bare_python,
    "go": _is_bare_go,
    **dict.fromkeys(ECMASCRIPT, bare_typescript.is_bare),
}


def _is_member(content: bytes, start: int) -> bool:
    """Whether a dot stands before, maybe on a line above, behind which comments may stand."""
    begin = content.rfind(b"\n", 0, start) + 1
    before = content[begin:start].rstrip(_BLANK)
    while not before and begin:
        end = begin - 1
        begin = content.rfind(b"\n", 0, end) + 1
        code = content[begin:end].strip(_BLANK)
        before = b"" if code.startswith(b"#") else code
        if b"#" in before:
            return any(part.rstrip(_BLANK).endswith(b".") for part in _without_comment(before))
    return before.endswith(b".")


def _without_comment(line: bytes) -> Iterator[bytes]:
    """The code of a line with a `#`, for each `#` that may begin the comment: some may stand in a string."""
    for found in re.finditer(b"#", line):
        yield line[: found.start()]
        if not any(quote in line[: found.start()] for quote in (b"'", b'"')):
            return
    yield line


def has_owners(language: str) -> bool:
    return language in _BEHIND


def owner(record: RelationRecord, index: int, content: bytes) -> int | None:
    """The site before the dot or `::` in front of one of this text, which is looked for in what that is."""
    if not index:
        return None
    before, site = (relation.site for relation in record.some([index - 1, index]))
    between = content[before.end_byte : site.start_byte].strip()
    return index - 1 if between in _BEHIND.get(record.language, ()) else None
