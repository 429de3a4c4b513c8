"""Symbols that stand between: what is reached through them is another thing, since it is so of one they take.

A variable that is set to what a function gives back, a class that inherits, a callable that says that it
gives something back: the line that takes did not change, so no rule of its file tells. They are followed
from symbols whose surface changed, over the files that refer to those, `MAX_STEPS` at most.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from nibd.repair.relations.bare_typescript import is_local
from nibd.repair.relations.bindings import SETS_ATTRIBUTES
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.source_file import ECMASCRIPT, Key, SourceFile, last_part
from nibd.repair.relations.surface import code_lines, gives_back
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import RelationKind, Site, Target
from nibd.stores.types import Level, RepoPath

MAX_STEPS = 3
MAX_SYMBOLS = 200

Taken = tuple[Key, str]
"""A unit, and a name in it, or the unit itself by the last part of its name."""

_BINDING = frozenset({RelationKind.DEFINITION, RelationKind.WRITE})
_WORD = re.compile(r"\w+")
_TYPED = re.compile(rb"\s*[?!]?\s*:(?!=)[^=]*=(?![=>])")
_INFERRED = ECMASCRIPT
"""Where servers find out what a callable gives back that does not say it."""
_WITHIN = (" ", "\t", ")", "]", "}")
"""How a line begins that goes on with a statement."""


class Between:
    """What of the old tree stands between."""

    def __init__(
        self,
        tree: OldTree,
        changes: Mapping[RepoPath, FileChange],
    ) -> None:
        self._tree = tree
        self._changes = changes
        self._found: dict[RepoPath, set[Taken]] = defaultdict(set)
        self._follow()

    def has(self, target: Target) -> bool:
        """Whether what is reached through it may be something else."""
        taken = self._found.get(target.path) if not target.is_external else None
        key = (target.qualified, target.ordinal)
        return taken is not None and (key, target.name or last_part(key[0])) in taken

    @property
    def symbols(self) -> set[tuple[RepoPath, Key]]:
        return {(path, key) for path, taken in self._found.items() for key, _ in taken}

    @property
    def files(self) -> Collection[RepoPath]:
        return self._found.keys()

    def _follow(self) -> None:
        changes = self._changes.items()
        sources = {(path, key) for path, each in changes for key in each.reaching}
        is_source: Callable[[Target], bool] = self._is_changed
        for _ in range(MAX_STEPS):
            new = self._step(sources, is_source)
            if not new:
                return
            sources, is_source = new, self.has

    def _is_changed(self, target: Target) -> bool:
        change = None if target.is_external else self._changes.get(target.path)
        return change is not None and change.is_other(target)

    def _step(
        self, sources: Iterable[tuple[RepoPath, Key]], is_source: Callable[[Target], bool]
    ) -> set[tuple[RepoPath, Key]]:
        found: set[tuple[RepoPath, Key]] = set()
        for record in self._tree.records(self._tree.mentioning(sources)):
            meant = {n for n, target in enumerate(record.targets) if is_source(target)}
            sites = record.leading(meant)
            file = self._file_of(record) if sites else None
            if file is None:
                continue
            for each in record.some(sites):
                for taken in _taking(file, record, each.site):
                    if taken not in self._found[record.path] and len(self.symbols) < MAX_SYMBOLS:
                        self._found[record.path].add(taken)
                        found.add((record.path, taken[0]))
        return found

    def _file_of(self, record: RelationRecord) -> SourceFile | None:
        change = self._changes.get(record.path)
        return change.old if change else self._tree.file(record)


def _taking(file: SourceFile, record: RelationRecord, site: Site) -> Iterator[Taken]:
    """The symbols of a file through which is reached what this site of it means."""
    key, unit = file.keys[site.unit], file.units[site.unit]
    if site.kind in (RelationKind.IMPORT, RelationKind.DEFINITION):
        return
    if site.kind is RelationKind.INHERIT:
        yield key, last_part(key[0])
        return
    bound = _bound(file, record, site)
    if unit.level is not Level.CALLABLE:
        yield from ((key, each.name) for each in bound)
        return
    yield from ((key, each.name) for each in bound if _is_attribute(file, each))
    header, *lines = gives_back(file, key)
    own = code_lines([file.lines[file.line_of(site)]], file.language)
    is_said = file.line_of(site) < unit.header_end_line and site.name in _WORD.findall(header)
    if is_said or (file.language in _INFERRED and any(line in lines for line in own)):
        yield key, last_part(key[0])


def _bound(file: SourceFile, record: RelationRecord, site: Site) -> list[Site]:
    """What the statement before a site binds, as far as its lines tell: its own, and outside of units the
    first of them."""
    line = file.line_of(site)
    found = _bound_on(file, record, site, line)
    if found or file.units[site.unit].level is not Level.FILE:
        return found
    while line and file.lines[line].startswith(_WITHIN):
        line -= 1
    return _bound_on(file, record, site, line)


def _bound_on(file: SourceFile, record: RelationRecord, site: Site, line: int) -> list[Site]:
    found = record.within(file.start_of(line), site.start_byte, _BINDING)
    own = (each.site for each in found if each.site.unit == site.unit and file.line_of(each.site) == line)
    return [each for each in own if not _is_apart(file, each, site)]


def _is_apart(file: SourceFile, bound: Site, site: Site) -> bool:
    """Whether nobody else sees what is bound, or it is of a type that is said, whatever it is set to."""
    if file.language in _INFERRED and is_local(bound, file.content):
        return True
    return _TYPED.match(file.content[bound.end_byte : site.start_byte]) is not None


def _is_attribute(file: SourceFile, site: Site) -> bool:
    return file.language in SETS_ATTRIBUTES and file.content[site.start_byte - 1 : site.start_byte] == b"."
