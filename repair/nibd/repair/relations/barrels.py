"""Imports of TypeScript and JavaScript that may lead elsewhere, by the paths that they say.

A path in an import is no site there. So where a file came or went, passes on others by a star than before,
or has another default, the imports of it are looked for in the structural view, and in the text: those of
files that pass on all of it by a star, too. What else a file says is only asked when one leads elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.source_file import ECMASCRIPT, SourceFile
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Site
from nibd.stores.types import RepoPath

_STATEMENT = re.compile(
    rb"""(?:^|;)[ \t]*(import|export)\b"""
    rb"""((?://[^\n]*|/\*(?:(?!\*/).)*\*/|/(?![/*])|(?!\b(?:import|export)\b)[^;'"/])*?)"""
    rb"""\bfrom\s*["']([^"']+)["']""",
    re.MULTILINE | re.DOTALL,
)
"""No other begins within one; in comments may stand anything."""
_STAR = re.compile(rb"""^\s*export\s*\*\s*from\s*["']([^"']+)["']""", re.MULTILINE)
_DEFAULT = re.compile(rb"^\s*export\s+default\b.*", re.MULTILINE)
_DEFAULT_NAME = "default"
_NO_DEFAULT = (b"{", b"type {", b"*", b"type *")
"""How an import begins that takes no default, but by its name."""
_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?\Z")
_INDEX = "/index"

Names = frozenset[str] | None
"""What may be other things; `None`: all."""


@dataclass(frozen=True, slots=True)
class _Said:
    """An import: of which module, with its sites by number and their names."""

    module: str
    is_relative: bool
    is_star: bool
    has_default: bool
    sites: Mapping[int, str]

    def named(self, names: Names) -> Iterator[int]:
        """The sites of what may be something else."""
        is_any = names is None or (self.has_default and _DEFAULT_NAME in names)
        return (i for i, name in self.sites.items() if is_any or (names is not None and name in names))


class Barrels:
    """The imports that these changes may lead elsewhere."""

    def __init__(
        self,
        tree: OldTree,
        changes: Mapping[RepoPath, FileChange],
    ) -> None:
        self._tree = tree
        self._changes = changes
        self._said: dict[RepoPath, list[_Said]] = {}

    def imports(self) -> Iterator[tuple[RelationRecord, list[int]]]:
        """Unchanged files with the sites in their imports that are to be asked."""
        waiting: list[tuple[RepoPath, Names]] = [
            (path, names)
            for path, change in self._changes.items()
            if (names := self._passed(change)) is None or names
        ]
        importers = self._importers() if waiting else {}
        seen, asked = set(waiting), defaultdict[RepoPath, set[int]](set)
        while waiting:
            path, names = waiting.pop()
            parts = _places(path)[0].split("/")
            for importer in sorted({each for part in ("", *parts) for each in importers.get(part, ())}):
                for said in self._said_by(importer):
                    if not _means(said.module, path, said.is_relative):
                        continue
                    if said.is_star and (importer, names) not in seen:
                        seen.add((importer, names))
                        waiting.append((importer, names))
                    elif not said.is_star and importer not in self._changes:
                        asked[importer].update(said.named(names))
        for importer, sites in asked.items():
            record = self._tree.at(importer)
            if record is not None and sites:
                yield record, sorted(sites)

    def _said_by(self, importer: RepoPath) -> list[_Said]:
        """The imports of a file, as it is now."""
        if importer not in self._said:
            change, record = self._changes.get(importer), self._tree.at(importer)
            file = change.new if change else self._tree.file(record) if record else None
            sites = (
                [] if change or record is None else [each.site for each in record.some(range(record.sites))]
            )
            self._said[importer] = [] if file is None else list(_statements(file, sites))
        return self._said[importer]

    def _passed(self, change: FileChange) -> Names:
        """What others may import from it and get something else; empty where nothing."""
        old, new = change.old, change.new
        file = new or old
        if file is None or file.language not in ECMASCRIPT:
            return frozenset()
        if old is None or new is None:
            return None
        before, after = (set(_STAR.findall(each.content)) for each in (old, new))
        if before - after:
            return None
        names: set[str] = set()
        for module in after - before:
            come = self._come(file.path, module.decode("utf-8", "replace"))
            if come is None:
                return None
            names |= come.turned
        is_other = _DEFAULT.findall(old.content) != _DEFAULT.findall(new.content)
        return frozenset(names | ({_DEFAULT_NAME} if is_other or _DEFAULT_NAME in change.turned else set()))

    def _come(self, importer: RepoPath, module: str) -> FileChange | None:
        """The file that an import means, if it came by this transition, and passes on no other."""
        for path, change in self._changes.items():
            said = _resolved(importer, module)
            if change.old is None and change.new and _means(said, path, module.startswith(".")):
                return None if _STAR.search(change.new.content) else change
        return None

    def _importers(self) -> Mapping[str, set[RepoPath]]:
        """By the last part of what they import."""
        found: dict[str, set[RepoPath]] = defaultdict(set)
        for path, module in self._tree.modules():
            found[_last_part(_resolved(path, module))].add(path)
        return found


def _statements(file: SourceFile, sites: Sequence[Site]) -> Iterator[_Said]:
    starts = [site.start_byte for site in sites]
    for found in _STATEMENT.finditer(file.content):
        written, clause = found[3].decode("utf-8", "replace"), found[2].strip()
        within = range(bisect_left(starts, found.start()), bisect_left(starts, found.end()))
        yield _Said(
            _resolved(file.path, written),
            written.startswith("."),
            found[1] == b"export" and clause == b"*",
            not clause.startswith(_NO_DEFAULT),
            {i: sites[i].name for i in within},
        )


def _means(module: str, path: RepoPath, is_relative: bool) -> bool:
    """Whether an import may mean the file at `path`: certain where it is relative."""
    places = _places(path)
    return module in places if is_relative else _last_part(module) in places[0].split("/")


def _places(path: RepoPath) -> list[str]:
    """What a file is imported as."""
    bare = _ENDING.sub("", path.decode("utf-8", "replace"))
    return [bare, bare.removesuffix(_INDEX) if bare.endswith(_INDEX) else "" if bare == "index" else bare]


def _resolved(importer: RepoPath, module: str) -> str:
    if not module.startswith("."):
        return module
    folder = importer.decode("utf-8", "replace").rpartition("/")[0]
    path = posixpath.normpath(posixpath.join(folder, module))
    return _ENDING.sub("", "" if path == "." else path)


def _last_part(said: str) -> str:
    return said.rpartition("/")[2]
