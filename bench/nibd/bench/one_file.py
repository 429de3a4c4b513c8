"""Part `one-file`: a commit of one edited file, in repositories of very different size.

The same edit (one function appended to a Python file, another file each time) is committed in each, with
hooks and a warm daemon that keeps no dense view; timed as in `nibd.bench.session`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from nibd.bench.report import Report
from nibd.bench.session import session
from nibd.bench.world import BenchError, world

EDIT = '''

def bench_edit_{number}(value):
    """Edited for the bench, {number}."""
    return value + {number}
'''
SMALL_FRACTION = 10
GROWTH_BAR = 3.0


def measure(name: str, repository: Path, commits: int, report: Report) -> float:
    """The median, in seconds."""
    with world(dense=False) as where, session(where, name, repository, "HEAD") as followed:
        paths = where.git(followed.work_tree, "ls-files", "-z", "--", "*.py").split("\0")[:-1]
        if not paths:
            raise BenchError(f"{name} has no Python file to edit")
        chosen = [paths[at * len(paths) // (commits + 1)] for at in range(commits + 1)]
        seconds = []
        for number, path in enumerate(chosen):
            seconds.append(followed.commit_edit(path, EDIT.format(number=number)).seconds)
            followed.settle()
    report.add_spread(f"{name}: one-file commit to lexical and units published", seconds[1:])
    return statistics.median(seconds[1:])


def compare(
    large: str, small: str, medians: Mapping[str, float], report: Report, bar: float | None = None
) -> None:
    """How many times more a one-file commit costs in `large` than in `small`."""
    ratio = medians[large] / medians[small]
    stated = "" if bar is None else f"<= {bar:g} times"
    met = None if bar is None else ratio <= bar
    report.add(f"one-file commit: {large} against {small}", f"{ratio:.2f} times", stated, met)
