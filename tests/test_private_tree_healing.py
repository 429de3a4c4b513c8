"""What others did to the private tree, or the system refuses, is found and set right."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

import private_trees
from gitrepo import Repo
from nibd.repair.private_tree import (
    NoRoom,
    NotWritable,
    PrivateTreeError,
    TreeGone,
)
from nibd.stores.types import EMPTY_TREE
from private_trees import archived, on_disk, paths, private, times, tree_of

repo, folder = private_trees.repo, private_trees.folder


def test_what_was_edited_deleted_or_added_is_healed(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        before = times(tree.root)
        (tree.root / "kept.py").write_text("edited = 1\n")
        (tree.root / "pkg/changed.py").unlink()
        (tree.root / "pkg/link.py").unlink()
        (tree.root / "pkg/link.py").write_text("kept = 1\n")
        (tree.root / "pkg/stray.py").write_text("stray = 1\n")
        (tree.root / "strays/deep").mkdir(parents=True)
        (tree.root / "run.sh").chmod(0o644)
        healed = tree.check()
        assert healed.deleted == paths("pkg/stray.py", "strays")
        assert healed.modified == paths("kept.py", "pkg/changed.py", "pkg/link.py", "run.sh")
        assert on_disk(tree.root) == archived(repo, "HEAD")
        assert tree.holds(tree_of(repo))
        after = times(tree.root)
        assert {path for path in after if after[path] != before[path]} == set(healed.modified)
        assert len(tree.check()) == 0


def test_a_file_and_a_folder_that_took_each_others_place(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        (tree.root / "kept.py").unlink()
        (tree.root / "kept.py/inner").mkdir(parents=True)
        (tree.root / "pkg").rename(folder / "elsewhere")
        (tree.root / "pkg").write_text("")
        tree.check()
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_what_servers_keep_in_scratch_folders_stays(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        (tree.root / ".cache/clangd/index").mkdir(parents=True)
        (tree.root / ".cache/clangd/index/x.idx").write_text("")
        assert len(tree.check()) == 0
        assert (tree.root / ".cache/clangd/index/x.idx").exists()


def test_a_deleted_folder_is_made_anew(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        tree.root.rename(folder / "gone")
        assert not tree.holds(tree_of(repo))
        with pytest.raises(TreeGone):
            tree.move(tree_of(repo))
    with private(folder, repo) as tree:
        assert tree.tree == EMPTY_TREE
        tree.move(tree_of(repo))
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_a_damaged_record_is_made_anew(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
    (folder / "state.db").write_bytes(b"not a database" * 1000)
    with private(folder, repo) as tree:
        assert tree.tree == EMPTY_TREE
        assert on_disk(tree.root) == {}
        tree.move(tree_of(repo))
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_after_another_boot_contents_are_compared(
    repo: Repo, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut may leave a file's name and time but not its bytes."""
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        damaged = tree.root / "kept.py"
        status = damaged.stat()
        damaged.write_bytes(b"\0" * status.st_size)
        os.utime(damaged, ns=(status.st_mtime_ns, status.st_mtime_ns))
    another = tmp_path / "boot_id"
    another.write_text("another\n")
    monkeypatch.setattr("nibd.repair.private_tree.tree._BOOT", another)
    with private(folder, repo) as tree:
        assert tree.tree is None
        assert tree.move(tree_of(repo)).written == 1
        assert on_disk(tree.root) == archived(repo, "HEAD")
    with private(folder, repo) as tree:
        assert tree.holds(tree_of(repo))


def test_no_permission(repo: Repo, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made by the system call's own error, for the tests may run as root, who may do anything."""
    with private(folder, repo) as tree:
        tree.move(tree_of(repo, "one"))
        real = os.rename
        monkeypatch.setattr(os, "rename", refuse)
        with pytest.raises(NotWritable, match="Permission denied"):
            tree.move(tree_of(repo))
        monkeypatch.setattr(os, "rename", real)
        assert tree.tree is None
        tree.move(tree_of(repo))
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_no_room(repo: Repo, folder: Path) -> None:
    """By a limit on a file's size: the system's own error, without a disk to fill."""
    repo.write("added.py", "x" * (3 << 20))
    repo.commit()
    with private(folder, repo) as tree:
        tree.move(tree_of(repo, "one"))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, hard))
        try:
            with pytest.raises(NoRoom):
                tree.move(tree_of(repo))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert tree.tree is None
        tree.move(tree_of(repo))
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_a_folder_that_cannot_be_made(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrivateTreeError), private(tmp_path / "file" / "tree", repo):
        pass


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")
