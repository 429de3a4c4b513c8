"""The names that a file binds: those that can be referred to from outside, and those on lines that changed.

What a callable binds is bound in it alone, but for attributes that come to be by being set, and globals.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterator, Mapping

from nibd.repair.relations.imports import imported, passed_on, sources
from nibd.repair.relations.source_file import ECMASCRIPT, FILE_KEY, Key, SourceFile
from nibd.stores.relation_types import RelationKind, Site
from nibd.stores.types import Level

_BINDS_ANY = re.compile(r"import\s*\*|import\s+\.|export\s*\*|::\s*\*|#\s*include|using\s+namespace")
BINDING = frozenset({RelationKind.DEFINITION, RelationKind.WRITE, RelationKind.IMPORT})
_EXPORTS = "__all__"
SETS_ATTRIBUTES = frozenset({"python", *ECMASCRIPT})
_NO_WORD = re.compile(r"\W+")
_QUOTED = re.compile(r"""["'](\w+)["']""")


def visible(file: SourceFile) -> set[tuple[Key, str, str]]:
    """Names that can be referred to from outside the unit that holds them, with that unit.

    What is imported comes with where it comes from; of units that share a qualified name, each counts.
    """
    found = {
        (FILE_KEY, unit.name, str(key[1]))
        for key, unit in zip(file.keys, file.units, strict=True)
        if unit.name
    }
    found.update((FILE_KEY, name, _EXPORTS) for name in _exported(file))
    binding = [site for site in file.sites if site.kind in BINDING]
    has_imports = any(site.kind is RelationKind.IMPORT for site in binding)
    from_where, is_seen = (sources(file), passed_on(file)) if has_imports else ([], [])
    for site in binding:
        is_import = site.kind is RelationKind.IMPORT
        line = file.line_of(site) if is_import else 0
        if is_import and not is_seen[line]:
            continue
        if file.units[site.unit].level is not Level.CALLABLE or _is_set_outside(file, site):
            source = from_where[line] if is_import else ""
            is_of_source = site.name in _NO_WORD.split(source)  # it says from where, and takes nothing
            found.add((file.keys[site.unit], site.name, "" if is_of_source else source))
    return found


def _is_set_outside(file: SourceFile, site: Site) -> bool:
    """Whether a callable binds it for others: an attribute that comes to be by being set, or a global."""
    if site.kind is not RelationKind.WRITE or file.language not in SETS_ATTRIBUTES:
        return False
    is_attribute = file.content[site.start_byte - 1 : site.start_byte] == b"."
    return is_attribute or "global " in file.own_texts[file.keys[site.unit]]


def _exported(file: SourceFile) -> list[str]:
    """The words in quotes of a module that lists what a star takes from it."""
    text = file.own_texts.get(FILE_KEY, "")
    return _QUOTED.findall(text) if _EXPORTS in text else []


def rebound(
    old: SourceFile, new: SourceFile
) -> tuple[frozenset[str] | None, frozenset[str], Mapping[Key, Collection[str]], frozenset[int]]:
    """Names that are bound on lines that changed; `None` when such a line may bind any name; which moved.

    What a callable binds is bound in it alone: by callable, and the sites of units within it.
    """
    moved = {name for name, _ in imported(old) ^ imported(new)}
    before, after = (Counter(map(str.strip, file.lines)) for file in (old, new))
    changed = (before - after) | (after - before)
    if any(_BINDS_ANY.search(line) for line in changed):
        return None, frozenset(moved), {}, frozenset()
    names: set[str] = set()
    inside: dict[Key, set[str]] = defaultdict(set)
    for file in (old, new):
        for site in _bound_on(file, changed):
            if file.units[site.unit].level is Level.CALLABLE:
                inside[file.keys[site.unit]].add(site.name)
                continue
            names.add(site.name)
            if site.kind is not RelationKind.IMPORT:
                moved.add(site.name)
    return frozenset(names), frozenset(moved), inside, frozenset(_enclosed(new, inside))


def _enclosed(file: SourceFile, inside: Mapping[Key, set[str]]) -> Iterator[int]:
    for ordinal, key in enumerate(file.keys):
        names = {name for each in file.around(key)[1:] for name in inside.get(each, ())}
        if names:
            yield from (i for i in file.sites_by_unit.get(ordinal, ()) if file.sites[i].name in names)


def _bound_on(file: SourceFile, changed: Container[str]) -> Iterator[Site]:
    changed_lines = {number for number, line in enumerate(file.lines) if line.strip() in changed}
    statement: list[Site] = []
    is_changed, last = False, -2
    for site in file.sites:
        if site.kind not in BINDING:
            continue
        line = file.line_of(site)
        if site.kind is not RelationKind.IMPORT:
            if line in changed_lines:
                yield site
            continue
        if line > last + 1:  # another statement: what one imports changes with any line of it
            yield from statement if is_changed else ()
            statement, is_changed = [], False
        statement.append(site)
        is_changed, last = is_changed or line in changed_lines, line
    yield from statement if is_changed else ()
