"""A private tree whose process is killed at each step of a move, and again while that is put right."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.stores.types import EMPTY_TREE, TreeId
from private_trees import Content, archived, make_tree, on_disk, private, times

OLD: dict[bytes, Content] = {
    b"kept.py": ("file", b"kept"),
    b"changed.py": ("file", b"old"),
    b"pkg/gone/old.py": ("file", b"gone"),
    b"file-then-folder": ("file", b"x"),
    b"folder-then-file/inner": ("file", b"x"),
    b"link-then-folder": ("link", b"pkg"),
    b"Case.py": ("file", b"case"),
    b"sub": ("folder", b""),
}
NEW: dict[bytes, Content] = {
    b"kept.py": ("file", b"kept"),
    b"changed.py": ("program", b"new"),
    b"pkg/added.py": ("file", b"added"),
    b"file-then-folder/inner": ("file", b"x"),
    b"folder-then-file": ("file", b"x"),
    b"link-then-folder/inner": ("file", b"x"),
    b"case.py": ("file", b"case"),
    b"sub/file": ("file", b"no submodule"),
}


class Crashing:
    """Children that move one private tree and are killed."""

    def __init__(self, folder: Path, repo: Repo) -> None:
        self.folder, self.repo = folder, repo
        child = Path(__file__).with_name("crash_tree.py")
        self._child = subprocess.Popen(
            [sys.executable, child, folder, repo.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def move(self, tree: TreeId, kill_at: int = 0) -> str:
        """`killed`, or how many steps it took."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{tree}\t{kill_at}\n")
        self._child.stdin.flush()
        return self._child.stdout.readline().strip()

    def close(self) -> None:
        self._child.communicate()


@pytest.fixture
def tmp(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a folder: nothing here depends on a disk, and much is written."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as made:
        yield Path(made)


@pytest.fixture
def crashing(tmp: Path) -> Iterator[Crashing]:
    made = Crashing(tmp / "tree", Repo(tmp / "repo"))
    yield made
    made.close()


def restore(folder: Path, base: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if base.exists():
        shutil.copytree(base, folder, symlinks=True)


def proved(crashing: Crashing, base: Path, trees: tuple[TreeId, TreeId], where: str) -> None:
    """What is held is known or said not to be, and either tree can be moved to."""
    old, new = trees
    repo = crashing.repo
    before, base_times = on_disk(base / "work"), times(base / "work")
    for to in (new, old):
        with private(crashing.folder, repo) as tree:
            if tree.tree is not None:
                assert tree.tree in trees, where
                assert on_disk(tree.root) == archived_or_nothing(repo, tree.tree), where
            moved = tree.move(to)
            assert tree.holds(to), where
            found = on_disk(tree.root)
            assert found == archived_or_nothing(repo, to), where
            for path, when in times(tree.root).items():
                assert when != base_times.get(path) or found[path] == before[path], where
            assert len(tree.check()) == 0, where
            assert len(moved.added) + len(moved.modified) >= moved.written, where
        assert len(list((crashing.folder / "aside").iterdir())) <= 2, where


def archived_or_nothing(repo: Repo, tree: TreeId) -> dict[bytes, Content]:
    return {} if tree == EMPTY_TREE else archived(repo, tree)


def test_a_first_move(crashing: Crashing, tmp: Path) -> None:
    prove(crashing, tmp, EMPTY_TREE, make_tree(crashing.repo, OLD))


def test_a_move(crashing: Crashing, tmp: Path) -> None:
    prove(crashing, tmp, make_tree(crashing.repo, OLD), make_tree(crashing.repo, NEW))


def prove(crashing: Crashing, tmp: Path, old: TreeId, new: TreeId) -> None:
    base = tmp / "base"
    if old != EMPTY_TREE:
        with private(base, crashing.repo) as tree:
            tree.move(old)
    restore(crashing.folder, base)
    steps = int(crashing.move(new))
    assert steps > 50
    twice = 0
    for step in range(1, steps + 1):
        restore(crashing.folder, base)
        assert crashing.move(new, step) == "killed"
        if step % 3 == 0:  # and again, while the rest is done, or undone
            to = old if step % 2 and old != EMPTY_TREE else new
            twice += crashing.move(to, 5 + step % 30) == "killed"
        proved(crashing, base, (old, new), f"killed at step {step} of {steps}")
    assert twice > steps // 6
