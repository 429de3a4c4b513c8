"""A real repository with a marker and records beside it, for the tests of the hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nibd.hooks import HookReport, Outcome, inspect, install, remove

GIT = shutil.which("git") or "git"


@dataclass(frozen=True)
class World:
    """`repo` is a checkout; `marker` and `records` are nibd's, outside it."""

    repo: Path
    marker: Path
    records: Path

    def git(
        self, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None, ok: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run Git in the checkout; `env` replaces the environment; fails the test unless it exits 0."""
        done = subprocess.run(
            [GIT, *arguments], cwd=cwd or self.repo, env=env, capture_output=True, text=True, check=False
        )
        assert not ok or done.returncode == 0, done.stderr
        return done

    def commit(self, text: str = "x", *options: str, cwd: Path | None = None) -> str:
        """Commit a change of `file`; returns what Git and its hooks wrote to stderr."""
        with ((cwd or self.repo) / "file").open("a") as file:
            file.write(text + "\n")
        self.git("add", "file", cwd=cwd)
        return self.git("commit", "-qm", text, *options, cwd=cwd).stderr

    def touches(self, action: Callable[[], object]) -> bool:
        """Whether the action made the marker anew."""
        self.marker.unlink(missing_ok=True)
        action()
        return self.marker.exists()

    def hook(self, name: str = "post-commit") -> Path:
        return self.repo / ".git" / "hooks" / name

    def write_hook(self, text: str | bytes, name: str = "post-commit", mode: int = 0o755) -> Path:
        """The user's own hook, from before nibd."""
        path = self.hook(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return path

    def install(self, checkout: Path | None = None) -> dict[str, HookReport]:
        return by_name(install(checkout or self.repo, self.marker, self.records))

    def remove(self, checkout: Path | None = None) -> dict[str, HookReport]:
        return by_name(remove(checkout or self.repo, self.records))

    def inspect(self, checkout: Path | None = None) -> dict[str, HookReport]:
        return by_name(inspect(checkout or self.repo, self.marker))


def make_world(folder: Path, name: str = "repo") -> World:
    """A repository with one commit on `main` and no hooks."""
    world = World(folder / name, folder / "markers" / name, folder / "records")
    world.repo.mkdir()
    world.marker.parent.mkdir(exist_ok=True)
    world.git("init", "-q")
    world.commit("first")
    for sample in (world.repo / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    return world


def by_name(reports: list[HookReport]) -> dict[str, HookReport]:
    return {report.name: report for report in reports}


def outcomes(reports: dict[str, HookReport]) -> set[Outcome]:
    return {report.outcome for report in reports.values()}


def plain_environment(**more: str) -> dict[str, str]:
    """This process's environment with changes, for running Git the way a user's shell would."""
    return {**os.environ, **more}
