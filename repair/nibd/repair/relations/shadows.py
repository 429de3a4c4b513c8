"""Which sites that were found may lead elsewhere since something else begins to be called so.

What a site leads to is the nearest of its name. One that ceases to be there was led to, or hidden by what
was, so that only names that *appear* count here; and where a name is bare (`by_scope`) only those that its
scopes can see.

- In Go these are the package's own. A package is all files of its folder: a name that moves between these
  appears nowhere. Behind a dot stands a member, of which another type that is embedded may have one now, or
  what a package declares.
- In TypeScript and JavaScript what a file declares is nearest, and what it imports is what its imports say:
  so these are asked, and the rest only when one of them leads elsewhere. But a script that is no module
  declares for all files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from nibd.repair.relations.bare_typescript import is_local
from nibd.repair.relations.by_scope import is_bare
from nibd.repair.relations.exports import declares_for_all
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.source_file import ECMASCRIPT, FILE_KEY, SourceFile, folder_of
from nibd.repair.servers.gopls import may_be_left_out
from nibd.stores.relation_types import Relation, RelationKind
from nibd.stores.types import Level, RepoPath

_CLAUSE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
Text = Callable[[], bytes | None]
"""Gives a file's text."""


class Shadows(Protocol):
    def reach(self, path: RepoPath, relation: Relation, text: Text) -> bool:
        """Whether a site of the file at `path`, which was found, may lead elsewhere now."""

    def is_by_import(self, relation: Relation, text: Text) -> bool:
        """Whether what the file does not declare itself is only what an import of it says."""


def shadows(language: str, changes: Mapping[RepoPath, FileChange]) -> Shadows | None:
    """`None` for languages of which nothing of the kind is known."""
    if language == "go":
        return _GoShadows(changes)
    if language in ECMASCRIPT:
        return _ModuleShadows(language, changes)
    return None


class _GoShadows:
    def __init__(self, changes: Mapping[RepoPath, FileChange]) -> None:
        before: dict[bytes, set[tuple[str, str]]] = defaultdict(set)
        after: dict[bytes, set[tuple[str, str]]] = defaultdict(set)
        for path, change in changes.items():
            for file, declared in ((change.old, before), (change.new, after)):
                if file is None or file.language != "go":
                    continue
                is_built = not may_be_left_out(path, file.content.decode("utf-8", "replace"))
                if file is change.new or is_built:
                    declared[folder_of(path)].update(_declared(file))
        appeared = {folder: names - before[folder] for folder, names in after.items()}
        for path, change in changes.items():
            if change.new is None or change.new.language != "go":
                continue
            own = appeared[folder_of(path)]
            if change.others:  # what is built now need not have been
                own.update(_declared(change.new))
            if change.old is None:  # a package's name may lead to any file of it
                own.update(("", name) for name in _CLAUSE.findall(change.new.own_texts[FILE_KEY]))
        self._members = {name for names in appeared.values() for owner, name in names if owner}
        self._names = {folder: {name for _, name in names} for folder, names in appeared.items()}

    def reach(self, path: RepoPath, relation: Relation, text: Text) -> bool:
        name = relation.site.name
        if self._has(folder_of(path), name):
            return True
        targets = relation.targets or ()
        if any(not each.is_external and self._has(folder_of(each.path), name) for each in targets):
            return True
        return name in self._members and not _is_bare(relation, text, "go")

    def is_by_import(self, relation: Relation, text: Text) -> bool:
        return False

    def _has(self, folder: bytes, name: str) -> bool:
        return name in self._names.get(folder, ())


class _ModuleShadows:
    def __init__(self, language: str, changes: Mapping[RepoPath, FileChange]) -> None:
        self._language = language
        all_ = changes.values()
        self._appeared = frozenset[str]().union(*(each.seen(each.appeared) for each in all_))
        for_all = (each.appeared for each in all_ if each.new and declares_for_all(each.new))
        self._for_all = frozenset[str]().union(*for_all)

    def reach(self, path: RepoPath, relation: Relation, text: Text) -> bool:
        site = relation.site
        if site.name in self._for_all:
            return True
        if site.name not in self._appeared:
            return False
        if not is_own(path, relation):
            return True
        content = text()
        is_declared = content is not None and is_local(site, content)
        return not is_declared and not self.is_by_import(relation, text)

    def is_by_import(self, relation: Relation, text: Text) -> bool:
        if relation.site.name in self._for_all or relation.site.kind is RelationKind.IMPORT:
            return False
        return _is_bare(relation, text, self._language)


def is_own(path: RepoPath, relation: Relation) -> bool:
    """Whether a site of the file at `path` leads to nothing outside of it."""
    return all(target.path == path and not target.is_external for target in relation.targets or ())


def _is_bare(relation: Relation, text: Text, language: str) -> bool:
    content = text()
    return content is not None and is_bare(relation.site, content, language)


def _declared(file: SourceFile) -> Iterator[tuple[str, str]]:
    """What a package has by this file: the type of a member, or nothing, and the name."""
    for unit in file.units:
        if unit.name:
            yield unit.qualified.rpartition(".")[0], unit.name
    for site in file.sites:
        unit = file.units[site.unit]
        if site.kind is RelationKind.DEFINITION and unit.level is not Level.CALLABLE:
            yield unit.qualified, site.name
