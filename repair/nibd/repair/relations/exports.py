"""The names by which other files can refer to something in a file of JavaScript or TypeScript.

A module shows what it exports, and members of that; one that exports nothing, such as most tests, shows
nothing. A script, which is no module, declares for all files, and so does what a module says it declares
globally or for another module. What is not certain to be a module counts as a script, and what is not
certain to be local as shown.
"""

from __future__ import annotations

import re

from nibd.repair.relations.bare_typescript import is_bare, is_local, is_member
from nibd.repair.relations.bindings import BINDING
from nibd.repair.relations.source_file import ECMASCRIPT, SourceFile
from nibd.stores.relation_types import RelationKind, Site

_MODULE = re.compile(rb"""^(?:import\s*["'{*\w]|export\s*[{*=\w])""", re.MULTILINE)
"""At the begin of a line: within a namespace of a script `export` is further in, and in most comments too."""
_EXPORT = re.compile(rb"\bexport\b")
_COMMON = re.compile(
    rb"""^(?:(?:const|let|var)\b[^\n/]*=\s*require\s*\(\s*["']|(?:module\.)?exports\b\s*[.=\[])""",
    re.MULTILINE,
)
_COMMON_EXPORT = re.compile(rb"\bexports\b")
_COMMENTS = rb"(?:\s|/\*(?:(?!\*/).)*\*/|//[^\n]*\n)*"
_BY_NAME = re.compile(rb"\bexport\b" + _COMMENTS + rb"(?:default\b|=)" + _COMMENTS + rb"([\w$]+)", re.DOTALL)
_FOR_ALL = re.compile(rb"\bdeclare\s+(?:global|module)\b|\bexport\s+as\s+namespace\b")


def shown(file: SourceFile) -> frozenset[str] | None:
    """`None`: all that are visible."""
    if file.language not in ECMASCRIPT or declares_for_all(file):
        return None
    if file.language == "javascript" and _COMMON_EXPORT.search(file.content):
        return None
    if not _EXPORT.search(file.content):
        return frozenset()
    names = {found[1].decode("utf-8", "replace") for found in _BY_NAME.finditer(file.content)}
    return frozenset(names.union(site.name for site in file.sites if _is_shown(site, file.content)))


def declares_for_all(file: SourceFile) -> bool:
    return file.language in ECMASCRIPT and (not _is_module(file) or bool(_FOR_ALL.search(file.content)))


def _is_module(file: SourceFile) -> bool:
    is_common = file.language == "javascript" and _COMMON.search(file.content)
    return bool(is_common or _MODULE.search(file.content))


def _is_shown(site: Site, content: bytes) -> bool:
    """Names in lists of exports are imports as sites; what stands in an object by its name alone is read."""
    if site.kind in BINDING:
        return not is_local(site, content)
    if site.kind is not RelationKind.READ:
        return False
    return not is_bare(site, content) and not is_member(site, content)
