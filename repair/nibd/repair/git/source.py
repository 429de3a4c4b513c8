"""Opening a checkout to read it, and `GitSource` put together from objects and refs.

    source = open_source(path, git_executable=None)

libgit2 is used where it can be, the git executable elsewhere: SHA-256, reftable, a format extension
that libgit2 doesn't know, or an owner whom only the user's `safe.directory` allows. What neither
reads is `Unsupported` with the reason. Whichever is used, trees are parsed, walked and compared by
the same code (`trees`, `history`), so answers are equal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from nibd.repair.git import history, trees
from nibd.repair.git.catfile import CommandObjects
from nibd.repair.git.command import (
    REFTABLE_SINCE,
    SHA256_SINCE,
    CommandRefs,
    check_readable,
    find_git,
    require_git,
    scrubbed,
)
from nibd.repair.git.errors import (
    DubiousOwnership,
    GitError,
    MissingObject,
    NotARepository,
    UnknownRevision,
)
from nibd.repair.git.libgit import LibgitObjects, LibgitRefs, open_repository
from nibd.repair.git.location import Format, discover, is_present, read_format
from nibd.repair.git.objects import Objects
from nibd.repair.git.types import Absence, ChangeSet, CheckoutLocation, GitSource, Head, TreeEntry
from nibd.stores.types import BlobId, CommitId, RepoPath, TreeId


class Refs(Protocol):
    """HEAD and names of commits."""

    def head(self) -> Head: ...

    def resolve(self, revision: str) -> CommitId: ...


class ObjectSource:
    """A `GitSource` over an object database and refs."""

    def __init__(self, location: CheckoutLocation, form: Format, objects: Objects, refs: Refs) -> None:
        self.location = location
        self.object_format = form.object_format
        self.is_partial = form.is_partial
        self._objects = objects
        self._refs = refs

    @property
    def git_dir(self) -> Path:
        return self.location.git_dir

    @property
    def common_dir(self) -> Path:
        return self.location.common_dir

    @property
    def work_tree(self) -> Path:
        return self.location.work_tree

    @property
    def is_shallow(self) -> bool:
        try:
            return (self.common_dir / "shallow").stat().st_size > 0
        except FileNotFoundError:
            return False

    def head(self) -> Head:
        self._check_present()
        return self._refs.head()

    def resolve(self, revision: str) -> CommitId:
        self._check_present()
        if "\0" in revision:
            raise UnknownRevision("a revision holds no NUL")
        return self._refs.resolve(revision)

    def tree_of(self, commit: CommitId) -> TreeId:
        parsed = history.parse_commit(self._need(commit, "commit"))
        if parsed is None:
            raise MissingObject(commit, Absence.CORRUPT)
        return parsed.tree

    def list_tree(self, tree: TreeId) -> Iterator[TreeEntry]:
        return trees.walk(self._tree, tree)

    def changes(self, old: TreeId, new: TreeId, *, renames: bool = True) -> ChangeSet:
        return trees.compare(self._tree, old, new, renames=renames)

    def entry(self, tree: TreeId, path: RepoPath) -> TreeEntry | None:
        return trees.find(self._tree, tree, path)

    def read(self, blob: BlobId) -> bytes | None:
        data = self._get(blob, "blob")
        return data if isinstance(data, bytes) else None

    def read_many(self, blobs: Iterable[BlobId]) -> Iterator[tuple[BlobId, bytes | None]]:
        asked = list(blobs)
        for blob, found in zip(asked, self._objects.get_many(asked), strict=True):
            if isinstance(found, Absence):
                self._check_present()
                yield blob, None
            else:
                yield blob, found.data if found.kind == "blob" else None

    def size(self, blob: BlobId) -> int | None:
        header = self._objects.header(blob)
        if isinstance(header, Absence):
            self._check_present()
            return None
        return header.size_bytes if header.kind == "blob" else None

    def why_absent(self, blob: BlobId) -> Absence | None:
        data = self._get(blob, "blob")
        return data if isinstance(data, Absence) else None

    def distance(self, old: CommitId, new: CommitId, limit: int = 1000) -> int | None:
        return history.distance(self._commit, old, new, limit)

    def close(self) -> None:
        self._objects.close()

    def _tree(self, tree: TreeId) -> bytes:
        return self._need(tree, "tree")

    def _commit(self, commit: CommitId) -> bytes | None:
        data = self._get(commit, "commit")
        return data if isinstance(data, bytes) else None

    def _need(self, oid: str, kind: str) -> bytes:
        data = self._get(oid, kind)
        if isinstance(data, Absence):
            raise MissingObject(oid, data)
        return data

    def _get(self, oid: str, kind: str) -> bytes | Absence:
        found = self._objects.get(oid)
        if isinstance(found, Absence):
            # Nothing may be called missing because all of it went away.
            self._check_present()
            return Absence.PROMISED if found is Absence.MISSING and self.is_partial else found
        return found.data if found.kind == kind else Absence.OTHER_TYPE

    def _check_present(self) -> None:
        if not is_present(self.location):
            raise NotARepository(f"{self.git_dir} was moved or deleted")


def open_source(path: Path, git_executable: str | Path | None = None) -> GitSource:
    """Open the checkout that holds `path`. `git_executable`: as configured, else found on PATH."""
    location = discover(path)
    git = find_git(git_executable)
    check_owner(location, git)
    form = read_format(location.common_dir)
    if form.ref_storage != "files":
        git = require_git(git, REFTABLE_SINCE, f"ref storage {form.ref_storage}")
        return open_by_command(location, git)
    if form.object_format != "sha1":
        git = require_git(git, SHA256_SINCE, f"object format {form.object_format}")
        return open_by_command(location, git)
    try:
        return open_by_libgit(location, git)
    except NotARepository:
        raise
    except GitError:
        if git is None:
            raise
        return open_by_command(location, git)


def open_by_libgit(location: CheckoutLocation, git: Path | None) -> ObjectSource:
    """A source over libgit2; `git` is asked for the objects that libgit2 can't read."""
    repository = open_repository(location)
    form = read_format(location.common_dir)
    fallback: Objects | None = None
    # In a partial clone missing objects are ordinary, and an older git would try to fetch each.
    if git is not None and not form.is_partial:
        fallback = CommandObjects(git, location, form, scrubbed(os.environ))
    objects = LibgitObjects(repository, location, fallback)
    return ObjectSource(location, form, objects, LibgitRefs(repository, location))


def open_by_command(location: CheckoutLocation, git: Path) -> ObjectSource:
    """A source over the git executable."""
    check_readable(git, location)
    form = read_format(location.common_dir)
    objects = CommandObjects(git, location, form, scrubbed(os.environ))
    return ObjectSource(location, form, objects, CommandRefs(git, location))


def check_owner(location: CheckoutLocation, git: Path | None) -> None:
    """Raise `DubiousOwnership` where git would: another's checkout that no safe.directory allows."""
    user = os.geteuid()
    places = (location.work_tree, location.work_tree / ".git", location.git_dir)
    try:
        foreign = [place for place in places if os.path.lexists(place) and place.lstat().st_uid != user]
    except OSError as error:
        raise NotARepository(f"{location.work_tree} can't be read: {error}") from error
    if not foreign:
        return
    if git is None:
        raise DubiousOwnership(f"{foreign[0]} is owned by another user, and no git is there to allow it")
    check_readable(git, location)
