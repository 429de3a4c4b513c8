"""When something that failed for a checkout is tried again: later and later, while it fails in the same way.

A *pause* is for one tree: another one is tried at once. So is what somebody asked for again, and what may
succeed since something in the watched folders changed. What failed in the same way `most` times is left alone
until one of these happens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from nibd.stores.types import CheckoutId, TreeId

FIRST_S = 2.0
LONGEST_S = 300.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is tried for `tree` until then (monotonic s), or until one of `watched` has another stamp."""

    tree: TreeId
    until: float
    watched: Mapping[str, str]

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


@dataclass(frozen=True, slots=True)
class _Failing:
    tree: TreeId
    kind: str
    times: int


class Pauses:
    """For one thread."""

    def __init__(self) -> None:
        self._pauses: dict[CheckoutId, Pause] = {}
        self._failing: dict[CheckoutId, _Failing] = {}

    def failed(
        self,
        checkout: CheckoutId,
        tree: TreeId,
        kind: str,
        watched: Mapping[str, str],
        most: float = math.inf,
    ) -> float:
        """Pause after a failure; how many seconds; infinite when it failed so often that it is left alone."""
        before = self._failing.get(checkout)
        again = before is not None and (before.tree, before.kind) == (tree, kind)
        times = before.times + 1 if before and again else 1
        self._failing[checkout] = _Failing(tree, kind, times)
        seconds = math.inf if times > most else min(LONGEST_S, FIRST_S * 2.0 ** min(times - 1, 20))
        self._pauses[checkout] = Pause(tree, time.monotonic() + seconds, watched)
        return seconds

    def wait(self, checkout: CheckoutId, tree: TreeId, seconds: float) -> None:
        """Pause for another reason than a failure."""
        self._pauses[checkout] = Pause(tree, time.monotonic() + seconds, {})

    def of(self, checkout: CheckoutId, tree: TreeId) -> Pause | None:
        found = self._pauses.get(checkout)
        return found if found and found.tree == tree else None

    def times(self, checkout: CheckoutId, tree: TreeId) -> int:
        """How often it failed in a row."""
        found = self._failing.get(checkout)
        return found.times if found and found.tree == tree else 0

    def begun(self, checkout: CheckoutId) -> None:
        """It is tried again; whether it goes on failing is told by `failed` or `end`."""
        self._pauses.pop(checkout, None)

    def end(self, checkout: CheckoutId) -> None:
        """It succeeded, or is to be tried as for the first time."""
        self._pauses.pop(checkout, None)
        self._failing.pop(checkout, None)
