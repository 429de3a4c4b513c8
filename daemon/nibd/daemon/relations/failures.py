"""Why the last work for a checkout's relations failed, until work that shows that this is over.

That a navigator looked what is installed, or measured something, makes no relations: what failed to be made
or verified has failed as before. A failure is of the tree that it was for, and says nothing of another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from nibd.stores.types import CheckoutId, TreeId

WORKS = frozenset({"relate", "verify"})
"""The methods of a navigator that a snapshot's relations come from."""


@dataclass(frozen=True, slots=True)
class _Failure:
    method: str
    tree: TreeId
    reason: str


class Failures:
    """By checkout. For one thread."""

    def __init__(self) -> None:
        self._last: dict[CheckoutId, _Failure] = {}

    def failed(self, checkout: CheckoutId, method: str, tree: TreeId, reason: str) -> None:
        self._last[checkout] = _Failure(method, tree, reason)

    def succeeded(self, checkout: CheckoutId, method: str) -> None:
        """Work was done: what it was for, or what comes before it, fails no more."""
        last = self._last.get(checkout)
        if last is not None and (method in WORKS or last.method not in WORKS):
            del self._last[checkout]

    def of(self, checkout: CheckoutId, tree: TreeId) -> str | None:
        """Why the last work for the relations of this tree failed, if it did."""
        last = self._last.get(checkout)
        return last.reason if last is not None and last.tree == tree else None

    def forget(self, checkout: CheckoutId) -> None:
        self._last.pop(checkout, None)
