"""Waiting for a condition instead of a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SHORTEST_S = 0.01
LONGEST_S = 0.5


def wait_until(predicate: Callable[[], T], timeout: float = 20.0, what: str = "the condition") -> T:
    """Return the first true value of `predicate`; fail, naming `what`, after `timeout` seconds.

    It rests twice as long as a look took, so that looking leaves what it waits for most of a processor.
    """
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        begun = time.monotonic()
        value = predicate()
        if value:
            return value
        looked = time.monotonic() - begun
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        pause.wait(min(max(SHORTEST_S, 2 * looked), LONGEST_S))
