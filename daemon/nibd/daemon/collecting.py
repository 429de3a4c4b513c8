"""One collection of a repository: removing the snapshots that nothing needs and nobody reads.

The indexer says which they are and which are damaged, the daemon sees to it that no reader has one of them,
and then the indexer removes those, with what only they used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nibd.daemon.supervisor import Supervisor
from nibd.daemon.views import RepositoryViews
from nibd.ipc.messages import JsonObject
from nibd.stores.snapshot import Generation
from nibd.stores.types import CheckoutId


@dataclass(frozen=True, slots=True)
class Collected:
    """`removed` snapshots are gone, among them those that were `damaged`, with the reason by generation."""

    result: JsonObject
    removed: int
    damaged: dict[Generation, str]
    deep: bool


@dataclass(frozen=True, slots=True)
class Collecting:
    """`keep` of the snapshots of each of `checkouts` stay.

    `is_deep`, asked once: whether to remove the rows too that no kept snapshot uses.
    """

    folder: Path
    embeddings: Path
    keep: int
    checkouts: Sequence[CheckoutId]
    is_deep: Callable[[], bool]

    async def run(self, child: Supervisor, views: RepositoryViews) -> Collected:
        """Raises RpcError, ChildDied, OSError."""
        found = await child.call(
            "removable", {"folder": str(self.folder), "keep": self.keep, "checkouts": [*self.checkouts]}
        )
        damaged: dict[Generation, str] = dict(found["damaged"])
        deep = self.is_deep()
        with views.condemning([*found["unneeded"], *damaged]) as condemned:
            result = await child.call(
                "collect",
                {
                    "folder": str(self.folder),
                    "embeddings": str(self.embeddings),
                    "remove": [*condemned],
                    "deep": deep,
                },
            )
        gone = {each: damaged[each] for each in damaged if each in condemned}
        return Collected(result, len(condemned), gone, deep)
