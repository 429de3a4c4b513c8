"""Sessions, one after another, in two ways: of one resident daemon, and each a process that loads the views.

Both read the same published views and ask the same. A way's cost is by the clock, from before anything of it
runs; of the daemon that is its start, until the model is loaded too. All sessions are executed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nibd.bench.idle import cpu_seconds, memory, processes
from nibd.bench.lifecycle_asked import HITS, Asked, Places
from nibd.bench.lifecycle_isolated import Request, Told
from nibd.bench.world import BenchError, World
from nibd.ipc.session import Session
from nibd.repair.embedding_profile import DEFAULT_MODEL
from nibd.stores.snapshot import Publication

LONGEST_S = 600.0
SAID = 10


@dataclass(slots=True)
class Served:
    """What sessions of one way took. `load_s` by load: one for the daemon, one for each process.

    `ended_s` is when each session had ended, from the way's beginning, and `spent_s` the processor time of
    all that ran until then, but for the asking client. `memory_mb` is the most of an isolated process, and of
    resident sessions what all of the daemon's processes have at the end.
    """

    load_s: list[float] = field(default_factory=list)
    serve_s: list[float] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)
    spent_s: list[float] = field(default_factory=list)
    answers: list[list[Places]] = field(default_factory=list)
    memory_mb: float = 0.0


def resident(world: World, work_tree: Path, asked: Sequence[Asked], dense: bool) -> Served:
    served = Served()
    started = time.perf_counter()
    with world.daemon():
        params: dict[str, Any] = {"view": "dense"} if dense else {}
        reached = world.call("wait", path=str(work_tree), timeout_s=LONGEST_S, **params)
        if not reached["published"]:
            raise BenchError(f"the daemon does not serve what it has published: {reached['status']['error']}")
        served.load_s.append(time.perf_counter() - started)
        running = [each["pid"] for each in processes(world).values() if each["pid"]]
        for each in asked:
            begun = time.perf_counter()
            served.answers.append(_resident(world, work_tree, each, dense))
            now = time.perf_counter()
            served.serve_s.append(now - begun)
            served.ended_s.append(now - started)
            served.spent_s.append(sum(cpu_seconds(pid) for pid in running))
        served.memory_mb = sum(memory(world).values())
    return served


def _resident(world: World, work_tree: Path, asked: Asked, dense: bool) -> list[Places]:
    views = ["lexical", "structural", *(["dense"] if dense else [])]
    with Session(world.socket, work_tree, views) as session:
        plans = ["lexical", *(["dense"] if dense else [])]
        found: list[Any] = [session.call("search", query=asked.query, plan=plan, k=HITS) for plan in plans]
        found += [session.call("symbols", name=name, k=HITS) for name in asked.names]
    return [_places(answer["hits"]) for answer in found]


def _places(hits: Sequence[dict[str, Any]]) -> Places:
    return [[hit["path"], hit["start_line"], hit["end_line"]] for hit in hits]


def isolated(
    world: World, work_tree: Path, folder: Path, published: Publication, asked: Sequence[Asked], dense: bool
) -> Served:
    served = Served()
    before = _spent()
    started = time.perf_counter()
    for each in asked:
        request = Request(
            str(work_tree), str(folder), published.snapshot.generation, published.commit, each.query,
            each.names, DEFAULT_MODEL if dense else None,
        )  # fmt: skip
        begun = time.perf_counter()
        told = _isolated(world, request)
        now = time.perf_counter()
        served.answers.append(told.answers)
        served.memory_mb = max(served.memory_mb, told.memory_mb)
        served.serve_s.append(told.serve_s)
        served.load_s.append(now - begun - told.serve_s)
        served.ended_s.append(now - started)
        served.spent_s.append(_spent() - before)
        if len(served.ended_s) % SAID == 0:
            print(f"  isolated sessions: {len(served.ended_s)} of {len(asked)}", file=sys.stderr, flush=True)
    return served


def _spent() -> float:
    """Processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _isolated(world: World, request: Request) -> Told:
    done = subprocess.run(
        [sys.executable, "-m", "nibd.bench.lifecycle_isolated"],
        input=json.dumps(asdict(request)),
        env=world.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"an isolated session failed: {done.stderr.strip()[-2000:]}")
    return Told(**json.loads(done.stdout))
