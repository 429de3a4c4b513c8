"""What a change of a C or C++ file can reach, and so what a repair has to ask.

What a file's names refer to follows from its text, from what it includes, directly or not, and from its
flags. So a change reaches the changed files, and those that may include one of them by any way
(`include_graph`); of the plan (`plan`) the rest is dropped.

A server that has a process for each file pays for the file. So an unchanged file is not opened for a target
whose line changed when the target is still there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from nibd.repair.relations.families import FAMILIES
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.include_graph import IncludeGraph
from nibd.repair.relations.planned import Asked, Plan
from nibd.repair.servers.clangd import INCLUDE_FOLDERS
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import Target
from nibd.stores.structure import FileRow, StructureStore
from nibd.stores.types import FileVersion, RepoPath

_FOLDERS = frozenset(name.encode() for name in INCLUDE_FOLDERS if name)
_C = b".c"
"""The ending of sources that are certainly not C++."""


@dataclass(slots=True)
class Includes:
    """Who includes whom in one repository's trees, held for one of them.

    To look at another costs what differs, and the first time everything. It may be used as long as the
    listing that was looked at last is kept, since rows of others may have become those of other files.
    """

    structure: StructureStore
    _listing: Bitmap = field(default_factory=Bitmap)
    _paths: dict[int, RepoPath] = field(default_factory=dict)
    _graph: IncludeGraph = field(default_factory=IncludeGraph)
    _marks: Counter[bytes] = field(default_factory=Counter)
    """How many files there are of each kind that flags are guessed by."""

    def look_at(self, listing: Bitmap) -> set[RepoPath]:
        """Take a tree for the one that is held; the paths in which it differs from the one before."""
        changed = set()
        for row in self._listing.minus(listing):
            path = self._paths.pop(row)
            self._graph.drop(path)
            self._marks.subtract(_marks(path))
            changed.add(path)
        for row, file in self.structure.files(listing.minus(self._listing)):
            self._paths[row] = file.path
            self._graph.put(file.path, self._modules(row, file))
            self._marks.update(_marks(file.path))
            changed.add(file.path)
        self._listing = listing
        return changed

    def reached_between(self, old: Bitmap, new: Bitmap) -> set[RepoPath]:
        """What the transition between two listings changed, and what includes any of that at the new one."""
        self.look_at(old)
        return self._graph.reached(self.look_at(new))

    def guesses(self, listing: Bitmap) -> tuple[bool, ...]:
        """What flags are guessed by where the tree has no compile commands: see `clangd`."""
        self.look_at(listing)
        return tuple(self._marks[mark] > 0 for mark in (*sorted(_FOLDERS), _C))

    def _modules(self, row: int, file: FileVersion) -> Iterable[str] | None:
        if file.skip is not None or file.language not in FAMILIES["c"]:
            return None
        return [each.module for each in self.structure.imports(FileRow(row))]


def _marks(path: RepoPath) -> list[bytes]:
    top, slash, _ = path.partition(b"/")
    return [*([top] if slash and top in _FOLDERS else []), *([_C] if path.endswith(_C) else [])]


def narrowed(plan: Plan, changes: Mapping[RepoPath, FileChange], reached: Container[RepoPath]) -> Plan:
    """The plan without what can't be reached, and without files that need not be opened."""
    elsewhere = {}
    for path, asked in plan.elsewhere.items():
        why = {
            index: rule
            for index, rule in asked.why.items()
            if rule == "unknown" or (path in reached and not _is_kept(asked, index, rule, changes))
        }
        if why:
            later = asked.later if path in reached else {}
            elsewhere[path] = Asked(asked.record, why, asked.tells, later)
    return replace(plan, elsewhere=elsewhere)


def _is_kept(asked: Asked, index: int, rule: str, changes: Mapping[RepoPath, FileChange]) -> bool:
    if rule != "lost":
        return False
    (relation,) = asked.record.some([index])
    targets = relation.targets
    return bool(targets) and not any(_is_gone(each, changes) for each in targets or ())


def _is_gone(target: Target, changes: Mapping[RepoPath, FileChange]) -> bool:
    """Whether a target has no place in the new version, or may be another one of its name there."""
    change = None if target.is_external else changes.get(target.path)
    if change is None or not change.loses(target):
        return False
    key = (target.qualified, target.ordinal)
    if change.old is None or change.new is None or key not in change.new.ordinals:
        return True
    before, after = (len(file.lines_with(key, target.name)) for file in (change.old, change.new))
    return before != after
