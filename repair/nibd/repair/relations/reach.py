"""Which files a transition can have reached, and in how many steps: what verification looks at first.

0  files that changed
1  files with a site that refers to a symbol whose surface changed, or that carries a name which began or
   ceased to be visible somewhere
2  and so on: files with a site that refers to a symbol which has one of the sites before on its own surface,
   so that what can be reached through it may have changed too

It is cut off where observable signatures did not change: a changed body that gives back the same reaches
nobody, and a use of a changed symbol inside a body is the end of its way. An import is passed through, since
servers lead past it to the symbol. The plan of repair has the first step too; the others are left to
verification.

This decides an order, no more: whatever it misses is asked later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.relations.surface import code_lines, surface
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import RelationKind, Site
from nibd.stores.relations import RelationStore
from nibd.stores.types import Level, RepoPath

MAX_SYMBOLS = 2_000
"""Followed at most: by then the order among what is reached is no matter."""

Symbol = tuple[RepoPath, str, int]


@dataclass(slots=True)
class Reach:
    """`records` are the relations of the new tree."""

    store: RelationStore
    sources: SourceFiles
    records: Bitmap
    _distances: dict[RepoPath, int] = field(default_factory=dict)

    def of(self, changes: Mapping[RepoPath, FileChange]) -> dict[RepoPath, int]:
        """The steps to each file that is reached."""
        self._distances = {path: 0 for path, change in changes.items() if change.new}
        names = frozenset[str]().union(*(change.turned | change.joined for change in changes.values()))
        for _, record in self.store.packed(self.store.naming(names, self.records)):
            self._distances.setdefault(record.path, 1)
        frontier = {(path, *key) for path, change in changes.items() for key in change.resurfaced}
        seen: set[Symbol] = set()
        distance = 0
        while frontier and len(seen) < MAX_SYMBOLS:
            distance += 1
            seen |= frontier
            frontier = {next_ for symbol in sorted(frontier) for next_ in self._step(symbol, distance)} - seen
        return self._distances

    def _step(self, symbol: Symbol, distance: int) -> set[Symbol]:
        """Reach the files that refer to `symbol`; the symbols there that have it on their surface."""
        exposing: set[Symbol] = set()
        for _, record in self.store.packed(self.store.mentioning_symbol(*symbol, self.records)):
            self._distances.setdefault(record.path, distance)
            exposing |= self._exposing(record, symbol)
        return exposing

    def _exposing(self, record: RelationRecord, symbol: Symbol) -> set[Symbol]:
        file = self.sources.get(record.path, record.blob, record.language)
        if file is None:
            return set()
        sites = (relation.site for relation in record.referring_symbol(*symbol))
        return {(record.path, *file.keys[site.unit]) for site in sites if _is_on_surface(file, site)}


def _is_on_surface(file: SourceFile, site: Site) -> bool:
    """Whether what the site refers to decides what can be reached through the unit around it."""
    if site.kind is RelationKind.IMPORT:
        return False
    unit = file.units[site.unit]
    if unit.level is not Level.CALLABLE:
        return True
    if file.line_of(site) < unit.header_end_line:
        return True
    start = file.content.rfind(b"\n", 0, site.start_byte) + 1
    line, _, _ = file.content[start:].partition(b"\n")
    _, *gives_back = surface(file, file.keys[site.unit]) or [""]
    return any(code in gives_back for code in code_lines([line.decode("utf-8", "replace")], file.language))
