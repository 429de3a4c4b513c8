"""What reading Git gives: entries, change sets, HEAD; and `GitSource`, through which it is read.

Everything is addressed by object id, so nothing here depends on the work tree or the index.
Terms are those of `nibd.stores.types`; an *absence* is why an object could not be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from nibd.stores.types import BlobId, CommitId, RepoPath, TreeId

REGULAR = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
SUBMODULE = 0o160000


@dataclass(frozen=True, slots=True, order=True)
class TreeEntry:
    """One path of a tree that is not itself a tree.

    `mode` is Git's. For a submodule (`SUBMODULE`) `blob` is the id of a commit elsewhere, which
    can't be read here; for a symlink the blob holds the target's name.
    """

    path: RepoPath
    mode: int
    blob: BlobId


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What differs between two trees, each part in the order of (new) paths.

    A path stands in exactly one part. `modified` holds (old, new) entries of one path whose blob or
    mode differ, so a file that became a symlink or executable is there. `renamed` holds (old, new)
    entries of equal blob whose paths would otherwise be deleted and added; it is a hint.
    """

    added: tuple[TreeEntry, ...] = ()
    deleted: tuple[TreeEntry, ...] = ()
    modified: tuple[tuple[TreeEntry, TreeEntry], ...] = ()
    renamed: tuple[tuple[TreeEntry, TreeEntry], ...] = ()

    @property
    def gone(self) -> Iterator[TreeEntry]:
        """Entries of the old tree that the new one does not hold as they were."""
        yield from self.deleted
        yield from (old for old, _ in self.modified)
        yield from (old for old, _ in self.renamed)

    @property
    def come(self) -> Iterator[TreeEntry]:
        """Entries of the new tree that the old one did not hold as they are."""
        yield from self.added
        yield from (new for _, new in self.modified)
        yield from (new for _, new in self.renamed)

    def __len__(self) -> int:
        return len(self.added) + len(self.deleted) + len(self.modified) + len(self.renamed)


@dataclass(frozen=True, slots=True)
class Head:
    """What a checkout shows. Unborn: no commit yet. Detached: no branch.

    `branch` is short below `refs/heads/` and full elsewhere; bytes that are not UTF-8 are shown as
    `\\xNN`, for it is there to be read by people.
    """

    commit: CommitId | None
    branch: str | None


class Absence(StrEnum):
    """Why an object can't be had."""

    MISSING = "missing"
    PROMISED = "promised"
    """A partial clone left it with its remote. It is never fetched for nibd's sake."""
    CORRUPT = "corrupt"
    OTHER_TYPE = "of another type"


@dataclass(frozen=True, slots=True)
class CheckoutLocation:
    """Where a checkout is; real, absolute paths. `git_dir` is this checkout's own."""

    work_tree: Path
    git_dir: Path
    common_dir: Path


class GitSource(Protocol):
    """Reads one repository as one checkout sees it.

    Used by one thread at a time; another thread opens its own (opening takes about a millisecond).
    An open source keeps what it mapped of packs that were deleted since, and finds new ones. It
    never fetches, takes no lock, ignores replace refs, and reads neither index nor work tree.
    Every method may raise `GitError`, and `NotARepository` once the Git directory is gone.
    """

    @property
    def location(self) -> CheckoutLocation: ...
    @property
    def git_dir(self) -> Path: ...
    @property
    def common_dir(self) -> Path: ...
    @property
    def work_tree(self) -> Path: ...
    @property
    def object_format(self) -> str:
        """`sha1` or `sha256`."""
        ...

    @property
    def is_shallow(self) -> bool: ...
    @property
    def is_partial(self) -> bool: ...

    def head(self) -> Head: ...

    def resolve(self, revision: str) -> CommitId:
        """The commit that a name, id or expression shows; `UnknownRevision` when none."""
        ...

    def tree_of(self, commit: CommitId) -> TreeId: ...

    def list_tree(self, tree: TreeId) -> Iterator[TreeEntry]:
        """Every file, symlink and submodule below a tree, in the order of paths."""
        ...

    def changes(self, old: TreeId, new: TreeId, *, renames: bool = True) -> ChangeSet:
        """What differs between two trees; `EMPTY_TREE` may be either."""
        ...

    def entry(self, tree: TreeId, path: RepoPath) -> TreeEntry | None:
        """The entry at a path; `None` when there is none or it is a tree."""
        ...

    def read(self, blob: BlobId) -> bytes | None:
        """A blob's bytes; `None` when they can't be had (`why_absent` says why)."""
        ...

    def read_many(self, blobs: Iterable[BlobId]) -> Iterator[tuple[BlobId, bytes | None]]:
        """Each blob with what `read` gives, in the order asked; one is in memory at a time."""
        ...

    def size(self, blob: BlobId) -> int | None:
        """A blob's length in bytes, found without reading it whole; `None` as for `read`."""
        ...

    def why_absent(self, blob: BlobId) -> Absence | None:
        """Why `read` gives `None`; `None` when it doesn't."""
        ...

    def distance(self, old: CommitId, new: CommitId, limit: int = 1000) -> int | None:
        """How many commits one of the two has and the other lacks (0 only when equal).

        `None` when there are more than `limit`, when they share no history, or when it isn't here.
        """
        ...

    def close(self) -> None: ...
