"""What each registered checkout stands at, read from Git; the truth that hooks only hint at."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from nibd.daemon.registry import Checkout
from nibd.repair.git import GitError, GitSource, NotARepository, open_source
from nibd.stores.types import CheckoutId, CommitId, TreeId

REMEMBERED = 200
"""How many commits a checkout left are remembered, for the seconds of their lag."""


@dataclass(frozen=True, slots=True)
class HeadState:
    """`commit` is `None` on an unborn branch and when `error` says why HEAD cannot be read."""

    commit: CommitId | None
    tree: TreeId | None
    branch: str | None
    error: str | None = None


class HeadReader:
    """Reads HEAD, and counts commits. Keeps repositories open; used by one thread."""

    def __init__(self) -> None:
        self._sources: dict[CheckoutId, GitSource] = {}

    def read(self, checkout: Checkout) -> HeadState:
        try:
            source = self._source(checkout)
            head = source.head()
            tree = source.tree_of(head.commit) if head.commit else None
        except GitError as error:
            self.forget(checkout.id)
            gone = isinstance(error, NotARepository) and not checkout.git_dir.exists()
            advice = "; if it moved, run `nibd init` there and `nibd remove` here" if gone else ""
            return HeadState(None, None, None, f"{error}{advice}")
        return HeadState(head.commit, tree, head.branch)

    def distance(self, checkout: Checkout, old: CommitId, new: CommitId) -> int | None:
        """Commits between the two; `None` when that cannot be told."""
        if old == new:
            return 0
        try:
            return self._source(checkout).distance(old, new)
        except GitError:
            return None  # the older commit may be gone after a rewrite: its distance is unknown

    def objects_stamp(self, checkout: Checkout) -> tuple[int, ...]:
        """Changes when packs or loose objects arrive: after a fetch, or when a lost one is put back.

        Up to 258 folders are looked at, so it is for checkouts that lack objects.
        """
        objects = checkout.common_dir / "objects"
        try:
            with os.scandir(objects) as entries:  # 1 ms; pathlib takes 4
                times = {entry.name: entry.stat().st_mtime_ns for entry in entries if entry.is_dir()}
            return (objects.stat().st_mtime_ns, *(times[name] for name in sorted(times)))
        except OSError:
            return ()

    def forget(self, checkout: CheckoutId) -> None:
        source = self._sources.pop(checkout, None)
        if source:
            source.close()

    def close(self) -> None:
        for checkout in list(self._sources):
            self.forget(checkout)

    def _source(self, checkout: Checkout) -> GitSource:
        source = self._sources.get(checkout.id)
        if source is None:
            source = self._sources[checkout.id] = open_source(checkout.work_tree)
            if source.git_dir != checkout.git_dir:
                del self._sources[checkout.id]
                source.close()
                raise NotARepository(
                    f"{checkout.work_tree} now belongs to {source.git_dir}, not to {checkout.git_dir}"
                )
        return source


@dataclass(slots=True)
class HeadHistory:
    """When a checkout left the commits it stood at: the seconds of an answer's lag.

    Kept on the monotonic clock, so that setting the system's clock changes no lag.
    """

    head: HeadState | None = None
    _left: OrderedDict[CommitId, float] = field(default_factory=OrderedDict)

    def observe(self, head: HeadState, published: CommitId | None, published_at: float | None) -> bool:
        """Take in what was read; whether the commit is another than before.

        At the first look after a start the published commit may have been left while nobody looked:
        then it counts from its publication, which is never too short.
        """
        before = self.head
        self.head = head
        if head.commit is None:
            return before is None or before.commit is not None
        if before is None and published and published != head.commit and published_at:
            self._leave(published, time.monotonic() - max(0.0, time.time() - published_at))
        if before and before.commit and before.commit != head.commit:
            self._leave(before.commit, time.monotonic())
        self._left.pop(head.commit, None)
        return before is None or before.commit != head.commit

    def seconds_behind(self, commit: CommitId) -> float | None:
        """For how long the checkout has been elsewhere; 0 while it is here, `None` when unknown."""
        if self.head and self.head.commit == commit:
            return 0.0
        left = self._left.get(commit)
        return None if left is None else time.monotonic() - left

    def _leave(self, commit: CommitId, at: float) -> None:
        self._left[commit] = at
        self._left.move_to_end(commit)
        while len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
