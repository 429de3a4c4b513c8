"""How far two commits are apart, by a walk that is bounded whatever the history.

Commits are visited from the newest on by committer date, each marked with the side it was reached
from; a commit reached from both is shared, and so is all before it. Where dates run backwards, a
commit may be shared through others that were never visited, and still count as one side's: the
figure is for people to read, not to decide by.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable
from dataclasses import dataclass

from nibd.stores.types import CommitId, TreeId

_TREE = re.compile(rb"tree ([0-9a-f]{40}|[0-9a-f]{64})\n")
_PARENT = re.compile(rb"parent ([0-9a-f]+)\n")
_COMMITTER_DATE = re.compile(rb"^committer [^\n]*> (\d+) [+-]\d+$", re.MULTILINE)
_OLD, _NEW, _BOTH = 1, 2, 3
_VISITS_PER_COMMIT = 4
"""How many commits may be looked at for each one that may be counted: shared ones cost too."""

Load = Callable[[CommitId], bytes | None]
"""Gives a commit's raw bytes, `None` when they are not here."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What of a commit is needed to walk."""

    tree: TreeId
    parents: tuple[CommitId, ...]
    seconds: int


def parse_commit(data: bytes) -> Commit | None:
    """A commit's tree, parents and committer date (0 when unreadable); `None` when malformed."""
    tree = _TREE.match(data)
    if tree is None:
        return None
    parents: list[CommitId] = []
    at = tree.end()
    while parent := _PARENT.match(data, at):
        parents.append(CommitId(parent[1].decode()))
        at = parent.end()
    date = _COMMITTER_DATE.search(data, at)
    return Commit(TreeId(tree[1].decode()), tuple(parents), int(date[1]) if date else 0)


def distance(load: Load, old: CommitId, new: CommitId, limit: int) -> int | None:
    """The number of commits that are reachable from exactly one of the two.

    `None`: more than `limit`, no common history, or a commit that is needed to tell is not here
    (pruned, or beyond a shallow clone's edge).
    """
    if old == new:
        return 0
    sides = {old: _OLD, new: _NEW}
    commits: dict[CommitId, Commit] = {}
    queue: list[tuple[int, CommitId]] = []
    if not all(_enqueue(load, each, commits, queue) for each in (old, new)):
        return None
    visits = 0
    while any(sides[each] != _BOTH for _, each in queue):
        _, at = heapq.heappop(queue)
        visits += 1
        if visits > _VISITS_PER_COMMIT * limit:
            return None
        for parent in commits[at].parents:
            marked = sides.get(parent, 0) | sides[at]
            if marked == sides.get(parent):
                continue
            sides[parent] = marked
            _enqueue(load, parent, commits, queue)
    _share_what_is_before(sides, commits)
    # What is not here but before a shared commit was not needed; otherwise it is beyond telling.
    if any(side != _BOTH and commit not in commits for commit, side in sides.items()):
        return None
    one_sided = sum(side != _BOTH for side in sides.values())
    shared = one_sided < len(sides)
    return one_sided if shared and one_sided <= limit else None


def _share_what_is_before(sides: dict[CommitId, int], commits: dict[CommitId, Commit]) -> None:
    """Mark what was visited too early, as one side's, and then found to be before a shared commit."""
    stack = [commit for commit, side in sides.items() if side == _BOTH]
    while stack:
        at = stack.pop()
        for parent in commits[at].parents if at in commits else ():
            if sides.get(parent, _BOTH) != _BOTH:
                sides[parent] = _BOTH
                stack.append(parent)


def _enqueue(
    load: Load, commit: CommitId, commits: dict[CommitId, Commit], queue: list[tuple[int, CommitId]]
) -> bool:
    """Put a commit on the queue, newest first; false when it can't be read."""
    if commit not in commits:
        data = load(commit)
        parsed = parse_commit(data) if data is not None else None
        if parsed is None:
            return False
        commits[commit] = parsed
    heapq.heappush(queue, (-commits[commit].seconds, commit))
    return True
