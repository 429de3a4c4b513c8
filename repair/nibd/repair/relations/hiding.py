"""Sites that lead to what another hides now: a member of a class, where one that inherits has its own now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.inheritance import Inheritance, hides
from nibd.repair.relations.old_tree import OldTree
from nibd.stores.relation_types import Relation, RelationKind, Target
from nibd.stores.types import RepoPath


class Hidden:
    """What these changes may hide. `linked` gives the files with a relation into one that changed."""

    def __init__(
        self,
        tree: OldTree,
        changes: Mapping[RepoPath, FileChange],
        linked: Callable[[RepoPath], Collection[RepoPath]],
    ) -> None:
        self._linked = linked
        self._inside: dict[RepoPath, set[tuple[str, str]]] = defaultdict(set)
        """By file, its classes and the members of each that others may hide now."""
        self._outside: dict[RepoPath, set[tuple[str, str]]] = defaultdict(set)
        """By file that changed, packages and the names in them that it may hide now."""
        inheritance = Inheritance(tree)
        for path, change in changes.items():
            gained = {((path, *key), name) for key, name in change.gained}
            for owner in {owner for owner, _ in change.gained_beside}:
                names = {name for each, name in change.gained_beside if each == owner}
                gained.update((each, name) for each in inheritance.called(owner, path) for name in names)
            for symbol in {symbol for symbol, _ in gained}:
                self._hide(path, inheritance.bases(symbol), {name for each, name in gained if each == symbol})

    def _hide(self, path: RepoPath, bases: Collection[Target], names: Collection[str]) -> None:
        for base in bases:
            if base.is_external:
                self._outside[path].update((base.package, name) for name in names)
            else:
                self._inside[base.path].update((base.qualified, name) for name in names)

    @property
    def files(self) -> set[RepoPath]:
        """A site that may lead elsewhere stands in one with a relation into one of these."""
        return {*self._inside, *self._outside}

    def has(self, path: RepoPath, target: Target) -> bool:
        """Whether what leads to `target` from the file at `path` may lead to what hides it now."""
        if target.is_external:
            place = (target.package, target.name)
            outside = self._outside.items()
            return any(place in names and path in {each, *self._linked(each)} for each, names in outside)
        return any(hides(*each, target) for each in self._inside.get(target.path, ()))

    def leading(self, path: RepoPath, relations: Mapping[int, Relation]) -> list[int]:
        """Those of these sites that may lead elsewhere: not what is hidden itself, nor what is its own."""
        found = {
            i: each
            for i, each in relations.items()
            if any(self.has(path, target) for target in each.targets or ())
        }
        own = {
            (each.site.unit, target)
            for each in found.values()
            if each.site.kind is RelationKind.DEFINITION
            for target in each.targets or ()
        }
        return [
            i
            for i, each in found.items()
            if any((each.site.unit, target) not in own for target in each.targets or ())
        ]
