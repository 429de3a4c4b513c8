"""Messages on their way to a server's stdin, which may take them slowly or not at all.

python-lsp-jsonrpc's writer writes here as to a file. Nothing is sent before `pump`, so a window of requests
costs one system call, and a server that stopped reading costs a deadline, not a thread.
"""

from __future__ import annotations

import os
import select
import threading
import time

_CHUNK_BYTES = 1 << 20


class Outbox:
    """A file to write to, and a non-blocking descriptor that it goes to. Any thread may call anything."""

    def __init__(self, descriptor: int) -> None:
        self.closed = False
        self._descriptor = descriptor
        self._unsent = bytearray()
        self._lock = threading.Lock()

    def write(self, data: bytes) -> int:
        with self._lock:
            if not self.closed:
                self._unsent += data
        return len(data)

    def flush(self) -> None:
        """For the writer: messages go out by `pump`."""

    def close(self) -> None:
        with self._lock:
            self.closed = True
            self._unsent.clear()

    @property
    def is_empty(self) -> bool:
        return not self._unsent

    def pump(self) -> bool:
        """Send what the pipe takes now; tell whether everything is sent. A closed pipe closes this."""
        with self._lock:
            while self._unsent and not self.closed:
                try:
                    with memoryview(self._unsent) as view:
                        sent = os.write(self._descriptor, view[:_CHUNK_BYTES])
                except BlockingIOError:
                    return False
                except OSError:
                    self.closed = True
                    self._unsent.clear()
                    return False
                del self._unsent[:sent]
            return not self.closed

    def drain(self, timeout_s: float) -> bool:
        """Send everything; tell whether the pipe took it in time."""
        deadline = time.monotonic() + timeout_s
        while not self.pump():
            left = deadline - time.monotonic()
            if self.closed or left <= 0:
                return False
            waiting = select.poll()
            waiting.register(self._descriptor, select.POLLOUT)
            waiting.poll(min(left, 0.5) * 1000)
        return True
