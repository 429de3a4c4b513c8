"""Part `hooks`: the time that hooks add to `git commit`, by paired runs.

Two equal clones, one with hooks and one without, get the same commits in turn; in every second pair the
other one goes first. The figure is the median of the differences within pairs, first with no daemon, then
with one that follows the clone with hooks (and comes to rest before the next pair).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from nibd import hooks
from nibd.bench.report import Report, p95
from nibd.bench.session import session
from nibd.bench.world import World, world

PAIRS = 40
WARM_UP = 3
BAR_MS = 5.0
FILE = "bench_hooks.txt"


def measure(name: str, repository: Path, report: Report) -> None:
    with world(dense=False) as where:
        plain = where.clone(repository, "plain")
        commit = where.git(plain, "rev-parse", "HEAD").strip()
        hooked = where.clone(repository, "hooked")
        marker = where.root / "markers" / "marker"
        marker.parent.mkdir()
        hooks.install(hooked, marker, where.hook_records)
        differences = _pairs(where, hooked, plain, _nothing)
        _report(f"{name}: hooks add to git commit, daemon down", differences, report)
    with world(dense=False) as where, ExitStack() as stack:
        plain = where.clone(repository, "plain", commit)
        followed = stack.enter_context(session(where, "hooked", repository, commit))
        differences = _pairs(where, followed.work_tree, plain, followed.settle)
        _report(f"{name}: hooks add to git commit, daemon up", differences, report)


def _pairs(where: World, hooked: Path, plain: Path, rest: Callable[[], None]) -> list[float]:
    differences = []
    for number in range(PAIRS + WARM_UP):
        order = (hooked, plain) if number % 2 else (plain, hooked)
        took = {}
        for clone in order:
            took[clone] = _commit(where, clone, number)
            rest()
        if number >= WARM_UP:
            differences.append((took[hooked] - took[plain]) * 1000)
    return differences


def _commit(where: World, clone: Path, number: int) -> float:
    (clone / FILE).write_text(f"{number}\n", encoding="utf-8")
    where.git(clone, "add", FILE)
    started = time.perf_counter()
    where.git(clone, "commit", "--quiet", "--message", "Hooks")
    return time.perf_counter() - started


def _nothing() -> None:
    """No daemon has to come to rest."""


def _report(name: str, differences: list[float], report: Report) -> None:
    median = statistics.median(differences)
    report.details[name] = differences
    value = f"median {median:.2f} ms, p95 {p95(differences):.2f} (n={len(differences)} pairs)"
    report.add(name, value, f"median <= {BAR_MS:g} ms", median <= BAR_MS)
