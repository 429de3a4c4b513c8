"""Verification of a snapshot's relations: what is asked first, what becomes of the record, what is counted.

`verify` may be called again and again for one tree, until the record says that every file was asked there.
What a run corrected is stored as the newest resolution of the tree, whether somebody publishes it or not:
the next run, and the next repair from this tree, begin from it. So nothing that was found is lost when a
newer commit comes; when this process is killed, what this run found is asked once more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from nibd.repair.progress import Reporter
from nibd.repair.relations.ask_again import AskingAgain
from nibd.repair.relations.changed_files import changed_files, family_files
from nibd.repair.relations.reach import Reach
from nibd.repair.relations.relating import CERTAIN, Relating
from nibd.repair.relations.repair import Side
from nibd.repair.relations.resolve import Resolver
from nibd.repair.relations.verify import Verification, Verified
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.room import require_room
from nibd.stores.bitmap import Bitmap
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.types import Assurance, ProfileId, RepoPath, State, TreeId


@dataclass(slots=True)
class Verifying:
    """For one thread, that of `relating`."""

    relating: Relating
    _reached: dict[str, TreeId] = field(default_factory=dict)
    """By family, the tree whose reach is noted."""
    _whole: dict[str, tuple[TreeId, ViewRecord]] = field(default_factory=dict)
    """By family, the tree that was verified whole last, and the record of that."""

    def verify(
        self, snapshot: Snapshot, family: str, report: Reporter, kept: Sequence[Snapshot] = ()
    ) -> tuple[ViewRecord, Verified]:
        """Ask the sites of the snapshot's relations again; the record after that.

        Stops when `report` raises Interrupted, and then gives the record as far as it came; raises it only
        when nothing was asked. `kept` are snapshots, newest first, to tell what the transition changed.
        A record that is verified already is verified anew. Raises ServerFailed.
        """
        started = time.perf_counter()
        relating, before = self.relating, snapshot.relations[family]
        side, profile = relating.side(snapshot), ProfileId(before.profile)
        if before.assurance in CERTAIN:
            relating.memory.forget(family, side.tree)
        records = relating.known(snapshot, family)
        self._note_reach(snapshot, family, kept, records)
        resolver = relating.resolver(family, side, report)
        asking = AskingAgain(
            relating.store, relating.sources, resolver, lambda: self._second(family, side, report)
        )
        fresh = relating.workspace.is_fresh(family)
        verification = Verification(
            family,
            profile,
            side,
            relating.memory,
            asking,
            fresh,
            lambda: relating.workspace.is_as_found(family),
            report,
        )
        verified = verification.run(records)
        tree, whole = self._whole.get(family, (None, before))
        if not verified.files and verified.is_whole and tree == side.tree and whole.profile == profile:
            return whole, verified  # asked for once more before it was published
        after = relating.with_records(snapshot, family, verified.records)
        if verified.died:  # what it left unanswered says nothing of what is stored
            raise ServerFailed(f"{resolver.server.driver.server} died while relations were verified")
        took = {"verify_seconds": time.perf_counter() - started, "dropped": len(resolver.dropped)}
        record = self._told(family, after, verified, took)
        if verified.contradicted:
            relating.workspace.end(family)
        elif verified.is_whole:
            relating.workspace.was_asked_everything(family)
        if verified.is_whole:
            self._whole[family] = (side.tree, record)
        return record, verified

    @contextmanager
    def _second(self, family: str, side: Side, report: Reporter) -> Iterator[Resolver]:
        require_room(self.relating.workspace.memory_bytes(family))
        with self.relating.fresh(family, side, report) as resolver:
            yield resolver

    def _told(
        self, family: str, record: ViewRecord, verified: Verified, took: Mapping[str, float]
    ) -> ViewRecord:
        """What is said of the relations now; work adds up over the runs at one tree."""
        work = {"verify_asked": verified.asked, "differences": len(verified.differences), **took}
        if record.assurance not in CERTAIN and record.counts.get("verified"):
            work = {key: value + record.work.get(key, 0) for key, value in work.items()}
        lacking = self.relating.unknown(verified.records)
        return replace(
            record,
            assurance=_assurance(verified, lacking.unanswered),
            reason=self.relating.reason(family, lacking, verified.left),
            limits=self.relating.limits(family),
            counts={**record.counts, "unanswered": verified.left, "verified": verified.done},
            work={**record.work, **work},
        )

    def _note_reach(self, snapshot: Snapshot, family: str, kept: Sequence[Snapshot], records: Bitmap) -> None:
        """Remember what the transition to the snapshot can have reached, once."""
        if self._reached.get(family) == snapshot.tree:
            return
        self._reached[family] = snapshot.tree
        relating, profile = self.relating, ProfileId(snapshot.relations[family].profile)
        reached = self.reach(snapshot, family, kept, records)
        asked = relating.memory.asked(family, profile)
        done = {path for path, each in asked.items() if each.tree == snapshot.tree}
        relating.memory.reach(
            family, {path: distance for path, distance in reached.items() if path not in done}
        )

    def reach(
        self, snapshot: Snapshot, family: str, kept: Sequence[Snapshot], records: Bitmap
    ) -> dict[RepoPath, int]:
        """The steps to each file that the transition to the snapshot can have reached."""
        relating, profile = self.relating, snapshot.relations[family].profile
        base = next((each for each in kept if _is_base(each, snapshot, family, profile)), None)
        if base is None:
            return {}
        old, new = relating.side(base).listing, relating.side(snapshot).listing
        gone, come = (
            family_files(relating.structure, family, one.minus(other))
            for one, other in ((old, new), (new, old))
        )
        changes = changed_files(relating.sources, relating.structure, new, gone, come)
        return Reach(relating.store, relating.sources, records).of(changes)


def _is_base(candidate: Snapshot, snapshot: Snapshot, family: str, profile: str) -> bool:
    """Whether the snapshot's relations may have been repaired from those of the candidate."""
    record = candidate.relations.get(family)
    return (
        candidate.tree != snapshot.tree
        and record is not None
        and record.state is State.READY
        and record.profile == profile
    )


def _assurance(verified: Verified, unanswered: int) -> Assurance:
    if unanswered or (verified.is_whole and verified.left):
        return Assurance.PARTIAL
    if not verified.is_whole:
        return Assurance.REPAIRED
    return Assurance.EXACT if verified.fresh else Assurance.VERIFIED
