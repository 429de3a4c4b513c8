"""The parts of `python -m nibd.bench maintain`, in their order. A part that fails is a row of the table.

Parts on one repository that need its dense view share a daemon, since that view takes minutes to build.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nibd.bench import (
    build,
    encode_rate,
    follow,
    grepping,
    hooks_cost,
    idle,
    jumps,
    made,
    one_file,
    searching,
    switch,
)
from nibd.bench.report import Report
from nibd.bench.session import Session, session
from nibd.bench.world import first_parent, world
from nibd.stores.types import View

PARTS = (
    "hooks", "build", "one-file", "jumps", "follow", "switch", "search", "grep", "idle", "empty", "encode",
)  # fmt: skip
ON_ONE_DAEMON = ("follow", "switch", "search", "grep", "idle")
REFERENCE = "flask"
"""What one-file commits in the made repositories are compared with; else the first repository is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. `made_files` 0: no made repository."""

    repositories: Mapping[str, Path]
    transitions: int = 20
    made_files: int = 50_000
    idle_s: float = 60.0
    full_dense_texts: int = 5000
    dense: bool = True
    only: tuple[str, ...] = PARTS

    def wants(self, *parts: str) -> bool:
        return any(part in self.only for part in parts)


def run(plan: Plan, report: Report) -> None:
    runner = _Runner(plan, report)
    for name, repository in list(plan.repositories.items())[:1]:
        runner.part("hooks", name, hooks_cost.measure, name, repository, report)
        if plan.dense:
            runner.part("encode", name, encode_rate.measure, name, repository, report)
    for name, repository in plan.repositories.items():
        runner.part("build", name, build.measure, name, repository, report)
        runner.part("jumps", name, jumps.measure, name, repository, report)
    runner.part("empty", "no repository", idle.measure_empty, plan.idle_s, report)
    runner.sizes()
    for name, repository in plan.repositories.items():
        parts = [part for part in ON_ONE_DAEMON if plan.wants(part)]
        if parts:
            with report.timed(f"{name}: {' '.join(parts)}"):
                runner.on_one_daemon(name, repository)


@dataclass(frozen=True, slots=True)
class _Runner:
    plan: Plan
    report: Report

    def part(self, part: str, name: str, measure: Callable[..., None], *arguments: Any) -> None:
        if self.plan.wants(part):
            with self.report.timed(f"{name}: {part}"):
                measure(*arguments)

    def sizes(self) -> None:
        """One-file commits in every repository and in made ones, whose first build is measured too."""
        medians: dict[str, float] = {}

        def commits(name: str, repository: Path) -> None:
            medians[name] = one_file.measure(name, repository, self.plan.transitions, self.report)

        for name, repository in self.plan.repositories.items():
            self.part("one-file", name, commits, name, repository)
        large = self.plan.made_files
        if not large or not self.plan.wants("one-file", "build"):
            return
        with tempfile.TemporaryDirectory(prefix="nibd-bench-made-") as folder:
            for files in (_small(large), large):
                target = Path(folder) / str(files)
                with self.report.timed(f"making {files} files"):
                    made.make(target, files)
                self.part("one-file", _made(files), commits, _made(files), target)
            self.part("build", _made(large), build.measure, _made(large), target, self.report)
        self.part("one-file", "compared", self._compare, medians)

    def _compare(self, medians: Mapping[str, float]) -> None:
        large = _made(self.plan.made_files)
        first = next(iter(self.plan.repositories), None)
        reference = REFERENCE if REFERENCE in medians else first
        if reference is not None:
            one_file.compare(large, reference, medians, self.report, one_file.GROWTH_BAR)
        one_file.compare(large, _made(_small(self.plan.made_files)), medians, self.report)

    def on_one_daemon(self, name: str, repository: Path) -> None:
        plan, report = self.plan, self.report
        commits = first_parent(repository, plan.transitions + 1)
        with world(plan.dense) as where, session(where, name, repository, commits[0]) as followed:
            if plan.dense:
                self._first_dense(followed)
            full = plan.full_dense_texts
            self.part("follow", name, follow.follow, followed, commits, full, plan.dense, report)
            branches = commits[-1], commits[len(commits) // 2]
            self.part(
                "switch", name, switch.measure, followed, *branches, plan.transitions, plan.dense, report
            )
            self.part("search", name, searching.measure, followed, plan.dense, report)
            self.part("grep", name, grepping.measure, followed, report)
            self.part("idle", name, idle.measure_open, followed, plan.idle_s, report)

    def _first_dense(self, followed: Session) -> None:
        """The daemon's own, which begins with the first publication; loading the model is counted."""
        publication = followed.dense_of(followed.head())
        followed.settle()
        texts = publication.snapshot.views[View.DENSE].counts["texts"]
        seconds = max(publication.published_at - followed.built_at, 1e-3)
        value = f"{seconds:.1f} s for {texts} texts ({texts / seconds:.1f} a second)"
        self.report.add(f"{followed.name}: first build, dense, in the background", value)


def _small(large: int) -> int:
    return max(1, large // one_file.SMALL_FRACTION)


def _made(files: int) -> str:
    return f"made, {files} files"
