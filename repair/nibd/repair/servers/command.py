"""A program of a server's toolchain, run to its end: for so long at most, and until somebody wants to stop.

Like a server it has a session of its own and ends with the thread that started it (`_launch`), and whatever
it has started ends with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nibd.repair.servers import _launch

LOOK_S = 0.1
TAIL_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Ended:
    """`stderr` is the end of what it said there."""

    status: int
    stderr: str


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    interrupt: Callable[[], None] = lambda: None,
) -> Ended | None:
    """Run `argv[0]`, an absolute path, with exactly this environment; `None` when it took too long.

    Raises what `interrupt` raises, which is called while it runs.
    """
    launch = [sys.executable, "-I", "-S", _launch.__file__, str(os.getpid()), *argv]
    nothing = subprocess.DEVNULL
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            launch, stdin=nothing, stdout=nothing, stderr=said, env=env, cwd=cwd, start_new_session=True
        )
        try:
            while (status := _status(process)) is None:
                interrupt()
                if time.monotonic() >= deadline:
                    return None
        finally:
            _end(process)
        said.seek(max(0, said.seek(0, os.SEEK_END) - TAIL_BYTES))
        return Ended(status, said.read().decode("utf-8", "replace").strip())


def _status(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(LOOK_S)
    except subprocess.TimeoutExpired:
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # so its id is still its own
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
