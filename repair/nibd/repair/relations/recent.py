"""Which files were committed lately: those that somebody is likely to ask about first."""

from __future__ import annotations

from nibd.repair.git import GitSource, MissingObject, UnknownRevision
from nibd.stores.types import CommitId, RepoPath

MAX_COMMITS = 100
MAX_PATHS = 1_000
MAX_CHANGED = 200
"""What changes more paths at once says nothing of them: a move of everything, a release's headers."""


def recently_committed(source: GitSource) -> list[RepoPath]:
    """Paths by the newest commit on HEAD's first line that added or changed them, the newest first.

    Some may be gone since. Empty where there is no history to be read.
    """
    found: dict[RepoPath, None] = {}
    try:
        commit = source.head().commit
        for _ in range(MAX_COMMITS):
            if commit is None or len(found) >= MAX_PATHS:
                break
            before = _parent(source, commit)
            if before is None:
                break
            changes = source.changes(source.tree_of(before), source.tree_of(commit), renames=False)
            if len(changes) <= MAX_CHANGED:
                entries = [*changes.added, *(after for _, after in changes.modified)]
                found.update(dict.fromkeys(sorted(entry.path for entry in entries)))
            commit = before
    except MissingObject:
        pass  # the edge of a shallow clone, or of what is here: what was found is as good
    return list(found)


def _parent(source: GitSource, commit: CommitId) -> CommitId | None:
    try:
        return source.resolve(f"{commit}^")
    except UnknownRevision:
        return None  # the first commit
