"""Asking every site of stored files again, and putting what the server says now in the place of what differs.

Shared by `verify` (the server that is running, every file) and `audit` (a fresh one, as many files as fit).
A site that the server gives no answer for keeps what was known of it; one of which nothing was known and that
is answered now is *late*, which is no difference: nobody was told anything wrong.

Some servers come to know of nothing in a whole file, by accident, and then say so each time. Where the driver
says that of its server, a file in which several sites would lose all their targets is asked of a fresh one
too, which decides; without the room for that these sites count as unanswered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from nibd.repair.relations.repair import BATCH_SITES
from nibd.repair.relations.resolve import Question, Resolver
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.registry import driver_of_family
from nibd.repair.servers.room import NoRoom
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord, pack
from nibd.stores.relation_types import FAMILY_OF, Answer, FileRelations, Relation
from nibd.stores.relations import CorruptRelations, RecordId, RelationStore

DOUBTED_SITES = 3
"""So many have to lose all their targets for a file to be doubted: a server that starts takes seconds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A site whose relation was not what the server says now."""

    file: FileRelations
    relation: Relation
    found: Answer


@dataclass(slots=True)
class AskedAgain:
    """`records` are those given, with what differed replaced. `unanswered` sites could not be compared.

    `files` and `asked` (sites) are counted in this run. `contradicted`: so often a fresh server knew targets
    where the running one said that there are none. `died`: the server did, and stopped it.
    """

    records: Bitmap
    files: int = 0
    asked: int = 0
    unanswered: int = 0
    late: int = 0
    contradicted: int = 0
    died: bool = False
    differences: list[Difference] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stored:
    """A file with what is stored of it. `file` is `None` when its object is gone: it can't be asked."""

    row: RecordId
    record: RelationRecord
    relations: FileRelations
    file: SourceFile | None


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A file after it was asked: what is stored now, and how many of its sites got no answer."""

    record: RelationRecord
    unanswered: int


@dataclass(frozen=True, slots=True)
class AskingAgain:
    """Of files at the tree that `resolver`'s server holds. `second` gives a fresh one for what is doubted."""

    store: RelationStore
    sources: SourceFiles
    resolver: Resolver
    second: Callable[[], AbstractContextManager[Resolver]] | None = None

    def stored(self, rows: Iterable[RecordId]) -> Iterator[Stored]:
        """In the order given, read as they are needed."""
        for row, record in self.store.packed(rows):
            try:
                relations = record.file()
            except ValueError as error:
                raise CorruptRelations(str(error)) from error
            file = self.sources.get(record.path, record.blob, record.language)
            if file is not None and len(file.sites) != len(relations.relations):
                raise CorruptRelations(f"the relations of {record.path!r} are not those of {record.blob}")
            yield Stored(row, record, relations, file)

    def ask(self, batch: Sequence[Stored], into: AskedAgain) -> list[Confirmed]:
        """Ask all sites of `batch` and store what differs. Nothing is confirmed by a server that died."""
        asked = [each for each in batch if each.file is not None]
        answers = self.resolver.ask(
            [Question(each.file, range(len(each.file.sites))) for each in asked if each.file is not None]
        )
        if not self.resolver.server.is_alive:
            into.died = True
            return []
        found = dict(zip((each.row for each in asked), answers, strict=True))
        self._decide([each for each in asked if self._is_doubted(each, found[each.row])], found, into)
        confirmed, changed = [], []
        for each in batch:
            unanswered = into.unanswered
            answered = found.get(each.row) or [None] * len(each.relations.relations)
            after = _compared(each.relations, answered, into)
            record = each.record
            if after != each.relations:
                changed.append((each.row, after))
                record, _ = pack(after)
            confirmed.append(Confirmed(record, into.unanswered - unanswered))
        made = self.store.add(after for _, after in changed)
        into.records = into.records.changed(remove=[row for row, _ in changed], add=made)
        into.files += len(batch)
        return confirmed

    def _is_doubted(self, stored: Stored, answers: Sequence[Answer]) -> bool:
        if self.second is None or not self.resolver.server.driver.doubts_nothing:
            return False
        told = zip(stored.relations.relations, answers, strict=True)
        return sum(answer == () and bool(known.targets) for known, answer in told) >= DOUBTED_SITES

    def _decide(
        self, doubted: Sequence[Stored], found: dict[RecordId, list[Answer]], into: AskedAgain
    ) -> None:
        """Ask a fresh server about what the running one says of these files, and put its answers in place."""
        if not doubted:
            return
        assert self.second is not None, "it is what decides"
        try:
            with self.second() as fresh:
                answers = fresh.ask(
                    [Question(each.file, range(len(each.file.sites))) for each in doubted if each.file]
                )
        except (NoRoom, ServerFailed):
            answers = [[None if answer == () else answer for answer in found[each.row]] for each in doubted]
        for each, decided in zip(doubted, answers, strict=True):
            told = zip(found[each.row], decided, strict=True)
            into.contradicted += sum(one == () and bool(other) for one, other in told)
            found[each.row] = decided


def filled(*queues: Iterator[Stored]) -> list[Stored]:
    """The next batch: from the first queue, and when that is empty from the next one."""
    batch: list[Stored] = []
    size, limit = 0, BATCH_SITES
    for queue in queues:
        while size < limit and (each := next(queue, None)) is not None:
            driver = driver_of_family(FAMILY_OF[each.relations.language])
            limit = max(limit, driver.batch_sites)
            batch.append(each)
            size += len(each.relations.relations) + driver.file_sites
    return batch


def _compared(before: FileRelations, found: Sequence[Answer], into: AskedAgain) -> FileRelations:
    relations = list(before.relations)
    for index, (relation, answer) in enumerate(zip(before.relations, found, strict=True)):
        into.asked += 1
        if answer is None:
            into.unanswered += 1
            continue
        if relation.answer is None:
            into.late += 1
        elif answer != relation.answer:
            into.differences.append(Difference(before, relation, answer))
        relations[index] = Relation.of(relation.site, answer)
    return FileRelations(before.path, before.blob, before.language, tuple(relations))
