"""Part `jumps`: several commits in one transition, as after a pull: 10, then 100, then both again.

Each goes over commits that were not seen before, from a published tree; no dense view is kept.
"""

from __future__ import annotations

from pathlib import Path

from nibd.bench.report import Report
from nibd.bench.session import session
from nibd.bench.world import first_parent, world
from nibd.stores.types import View

STEPS = (10, 100, 10, 100)


def measure(name: str, repository: Path, report: Report) -> None:
    commits = first_parent(repository, sum(STEPS))
    at, samples = 0, []
    with world(dense=False) as where, session(where, name, repository, commits[0]) as followed:
        for step in STEPS:
            files = followed.changed_files(commits[at], commits[at + step])
            at += step
            moved = followed.move(commits[at])
            followed.settle()
            parsed = moved.snapshot.views[View.STRUCTURAL].work.get("parsed", 0)
            samples.append({"commits": step, "files": files, "parsed": parsed, "seconds": moved.seconds})
    for step in sorted(set(STEPS)):
        of_step = [sample for sample in samples if sample["commits"] == step]
        row = f"{name}: {step} commits in one transition"
        report.details[row] = of_step
        shown = ", ".join(f"{s['seconds']:.3f} s ({s['files']} files changed)" for s in of_step)
        report.add(row, shown)
