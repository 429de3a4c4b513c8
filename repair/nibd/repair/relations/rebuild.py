"""Do published relations equal those that fresh servers make of the same tree, aside and from nothing?

When they differ, a third run tells why: another rebuild, compared with the first. Sites in which two fresh
servers give two answers *vary*: they are the server's own doing, are named apart, and prove nothing about
what is published. All others have to be equal.

What can't be rebuilt is not compared, with the reason, and nothing is claimed of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.comparison import Compared, Told, compare, replay
from nibd.repair.relations.relating import Relating
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.types import ProfileId, State

Aside = Callable[[], AbstractContextManager[Relating]]
"""Gives servers and stores that have nothing yet, each time others, which know what is installed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is why they could not be compared, if so; `varying` what two rebuilds differ in."""

    compared: Compared = field(default_factory=Compared)
    varying: Compared = field(default_factory=Compared)
    reason: str | None = None

    @property
    def is_equal(self) -> bool | None:
        """`None`: nobody knows."""
        return None if self.reason else self.compared.are_equal


class _NotMade(Exception):  # noqa: N818 - says what is
    """There is no rebuild; the message says why."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Of one tree: `snapshot` has the listing that the stores of `aside` know."""

    snapshot: Snapshot
    aside: Aside
    report: Reporter

    def compare(self, published: Told, record: ViewRecord, family: str) -> Verdict:
        """Compare the family's published relations, whose record is given, with a rebuild."""
        try:
            return self._compared(published, ProfileId(record.profile), family)
        except _NotMade as why:
            return Verdict(reason=str(why))

    def _compared(self, published: Told, profile: ProfileId, family: str) -> Verdict:
        ours = published.records()
        with self._made(profile, family, "") as first:
            theirs = first.records()
            found, varying = compare(ours, theirs), Compared()
            if not found.are_equal:
                with self._made(profile, family, " again") as second:
                    varying = compare(theirs, second.records())
                found = compare(ours, theirs, leave=varying.spots)
            if varying.are_equal:  # else requests would differ by what varies
                replay(published, first, self.snapshot.tree, found)
        return Verdict(found, varying)

    @contextmanager
    def _made(self, profile: ProfileId, family: str, time: str) -> Iterator[Told]:
        def report(progress: Progress) -> None:
            self.report(replace(progress, stage=f"{progress.stage}{time}"))

        with self.aside() as relating:
            now = relating.profile(family)
            if now != profile:
                raise _NotMade("something else is installed now than what they were made with")
            record = relating.relate(self.snapshot, family, (), report)
            if record.state is not State.READY or record.resolution is None:
                raise _NotMade(f"a fresh server gave no relations: {record.reason}")
            yield Told(relating.store, relating.store.resolution(record.resolution))
