"""What a transition can have changed in files that did not change, and what to ask again in those that did.

Each rule answers why a relation that was right at the old tree may be wrong at the new one:

lost      its target stood on a line that changed, or is gone
turned    its site carries a name that began or ceased to be visible somewhere, and leads nowhere or may lead
          elsewhere for that
joined    it was not found, and its site carries a name that one more unit has
surface   it stands in a unit that refers to a symbol whose surface changed: what that symbol is, or gives
          back, decides what other names there mean; or in a file that imports from one whose stars changed
module    it stands in a file that imports by a name under which a file came or went
unknown   a server did not answer before; or it does not build the file, and configuration or a file of its
          folder changed
package   it refers into a package that configuration names anew, or leads nowhere in a file that imports one
whole     configuration that changed touches its file

The rules are for speed, not for proof: verification asks everything. The surface and module rules can reach
far, and so can a turned name of sites that were found; together they are cut at `MAX_REACH` sites, files
with few of them first, and verification does the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from nibd.repair.relations.change import FileChange, module_of
from nibd.repair.relations.configuration import UNTOUCHED, Touched
from nibd.repair.relations.source_file import SourceFile
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import FileRelations, Relation, RelationKind
from nibd.stores.relations import RecordId, RelationStore
from nibd.stores.types import RepoPath

MAX_REACH = 5_000
"""Sites: about a second of a server."""

_LINKED = frozenset({"python", "rust"})
_CONFIGURED = frozenset({"rust"})
"""Where a unit of which nothing was found, not even its own name, is not compiled at all, for any name."""

Reach = dict[RepoPath, dict[int, str]]
"""What wide rules want: sites of files by index, each with its rule."""


@dataclass(slots=True)
class Asked:
    """The sites of one file that have to be asked, by index, with the rule that says so."""

    file: FileRelations
    why: dict[int, str] = field(default_factory=dict)

    def add(self, indexes: Iterable[int], rule: str) -> None:
        for index in indexes:
            self.why.setdefault(index, rule)


@dataclass(frozen=True, slots=True)
class Plan:
    """`elsewhere` holds unchanged files; `within` the sites of changed files, by index in the new version."""

    elsewhere: Mapping[RepoPath, Asked]
    within: Mapping[RepoPath, Mapping[int, str]]
    cut: int = 0

    def counts(self) -> Counter[str]:
        """How many sites each rule wants asked."""
        found: Counter[str] = Counter()
        for asked in self.elsewhere.values():
            found.update(asked.why.values())
        for why in self.within.values():
            found.update(why.values())
        return found


class Planner:
    """`base` holds the records of the old tree; `old` gives those of changed files.

    `importers` are the files that import one of the packages that are touched. `is_configured`: some
    configuration changed, however far that reaches.
    """

    def __init__(
        self,
        store: RelationStore,
        base: Bitmap,
        changes: Mapping[RepoPath, FileChange],
        old: Mapping[RepoPath, FileRelations],
        touched: Touched = UNTOUCHED,
        importers: Collection[RepoPath] = (),
        is_configured: bool = False,
    ) -> None:
        self._store = store
        self._base = base
        self._changes = changes
        self._old = old
        self._touched = touched
        self._importers = importers
        self._is_configured = is_configured
        self._elsewhere: dict[RepoPath, Asked] = {}
        self._turned = frozenset[str]().union(*(change.turned for change in changes.values()))
        self._joined = frozenset[str]().union(*(change.joined for change in changes.values()))
        self._modules = frozenset[str]().union(
            *(change.turned for change in changes.values() if change.old is None or change.new is None)
        )

        ends = [change for change in changes.values() if change.old is None or change.new is None]
        self._places = {module_of(file.path) for change in ends if (file := change.old or change.new)}
        self._links: dict[RepoPath, frozenset[RepoPath]] = {}

    def plan(self) -> Plan:
        within = {path: self._within(change) for path, change in self._changes.items() if change.new}
        reach: Reach = {}
        folders = {_folder(path) for path in self._changes}
        open_ = [
            each.record
            for each in self._store.unknown(self._base)
            if each.unanswered or self._is_configured or _folder(each.path) in folders
        ]
        for record in self._records(open_):
            self._asked(record).add(_unknown(record), "unknown")
        if self._touched != UNTOUCHED:
            self._by_configuration()
        for record in self._records(self._mentioning()):
            self._by_target(record, reach)
        for record in self._records(self._store.naming(self._turned | self._joined, self._base)):
            self._by_name(record, reach)
        return Plan(self._elsewhere, within, self._extend(reach))

    def _by_configuration(self) -> None:
        for _, packed in self._store.packed(self._base):
            if packed.path in self._changes:
                continue
            if self._touched.has(packed.path):
                record = packed.file()
                self._asked(record).add(range(len(record.relations)), "whole")
            elif packed.path in self._importers or any(
                self._touched.has_package(place[0]) for place in packed.places
            ):
                record = packed.file()
                found = [i for i, each in enumerate(record.relations) if self._is_packaged(record.path, each)]
                if found:
                    self._asked(record).add(found, "package")

    def _is_packaged(self, path: RepoPath, relation: Relation) -> bool:
        if not relation.targets:
            return path in self._importers
        return any(self._touched.has_package(target.package) for target in relation.targets)

    def _mentioning(self) -> set[RecordId]:
        found: set[RecordId] = set()
        for path, change in self._changes.items():
            for key in change.changed_keys:
                found.update(self._store.mentioning_symbol(path, *key, self._base))
        return found

    def _records(self, ids: Iterable[int]) -> Iterable[FileRelations]:
        for _, record in self._store.records(sorted(ids)):
            if record.path not in self._changes:
                yield record

    def _by_target(self, record: FileRelations, reach: Reach) -> None:
        lost, units = self._reached(record.relations)
        if lost:
            self._asked(record).add(lost, "lost")
        if units:
            self._asked(record)
            wide = reach.setdefault(record.path, {})
            wide.update(
                (i, "surface") for i, relation in enumerate(record.relations) if relation.site.unit in units
            )

    def _by_name(self, record: FileRelations, reach: Reach) -> None:
        named = [
            i
            for i, relation in enumerate(record.relations)
            if relation.site.name in self._turned and not relation.unbuilt
        ]
        joined = [i for i, relation in enumerate(record.relations) if self._is_joined(relation)]
        if record.language in _CONFIGURED and (named or joined):
            seen = {relation.site.unit for relation in record.relations if relation.targets}
            named = [i for i in named if record.relations[i].site.unit in seen]
            joined = [i for i in joined if record.relations[i].site.unit in seen]
        if not named and not joined:
            return
        wide = reach.setdefault(record.path, {})
        for index in named:
            if record.relations[index].targets and self._can_be_shadowed(record, index):
                wide.setdefault(index, "turned")
        self._asked(record).add((i for i in named if not record.relations[i].targets), "turned")
        self._asked(record).add(joined, "joined")
        if any(self._imports_by_name(record.relations[i]) for i in named):
            wide.update(dict.fromkeys(range(len(record.relations)), "module"))

    def _can_be_shadowed(self, record: FileRelations, index: int) -> bool:
        """Whether what was found by a name that turned may be another now.

        Where a file says by its sites from which files it takes names, only if it says so of one in which
        this one turned. In other languages paths of imports are no sites.
        """
        if record.language not in _LINKED:
            return True
        name = record.relations[index].site.name
        return any(
            name in change.turned and record.path in self._linked(path)
            for path, change in self._changes.items()
        )

    def _linked(self, path: RepoPath) -> frozenset[RepoPath]:
        """The files with a relation into a file that changed."""
        if path not in self._links:
            records = self._store.packed(self._store.mentioning_file(path, self._base))
            self._links[path] = frozenset(record.path for _, record in records)
        return self._links[path]

    def _imports_by_name(self, relation: Relation) -> bool:
        """Whether an import may lead to a file that came or went, by its name."""
        if relation.site.kind is not RelationKind.IMPORT or relation.site.name not in self._modules:
            return False
        if not relation.targets:
            return True
        inside = [target for target in relation.targets if not target.is_external]
        return any(
            target.path in self._changes or module_of(target.path) in self._places for target in inside
        )

    def _is_joined(self, relation: Relation) -> bool:
        return relation.targets == () and relation.site.name in self._joined

    def _reached(self, relations: Collection[Relation]) -> tuple[list[int], set[int]]:
        """Sites whose targets are lost or unknown; units in which a changed surface is referred to."""
        lost, units = [], set()
        for index, relation in enumerate(relations):
            if relation.targets is None and not relation.unbuilt:
                lost.append(index)
            for target in relation.targets or ():
                change = None if target.is_external else self._changes.get(target.path)
                if change is None:
                    continue
                if change.loses(target):
                    lost.append(index)
                if change.resurfaces(target):
                    units.add(relation.site.unit)
                elif change.rebound is None and not (target.qualified or target.name):  # as a module
                    units.update(each.site.unit for each in relations)
        return lost, units

    def _within(self, change: FileChange) -> dict[int, str]:
        """Why each site of the new version of a changed file is to be asked, for those that are."""
        new, old = change.new, self._old.get(change.new.path) if change.new else None
        assert new is not None
        if old is None or len(old.relations) != len(change.old.sites if change.old else ()):
            return dict.fromkeys(range(len(new.sites)), "new")
        kept = {now: old.relations[before] for now, before in change.kept.items()}
        lost, units = self._reached(kept.values())
        at = list(kept)
        why = {at[index]: "lost" for index in lost}
        why |= {now: "unknown" for now, relation in kept.items() if relation.unbuilt}
        units = {new.sites[now].unit for now, relation in kept.items() if relation.site.unit in units}
        for index, site in enumerate(new.sites):
            if index not in kept:
                why[index] = "new"
            elif change.rebound is None or site.name in change.rebound or index in change.enclosed:
                why.setdefault(index, "line")
            elif site.name in self._turned:
                why.setdefault(index, "turned")
            elif self._is_joined(kept[index]):
                why.setdefault(index, "joined")
            elif site.unit in units:
                why.setdefault(index, "surface")
            elif self._touched.has(new.path):
                why.setdefault(index, "whole")
            elif self._touched.packages and self._is_packaged(new.path, kept[index]):
                why.setdefault(index, "package")
        return why

    def _extend(self, reach: Reach) -> int:
        """Add the sites of wide rules, files with few first; how many were too many."""
        room, cut = MAX_REACH, 0
        for path, wide in sorted(reach.items(), key=lambda entry: (len(entry[1]), entry[0])):
            if len(wide) <= room:
                room -= len(wide)
                for index, rule in sorted(wide.items()):
                    self._elsewhere[path].add([index], rule)
            else:
                cut += len(wide)
        return cut

    def _asked(self, record: FileRelations) -> Asked:
        return self._elsewhere.setdefault(record.path, Asked(record))


def _unknown(record: FileRelations) -> list[int]:
    return [i for i, relation in enumerate(record.relations) if relation.targets is None]


def _folder(path: RepoPath) -> bytes:
    return path.rpartition(b"/")[0]


def kept_relations(change: FileChange, old: FileRelations | None, new: SourceFile) -> dict[int, Relation]:
    """The old relations at their new places, by index in the new version."""
    if old is None:
        return {}
    return {now: replace(old.relations[before], site=new.sites[now]) for now, before in change.kept.items()}
