"""Moves of a private tree that are killed: `python crash_tree.py FOLDER REPO`.

Reads a line a child: `TREE<tab>N` moves the private tree to TREE and kills it, as `kill -9` does, when
it is about to take its N-th step (0: never). A *step* is whatever changes what is on disk: a file
opened for writing, a name made, renamed or removed, a mode or time set, a transaction begun or
committed. Answers with the number of steps taken, or `killed`.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from functools import partial
from pathlib import Path
from typing import Any

from nibd.repair.git import open_source
from nibd.repair.private_tree import PrivateTree
from nibd.stores.types import TreeId

WATCHED = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.utime", "os.chmod", "shutil.rmtree",
}  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR


class Steps:
    """Counts steps, and dies at the one that was chosen."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.taken = 0

    def step(self) -> None:
        self.taken += 1
        if self.taken == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in WATCHED or (event == "open" and arguments[2] & WRITING):
            self.step()


def watch(steps: Steps) -> None:
    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            if sql.startswith(("BEGIN", "UPDATE", "DELETE")):
                steps.step()
            return super().execute(sql, *arguments)

        def commit(self) -> None:
            steps.step()
            super().commit()

    sqlite3.connect = partial(sqlite3.connect, factory=Connection)  # type: ignore[assignment]
    sys.addaudithook(steps.audited)


def move(folder: Path, repo: Path, tree: str, kill_at: int) -> int:
    steps = Steps(kill_at)
    watch(steps)
    with PrivateTree.open(folder, open_source(repo)) as private:
        private.move(TreeId(tree))
    return steps.taken


def main() -> None:
    folder, repo = Path(sys.argv[1]), Path(sys.argv[2])
    for line in sys.stdin:
        tree, _, kill_at = line.rstrip("\n").partition("\t")
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.write(writing, str(move(folder, repo, tree, int(kill_at))).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        _, ended = os.waitpid(pid, 0)
        answer = os.read(reading, 100).decode()
        os.close(reading)
        code = os.waitstatus_to_exitcode(ended)
        print("killed" if code == -signal.SIGKILL else answer if code == 0 else "failed", flush=True)


if __name__ == "__main__":
    main()
