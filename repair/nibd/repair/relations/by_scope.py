"""Names that mean what scopes and imports say, whatever anything is of a type.

What a changed surface reaches it reaches through types: a member of what a function gives back, an argument
by name, what is made when a class is called. A bare name is none of these: it is bound by the lines of its
own file, and these are the same. Only where syntax tells the one from the other for certain (Python).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import RelationKind, Site

_LANGUAGES = frozenset({"python"})
_BLANK = b" \t\r\\"
_ARGUMENT = re.compile(rb"(?:[ \t\r\n\\]|#[^\n]*\n)*+=(?!=)")
"""Behind a name: it is that of an argument or of a pattern's attribute, if it is not what is assigned to."""
_BY_TYPE = frozenset({RelationKind.CALL, RelationKind.IMPORT})
"""A call of a class leads to how it is made too; imports have rules of their own."""
_ASSIGNED = frozenset({RelationKind.DEFINITION, RelationKind.WRITE})


def has_names_by_scope(language: str) -> bool:
    return language in _LANGUAGES


def is_by_scope(site: Site, content: bytes, language: str) -> bool:
    """Whether types decide nothing about what a site of this text refers to."""
    if language not in _LANGUAGES or site.kind in _BY_TYPE:
        return False
    if _is_member(content, site.start_byte):
        return False
    return site.kind in _ASSIGNED or not _ARGUMENT.match(content, site.end_byte)


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


def path_owner(record: RelationRecord, index: int, content: bytes) -> int | None:
    """The site before `::` in a path of Rust, where a site of this text is looked for in what that is."""
    if not index:
        return None
    before, site = (relation.site for relation in record.some([index - 1, index]))
    return index - 1 if content[before.end_byte : site.start_byte].strip() == b"::" else None
