"""What a member that a class begins to have hides: those of its name in classes that it inherits from.

Where a class gains one, what was reached through it, or through a class that inherits from it, may have led
to a *base* until now: to one of that class, or to another of a class below it, which is looked at later.
Classes and their bases are those of the old tree: another list of bases is another surface. A type that a
struct of Go embeds is a base of it, and a trait of Rust one of the types that have it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.source_file import folder_of, last_part
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Relation, RelationKind, Target
from nibd.stores.types import RepoPath

Symbol = tuple[RepoPath, str, int]

MAX_CLASSES = 200
"""Looked at for one that changed."""
_SEPARATORS = (".", "::")
_IN_FOLDER = frozenset({"go"})
"""Where methods stand in the folder of their type."""
_ANYWHERE = frozenset({"rust"})
"""Where any file may say that a type inherits: what does so refers to it, beside what it inherits from."""
_DECLARES = (RelationKind.DEFINITION, RelationKind.TYPE)


class Inheritance:
    """The classes of the old tree."""

    def __init__(self, tree: OldTree) -> None:
        self._tree = tree

    def bases(self, symbol: Symbol) -> set[Target]:
        """The classes from which this one, or one that inherits from it, inherits: but for these."""
        below = _closure(symbol, self._inheriting)
        found: set[Target] = set()
        for each in below:
            found.update(target for target in self._inherited(each))
        inside = {target.symbol for target in found if not target.is_external} - below
        for each in frozenset(inside):
            for further in _closure(each, self._inherited_inside):
                found.update(self._inherited(further))
        return {target for target in found if target.symbol not in below}

    def called(self, name: str, path: RepoPath) -> set[Symbol]:
        """The types of this qualified name to which a method in the file at `path` may belong."""
        last = last_part(name)
        found: set[Symbol] = set()
        for record in self._tree.records(self._tree.naming([last])):
            is_near = folder_of(record.path) == folder_of(path) or record.language not in _IN_FOLDER
            declared = record.some(record.named([last])) if is_near else ()
            own = [target for each in declared for target in each.targets or () if target.path == record.path]
            found.update(target.symbol for target in own if target.qualified == name)
        return found

    def _inherited(self, symbol: Symbol) -> Iterator[Target]:
        for record in self._declaring(symbol):
            kinds = _DECLARES if record.language in _ANYWHERE else (RelationKind.DEFINITION,)
            declared = record.referring_symbol(*symbol)
            units = {each.site.unit for each in declared if each.site.kind in kinds}
            for relation in _all(record, RelationKind.INHERIT):
                if relation.site.unit in units:
                    yield from relation.targets or ()

    def _declaring(self, symbol: Symbol) -> Iterator[RelationRecord]:
        """The files that say from what a class inherits."""
        record = self._tree.at(symbol[0])
        if record is None:
            return
        yield record
        if record.language in _ANYWHERE:
            yield from (each for each in self._mentioning(symbol) if each.path != symbol[0])

    def _inherited_inside(self, symbol: Symbol) -> Iterator[Symbol]:
        return (target.symbol for target in self._inherited(symbol) if not target.is_external)

    def _mentioning(self, symbol: Symbol) -> Iterator[RelationRecord]:
        path, qualified, ordinal = symbol
        return self._tree.records(self._tree.mentioning([(path, (qualified, ordinal))]))

    def _inheriting(self, symbol: Symbol) -> Iterator[Symbol]:
        for record in self._mentioning(symbol):
            referring = record.referring_symbol(*symbol)
            units = {each.site.unit for each in referring if each.site.kind is RelationKind.INHERIT}
            for relation in _all(record, RelationKind.DEFINITION) if units else ():
                if relation.site.unit in units and relation.targets:
                    units.remove(relation.site.unit)  # the first in a class is its name
                    yield relation.targets[0].symbol


def hides(qualified: str, name: str, target: Target) -> bool:
    """Whether `target` is, or is within, the member `name` of the class `qualified` of its file."""
    if target.qualified == qualified:
        return target.name == name
    inner = next((target.qualified[len(start) :] for start in _starts(qualified, target)), None)
    return inner is not None and name in (target.name, inner)


def _starts(qualified: str, target: Target) -> Iterator[str]:
    return (start for each in _SEPARATORS if target.qualified.startswith(start := qualified + each))


def _all(record: RelationRecord, kind: RelationKind) -> list[Relation]:
    return record.within(0, sys.maxsize, (kind,))


def _closure(symbol: Symbol, further: Callable[[Symbol], Iterable[Symbol]]) -> set[Symbol]:
    found, left = {symbol}, [symbol]
    while left and len(found) < MAX_CLASSES:
        new = set(further(left.pop())) - found
        found |= new
        left += sorted(new)
    return found
