"""What the daemon knows of a checkout: what it stands at, what it shows, and what failed of late."""

from __future__ import annotations

from dataclasses import dataclass, field

from nibd.daemon.heads import HeadHistory, HeadState
from nibd.daemon.registry import Checkout
from nibd.stores.snapshot import Publication
from nibd.stores.types import Skip, State, View


@dataclass(slots=True)
class CheckoutState:
    """`published` is what the checkout shows, `failure` why its last repair failed.

    `checked`: a repair was asked for since the start, which also finds other profiles, an unfinished
    dense view and what a crash left. `related`: relations were asked for since then.
    """

    checkout: Checkout
    history: HeadHistory = field(default_factory=HeadHistory)
    published: Publication | None = None
    checked: bool = False
    related: bool = False
    objects_stamp: tuple[int, ...] = ()
    failure: str | None = None
    failures: int = 0

    @property
    def head(self) -> HeadState | None:
        return self.history.head

    @property
    def is_current(self) -> bool:
        """Whether the checkout shows a snapshot of the commit that it stands at."""
        return (
            self.published is not None
            and self.head is not None
            and self.head.commit is not None
            and self.published.commit == self.head.commit
        )

    @property
    def awaits_vectors(self) -> bool:
        """Whether the dense view of what it shows lacks some."""
        return (
            self.published is not None and self.published.snapshot.views[View.DENSE].state is State.BUILDING
        )

    def may_have_more(self, stamp: tuple[int, ...]) -> bool:
        """Whether objects that the published snapshot lacks may have arrived since they were looked for."""
        return self.published is not None and lacks_objects(self.published) and stamp != self.objects_stamp


def lacks_objects(published: Publication) -> bool:
    """Whether files or rule files were left out since their objects were not there."""
    snapshot = published.snapshot
    return bool(snapshot.skipped.get(Skip.MISSING_OBJECT) or snapshot.missing_rules)
