"""What a transition can have changed in files that did not change, and what to ask again in those that did.

Each rule answers why a relation that was right at the old tree may be wrong at the new one:

lost      its target stood on a line that changed, or is gone
turned    its site carries a name that began to be visible somewhere, and leads nowhere; or one that began or
          ceased to be, and may lead elsewhere for that
joined    it was not found, and its site carries a name that one more unit has
hidden    it leads to a member of a class, and one that inherits from that has a member of the same name now
surface   it stands in a unit that refers to a symbol whose surface changed: what that symbol is, or gives
          back, decides what other names there mean, where they mean something by type (`by_scope`); or whose
          surface is another one for that (`between`); or in a file that imports from one whose stars changed;
          or in one with a name that was asked about and leads elsewhere (`drafts`)
module    it stands in a file with an import that leads elsewhere now, after a file came or went by its name:
          such imports are asked first, as `turned`
unknown   a server did not answer before; or it does not build the file, and configuration or a file of its
          folder changed
package   it refers into a package that configuration names anew, or leads nowhere in a file that imports one
whole     configuration that changed touches its file

The rules are for speed, not for proof: verification asks everything. The surface, module and hidden rules can
reach far, and so can a turned name of sites that were found; together they are cut at `MAX_REACH` sites,
files with few of them first, and verification does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from nibd.repair.relations.barrels import Barrels
from nibd.repair.relations.between import Between
from nibd.repair.relations.by_scope import has_names_by_scope, is_by_scope
from nibd.repair.relations.configuration import UNTOUCHED, Touched
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.hiding import Hidden
from nibd.repair.relations.naming import Names
from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.planned import Asked, Plan
from nibd.repair.relations.source_file import folder_of
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import FileRelations, Relation, Target
from nibd.stores.relations import RecordId
from nibd.stores.types import RepoPath

MAX_REACH = 5_000
"""Sites: about a second of a server."""

Reach = dict[RepoPath, dict[int, str]]
"""What wide rules want: sites of files by index, each with its rule."""


class Planner:
    """`old` gives the relations of changed files in the old tree.

    `importers` are the files that import one of the packages that are touched. `is_configured`: some
    configuration changed, however far that reaches.
    """

    def __init__(
        self,
        tree: OldTree,
        changes: Mapping[RepoPath, FileChange],
        old: Mapping[RepoPath, FileRelations],
        touched: Touched = UNTOUCHED,
        importers: Collection[RepoPath] = (),
        is_configured: bool = False,
    ) -> None:
        self._tree = tree
        self._changes = changes
        self._old = old
        self._touched = touched
        self._importers = importers
        self._is_configured = is_configured
        self._elsewhere: dict[RepoPath, Asked] = {}
        self._keys: Reach = {}
        """To be asked where there is room after all others."""

    def plan(self) -> Plan:
        within = {path: self._within(change) for path, change in self._changes.items() if change.new}
        if not self._tree.base:  # a first build, of which every site is new
            return Plan({}, within)
        reach: Reach = {}
        folders = {folder_of(path) for path in self._changes}
        open_ = [
            each.record
            for each in self._tree.unknown()
            if each.unanswered or self._is_configured or folder_of(each.path) in folders
        ]
        for record in self._records(open_):
            open_sites = [
                i for i, each in enumerate(record.some(range(record.sites))) if each.targets is None
            ]
            self._asked(record).add(open_sites, "unknown")
        if self._touched != UNTOUCHED:
            self._by_configuration()
        for record in self._records(self._mentioning()):
            self._by_target(record, reach)
        for record in self._records(self._tree.mentioning_files(self._hidden.files)):
            self._by_hidden(record, reach)
        for record in self._records(self._tree.naming(self._names.all())):
            self._by_name(record, reach)
        for record, sites in Barrels(self._tree, self._changes).imports():
            self._asked(record)
            wide = reach.setdefault(record.path, {})
            for index in sites:
                wide.setdefault(index, "turned")
        cut, room = self._extend(reach, MAX_REACH)
        cut_keys, left = self._extend(self._keys, room // 2)
        room -= room // 2 - left
        for asked in self._elsewhere.values():
            asked.later = {i: rule for i, rule in asked.later.items() if i not in asked.why}
        elsewhere = {path: asked for path, asked in self._elsewhere.items() if asked.why}
        return Plan(elsewhere, within, cut + cut_keys, room)

    @cached_property
    def _names(self) -> Names:
        return Names(self._tree, self._changes)

    @cached_property
    def _hidden(self) -> Hidden:
        return Hidden(self._tree, self._changes, self._names.linked)

    @cached_property
    def _between(self) -> Between:
        return Between(self._tree, self._changes)

    def _by_configuration(self) -> None:
        for record in self._tree.records(self._tree.base):
            if record.path in self._changes:
                continue
            if self._touched.has(record.path):
                self._asked(record).add(range(record.sites), "whole")
            elif record.path in self._importers or any(
                self._touched.has_package(place[0]) for place in record.places
            ):
                relations = enumerate(record.some(range(record.sites)))
                found = [i for i, each in relations if self._is_packaged(record.path, each)]
                if found:
                    self._asked(record).add(found, "package")

    def _is_packaged(self, path: RepoPath, relation: Relation) -> bool:
        if not relation.targets:
            return path in self._importers
        return any(self._touched.has_package(target.package) for target in relation.targets)

    def _by_hidden(self, record: RelationRecord, reach: Reach) -> None:
        targets = enumerate(record.targets)
        sites = record.leading({n for n, each in targets if self._hidden.has(record.path, each)})
        hidden = self._hidden.leading(record.path, dict(zip(sites, record.some(sites), strict=True)))
        if hidden:
            self._asked(record)
            wide = reach.setdefault(record.path, {})
            for index in hidden:
                wide.setdefault(index, "hidden")

    def _mentioning(self) -> set[RecordId]:
        changes = self._changes.items()
        changed = {(path, key) for path, each in changes for key in each.reaching}
        return self._tree.mentioning(changed | self._between.symbols)

    def _records(self, ids: Iterable[int]) -> Iterator[RelationRecord]:
        return (record for record in self._tree.records(ids) if record.path not in self._changes)

    def _by_target(self, record: RelationRecord, reach: Reach) -> None:
        changed = record.targets_in(self._changes)
        lost = {*record.leading({n for n, each in changed.items() if self._loses(each)}), *record.unanswered}
        if lost:
            self._asked(record).add(sorted(lost), "lost")
        found = changed | record.targets_in(self._between.files)
        referring = record.leading({n for n, each in found.items() if self._resurfaces(each)})
        everywhere = any(map(self._passes_any, changed.values()))
        if referring or everywhere:
            self._asked(record)
            units = self._with_nested(record, {record.unit_of[i] for i in referring})
            within = [i for i, unit in enumerate(record.unit_of) if everywhere or unit in units]
            if not everywhere:
                within = self._by_type(record, within)
            wide = reach.setdefault(record.path, {})
            wide.update(dict.fromkeys(within, "surface"))

    def _with_nested(self, record: RelationRecord, units: set[int]) -> set[int]:
        file = self._tree.file(record) if units else None
        return units if file is None else file.with_nested(units)

    def _by_type(self, record: RelationRecord, sites: list[int]) -> list[int]:
        """Those of `sites` that may mean something else when something is of another type."""
        text = self._tree.text(record) if has_names_by_scope(record.language) else None
        if text is None:
            return sites
        found = zip(sites, record.some(sites), strict=True)
        return [i for i, each in found if not is_by_scope(each.site, text, record.language)]

    def _by_name(self, record: RelationRecord, reach: Reach) -> None:
        names = self._names
        found = names.sites(record)
        turned = names.turned_sites(record, found)
        joined = [i for i, each in found.items() if names.is_joined(each)]
        asked, wide = self._asked(record), reach.setdefault(record.path, {})
        for index in turned.found:
            wide.setdefault(index, "turned")
        self._keys[record.path] = dict.fromkeys(turned.keys, "turned")
        asked.add(turned.nowhere, "turned")
        asked.add(names.findable(record, joined), "joined")
        if turned.later:
            asked.tells.update(turned.imports)
            asked.add(turned.imports, "turned")
            asked.later.update(dict.fromkeys(turned.later, "turned"))
        if turned.modules and names.tell:
            asked.tells.update(turned.modules)
            asked.add(turned.modules, "turned")
            asked.later.update(dict.fromkeys(range(record.sites), "module"))
        elif turned.modules:
            wide.update(dict.fromkeys(range(record.sites), "module"))

    def _loses(self, target: Target) -> bool:
        change = self._change_of(target)
        return change is not None and change.loses(target)

    def _resurfaces(self, target: Target) -> bool:
        change = self._change_of(target)
        return (change is not None and change.resurfaces(target)) or self._between.has(target)

    def _passes_any(self, target: Target) -> bool:
        """Whether it is a module that may pass on other names now, whichever."""
        change = self._change_of(target)
        return change is not None and change.rebound is None and not (target.qualified or target.name)

    def _change_of(self, target: Target) -> FileChange | None:
        return None if target.is_external else self._changes.get(target.path)

    def _reached(self, relations: Collection[Relation]) -> tuple[list[int], set[int], bool]:
        """As `_by_target`, of some relations: sites that are lost, units that surfaces reach, and whether
        names of all kinds may be others, everywhere."""
        lost, units, everywhere = [], set(), False
        for index, relation in enumerate(relations):
            targets = relation.targets or ()
            is_unanswered = relation.targets is None and not relation.unbuilt
            if is_unanswered or any(map(self._loses, targets)):
                lost.append(index)
            if any(map(self._resurfaces, targets)):
                units.add(relation.site.unit)
            everywhere = everywhere or any(map(self._passes_any, targets))
        return lost, units, everywhere

    def _within(self, change: FileChange) -> dict[int, str]:
        """Why each site of the new version of a changed file is to be asked, for those that are."""
        new, old = change.new, self._old.get(change.new.path) if change.new else None
        assert new is not None
        if old is None or len(old.relations) != len(change.old.sites if change.old else ()):
            return dict.fromkeys(range(len(new.sites)), "new")
        kept = {now: old.relations[before] for now, before in change.kept.items()}
        lost, units, everywhere = self._reached(kept.values())
        at = list(kept)
        why = {at[index]: "lost" for index in lost}
        why |= {now: "unknown" for now, relation in kept.items() if relation.unbuilt}
        units = {new.sites[now].unit for now, relation in kept.items() if relation.site.unit in units}
        units = new.with_nested(units) | {new.sites[index].unit for index in change.enclosed}
        hidden = set(self._hidden.leading(new.path, kept))
        for index, site in enumerate(new.sites):
            if index not in kept:
                why[index] = "new"
            elif change.rebound is None or site.name in change.rebound or index in change.enclosed:
                why.setdefault(index, "line")
            elif self._names.is_turned_within(change, index, kept[index]):
                why.setdefault(index, "turned")
            elif self._names.is_joined_within(change, kept[index]):
                why.setdefault(index, "joined")
            elif index in hidden:
                why.setdefault(index, "hidden")
            elif everywhere or (site.unit in units and not is_by_scope(site, new.content, new.language)):
                why.setdefault(index, "surface")
            elif self._touched.has(new.path):
                why.setdefault(index, "whole")
            elif self._touched.packages and self._is_packaged(new.path, kept[index]):
                why.setdefault(index, "package")
        return why

    def _extend(self, reach: Reach, room: int) -> tuple[int, int]:
        """Add the sites of wide rules, files with few first; how many were too many, and the room left."""
        cut = 0
        for path, wide in sorted(reach.items(), key=lambda entry: (len(entry[1]), entry[0])):
            if len(wide) <= room:
                room -= len(wide)
                for index, rule in sorted(wide.items()):
                    self._elsewhere[path].add([index], rule)
            else:
                cut += len(wide)
        return cut, room

    def _asked(self, record: RelationRecord) -> Asked:
        return self._elsewhere.setdefault(record.path, Asked(record))
