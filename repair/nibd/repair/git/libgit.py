"""Objects and refs by libgit2: no process is started, opening takes about a millisecond.

libgit2 checks an object's content against its id, ignores replace refs, never fetches, and looks
for new packs by itself before it calls an object missing. Loose objects are not left to it (see
`loose`). What it fails on is asked of the git
executable, when there is one: it may find an undamaged copy, or know a newer pack format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pygit2

from nibd.repair.git.command import short_branch
from nibd.repair.git.errors import DubiousOwnership, GitError, NotARepository, UnknownRevision, Unsupported
from nibd.repair.git.loose import loose_header, object_folders, read_loose
from nibd.repair.git.objects import Header, Objects, RawObject
from nibd.repair.git.types import Absence, CheckoutLocation, Head
from nibd.stores.types import CommitId

_SHA1 = re.compile(r"[0-9a-f]{40}")
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
T = TypeVar("T", RawObject, Header)


def open_repository(location: CheckoutLocation) -> pygit2.Repository:
    """Open exactly this Git directory, or raise why libgit2 won't."""
    flags = pygit2.enums.RepositoryOpenFlag.NO_SEARCH | pygit2.enums.RepositoryOpenFlag.NO_DOTGIT
    try:
        return pygit2.Repository(str(location.git_dir), flags)
    except (pygit2.GitError, UnicodeError, OSError) as error:
        said = str(error)
        if "not owned by" in said:
            raise DubiousOwnership(f"{location.work_tree} is owned by another user") from error
        if "unsupported" in said or "unknown object format" in said:
            raise Unsupported(f"libgit2 can't open this repository ({said})") from error
        raise GitError(f"libgit2 can't open {location.git_dir}: {said}") from error


class LibgitRefs:
    """HEAD and revisions; refs are read afresh each time."""

    def __init__(self, repository: pygit2.Repository, location: CheckoutLocation) -> None:
        self._repository = repository
        self._location = location

    def head(self) -> Head:
        try:
            head = self._repository.lookup_reference("HEAD")
            if head.type == pygit2.enums.ReferenceType.DIRECT:
                return Head(CommitId(str(head.target)), None)
            try:
                branch = head.resolve()
            except KeyError:
                return Head(None, short_branch(head.raw_target))
            return Head(CommitId(str(branch.target)), short_branch(branch.raw_name))
        except (pygit2.GitError, OSError) as error:
            raise GitError(f"HEAD of {self._location.git_dir} can't be read: {error}") from error

    def resolve(self, revision: str) -> CommitId:
        try:
            found = self._repository.revparse_single(revision)
            return CommitId(str(found.peel(pygit2.Commit).id))
        except (pygit2.GitError, ValueError, UnicodeError) as error:
            raise UnknownRevision(f"{revision!r} names no commit") from error


class LibgitObjects:
    """The object database; `fallback` is asked for what libgit2 fails on."""

    def __init__(
        self, repository: pygit2.Repository, location: CheckoutLocation, fallback: Objects | None
    ) -> None:
        self._odb = repository.odb
        self._location = location
        self._folders = object_folders(location.common_dir)
        self._fallback = fallback

    def get(self, oid: str) -> RawObject | Absence:
        return self._ask(oid, read_loose, self._get, lambda fallback: fallback.get(oid))

    def get_many(self, oids: Iterable[str]) -> Iterator[RawObject | Absence]:
        return map(self.get, oids)

    def header(self, oid: str) -> Header | Absence:
        return self._ask(oid, loose_header, self._header, lambda fallback: fallback.header(oid))

    def close(self) -> None:
        if self._fallback is not None:
            self._fallback.close()

    def _get(self, oid: str) -> RawObject:
        kind, data = self._odb.read(oid)
        return RawObject(_KINDS[kind], data)

    def _header(self, oid: str) -> Header:
        kind, size = self._odb.read_header(oid)
        return Header(_KINDS[kind], size)

    def _ask(
        self,
        oid: str,
        loose: Callable[[str, str], T | Absence],
        packed: Callable[[str], T],
        again: Callable[[Objects], T | Absence],
    ) -> T | Absence:
        if not _SHA1.fullmatch(oid):
            return Absence.MISSING
        absence = Absence.MISSING
        for folder in self._folders:
            found = loose(folder, oid)
            if not isinstance(found, Absence):
                return found
            if found is Absence.CORRUPT:
                absence = found
        if absence is Absence.MISSING:  # of a damaged loose object libgit2 may never return
            try:
                return packed(oid)
            except KeyError:
                pass
            except (pygit2.GitError, OSError):
                # Damaged, or its pack went away while it was read: a second look tells.
                absence = Absence.CORRUPT
                self._reopen()
                try:
                    return packed(oid)
                except KeyError:
                    absence = Absence.MISSING
                except (pygit2.GitError, OSError):
                    pass
        if self._fallback is None:
            return absence
        answer = again(self._fallback)
        return absence if answer is Absence.MISSING else answer

    def _reopen(self) -> None:
        try:
            self._odb = open_repository(self._location).odb
        except GitError as error:
            raise NotARepository(f"{self._location.git_dir} can't be opened any more: {error}") from error
        self._folders = object_folders(self._location.common_dir)
