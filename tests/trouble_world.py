"""What the tests of crashes and trouble share: large repositories, the daemon's log, its processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil

from daemon_world import Daemon
from gitrepo import START_SECONDS, Repo
from nibd.ipc.messages import ErrorCode, RpcError
from waiting import wait_until

REFUSALS = {ErrorCode.VIEW_NOT_READY, ErrorCode.VIEW_ABSENT}


def large(path: Path, files: int, functions: int = 6) -> Repo:
    """A repository of Python files, no two alike, in one commit."""
    repo = Repo(path)
    stream = [f"commit refs/heads/main\ncommitter T <t@example.org> {START_SECONDS} +0000\ndata 3\none\n"]
    for number in range(files):
        each = [f"def name_{number}_{n}(value):\n    return value + {number * n}" for n in range(functions)]
        body = "\n\n".join(each)
        stream.append(f"M 100644 inline pkg{number % 50}/file{number}.py\ndata {len(body)}\n{body}\n")
    repo.git("fast-import", "--quiet", data="".join(stream).encode())
    repo.git("reset", "--hard", "-q")
    repo.seconds += 60
    return repo


def events(daemon: Daemon, event: str, **fields: Any) -> list[dict[str, Any]]:
    """The lines of the log of that event in which these fields have these values, oldest first."""
    if not daemon.log.exists():
        return []
    lines = [json.loads(line) for line in daemon.log.read_text().splitlines() if line.startswith("{")]
    return [
        line
        for line in lines
        if line["event"] == event and all(line.get(key) == value for key, value in fields.items())
    ]


def building(daemon: Daemon, path: Path, at_least: int = 1) -> Any:
    """Wait until a job of the repository has done so many files; the job."""

    def job() -> Any:
        status = daemon.call("status", path=str(path))
        for running in status["work"]["running"]:
            progress = running["progress"]
            if running["repository"] == status["repository"] and progress and progress["done"] >= at_least:
                return running
        assert status["snapshot"] is None, "it was built before it could be seen at work"
        return None

    return wait_until(job, 60, "the build to be at work")


def family(pid: int) -> list[psutil.Process]:
    """A process and all that it started."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def ended(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


def settled(daemon: Daemon, path: Path, timeout: float = 90) -> Any:
    """Wait until HEAD is published and no failure is told any more; the status. `wait` gives up sooner."""

    def there() -> Any:
        status = daemon.call("status", path=str(path))
        snapshot = status["snapshot"]
        is_there = snapshot and snapshot["commit"] == status["head"]["commit"] and not status["error"]
        return status if is_there else None

    return wait_until(there, timeout, "HEAD to be published")


def names(daemon: Daemon, path: Path, query: str) -> list[str] | None:
    """Names of the hits, `None` when it is said that the view is not there yet."""
    try:
        return [hit["name"] for hit in daemon.call("search", path=str(path), query=query)["hits"]]
    except RpcError as error:
        if error.code not in REFUSALS:
            raise
        return None
