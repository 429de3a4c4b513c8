"""Both ways of reading a repository, for tests that hold them to the same contract, and git's word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.repair.git.command import find_git
from nibd.repair.git.location import discover
from nibd.repair.git.source import ObjectSource, open_by_command, open_by_libgit
from nibd.repair.git.types import TreeEntry
from nibd.stores.types import BlobId, RepoPath

Open = Callable[[Path], ObjectSource]
GIT = find_git(None)
EMPTY_GIT_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def opener(how: str, stack: ExitStack) -> Open:
    """A function that opens a checkout by `libgit` or `command`; what it opens `stack` closes."""
    assert GIT is not None

    def open_it(path: Path) -> ObjectSource:
        assert GIT is not None
        by = {"libgit": open_by_libgit, "command": open_by_command}[how]
        source = by(discover(path), GIT)
        stack.callback(source.close)
        return source

    return open_it


@pytest.fixture(params=["libgit", "command"])
def open_it(request: pytest.FixtureRequest) -> Iterator[Open]:
    with ExitStack() as stack:
        yield opener(request.param, stack)


def ls_tree(repo: Repo, tree: str) -> list[TreeEntry]:
    """What `git ls-tree` lists, in its order."""
    entries = []
    for line in repo.git_bytes("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
        head, path = line.split(b"\t", 1)
        mode, _, blob = head.split()
        entries.append(TreeEntry(RepoPath(path), int(mode, 8), BlobId(blob.decode())))
    return entries


Raw = set[tuple[str, bytes, int, int, str, str]]


def diff_raw(repo: Repo, old: str, new: str) -> Raw:
    """What `git diff-tree` says without renames: status, path, modes, blobs."""
    words = repo.git_bytes("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", old, new)
    parts = words.split(b"\0")[:-1]
    found: Raw = set()
    for head, path in zip(parts[::2], parts[1::2], strict=True):
        old_mode, new_mode, old_blob, new_blob, status = head.removeprefix(b":").decode().split()
        kind = "M" if status == "T" else status
        found.add((kind, path, int(old_mode, 8), int(new_mode, 8), old_blob, new_blob))
    return found
