"""What the imports of a file say: from where each takes what it names, as what, and whether others see it.

Read off the lines, by language: paths of imports are no sites in most, and where they lead to servers know.
"""

from __future__ import annotations

import re

from nibd.repair.relations.source_file import SourceFile
from nibd.stores.relation_types import RelationKind, Site
from nibd.stores.types import Level

_AS = re.compile(rb"([\w.]+)\s+as\s+\Z")
_SAYS_WHERE = re.compile(rb"[\w. \t]*\bimport\b|\s*::")
"""Behind a name in an import, which takes what comes then from there."""
_FROM_QUOTES = (re.compile(r"""\bfrom\s*["']([^"']+)["']"""), False)
_SOURCE = {
    "python": (re.compile(r"^\s*(?:from\s+(\S+)\s+import|import)\b"), True),
    "javascript": _FROM_QUOTES,
    "typescript": _FROM_QUOTES,
    "tsx": _FROM_QUOTES,
    "rust": (re.compile(r"^\s*(?:pub\b.*?\s)?(?:use\s+([\w:]*)::|use\b|mod\b|extern\b)"), True),
}
"""How an import says from where it takes what it names; whether that stands before the names."""
_GO_IMPORT = re.compile(
    r"""^(?:import)?[ \t]*([\w.]+[ \t]+)?["`]([\w./~-]+)["`][ \t\r;]*(?://.*)?$""", re.MULTILINE
)
_VERSION = re.compile(r"/v\d+\Z|\.v\d+\Z|\Ago-|-go\Z")


def module_of(path: bytes) -> tuple[str, str]:
    """The folder that a file is imported from, and as what: for an index that is its folder's name."""
    *folders, name = path.decode("utf-8", "replace").split("/")
    own = name.split(".")[0]
    if own in ("__init__", "index", "mod", "lib", "main") and folders:
        own = folders.pop()
    return "/".join(folders), own


def stem(path: bytes) -> str:
    """What a file is imported as: its name without endings, or its folder's for an index."""
    return module_of(path)[1]


def sources(file: SourceFile) -> list[str]:
    """By line, from where an import on it takes what it names."""
    pattern, before = _SOURCE.get(file.language, (None, False))
    lines = file.lines
    if pattern is None:
        return [""] * len(lines)
    found, source = [], ""
    for line in lines if before else reversed(lines):
        match = pattern.match(line) if before else "from" in line and pattern.search(line)
        if match:
            source = match[1] or ""
        found.append(source)
    return found if before else found[::-1]


def passed_on(file: SourceFile) -> list[bool]:
    """By line, whether others see what an import on it names."""
    lines = file.lines
    if file.language == "go":
        return [False] * len(lines)
    if file.language != "rust":
        return [True] * len(lines)
    found, is_public = [], False
    for line in lines:
        if _SOURCE["rust"][0].match(line):
            is_public = line.lstrip().startswith(("pub", "mod", "extern"))
        found.append(is_public)
    return found


def imported(file: SourceFile) -> set[tuple[str, str]]:
    """What imports outside of callables name, each with from where and as what it is taken."""
    imports = [site for site in file.sites if site.kind is RelationKind.IMPORT]
    outside = [
        site
        for site in imports
        if file.units[site.unit].level is not Level.CALLABLE
        and not _SAYS_WHERE.match(file.content, site.end_byte)
    ]
    if file.language == "go":
        found = _GO_IMPORT.findall("\n".join(file.lines))
        return {(alias.strip() or _package(path), path) for alias, path in found}
    says = sources(file) if outside and file.language in _SOURCE else list(map(str.strip, file.lines))
    return {(site.name, says[file.line_of(site)] + _renamed(file, site)) for site in outside}


def _package(path: str) -> str:
    """What a package of Go is called, by its path, if nothing else is said."""
    return _VERSION.sub("", _VERSION.sub("", path).rpartition("/")[2])


def _renamed(file: SourceFile, site: Site) -> str:
    """What an import calls by the name of this site."""
    found = _AS.search(file.content, max(0, site.start_byte - 200), site.start_byte)
    return f" {found[1].decode('utf-8', 'replace')}" if found else ""
