"""Sites with a name that began or ceased to be called so, or that one more unit has: turned and joined ones.

Which of them may lead elsewhere for that depends on the language: where a file says by its sites from which
files it takes names, and whether what leads nowhere could hide something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial

from nibd.repair.relations.by_scope import has_owners, owner
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.imports import module_of
from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.shadows import Shadows, is_own, shadows
from nibd.repair.relations.source_file import ECMASCRIPT, SourceFile
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Relation, RelationKind
from nibd.stores.types import RepoPath

_LINKED = frozenset({"python", "rust"})
_HIDES_NOTHING = frozenset({"python", "rust", "go", *ECMASCRIPT})
"""Where what leads nowhere hides nothing that could be found in its place, as a macro of C does."""
_CONFIGURED = frozenset({"rust"})
"""Where a unit of which nothing was found, not even its own name, is not compiled at all, for any name."""

_DECLARING = (b".pyi", b".d.ts", b".d.mts", b".d.cts")
"""They say what things in another file are, and servers lead to that file."""


@dataclass(slots=True)
class Turned:
    """Sites of an unchanged file with a name that turned, by number."""

    found: list[int] = field(default_factory=list)
    """Those that may lead elsewhere."""
    keys: list[int] = field(default_factory=list)
    """Those that lead to themselves, as keys of objects do whose type has none of their name: they seldom
    lead elsewhere."""
    nowhere: list[int] = field(default_factory=list)
    """Those that lead nowhere and may lead somewhere."""
    imports: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    """They may lead elsewhere if one of `imports` does."""
    modules: list[int] = field(default_factory=list)
    """Imports of files that came or went, by their name."""


class Names:
    """The names that these changes turned or joined."""

    def __init__(
        self,
        tree: OldTree,
        changes: Mapping[RepoPath, FileChange],
    ) -> None:
        self._tree = tree
        self._changes = changes
        all_ = changes.values()
        self._turned = frozenset[str]().union(*(each.seen(each.turned) for each in all_))
        self._appeared = frozenset[str]().union(*(each.seen(each.appeared) for each in all_))
        self._joined = frozenset[str]().union(*(each.seen(each.joined) for each in all_))
        ends = [change for change in changes.values() if change.old is None or change.new is None]
        self._modules = frozenset[str]().union(*(change.turned for change in ends))
        self._come = {module_of(change.new.path)[1] for change in ends if change.new}
        self._places = {module_of(file.path) for file in map(_only, ends)}
        self.tell = not any(file.path.endswith(_DECLARING) for file in map(_only, ends))
        """Whether a name that leads into a file that came leads to that file."""
        self._shadows: dict[str, Shadows | None] = {}
        self._links: dict[RepoPath, frozenset[RepoPath]] = {}

    def all(self) -> frozenset[str]:
        return self._turned | self._joined

    def sites(self, record: RelationRecord) -> dict[int, Relation]:
        """The sites of an unchanged file with one of these names, where they can mean anything."""
        named = record.named(self.all())
        found = dict(zip(named, record.some(named), strict=True))
        if record.language in _CONFIGURED:
            compiled = _compiled(record)
            found = {i: each for i, each in found.items() if each.site.unit in compiled}
        return found

    def turned_sites(self, record: RelationRecord, found: Mapping[int, Relation]) -> Turned:
        """Of `found`, which are `sites` of the record."""
        sites = {i: each for i, each in found.items() if self._is_turned(record, each)}
        known = self._shadows_of(record.language)
        if known is not None:
            turned = self._seen(record, sites, known)
        else:
            turned = Turned(nowhere=[i for i, each in sites.items() if not each.targets])
            can = [(i, each.site.name) for i, each in sites.items() if each.targets]
            turned.found = [i for i, name in can if self._can_be_shadowed(record, name)]
        turned.modules = [i for i, each in sites.items() if self._imports_by_name(each)]
        findable = self.findable(record, turned.nowhere)
        turned.later += set(turned.nowhere).difference(findable) if turned.imports else ()
        turned.nowhere = findable
        return turned

    def _seen(self, record: RelationRecord, sites: Mapping[int, Relation], known: Shadows) -> Turned:
        """Those to which what appears can be seen."""
        turned, text = Turned(), cache(partial(self._tree.text, record))
        imports = [i for i, each in sites.items() if each.site.kind is RelationKind.IMPORT]
        imported = {sites[i].site.name for i in imports}
        for i, each in sites.items():
            if each.targets and not known.reach(record.path, each, text):
                continue
            is_by_import = known.is_by_import(each, text)
            if is_by_import and each.site.name in imported:
                turned.later.append(i)
            elif each.targets:
                is_key = each.site.kind is RelationKind.DEFINITION and is_own(record.path, each)
                (turned.keys if is_key else turned.found).append(i)
            elif not is_by_import:
                turned.nowhere.append(i)
        turned.imports = imports
        return turned

    def is_turned_within(self, change: FileChange, index: int, relation: Relation) -> bool:
        """Whether a site of a changed file may lead elsewhere than `relation`, what it led to before."""
        file = change.new
        assert file is not None, "it has this site"
        site = file.sites[index]
        if site.name not in self._turned:
            return site.name in change.turned
        known = self._shadows_of(file.language)
        if known is None or not relation.targets or site.name in change.turned:
            return True
        return known.reach(file.path, replace(relation, site=site), lambda: file.content)

    def _shadows_of(self, language: str) -> Shadows | None:
        if language not in self._shadows:
            self._shadows[language] = shadows(language, self._changes)
        return self._shadows[language]

    def _is_turned(self, record: RelationRecord, relation: Relation) -> bool:
        """Whether a name may lead elsewhere now: what was not found is not found by one that ceased."""
        only_appeared = not relation.targets and record.language in _HIDES_NOTHING
        names = self._appeared if only_appeared else self._turned
        return relation.site.name in names and not relation.unbuilt

    def is_joined(self, relation: Relation) -> bool:
        return relation.targets == () and relation.site.name in self._joined

    def is_joined_within(self, change: FileChange, relation: Relation) -> bool:
        return self.is_joined(relation) or (relation.targets == () and relation.site.name in change.joined)

    def findable(self, record: RelationRecord, sites: list[int]) -> list[int]:
        """Those of `sites`, which lead nowhere, that may be found although nothing else is.

        What stands behind `Type::`, or behind a dot, is looked for in what stands before it: where that is
        not found either, and carries no name by which it may be now, that is in vain.
        """
        text = self._tree.text(record) if sites and has_owners(record.language) else None
        if text is None:
            return sites
        owners = {i: before for i in sites if (before := owner(record, i, text)) is not None}
        found = dict(zip(owners, record.some(owners.values()), strict=True))
        by_name = self._appeared | self._joined
        return [i for i in sites if i not in found or found[i].targets != () or found[i].site.name in by_name]

    def _can_be_shadowed(self, record: RelationRecord, name: str) -> bool:
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
            records = self._tree.records(self._tree.mentioning_files([path]))
            self._links[path] = frozenset(record.path for record in records)
        return self._links[path]

    def _imports_by_name(self, relation: Relation) -> bool:
        """Whether an import may lead to a file that came or went, by its name."""
        if relation.site.kind is not RelationKind.IMPORT or relation.site.name not in self._modules:
            return False
        if not relation.targets:
            return True
        if relation.site.name in self._come and any(
            each.is_external and not each.name for each in relation.targets
        ):
            return True  # a module of the tree comes before one that is installed
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
