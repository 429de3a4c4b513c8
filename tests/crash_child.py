"""Repairs in children that kill themselves at a chosen step: `python crash_child.py ROOT REPO ACTION`.

A *step* is anything that changes what is on disk: an SQL statement that writes, a commit, a file
made, renamed, linked, removed or synced, a commit of Tantivy. Each has a name. The process reads one
line a child: `record` lets it run through and names its steps; `NAME<tab>N` kills it, as `kill -9`
does, when it is about to take the step of that name for the N-th time. It answers with one line of
JSON a child. Children are forked, since starting one from nothing takes a second.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gitrepo import Repo
from nibd.stores import lexical_build
from views import Views

WRITING_SQL = ("BEGIN", "INSERT", "DELETE", "UPDATE", "CREATE", "COMMIT")
WATCHED = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree", "shutil.copyfile"}
ACTIONS: dict[str, Callable[[Views], object]] = {
    "repair": lambda views: views.repair(),
    "discard": lambda views: views.repair(discard=list(views.current().views)),
    "collect": lambda views: views.collect(),
}


class Steps:
    """Counts steps, and dies at the one that was chosen."""

    def __init__(self, kill_at: tuple[str, int] | None) -> None:
        self.kill_at = kill_at
        self.taken: list[str] = []
        self._counts: Counter[str] = Counter()

    def step(self, name: str) -> None:
        self._counts[name] += 1
        self.taken.append(name)
        if (name, self._counts[name]) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in WATCHED and not (event == "os.mkdir" and Path(str(arguments[0])).exists()):
            self.step(f"{event} {_kind(str(arguments[0]))}")
        elif event == "open" and isinstance(arguments[0], str) and arguments[1] and "r" not in arguments[1]:
            self.step(f"open {_kind(arguments[0])}")


def _kind(path: str) -> str:
    """What sort of file: names that are made at random, or by Tantivy, say nothing."""
    name = Path(path)
    segment = re.fullmatch("[0-9a-f]{32}.*", name.name)
    return "segment" if segment else name.suffix or re.sub("[0-9a-f]{8,}", "*", name.name)


def _install(steps: Steps) -> None:
    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            self._name(sql)
            return super().execute(sql, *arguments)

        def executemany(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            self._name(sql)
            return super().executemany(sql, *arguments)

        def commit(self) -> None:
            steps.step("commit")
            super().commit()

        def _name(self, sql: str) -> None:
            if sql.startswith(WRITING_SQL):
                words = sql.replace("OR IGNORE ", "").replace("OR REPLACE ", "").split()
                steps.step(" ".join(words[: 1 if words[0] in {"BEGIN", "CREATE"} else 3]))

    sqlite3.connect = partial(sqlite3.connect, factory=Connection)  # type: ignore[assignment]
    commit = lexical_build._commit

    def synced(descriptor: int) -> None:
        # What a process wrote outlives it without this; only a power cut would tell.
        steps.step(f"fsync {_kind(str(Path(f'/proc/self/fd/{descriptor}').readlink()))}")

    def committed(writer: Any) -> None:
        steps.step("tantivy commit")
        commit(writer)
        steps.step("tantivy committed")

    os.fsync = synced  # type: ignore[assignment]
    lexical_build._commit = committed
    sys.addaudithook(steps.audited)


def _child(root: Path, repo: Path, action: str, asked: str, report: Path) -> None:
    name, _, number = asked.partition("\t")
    steps = Steps((name, int(number)) if number else None)
    _install(steps)
    views = Views(root, Repo(repo))
    ACTIONS[action](views)
    report.write_text(json.dumps(steps.taken))


def main() -> None:
    root, repo, action = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    report = root.with_suffix(".steps")
    for line in sys.stdin:
        report.unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                _child(root, repo, action, line.rstrip("\n"), report)
                status = 0
            finally:
                os._exit(status)
        _, ended = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(ended)
        taken = json.loads(report.read_text()) if report.exists() else None
        print(json.dumps({"code": code, "taken": taken}), flush=True)


if __name__ == "__main__":
    main()
