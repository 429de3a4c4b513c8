"""A real daemon in the test's own home: start it, ask it, stop or kill it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.messages import Json
from waiting import wait_until

READY_S = 60.0
CALL_S = 120.0
NOT_INHERITED = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID")
"""Variables that a developer's shell, a hook or systemd may have set."""


class Daemon:
    """One daemon process. The environment is the test's (see `isolated_home`), changed by `environment`,
    where `None` deletes a variable."""

    def __init__(self, environment: Mapping[str, str | None] | None = None) -> None:
        changed = {**os.environ, **(environment or {})}
        self.environment = {name: value for name, value in changed.items() if value is not None}
        self.socket = Path(self.environment["XDG_RUNTIME_DIR"]) / "nibd" / "nibd.sock"
        self.cache = Path(self.environment["XDG_CACHE_HOME"]) / "nibd"
        self.log = Path(self.environment["XDG_STATE_HOME"]) / "nibd" / "log" / "nibd.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nibd.daemon.main"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        wait_until(self._answers, READY_S, "the daemon to answer")

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            assert self.process.stderr is not None
            raise AssertionError(f"the daemon ended: {self.process.stderr.read().decode()}")
        try:
            self.call("hello")
        except DaemonUnavailable:
            return False
        return True

    def call(self, method: str, **params: Json) -> Any:
        with Client(self.socket, CALL_S) as client:
            return client.call(method, params, timeout_s=CALL_S)

    def add(self, work_tree: Path) -> Any:
        return self.call("repository.add", path=str(work_tree))

    def published(self, work_tree: Path, view: str | None = None) -> Any:
        """Wait until HEAD is published; the status then."""
        chosen = {"view": view} if view else {}
        answer = self.call("wait", path=str(work_tree), timeout_s=CALL_S - 20, **chosen)
        assert answer["published"], (answer["status"], self.tail())
        return answer["status"]

    def forget(self) -> None:
        """Remove what was registered and begin the log anew, for the next test that shares this daemon."""
        for checkout in self.call("repository.list")["checkouts"]:
            self.call("repository.remove", path=checkout["path"])
        os.truncate(self.log, 0)

    def ended(self) -> str | None:
        """How, when the process is no more."""
        if self.process is None or self.process.poll() is None:
            return None
        return f"it ended with {self._ended()}; its log: {self.tail()}"

    def pid_of(self, process: str) -> int | None:
        """`daemon`, `indexer_repair`, `indexer_build` or `embedder`, as `doctor` shows it."""
        pid: int | None = self.call("doctor")["processes"][process]["pid"]
        return pid

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self._ended()

    def _ended(self) -> int:
        assert self.process is not None
        code = self.process.wait(60)
        if self.process.stderr:
            self.process.stderr.close()
        return code

    def tail(self) -> str:
        return self.log.read_text()[-3000:] if self.log.exists() else "no log"


@contextmanager
def running(environment: Mapping[str, str | None] | None = None) -> Iterator[Daemon]:
    daemon = Daemon(environment)
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.process and daemon.process.poll() is None:
            daemon.stop()


NO_DENSE = "[dense]\nenabled = false\n[relations]\nenabled = false\n"


@contextmanager
def running_at_home(home: Path, settings: str = NO_DENSE) -> Iterator[Daemon]:
    """One that outlives a test, in a home of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="nibd-") as runtime,
        running(isolated(home, Path(runtime), settings)) as daemon,
    ):
        yield daemon


def isolated(home: Path, runtime: Path, settings: str | None = None) -> dict[str, str | None]:
    """All that is set, and as `None` all that is deleted, for a test or daemon to have `home` as its own; its
    folders are made. `runtime` is apart and short, since a Unix socket's path may not exceed 107 bytes."""
    folders = {f"XDG_{name}_HOME": home / name.lower() for name in ("CONFIG", "STATE", "CACHE", "DATA")}
    for folder in folders.values():
        folder.mkdir()
    if settings is not None:
        _write_settings(folders["XDG_CONFIG_HOME"], settings)
    return {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(runtime),
        **{name: str(folder) for name, folder in folders.items()},
        **git_variables(home),
        **dict.fromkeys(NOT_INHERITED),
    }


def git_variables(home: Path) -> dict[str, str]:
    """Have Git see no configuration but one of ours, which is written to `home`, and fixed dates."""
    config = home / "gitconfig"
    config.write_text(
        "[user]\n\tname = Test\n\temail = test@example.org\n"
        '[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n[gc]\n\tauto = 0\n'
    )
    date = "2024-01-02T03:04:05Z"
    return {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }


def configure(text: str) -> None:
    """Write the user's settings file."""
    _write_settings(Path(os.environ["XDG_CONFIG_HOME"]), text)


def _write_settings(config: Path, text: str) -> None:
    path = config / "nibd" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
