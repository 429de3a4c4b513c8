"""Git, read by object id: where a checkout is, what HEAD shows, what trees hold and how they differ.

Nothing here reads the work tree or the index, takes a lock, fetches, or follows a replace ref.
Start at `open_source`; `GitSource` says what can be asked, `errors` what can go wrong.
"""

from __future__ import annotations

from nibd.repair.git.errors import (
    BareRepository,
    DubiousOwnership,
    GitError,
    MissingObject,
    NotARepository,
    UnknownRevision,
    Unsupported,
)
from nibd.repair.git.location import discover
from nibd.repair.git.source import open_source
from nibd.repair.git.types import Absence, ChangeSet, CheckoutLocation, GitSource, Head, TreeEntry

__all__ = [
    "Absence",
    "BareRepository",
    "ChangeSet",
    "CheckoutLocation",
    "DubiousOwnership",
    "GitError",
    "GitSource",
    "Head",
    "MissingObject",
    "NotARepository",
    "TreeEntry",
    "UnknownRevision",
    "Unsupported",
    "discover",
    "open_source",
]
