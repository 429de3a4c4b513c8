"""Audits: a fresh server is asked what a warm one was asked, at the same tree, and has the last word.

Verification proves that stored relations are what the running server says. Whether a server that has seen
other trees says what one says that has not, only another process of it can tell. That is done now and then,
when nothing else is to be done: after so many transitions, and after one for which the server's driver asks
for it.

All files of a family are asked, or in a larger one those that the last transition can have reached and a
sample of the others, up to `AUDIT_SITES` sites. Where the fresh server differs its answer is stored, and the
warm server ends: what is asked next is asked of a new one. When all was asked the relations are `exact`
then; else they have to be verified again if anything differed.

Two servers need the memory of two: an audit is not begun without, and is given up when it gets scarce.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nibd.repair.progress import Interrupted, Progress, Reporter
from nibd.repair.relations.ask_again import AskedAgain, AskingAgain, filled
from nibd.repair.relations.verifying import Verifying
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.room import RESERVE_BYTES, NoRoom, available_bytes, require_room
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import RecordId
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.types import Assurance

AUDIT_SITES = 30_000
"""Some seconds of a server."""


@dataclass(slots=True)
class Audited(AskedAgain):
    """`of` files there are; `files` of them were asked."""

    of: int = 0

    @property
    def is_whole(self) -> bool:
        return self.files == self.of


@dataclass(slots=True)
class Auditing:
    """For one thread, that of `verifying`."""

    verifying: Verifying

    def is_due(self, record: ViewRecord | None, family: str, transitions: int) -> bool:
        """Whether verified relations are to be audited, where that is done every so many transitions."""
        if record is None or record.assurance is not Assurance.VERIFIED:
            return False
        return self.verifying.relating.memory.audit_is_due(family, transitions)

    def audit(
        self, snapshot: Snapshot, family: str, report: Reporter, kept: Sequence[Snapshot] = ()
    ) -> tuple[ViewRecord, Audited]:
        """Ask a fresh server about the snapshot's relations, which are verified; the record after that.

        Raises NoRoom, ServerFailed, and what `report` raises unless something was found by then.
        """
        started = time.perf_counter()
        relating = self.verifying.relating
        side = relating.side(snapshot)
        require_room(relating.workspace.memory_bytes(family))
        records = relating.known(snapshot, family)
        audited = Audited(records, of=len(records))
        rows = self._chosen(snapshot, family, kept, records)
        with relating.fresh(family, side, report) as resolver:
            asking = AskingAgain(relating.store, relating.sources, resolver)
            try:
                self._ask(asking, rows, audited, report)
            except (Interrupted, NoRoom, ServerFailed):
                if not audited.differences:
                    raise
        return self._record(snapshot, family, audited, time.perf_counter() - started), audited

    def _ask(self, asking: AskingAgain, rows: Sequence[RecordId], audited: Audited, report: Reporter) -> None:
        stored = asking.stored(rows)
        while batch := filled(stored):
            asking.ask(batch, audited)
            if audited.died:
                raise ServerFailed(f"{asking.resolver.server.driver.server} died while it audited")
            report(Progress("audit", audited.files, len(rows)))
            if available_bytes() < RESERVE_BYTES // 2:
                raise NoRoom("memory became scarce during an audit")

    def _record(self, snapshot: Snapshot, family: str, audited: Audited, seconds: float) -> ViewRecord:
        relating, differing = self.verifying.relating, len(audited.differences)
        record = relating.with_records(snapshot, family, audited.records)
        counts, assurance = dict(record.counts), record.assurance
        if record is not snapshot.relations[family]:  # also for what was corrected and not published
            counts["verified"], assurance = 0, Assurance.REPAIRED
            relating.memory.forget(family, snapshot.tree)
        if differing:
            relating.workspace.end(family)
        if audited.is_whole and not audited.unanswered:
            counts["verified"], assurance = audited.of, Assurance.EXACT
        relating.memory.audited(family, differing)
        work = {"audit_seconds": seconds, "audit_asked": audited.asked, "audit_differences": differing}
        return replace(record, assurance=assurance, counts=counts, work={**record.work, **work})

    def _chosen(
        self, snapshot: Snapshot, family: str, kept: Sequence[Snapshot], records: Bitmap
    ) -> list[RecordId]:
        """The records to ask about: those that the last transition can have reached, then a sample."""
        store = self.verifying.relating.store
        reached = self.verifying.reach(snapshot, family, kept, records)
        chance = random.Random(snapshot.tree)
        found = [
            (reached.get(record.path, len(records)), chance.random(), row, record.sites)
            for row, record in store.packed(records)
        ]
        chosen, sites = [], 0
        for _, _, row, size in sorted(found):
            if sites and sites + size > AUDIT_SITES:
                break
            chosen.append(row)
            sites += size
        return chosen
