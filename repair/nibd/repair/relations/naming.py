"""Sites with a name that began or ceased to be called so, or that one more unit has: turned and joined ones.

Which of them may lead elsewhere for that depends on the language: where a file says by its sites from which
files it takes names, and whether what leads nowhere could hide something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nibd.repair.relations.by_scope import path_owner
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.imports import module_of
from nibd.repair.relations.source_file import SourceFile
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Relation, RelationKind
from nibd.stores.relations import RelationStore
from nibd.stores.types import RepoPath

_LINKED = frozenset({"python", "rust"})
_BY_PATH = frozenset({"rust"})
_HIDES_NOTHING = frozenset({"python", "rust", "go", "javascript", "typescript", "tsx"})
"""Where what leads nowhere hides nothing that could be found in its place, as a macro of C does."""
_CONFIGURED = frozenset({"rust"})
"""Where a unit of which nothing was found, not even its own name, is not compiled at all, for any name."""

_DECLARING = (b".pyi", b".d.ts", b".d.mts", b".d.cts")
"""They say what things in another file are, and servers lead to that file."""


class Names:
    """The names that these changes turned or joined. `text` gives that of an unchanged file."""

    def __init__(
        self,
        store: RelationStore,
        base: Bitmap,
        changes: Mapping[RepoPath, FileChange],
        text: Callable[[RelationRecord], bytes | None],
    ) -> None:
        self._store = store
        self._base = base
        self._changes = changes
        self._text = text
        self.turned = frozenset[str]().union(*(change.turned for change in changes.values()))
        self._appeared = frozenset[str]().union(*(change.appeared for change in changes.values()))
        self._joined = frozenset[str]().union(*(change.joined for change in changes.values()))
        ends = [change for change in changes.values() if change.old is None or change.new is None]
        self._modules = frozenset[str]().union(*(change.turned for change in ends))
        self._places = {module_of(file.path) for file in map(_only, ends)}
        self.tell = not any(file.path.endswith(_DECLARING) for file in map(_only, ends))
        """Whether a name that leads into a file that came leads to that file."""
        self._links: dict[RepoPath, frozenset[RepoPath]] = {}

    def all(self) -> frozenset[str]:
        return self.turned | self._joined

    def sites(self, record: RelationRecord) -> dict[int, Relation]:
        """The sites of an unchanged file with one of these names, where they can mean anything."""
        named = record.named(self.all())
        found = dict(zip(named, record.some(named), strict=True))
        if record.language in _CONFIGURED:
            compiled = _compiled(record)
            found = {i: each for i, each in found.items() if each.site.unit in compiled}
        return found

    def is_turned(self, record: RelationRecord, relation: Relation) -> bool:
        """Whether a name may lead elsewhere now: what was not found is not found by one that ceased."""
        only_appeared = not relation.targets and record.language in _HIDES_NOTHING
        names = self._appeared if only_appeared else self.turned
        return relation.site.name in names and not relation.unbuilt

    def is_joined(self, relation: Relation) -> bool:
        return relation.targets == () and relation.site.name in self._joined

    def findable(self, record: RelationRecord, sites: list[int]) -> list[int]:
        """Those of `sites`, which lead nowhere, that may be found although nothing else is.

        What stands behind `Type::` is looked for in there: where `Type` is not found either, and carries no
        name by which it may be now, that is in vain.
        """
        text = self._text(record) if sites and record.language in _BY_PATH else None
        if text is None:
            return sites
        owners = {i: owner for i in sites if (owner := path_owner(record, i, text)) is not None}
        found = dict(zip(owners, record.some(owners.values()), strict=True))
        by_name = self._appeared | self._joined
        return [i for i in sites if i not in found or found[i].targets != () or found[i].site.name in by_name]

    def can_be_shadowed(self, record: RelationRecord, name: str) -> bool:
        """Whether what was found by a name that turned may be another now.

        Where a file says by its sites from which files it takes names, only if it says so of one in which
        this one turned. In other languages paths of imports are no sites.
        """
        if record.language not in _LINKED:
            return True
        return any(
            name in change.turned and record.path in self.linked(path)
            for path, change in self._changes.items()
        )

    def linked(self, path: RepoPath) -> frozenset[RepoPath]:
        """The files with a relation into a file that changed."""
        if path not in self._links:
            records = self._store.packed(self._store.mentioning_file(path, self._base))
            self._links[path] = frozenset(record.path for _, record in records)
        return self._links[path]

    def imports_by_name(self, relation: Relation) -> bool:
        """Whether an import may lead to a file that came or went, by its name."""
        if relation.site.kind is not RelationKind.IMPORT or relation.site.name not in self._modules:
            return False
        if not relation.targets:
            return True
        inside = [target for target in relation.targets if not target.is_external]
        return any(
            target.path in self._changes or module_of(target.path) in self._places for target in inside
        )


def _compiled(record: RelationRecord) -> set[int]:
    """The units of a file in which something was found."""
    return {record.unit_of[i] for i in record.found}


def _only(change: FileChange) -> SourceFile:
    """Of a file that came or went, its one version."""
    only = change.old or change.new
    assert only is not None
    return only
