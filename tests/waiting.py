"""Waiting for a condition instead of a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SHORTEST_S = 0.01
LONGEST_S = 0.5
OF_WHAT_PASSED = 1 / 16


def wait_until(predicate: Callable[[], T], timeout: float = 20.0, what: str = "the condition") -> T:
    """Return the first true value of `predicate`; fail, naming `what`, after `timeout` seconds.

    It rests twice as long as a look took, so that looking leaves what it waits for most of a processor, and
    longer the longer it waits, which so costs a sixteenth more time and few looks.
    """
    started = time.monotonic()
    pause = threading.Event()
    while True:
        begun = time.monotonic()
        value = predicate()
        if value:
            return value
        ended = time.monotonic()
        assert ended < started + timeout, f"waited {timeout} s for {what}"
        pause.wait(min(max(SHORTEST_S, 2 * (ended - begun), (ended - started) * OF_WHAT_PASSED), LONGEST_S))
