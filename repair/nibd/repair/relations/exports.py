"""The names by which other files can refer to something in a file of JavaScript or TypeScript.

A module shows what it exports, and members of that; one that exports nothing, such as most tests, shows
nothing. A script, which is no module, declares for all files, and so does what a module says it declares
globally or for another module.
"""

from __future__ import annotations

import re

from nibd.repair.relations.bare_typescript import is_local
from nibd.repair.relations.source_file import SourceFile
from nibd.stores.relation_types import RelationKind

_LANGUAGES = frozenset({"javascript", "typescript", "tsx"})
_BINDING = frozenset({RelationKind.DEFINITION, RelationKind.WRITE, RelationKind.IMPORT})
_IMPORT = re.compile(rb"^\s*import\b", re.MULTILINE)
_EXPORT = re.compile(rb"\bexport\b")
_COMMON_IMPORT = re.compile(rb"\brequire\s*\(")
_COMMON_EXPORT = re.compile(rb"\bexports\b")
_LISTED = re.compile(rb"\bexports?\s*(?:default\b|=|(?:type\s*)?\{)([^;}]*)")
"""What is exported by its name: the first words behind it."""
_LIST = 2_000
"""Bytes."""
_WORD = re.compile(rb"[\w$]+")
_FOR_ALL = re.compile(rb"\bdeclare\s+(?:global|module)\b")


def shown(file: SourceFile) -> frozenset[str] | None:
    """`None`: all that are visible."""
    if file.language not in _LANGUAGES or declares_for_all(file):
        return None
    if not _exports(file):
        return frozenset()
    listed = (found[1][:_LIST] for found in _LISTED.finditer(file.content))
    names = {word.decode("utf-8", "replace") for text in listed for word in _WORD.findall(text)}
    binding = (site for site in file.sites if site.kind in _BINDING)
    return frozenset(names.union(site.name for site in binding if not is_local(site, file.content)))


def declares_for_all(file: SourceFile) -> bool:
    return file.language in _LANGUAGES and (not _is_module(file) or bool(_FOR_ALL.search(file.content)))


def _is_module(file: SourceFile) -> bool:
    is_common = file.language == "javascript" and _COMMON_IMPORT.search(file.content)
    return bool(is_common or _IMPORT.search(file.content) or _exports(file))


def _exports(file: SourceFile) -> bool:
    is_common = file.language == "javascript" and _COMMON_EXPORT.search(file.content)
    return bool(is_common or _EXPORT.search(file.content))
