"""The lock that makes a daemon its user's only one: taken for its life, and looked at by who starts one.

The kernel lets go of it however its holder ends. The file says which process that is, or was.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

ANOTHER_RUNS = 4
"""The exit status of a daemon that found another."""
LOOKS = 20
LOOK_S = 0.01
"""So often, and after so long each, the lock is tried: who looks whether it is held has it for a moment."""


class AnotherRunsError(Exception):
    """Another daemon of the user holds the lock; the message says which and what to do."""


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold the lock. Raises AnotherRunsError."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with lock.open("a+") as file:
        if not _is_taken(file):
            raise AnotherRunsError(
                f"another daemon runs (pid {holder(lock) or 'unknown'}); `nibd stop` ends it"
            )
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _is_taken(file: IO[str]) -> bool:
    for look in range(LOOKS):
        if look:
            time.sleep(LOOK_S)
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


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
    """The process that holds the lock, as it wrote there; `None` before it has, or when that one is gone.

    Another process may have the number by now: it has not the file open.
    """
    try:
        pid, there = int(lock.read_text()), lock.stat()
    except (OSError, ValueError):
        return None
    try:
        return pid if any(os.path.samestat(there, each) for each in _opened(pid)) else None
    except PermissionError:  # it is not to be looked at, and so it is there
        return pid
    except OSError:
        return None


def _opened(pid: int) -> Iterator[os.stat_result]:
    """The files that a process has open. Raises OSError: it is not there, or not to be looked at."""
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            yield file.stat()
