"""Filters as a client names them: read from parameters, and made good for one snapshot.

`search`, `context`, `symbols` and `grep` share these parameters and what they mean (`nibd.query.filters`).
What changed since a commit is told from Git's trees when the snapshot is known; what was told is kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass

from nibd.daemon.parameters import Parameters
from nibd.daemon.path_globs import GlobError, PathGlobs
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.query.filters import Filters
from nibd.repair.git import GitError, GitSource, open_source
from nibd.repair.languages import CODE_LANGUAGES, MARKDOWN, TEXT, UNIT_KINDS
from nibd.stores.types import CommitId, RepoPath, TreeId

LANGUAGES = (*CODE_LANGUAGES, MARKDOWN, TEXT)
MAX_GLOBS = 100
REMEMBERED = 16


class Changes:
    """Which paths a tree has otherwise than a commit had them. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[CommitId, TreeId], frozenset[RepoPath]] = OrderedDict()

    def since(self, checkout: Checkout, commit: CommitId, tree: TreeId) -> frozenset[RepoPath]:
        """Raises `RpcError`: there is no such commit, or it can't be read."""
        with self._lock:
            known = self._known.get((commit, tree))
        if known is not None:
            return known
        try:
            with closing(open_source(checkout.work_tree)) as source:
                then = _tree_of(source, commit)
                changes = source.changes(then, tree, renames=False)
        except GitError as error:
            message = f"changed_since: {commit[:10]} can't be compared: {error}"
            raise RpcError(ErrorCode.UNSUPPORTED, message) from error
        found = frozenset(entry.path for entry in changes.come)
        with self._lock:
            self._known[commit, tree] = found
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found


def _tree_of(source: GitSource, commit: CommitId) -> TreeId:
    try:
        return source.tree_of(commit)
    except GitError as error:
        message = f"changed_since: {commit[:10]} can't be compared: {error}"
        raise RpcError(ErrorCode.INVALID_PARAMS, message) from error


@dataclass(frozen=True, slots=True)
class AskedFilters:
    """What a client asked for; `changed_since` waits for a snapshot."""

    filters: Filters
    changed_since: CommitId | None

    @staticmethod
    def take(given: Parameters) -> AskedFilters:
        """Raises `RpcError`."""
        try:
            globs = PathGlobs.parse(given.texts("paths", MAX_GLOBS))
        except GlobError as error:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"paths: {error}") from error
        language = given.choice("language", LANGUAGES, None)
        tests = given.choice("tests", ["only", "without"], None)
        kinds = frozenset(given.some("kinds", UNIT_KINDS))
        changed_since = given.commit_id("changed_since")
        filters = Filters(
            globs=globs if globs.wanted or globs.unwanted else None,
            language=language,
            tests=None if tests is None else tests == "only",
            kinds=kinds,
        )
        return AskedFilters(filters, changed_since)

    def at(self, reading: Reading, checkout: Checkout, changes: Changes) -> Filters:
        """As they are of one snapshot. Raises `RpcError`."""
        if self.changed_since is None:
            return self.filters
        changed = changes.since(checkout, self.changed_since, reading.snapshot.tree)
        return self.filters.of_changed(changed)
