"""Temporary homes in which daemons and clones live: nothing of the user's is read or changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nibd.ipc.client import Client, DaemonUnavailable

CALL_S = 7200.0
START_S = 60.0
STOP_S = 60.0
XDG_FOLDERS = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}
GIT_CONFIG = """[user]
    name = Bench
    email = bench@example.org
[advice]
    detachedHead = false
[gc]
    auto = 0
[maintenance]
    auto = false
"""
SETTINGS = """[dense]
enabled = {dense}
idle_seconds = 86400
[relations]
enabled = {relations}
[index]
workers = {workers}
"""
"""The embedder stays for the whole run, however long a rebuild between two transitions takes."""


class BenchError(Exception):
    """A part could not be measured; the message says why."""


@dataclass(frozen=True, slots=True)
class World:
    """`environment` is that of everything that runs in it."""

    root: Path
    environment: dict[str, str]

    @property
    def socket(self) -> Path:
        return self.root / "run" / "nibd" / "nibd.sock"

    @property
    def cache(self) -> Path:
        return self.root / "cache" / "nibd"

    @property
    def hook_records(self) -> Path:
        return self.root / "state" / "nibd" / "hooks"

    def call(self, method: str, **params: Any) -> Any:
        with Client(self.socket, CALL_S) as client:
            return client.call(method, params, timeout_s=CALL_S)

    def git(self, work_tree: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=work_tree,
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise BenchError(f"git {' '.join(arguments)} in {work_tree}: {done.stderr.strip()}")
        return done.stdout

    def clone(self, repository: Path, name: str, commit: str | None = None) -> Path:
        """A clone at `commit`, detached; it shares the original's objects and can be moved about freely."""
        target = self.root / name
        self.git(self.root, "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(target))
        self.git(target, "checkout", "--quiet", "--detach", commit or "HEAD")
        return target

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the daemon until the block ends."""
        said = self.root / "daemon.stderr"
        with said.open("ab") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "nibd.daemon.main"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stderr=stderr,
            )
        try:
            deadline = time.monotonic() + START_S
            while not self._answers():
                if process.poll() is not None:
                    raise BenchError(f"the daemon ended: {said.read_text(errors='replace')[-2000:].strip()}")
                if time.monotonic() > deadline:
                    raise BenchError(f"the daemon does not answer within {START_S:.0f} s")
                time.sleep(0.05)
            yield process
        finally:
            _end(process)

    def _answers(self) -> bool:
        try:
            self.call("hello")
        except DaemonUnavailable:
            return False
        return True


@contextmanager
def world(dense: bool = True, workers: int = 0, relations: bool = False) -> Iterator[World]:
    """Temporary folders, removed at the end. `dense` and `relations` off leave the processor to the others;
    `workers` parse (0: as many as there are processors)."""
    root = Path(tempfile.mkdtemp(prefix="nibd-bench-"))
    folders = {variable: str(root / folder) for variable, folder in XDG_FOLDERS.items()}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= folders | {"HOME": str(root), "XDG_RUNTIME_DIR": str(root / "run")}
    environment |= {"GIT_CONFIG_GLOBAL": str(root / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    try:
        (root / "run").mkdir(mode=0o700)
        (root / "gitconfig").write_text(GIT_CONFIG)
        (root / "config" / "nibd").mkdir(parents=True)
        (root / "config" / "nibd" / "config.toml").write_text(
            SETTINGS.format(dense=str(dense).lower(), relations=str(relations).lower(), workers=workers)
        )
        yield World(root, environment)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def first_parent(repository: Path, count: int, tip: str = "HEAD") -> list[str]:
    """The newest `count` + 1 commits along first parents, oldest first: `count` transitions."""
    command = ["git", "rev-list", "--first-parent", f"--max-count={count + 1}", tip]
    found = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout.split()
    if len(found) <= count:
        raise BenchError(f"{repository} has {len(found)} commits along first parents, {count + 1} are wanted")
    return found[::-1]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
