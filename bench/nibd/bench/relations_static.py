"""Part `static`: how long a definition takes over the daemon's socket, by static navigation and live.

A daemon of its own follows a clone at the newest commit and makes its relations. Sites are spread over all
files; each is asked once. Where the daemon gives live answers the same sites are asked live, and the ratio
is that of the sites with equal answers: equal sets of (path, line of the identifier).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nibd.bench.relations_cases import Chain, evenly_spread
from nibd.bench.report import Report, spread
from nibd.bench.session import LONGEST_S, Session, session
from nibd.bench.world import CALL_S, BenchError, world
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.repair.git import open_source
from nibd.stores.relations import RelationStore
from nibd.stores.snapshot import ViewRecord
from nibd.stores.types import Assurance, State

P50_BAR_MS = 2.0
LOOK_S = 0.5
PATIENCE_S = 60.0
"""So long a daemon may take to begin with relations."""
Hits = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file of the work tree; line and column from 1."""

    path: str
    line: int
    col: int


@dataclass(frozen=True, slots=True)
class _Took:
    milliseconds: float
    hits: Hits


def measure(chain: Chain, servers: Sequence[Path], count: int, report: Report) -> None:
    commit = chain.cases[-1].child if chain.cases else "HEAD"
    with world(dense=False, relations=True) as where:
        where.environment["PATH"] = os.pathsep.join([*map(str, servers), where.environment["PATH"]])
        with session(where, "clone", chain.repository, commit) as built:
            spots = evenly_spread(_spots(built, _related(built, chain.family)), count)
            with Client(where.socket, CALL_S) as client:
                static, refused = _asked(client, built, spots, "static")
                live, why = _live(client, built, spots)
    name = f"{chain.family}: {chain.name}: definition over the socket, static"
    took = [each.milliseconds for each in static.values()]
    report.details[name] = took
    if not took:
        raise BenchError(f"of {len(spots)} sites none was answered: {refused}")
    p50 = statistics.median(took)
    lacking = f"; {len(refused)} refused, such as {refused[0]}" if refused else ""
    report.add(name, spread(took, "ms", 2) + lacking, f"p50 <= {P50_BAR_MS:g} ms", p50 <= P50_BAR_MS)
    _compare(chain, static, live, why, report)


def _related(built: Session, family: str) -> ViewRecord:
    """The family's relations when they have been made and verified. What failed is not waited for."""
    started = time.monotonic()
    while time.monotonic() - started < LONGEST_S:
        record = built.current().snapshot.relations.get(family)
        if record is not None and record.state in (State.ABSENT, State.FAILED):
            raise BenchError(f"{family} relations are {record.state}: {record.reason}")
        if record is not None and record.state is State.READY and record.assurance is not Assurance.REPAIRED:
            built.settle()
            return record
        if failed := _failure(built):
            raise BenchError(f"{family} relations failed: {failed}")
        if record is None and time.monotonic() - started > PATIENCE_S:
            raise BenchError(f"the daemon makes no {family} relations")
        time.sleep(LOOK_S)
    raise BenchError(f"waited {LONGEST_S:.0f} s for {family} relations")


def _failure(built: Session) -> str | None:
    """What the daemon says of a navigator that failed, which it would try again."""
    sign = f"{built.work_tree}: relations: "
    problems = built.world.call("doctor")["problems"]
    return next((each.removeprefix(sign) for each in problems if each.startswith(sign)), None)


def _spots(built: Session, record: ViewRecord) -> list[Spot]:
    """Every site that refers to something, in files whose name is text."""
    assert record.resolution is not None, "it is ready"
    source, store = open_source(built.work_tree), RelationStore.open_reader(built.folder.relations)
    found: list[Spot] = []
    try:
        for _, file in store.records(store.resolution(record.resolution)):
            content, path = source.read(file.blob), _text(file.path)
            if content is None or path is None or not _is_plain(content):
                continue
            for relation in file.relations:
                if relation.targets:
                    before = content[: relation.site.start_byte]
                    line_start = before.rfind(b"\n") + 1
                    column = len(before[line_start:].decode("utf-8")) + 1
                    found.append(Spot(path, before.count(b"\n") + 1, column))
    finally:
        store.close()
        source.close()
    return found


def _is_plain(content: bytes) -> bool:
    """Whether a file's bytes are its text, so that offsets into one are offsets into the other."""
    try:
        return not content.decode("utf-8").startswith("\ufeff")
    except UnicodeDecodeError:
        return False


def _text(path: bytes) -> str | None:
    try:
        return path.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _asked(
    client: Client, built: Session, spots: Sequence[Spot], provider: str
) -> tuple[dict[Spot, _Took], list[str]]:
    """What each spot was answered, and what was said of those that were not."""
    answered: dict[Spot, _Took] = {}
    refused: list[str] = []
    for spot in [*spots[:1], *spots]:  # the first one warms up
        params: dict[str, Any] = {
            "path": str(built.work_tree / spot.path), "operation": "definition", "line": spot.line,
            "col": spot.col, "provider": provider,
        }  # fmt: skip
        started = time.perf_counter()
        try:
            answer: Any = client.call("navigate", params)
        except RpcError as error:
            if error.code is ErrorCode.UNSUPPORTED:
                raise
            refused.append(str(error))
            continue
        took = (time.perf_counter() - started) * 1000
        answered[spot] = _Took(took, frozenset(map(_hit, answer["hits"])))
    return answered, refused


def _hit(hit: Mapping[str, Any]) -> tuple[str, int]:
    if hit["external"] is not None:
        return ("outside", 0)  # live and static name it in ways of their own
    return (hit["path"], hit["line"])


def _live(client: Client, built: Session, spots: Sequence[Spot]) -> tuple[dict[Spot, _Took], str]:
    try:
        return _asked(client, built, spots, "live")[0], ""
    except RpcError as error:
        return {}, str(error)


def _compare(
    chain: Chain, static: Mapping[Spot, _Took], live: Mapping[Spot, _Took], why: str, report: Report
) -> None:
    what = f"{chain.family}: {chain.name}: definition over the socket, live"
    name = f"{what} against static"
    if live:
        took = [each.milliseconds for each in live.values()]
        report.details[what] = took
        report.add(what, spread(took, "ms", 2))
    both = [(static[spot], live[spot]) for spot in static if spot in live]
    equal = [(one, other) for one, other in both if one.hits == other.hits]
    if not equal:
        report.add(name, why or f"no equal answer of {len(both)}")
        return
    ratio = statistics.median(other.milliseconds / one.milliseconds for one, other in equal)
    report.add_ratio(name, ratio, f"{len(equal)} of {len(both)} answers are equal")
