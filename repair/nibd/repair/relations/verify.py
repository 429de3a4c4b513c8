"""Asking every site again at the same tree, on the server that is running, and repairing what differs.

Files go in the order given, those that a transition can have reached first. It may be stopped between two
batches and goes on from `done` later, so a stream of commits delays it but starves no file: the caller
gives those verified longest ago first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.repair import BATCH_SITES, Draft
from nibd.repair.relations.resolve import Question, Resolver
from nibd.repair.relations.source_file import SourceFiles
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import FileRelations, Relation, Target
from nibd.stores.relations import RecordId, RelationStore


@dataclass(frozen=True, slots=True)
class Difference:
    """A site whose relation was not what the server says now."""

    file: FileRelations
    relation: Relation
    found: tuple[Target, ...]


@dataclass(slots=True)
class Verified:
    """`records` are those given, with what differed replaced. `unanswered` sites could not be compared."""

    records: Bitmap
    files: int = 0
    asked: int = 0
    unanswered: int = 0
    differences: list[Difference] = field(default_factory=list)


@dataclass(slots=True)
class Verification:
    """Of the relations of one family at the tree that `resolver`'s server holds."""

    store: RelationStore
    sources: SourceFiles
    resolver: Resolver
    report: Reporter

    def run(self, records: Bitmap, order: Sequence[RecordId]) -> Verified:
        """Ask all sites of `order`, which are among `records`."""
        verified = Verified(records)
        for batch in self._batches(order):
            answers = self.resolver.ask([Question(draft.file, draft.asked) for _, _, draft in batch])
            changed: dict[RecordId, FileRelations] = {}
            for (row, before, _), targets in zip(batch, answers, strict=True):
                after = self._compared(before, dict(enumerate(targets)), verified)
                if after != before:
                    changed[row] = after
            made = self.store.add(changed.values())
            verified.records = verified.records.changed(remove=changed, add=made)
            verified.files += len(batch)
            self.report(Progress("verify", verified.files, len(order)))
        return verified

    def _batches(self, order: Sequence[RecordId]) -> Iterator[list[tuple[RecordId, FileRelations, Draft]]]:
        batch: list[tuple[RecordId, FileRelations, Draft]] = []
        size = 0
        for row, record in self.store.records(order):
            file = self.sources.get(record.path, record.blob, record.language)
            if file is None:
                continue  # its object is gone: nothing can be said of it any more
            batch.append((row, record, Draft(file, {}, tuple(range(len(file.sites))))))
            size += len(file.sites)
            if size >= BATCH_SITES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _compared(
        self, before: FileRelations, found: Mapping[int, tuple[Target, ...] | None], verified: Verified
    ) -> FileRelations:
        relations = list(before.relations)
        for index, relation in enumerate(before.relations):
            targets = found.get(index)
            verified.asked += 1
            if targets is None:
                verified.unanswered += 1
            elif targets != relation.targets:
                verified.differences.append(Difference(before, relation, targets))
                relations[index] = Relation(relation.site, targets)
        return FileRelations(before.path, before.blob, before.language, tuple(relations))
