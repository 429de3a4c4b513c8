"""Repair by file, which symbol-level repair is compared with.

It asks every site of the files that changed, and of those that referred to one of them. What a site means
elsewhere is taken to be what it was: names that came or went in between are not looked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.planned import Asked, Plan
from nibd.repair.relations.repair import Base, RelationRepair
from nibd.stores.relation_types import FileRelations
from nibd.stores.types import RepoPath

RULE = "file"


class RepairByFile(RelationRepair):
    """As symbol-level repair in all but the plan."""

    def plan(
        self, base: Base, changes: Mapping[RepoPath, FileChange], old: Mapping[RepoPath, FileRelations]
    ) -> Plan:
        within = {
            path: dict.fromkeys(range(len(change.new.sites)), RULE)
            for path, change in changes.items()
            if change.new is not None
        }
        referring = {record for path in changes for record in self.store.mentioning_file(path, base.records)}
        elsewhere = {
            record.path: Asked(record, dict.fromkeys(range(record.sites), RULE))
            for _, record in self.store.packed(sorted(referring))
            if record.path not in changes
        }
        return Plan(elsewhere, within)
