"""Finding a checkout from any path inside, and choosing how to read it or saying why not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitrepo import Repo, run_git
from gitsources import ls_tree
from nibd.repair.git import (
    Absence,
    BareRepository,
    DubiousOwnership,
    NotARepository,
    Unsupported,
    discover,
    open_source,
)
from nibd.repair.git.types import CheckoutLocation
from nibd.stores.types import BlobId, TreeId

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("d/a.py", "a\n")
    repo.commit()
    return repo


def test_a_checkout_is_found_from_any_path_inside(repo: Repo, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repo.path / "d")
    expected = CheckoutLocation(repo.path, repo.path / ".git", repo.path / ".git")
    for path in (repo.path, repo.path / "d", repo.path / "d" / "a.py", link):
        assert discover(path) == expected
    linked = repo.worktree(tmp_path / "linked", "--detach")
    git_dir = repo.path / ".git" / "worktrees" / "linked"
    assert discover(linked.path / "d") == CheckoutLocation(linked.path, git_dir, repo.path / ".git")


def test_what_is_no_checkout_says_so(repo: Repo, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    run_git("init", "-q", "--bare", bare)
    with pytest.raises(BareRepository, match="bare"):
        discover(bare / "refs")
    with pytest.raises(NotARepository, match="inside a Git directory"):
        discover(repo.path / ".git" / "refs")
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(NotARepository):
            discover(path)
    (tmp_path / "odd").mkdir()
    for text in ("nonsense", "gitdir: /nowhere\n"):
        (tmp_path / "odd" / ".git").write_text(text)
        with pytest.raises(NotARepository):
            discover(tmp_path / "odd")


def test_a_sha256_repository_is_read_by_git(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", "--object-format=sha256")
    repo.write("d/a.py", "a\n")
    first = repo.tree(repo.commit())
    repo.write("d/a.py", "b\n")
    repo.commit()
    source = open_source(repo.path)
    head = source.head().commit
    assert head == repo.head()
    assert source.object_format == "sha256"
    tree = source.tree_of(head)
    assert list(source.list_tree(tree)) == ls_tree(repo, tree)
    [(_, now)] = source.changes(TreeId(first), tree).modified
    assert source.read(now.blob) == b"b\n"
    assert source.why_absent(BlobId("1" * 64)) is Absence.MISSING
    source.close()
    with pytest.raises(Unsupported, match="no git was found"):
        open_source(repo.path, tmp_path / "no-git-here")


@pytest.mark.parametrize(("extension", "value"), [("refStorage", "reftable"), ("fromTheFuture", "true")])
def test_a_format_that_nobody_reads_is_unsupported_with_the_reason(
    repo: Repo, extension: str, value: str
) -> None:
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\trepositoryformatversion = 1\n[extensions]\n\t{extension} = {value}\n")
    if value == "reftable" and run_git("rev-parse", cwd=repo.path, check=False).returncode == 0:
        pytest.skip("this git reads reftable")
    with pytest.raises(Unsupported, match="upgrade") as caught:
        open_source(repo.path)
    assert value in caught.value.reason or extension.lower() in caught.value.reason


@needs_root
def test_another_users_repository_needs_their_trust(repo: Repo) -> None:
    for path in (repo.path, *repo.path.rglob("*")):
        shutil.chown(path, "nobody")
    with pytest.raises(DubiousOwnership, match=r"safe\.directory"):
        open_source(repo.path)
    with pytest.raises(DubiousOwnership):
        open_source(repo.path, "/no-git-here")
    run_git("config", "--global", "--add", "safe.directory", repo.path)
    source = open_source(repo.path)
    assert source.head().branch == "main"
    source.close()


def test_without_git_an_ordinary_repository_is_read(repo: Repo) -> None:
    source = open_source(repo.path, "/no-git-here")
    assert list(source.list_tree(TreeId(repo.tree()))) == ls_tree(repo, "HEAD")
    assert source.read(BlobId("1" * 40)) is None
    source.close()
