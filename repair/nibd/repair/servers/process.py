"""A language server as a process: started apart, watched, and ended with all that it started.

It runs in a session of its own with exactly the environment that it is given, and is killed by the kernel
when the *thread* that started it ends (PR_SET_PDEATHSIG): start servers from a thread that lives as
long as they should. A process that ended stays unreaped until `kill`, so that its id, which is also its
process group's, can't have become someone else's by then.

Stderr is drained by a thread; its last `TAIL_BYTES` are kept. Stdin does not block: `Outbox` writes to it.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

from nibd.repair.servers import _launch
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.last_words import last_words

TAIL_BYTES = 16_384
LISTEN_S = 10.0
"""A busy machine may be slow to hand over the rest of what a process said to who listens."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ServerProcess:
    """One running server. `stdin` is a file descriptor, `stdout` a buffered file."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._tail = bytearray()
        self.listener: Callable[[bytes], None] | None = None
        """Hears all that comes on stderr from now on, in a thread of its own."""
        self._end: os.waitid_result | None = None
        self.pid = process.pid
        self._pidfd = os.pidfd_open(process.pid)
        self.stdin = process.stdin.fileno()
        self.stdout: BinaryIO = process.stdout  # type: ignore[assignment]
        os.set_blocking(self.stdin, False)
        self._drain = threading.Thread(target=self._read_stderr, name=f"stderr-{self.pid}", daemon=True)
        self._drain.start()

    @classmethod
    def start(cls, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> Self:
        """Start `argv[0]`, an absolute path. Raises ServerFailed when there can be no process."""
        launch = [sys.executable, "-I", "-S", _launch.__file__, str(os.getpid()), *argv]
        pipe = subprocess.PIPE
        try:
            return cls(
                subprocess.Popen(
                    launch, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, start_new_session=True
                )
            )
        except OSError as error:
            raise ServerFailed(f"{argv[0]}: {error.strerror}") from error

    @property
    def is_running(self) -> bool:
        return self._end is None and not self.wait(0)

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended; tell whether it has."""
        if self._end is not None:
            return True
        waiting = select.poll()
        waiting.register(self._pidfd, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))

    def kill(self) -> None:
        """Kill it and whatever it started and left in its session; reap it. May be called again."""
        if self._end is not None:
            return
        for pid in session_members(self.pid):
            _signal(pid)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            _signal(self.pid)
        self._end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._process.wait()
        self._drain.join(1.0 if self.listener is None else LISTEN_S)

    def release(self) -> None:
        """Close its files: after `kill`, and when nobody reads or writes them any more."""
        if self._pidfd < 0:
            return
        os.close(self._pidfd)
        self._pidfd = -1
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            if file is not None:
                file.close()

    def memory_bytes(self) -> int:
        """Resident memory of everything in its session; 0 when it has ended."""
        return sum(map(_resident_bytes, session_members(self.pid)))

    def stderr_tail(self) -> str:
        return bytes(self._tail).decode("utf-8", "replace").strip()

    def how_it_ended(self) -> str:
        """One line: exit status or signal, and why, as far as stderr tells."""
        try:
            found = self._end or os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            found = self._end  # `kill` has just reaped it, which another thread may call
        if found is None:
            return "it closed its output"
        self._drain.join(1.0)  # for its last words
        signalled = found.si_code != os.CLD_EXITED
        ended = f"signal {found.si_status}" if signalled else f"status {found.si_status}"
        why = last_words(self.stderr_tail())
        return f"it ended with {ended}" + (f": {why}" if why else "")

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        descriptor = self._process.stderr.fileno()
        while data := os.read(descriptor, 65_536):
            self._tail += data
            if self.listener is not None:
                self.listener(data)
            del self._tail[:-TAIL_BYTES]


def session_members(session: int) -> list[int]:
    """Ids of the processes in a session, zombies left out."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue  # ended meanwhile
            state, _parent, _group, its_session = stat[stat.rindex(b")") + 2 :].split(b" ", 4)[:4]
            if int(its_session) == session and state not in (b"Z", b"X"):
                members.append(int(entry.name))
    return members


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split(b" ", 2)[1]) * _PAGE_BYTES
    except OSError:
        return 0  # ended meanwhile


def _signal(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
