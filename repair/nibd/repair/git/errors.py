"""What can go wrong when Git is read.

    GitError
    ├── NotARepository       no checkout here, or it was moved or deleted since it was opened
    │   └── BareRepository   a repository without a work tree
    ├── DubiousOwnership     owned by someone else, and no safe.directory allows it
    ├── Unsupported          a format that neither libgit2 nor the installed git reads
    ├── UnknownRevision      a name that shows no commit
    └── MissingObject        a commit or tree that is absent or damaged

An absent *blob* is no error: a reader gives `None` for it and the path becomes a skip.
"""

from __future__ import annotations

from nibd.repair.git.types import Absence


class GitError(Exception):
    """The root; by itself, something that Git reported and nobody here can act on."""


class NotARepository(GitError):  # noqa: N818 - named after what was found
    """No checkout is at that path (any more)."""


class BareRepository(NotARepository):
    """The repository has no work tree, so there is no checkout to follow."""


class DubiousOwnership(GitError):  # noqa: N818
    """The repository is owned by another user; its owner could make Git act for them."""


class Unsupported(GitError):  # noqa: N818
    """The format can't be read. `reason` says why and what to do about it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnknownRevision(GitError):  # noqa: N818
    """The revision names no commit."""


class MissingObject(GitError):  # noqa: N818
    """A commit or tree can't be read; without it a tree can't be compared."""

    def __init__(self, oid: str, absence: Absence) -> None:
        super().__init__(f"object {oid} is {absence.value.replace('_', ' ')}")
        self.oid = oid
        self.absence = absence
