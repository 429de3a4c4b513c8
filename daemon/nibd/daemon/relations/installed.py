"""What a checkout was found to have installed, and whether that has changed on disk since.

A navigator looks it up before each of its works. The daemon compares the stamps of a few files now and then,
since a navigator that is asked would never be idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nibd.ipc.messages import JsonObject
from nibd.repair.private_tree import stamp
from nibd.stores.types import CheckoutId, TreeId


def stamps(paths: Iterable[str]) -> dict[str, str]:
    return {path: stamp(path) for path in paths}


def have_changed(watched: Mapping[str, str]) -> bool:
    """Whether one of these files or folders has another stamp now. Reads the disk."""
    return any(stamp(path) != found for path, found in watched.items())


@dataclass(frozen=True, slots=True)
class Seen:
    """What a navigator found installed for a tree, as its `Result` has it."""

    tree: TreeId
    profiles: Mapping[str, str | None]
    missing: Mapping[str, str]
    """By family, why it has no server."""
    watched: Mapping[str, str]
    servers: frozenset[str]
    """The families whose servers ran then."""
    audits: tuple[str, ...]
    """Those that are due for an audit."""

    @classmethod
    def of(cls, result: JsonObject) -> Seen:
        return cls(
            TreeId(result["tree"]),
            result["profiles"],
            result["missing"],
            result["watched"],
            frozenset(result["servers"]),
            tuple(result["audits"]),
        )


class Installed:
    """By checkout. For one thread; times are those of its event loop."""

    def __init__(self, compare_s: float) -> None:
        """Stamps are compared every `compare_s` seconds at most."""
        self._compare_s = compare_s
        self._seen: dict[CheckoutId, Seen] = {}
        self._compared: dict[CheckoutId, float] = {}

    def newest(self, checkout: CheckoutId) -> Seen | None:
        """At whichever tree."""
        return self._seen.get(checkout)

    def at(self, checkout: CheckoutId, tree: TreeId) -> Seen | None:
        seen = self._seen.get(checkout)
        return seen if seen and seen.tree == tree else None

    def keep(self, checkout: CheckoutId, seen: Seen, now: float) -> None:
        self._seen[checkout] = seen
        self._compared[checkout] = now

    def drop(self, checkout: CheckoutId) -> None:
        """It has to be looked up again."""
        self._seen.pop(checkout, None)

    def is_comparison_due(self, checkout: CheckoutId, now: float) -> bool:
        """Whether to compare stamps now, which the caller then does."""
        if now < self._compared.get(checkout, 0.0) + self._compare_s:
            return False
        self._compared[checkout] = now
        return True

    def forget(self, checkout: CheckoutId) -> None:
        self._seen.pop(checkout, None)
        self._compared.pop(checkout, None)
