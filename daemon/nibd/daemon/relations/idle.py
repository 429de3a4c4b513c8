"""What a navigator does when there is nothing else to do, and gives up for anything else.

When it has had nothing to do for some seconds, and its servers are still there, verified relations that are
due for it are audited by a fresh server (`audit`), and then it measures how far static answers equal live
ones (`agree`), once for each tree. What only dropped snapshots held is collected (`collect`) without delay,
when there is enough of it; a navigator is started for that when there is much.
"""

from __future__ import annotations

from collections import Counter

from nibd.daemon.relations.installed import Seen
from nibd.daemon.relations.steps import Step, is_unmeasured
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import CheckoutId, RepositoryId, TreeId

IDLE = frozenset({"audit", "agree", "collect"})
QUIET_S = 3.0
"""Of quiet, before an audit, or before agreement is measured: a series of commits is not to be in its way."""
COLLECT_RUNNING, COLLECT_STARTING = 8, 64
"""So many dropped snapshots make a collection worth a navigator's time, or worth starting one."""


class IdleWork:
    """For one thread; times are those of its event loop."""

    def __init__(self) -> None:
        self._quiet_at: dict[RepositoryId, float] = {}
        self._measured: dict[CheckoutId, TreeId] = {}
        """The trees whose agreement was measured, or could not be."""
        self._audited: dict[CheckoutId, TreeId] = {}
        """The trees that were audited, or could not be."""
        self._garbage: Counter[RepositoryId] = Counter()

    def be_quiet(self, repository: RepositoryId, now: float) -> None:
        """Neither audit nor measure agreement for `QUIET_S`."""
        self._quiet_at[repository] = now + QUIET_S

    def step(
        self, repository: RepositoryId, checkout: CheckoutId, snapshot: Snapshot, seen: Seen, now: float
    ) -> Step | None:
        """Whether to audit, or to measure agreement, now."""
        if now < self._quiet_at.get(repository, 0.0):
            return None
        if seen.audits and self._audited.get(checkout) != seen.tree:
            return "audit", list(seen.audits)
        if self._measured.get(checkout) == seen.tree:
            return None
        relations = snapshot.relations
        families = [family for family in seen.servers if is_unmeasured(relations.get(family), seen.tree)]
        return ("agree", sorted(families)) if families else None

    def tried(self, checkout: CheckoutId, method: str, tree: TreeId) -> None:
        """It was done, or failed, and is not tried again at this tree."""
        if method == "audit":
            self._audited[checkout] = tree
        if method == "agree":
            self._measured[checkout] = tree

    def dropped(self, repository: RepositoryId, snapshots: int) -> None:
        """What only these held can be collected."""
        self._garbage[repository] += snapshots

    def is_collection_due(self, repository: RepositoryId, *, is_running: bool) -> bool:
        """Whether to collect now, which the caller then does."""
        if self._garbage[repository] < (COLLECT_RUNNING if is_running else COLLECT_STARTING):
            return False
        del self._garbage[repository]
        return True

    def forget(self, checkout: CheckoutId) -> None:
        self._measured.pop(checkout, None)
        self._audited.pop(checkout, None)

    def remove(self, repository: RepositoryId) -> None:
        self._quiet_at.pop(repository, None)
        self._garbage.pop(repository, None)
