"""Part `build`: from `repository.add` to the first publication of lexical view and units, caches empty.

Each run has a daemon and folders of its own, and no dense view; starting the indexer is counted.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from nibd.bench.report import Report
from nibd.bench.session import session
from nibd.bench.world import world
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import View

BARS = {"flask": 3.0, "sympy": 60.0}
QUICK_S = 10.0
RUNS = 3
"""So many runs, and their median, where one takes less than `QUICK_S`."""


def measure(name: str, repository: Path, report: Report) -> None:
    for workers, how in ((0, "every processor"), (1, "one worker")):
        took: list[float] = []
        while not took or (took[0] < QUICK_S and len(took) < RUNS):
            with world(False, workers) as where, session(where, name, repository, "HEAD") as built:
                took.append(built.built_s)
                snapshot = built.current().snapshot
        row = f"{name}: first build, lexical and units, {how}"
        bar = BARS.get(name) if workers == 0 else None
        median = statistics.median(took)
        report.details[row] = took
        value = f"{median:.2f} s ({_size(snapshot)}, n={len(took)})"
        report.add(row, value, f"<= {bar:g} s" if bar else "", median <= bar if bar else None)


def _size(snapshot: Snapshot) -> str:
    counts = snapshot.views[View.STRUCTURAL].counts
    units = sum(count for what, count in counts.items() if what.startswith("units:"))
    return f"{snapshot.files['indexed']} files, {counts.get('lines', 0)} lines, {units} units"
