"""Part `transitions`: relations repaired from commit to commit, verified, and compared with a rebuild.

The *warm* side has servers that live through the whole chain. For each transition parent → child:

1. The parent's relations: those of the transition before, else repaired from there and verified, at first
   made from nothing (the *first build*).
2. Publish the child's lexical view and units, repair its relations, publish these: *commit to repaired*.
3. A second side with servers that went the same way repairs the same by file.
4. A third, whose private tree holds the parent and no server runs, repairs too: *cold*. Only the first ones.
5. A fourth makes the child's relations from nothing: *rebuild*, from the start of its servers.
6. The warm side asks every site again: *verify*. What came out of 2 and of this is compared with 5.
7. Where it differs, the rebuild is made once more, and both rebuilds are compared: sites that differ there
   are the server's own doing.

Writing a whole private tree is timed nowhere; moving one from parent to child is, in 2, 3 and 4.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nibd.bench.relations_cases import Case, Chain
from nibd.bench.relations_world import Published, Side, published, side
from nibd.repair.relations.comparison import Compared, Records, Told, compare
from nibd.stores.snapshot import Snapshot, ViewRecord


@dataclass(frozen=True, slots=True)
class How:
    """`second`: measure the path by file too. `cold` and `again` limit steps 4 and 7 for each chain."""

    servers: tuple[Path, ...]
    second: bool = True
    cold: int = 3
    again: int = 3


@dataclass(slots=True)
class Built:
    """A first build."""

    name: str
    family: str
    commit: str
    files: int
    sites: int
    unknown: int
    seconds: float
    memory_bytes: int


@dataclass(slots=True)
class Sample:
    """One transition. `asked` counts sites by the rule that had them asked, `changed` those of them that had
    referred to something else before; `requests` are LSP's, by step.

    `started`: the warm side had to start its server. `vary`: the sites in which two rebuilds differ.
    """

    name: str
    family: str
    case: Case
    changed_files: int
    sites: int = 0
    unknown: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    cut: int = 0
    publish_s: float = 0.0
    repair_s: float = 0.0
    to_repaired_s: float = 0.0
    started: bool = False
    by_file_s: float | None = None
    cold_s: float | None = None
    rebuild_s: float = 0.0
    verify_s: float = 0.0
    verify_asked: int = 0
    verify_changed: int = 0
    unanswered: int = 0
    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    memory_bytes: int = 0
    repaired: Compared = field(default_factory=Compared)
    by_file: Compared | None = None
    verified: Compared = field(default_factory=Compared)
    vary: Compared | None = None

    @property
    def kept(self) -> int:
        return self.sites - sum(self.asked.values())

    @property
    def unexplained(self) -> int:
        """Sites that are wrong after verification, and the same in both rebuilds."""
        return len(self.verified.spots - (self.vary.spots if self.vary else set()))


@dataclass(frozen=True, slots=True)
class Failed:
    """A transition that could not be measured."""

    name: str
    family: str
    case: Case
    why: str


@dataclass(slots=True)
class Followed:
    """What came of a chain."""

    chain: Chain
    builds: list[Built] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)


def first_build(chain: Chain, how: How) -> Built:
    """Of the newest commit of the chain, else of HEAD."""
    with published(chain.repository) as views, side(views, chain.family, how.servers) as warm:
        commit = chain.cases[-1].child if chain.cases else views.source.resolve("HEAD")
        return _built(chain, warm, views.publish(commit), commit)[0]


def follow(chain: Chain, how: How) -> Followed:
    """Measure the transitions of `chain`. After a failure the next one begins with new servers."""
    result = Followed(chain)
    with published(chain.repository) as views:
        cases = list(chain.cases)
        while cases:
            with _walk(views, chain, how, result) as walk:
                while cases:
                    case = cases.pop(0)
                    try:
                        result.samples.append(walk.measured(case))
                    except Exception as error:  # noqa: BLE001 - whatever a server does is reported
                        traceback.print_exc()
                        why = f"{type(error).__name__}: {error}"
                        result.failures.append(Failed(chain.name, chain.family, case, why))
                        break
                    _say(result.samples[-1])
    return result


def _built(chain: Chain, warm: Side, snapshot: Snapshot, commit: str) -> tuple[Built, ViewRecord]:
    warm.hold(snapshot.tree)
    started = time.perf_counter()
    record = warm.relate(snapshot)
    seconds = time.perf_counter() - started
    counts = record.counts
    memory = warm.memory_bytes
    built = Built(
        chain.name, chain.family, commit, counts["files"], counts["sites"], counts["unknown"], seconds, memory
    )
    return built, record


@contextmanager
def _walk(views: Published, chain: Chain, how: How, result: Followed) -> Iterator[_Walk]:
    with ExitStack() as stack:
        warm = stack.enter_context(side(views, chain.family, how.servers))
        second = None
        if how.second:
            second = stack.enter_context(side(views, chain.family, how.servers, warm.store))
        yield _Walk(views, chain, how, result, warm, second)


@dataclass(slots=True)
class _Walk:
    """One life of the servers. `at` is the commit whose verified relations are the base."""

    views: Published
    chain: Chain
    how: How
    result: Followed
    warm: Side
    second: Side | None
    at: str = ""

    def measured(self, case: Case) -> Sample:
        chain = self.chain
        if self.at != case.parent:
            self._go_to(case.parent)
        changed = self.views.changed_files(case.parent, case.child)
        sample = Sample(chain.name, chain.family, case, changed)
        parent = self.warm.kept[0]
        snapshot, record = self._repaired(case, sample)
        ours = self.warm.records(record)
        by_file = self._by_file(snapshot, sample)
        if len(self.result.samples) < self.how.cold:
            self._cold(parent, snapshot, sample)
        theirs = self._rebuilt(snapshot, sample)
        related = self.warm.keep(snapshot, record)
        verified = self._verified(related, sample)
        self._follow_on(related)
        sample.repaired, sample.verified = compare(ours, theirs), compare(verified, theirs)
        sample.by_file = compare(by_file, theirs) if by_file is not None else None
        differs = not (sample.repaired.are_equal and sample.verified.are_equal)
        if differs and sum(each.vary is not None for each in self.result.samples) < self.how.again:
            sample.vary = compare(theirs, self._rebuilt(snapshot, None))
        self.at = case.child
        return sample

    def _go_to(self, commit: str) -> None:
        """Have the relations of `commit`, verified, to start from; the first ones are made from nothing."""
        snapshot = self.views.publish(commit)
        if self.warm.kept:
            record = self.warm.relate(snapshot)
        else:
            built, record = _built(self.chain, self.warm, snapshot, commit)
            self.result.builds.append(built)
            print(f"  {built}", file=sys.stderr, flush=True)
        related = self.warm.keep(snapshot, record)
        verified, _ = self.warm.verify(related)
        self.warm.kept[0] = snapshot.with_relations(self.chain.family, verified)
        self._follow_on(related)

    def _follow_on(self, related: Snapshot) -> None:
        """Have the second side's servers answer the same as the first's did."""
        if self.second is not None:
            self.second.verify(related)
            self.second.kept = list(self.warm.kept)

    def _repaired(self, case: Case, sample: Sample) -> tuple[Snapshot, ViewRecord]:
        starts, before = self.warm.starts, self.warm.sent()
        started = time.perf_counter()
        snapshot = self.views.publish(case.child)
        sample.publish_s = time.perf_counter() - started
        repair_started = time.perf_counter()
        record = self.warm.relate(snapshot)
        sample.repair_s = time.perf_counter() - repair_started
        self.views.publish_relations(case.child, self.chain.family, record)
        sample.to_repaired_s = time.perf_counter() - started
        sample.started = self.warm.starts > starts
        sample.sites, sample.unknown = record.counts["sites"], record.counts["unknown"]
        sample.asked, sample.changed = _by_rule(record, "asked_"), _by_rule(record, "changed_")
        sample.cut = int(record.work["cut"])
        sample.requests["repair"] = self.warm.sent().since(before)
        return snapshot, record

    def _by_file(self, snapshot: Snapshot, sample: Sample) -> Records | None:
        second = self.second
        if second is None:
            return None
        before = second.sent()
        started = time.perf_counter()
        resolved = second.by_file(snapshot)
        sample.by_file_s = time.perf_counter() - started
        sample.requests["by_file"] = second.sent().since(before)
        return Told(second.store, resolved.records).records()

    def _cold(self, parent: Snapshot, snapshot: Snapshot, sample: Sample) -> None:
        with side(self.views, self.chain.family, self.how.servers, self.warm.store) as cold:
            cold.kept = [parent]
            cold.hold(parent.tree)
            started = time.perf_counter()
            cold.relate(snapshot)
            sample.cold_s = time.perf_counter() - started

    def _rebuilt(self, snapshot: Snapshot, sample: Sample | None) -> Records:
        return rebuilt(self.views, self.chain.family, self.how.servers, snapshot, sample)

    def _verified(self, related: Snapshot, sample: Sample) -> Records:
        before = self.warm.sent()
        started = time.perf_counter()
        record, runs = self.warm.verify(related)
        sample.verify_s = time.perf_counter() - started
        sample.verify_asked, sample.unanswered = sum(run.asked for run in runs), runs[-1].unanswered
        sample.verify_changed = sum(len(run.differences) for run in runs)
        sample.requests["verify"] = self.warm.sent().since(before)
        sample.memory_bytes = self.warm.memory_bytes
        self.warm.kept[0] = related.with_relations(self.chain.family, record)
        return self.warm.records(record)


def rebuilt(
    views: Published, family: str, servers: Sequence[Path], snapshot: Snapshot, sample: Sample | None = None
) -> Records:
    """What fresh servers say of a snapshot's tree; what that took is noted in `sample`."""
    with side(views, family, servers) as fresh:
        fresh.hold(snapshot.tree)
        started = time.perf_counter()
        record = fresh.relate(snapshot)
        seconds = time.perf_counter() - started
        if sample is not None:
            sample.rebuild_s = seconds
            sample.requests["rebuild"] = dict(fresh.sent().counts)
        return fresh.records(record)


def _by_rule(record: ViewRecord, prefix: str) -> dict[str, int]:
    found = {key: int(count) for key, count in record.work.items() if key.startswith(prefix)}
    return {key.removeprefix(prefix): count for key, count in found.items()}


def _say(sample: Sample) -> None:
    parts: Sequence[str] = (
        f"{sample.name} {sample.case.child[:10]} {sample.case.bucket}",
        f"repair {sample.repair_s:.3f} s, rebuild {sample.rebuild_s:.1f}, verify {sample.verify_s:.1f}",
        f"by file {sample.by_file_s}, cold {sample.cold_s}",
        f"asked {sum(sample.asked.values())} of {sample.sites} {sample.asked}",
        f"differ: repaired {sample.repaired.count}, verified {sample.verified.count}",
        f"rebuilds {sample.vary.count if sample.vary else '-'}",
    )
    print("  " + "; ".join(parts), file=sys.stderr, flush=True)
    for difference in sample.verified.listed[:3] or sample.repaired.listed[:3]:
        print(f"    {difference}", file=sys.stderr, flush=True)
