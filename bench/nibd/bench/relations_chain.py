"""Part `chain`: many transitions one after another, and the same one forth and back, on one server's life.

1. Relations of the first parent from nothing, then repaired from each to the next, never verified: what a
   rule missed is handed on. At the end they are compared with a rebuild by fresh servers.
2. Every site is asked again on the servers that went all the way: that has to equal the rebuild.
3. The last transition is undone and done again `TURNS` times, each time repaired from the other side alone.
   It has to end where it began.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from nibd.bench.relations_cases import Chain
from nibd.bench.relations_follow import How, rebuilt
from nibd.bench.relations_world import Published, Side, published, side
from nibd.bench.report import Report
from nibd.repair.relations.comparison import Compared, Records, compare
from nibd.stores.snapshot import Snapshot

TURNS = 10
_SAID_EVERY = 10


@dataclass(slots=True)
class Chained:
    """What came of it. `starts`: how many servers the chain took."""

    seconds: list[float] = field(default_factory=list)
    asked: int = 0
    sites: int = 0
    starts: int = 0
    repaired: Compared = field(default_factory=Compared)
    verified: Compared = field(default_factory=Compared)
    turned: Compared = field(default_factory=Compared)


def measure(chain: Chain, how: How, report: Report) -> None:
    """Cases that do not follow each other are gone through in their order all the same."""
    with published(chain.repository) as views, side(views, chain.family, how.servers) as warm:
        result = Chained()
        _walk(views, warm, [chain.cases[0].parent, *(case.child for case in chain.cases)], result)
        theirs = rebuilt(views, chain.family, how.servers, warm.kept[0])
        result.repaired = compare(_records(warm, warm.kept[0]), theirs)
        warm.kept[0] = _verified(warm, warm.kept[0])
        result.verified = compare(_records(warm, warm.kept[0]), theirs)
        _turn(views, warm, chain.cases[-1].parent, result)
        result.starts = warm.starts
    _report(chain, result, report)


def _walk(views: Published, warm: Side, commits: Sequence[str], result: Chained) -> None:
    for number, commit in enumerate(commits):
        snapshot = views.publish(commit)
        started = time.perf_counter()
        record = warm.relate(snapshot)
        if number:
            result.seconds.append(time.perf_counter() - started)
            result.asked += int(record.work["asked"])
        result.sites = record.counts["sites"]
        warm.kept = [snapshot.with_relations(warm.family, record)]
        if number % _SAID_EVERY == 0:
            print(f"  {number} of {len(commits) - 1}", file=sys.stderr, flush=True)


def _turn(views: Published, warm: Side, parent: str, result: Chained) -> None:
    """Back and forth, each from what the step before gave."""
    here, there = warm.kept[0], views.publish(parent)
    before = _records(warm, here)
    for _ in range(TURNS):
        for snapshot in (there, here):
            warm.kept = [snapshot.with_relations(warm.family, warm.relate(snapshot))]
    result.turned = compare(_records(warm, warm.kept[0]), before)


def _verified(warm: Side, snapshot: Snapshot) -> Snapshot:
    record, _ = warm.verify(snapshot)
    return snapshot.with_relations(warm.family, record)


def _records(warm: Side, snapshot: Snapshot) -> Records:
    return warm.records(snapshot.relations[warm.family])


def _report(chain: Chain, result: Chained, report: Report) -> None:
    name = f"{chain.family}: {chain.name}: chain of {len(result.seconds)}"
    report.add(
        f"{name}: repair",
        f"median {statistics.median(result.seconds):.3f} s, {result.asked} sites asked, "
        f"{result.starts} starts of a server",
    )
    report.add(f"{name}: repaired alone against a rebuild", _said(result.repaired, result.sites))
    for what, found in (
        ("then verified, against a rebuild", result.verified),
        (f"the last one back and forth {TURNS} times, against before", result.turned),
    ):
        report.add(f"{name}: {what}", _said(found, result.sites), "equal", found.are_equal)
    report.details.setdefault("chains", []).append(
        {
            "name": chain.name, "family": chain.family, "seconds": result.seconds, "asked": result.asked,
            "differ": {
                what: [asdict(each) for each in getattr(result, what).listed]
                for what in ("repaired", "verified", "turned")
            },
        }
    )  # fmt: skip


def _said(found: Compared, sites: int) -> str:
    if found.are_equal:
        return f"equal, {sites} sites"
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds.most_common())
    return f"{found.count} of {sites} sites differ ({kinds})"
