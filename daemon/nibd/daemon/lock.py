"""The lock that makes a daemon its user's only one: taken for its life, and looked at by who starts one.

The kernel lets go of it however its holder ends. The file says which process that is, or was.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ANOTHER_RUNS = 4
"""The exit status of a daemon that found another."""


class AnotherRunsError(Exception):
    """Another daemon of the user holds the lock; the message says which and what to do."""


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold the lock. Raises AnotherRunsError."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AnotherRunsError(
                f"another daemon runs (pid {file.read().strip() or 'unknown'}); `nibd stop` ends it"
            ) from None
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def is_held(lock: Path) -> bool:
    """Whether some daemon is alive, if not yet listening."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def holder(lock: Path) -> int | None:
    """The process that holds the lock, as it wrote there; `None` before it has, or when that one is gone."""
    try:
        pid = int(lock.read_text())
    except (OSError, ValueError):
        return None
    return pid if Path(f"/proc/{pid}").exists() else None
