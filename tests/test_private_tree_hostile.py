"""Nothing is written outside of the private tree, whatever a tree of Git says."""

from __future__ import annotations

from pathlib import Path

import pytest

import private_trees
from gitrepo import Repo
from nibd.repair.private_tree import (
    LeftOut,
    Placement,
    PlacementKind,
)
from nibd.repair.private_tree.names import is_safe, stays_inside
from nibd.stores.types import RepoPath
from private_trees import Content, archived, make_tree, on_disk, private, tree_of

repo, folder = private_trees.repo, private_trees.folder


def test_a_symlink_becomes_a_folder(repo: Repo, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    first = make_tree(repo, {b"a": ("link", bytes(outside)), b"up": ("link", b"../../../outside")})
    second = make_tree(repo, {b"a/file": ("file", b"x"), b"up/file": ("file", b"x")})
    with private(folder, repo) as tree:
        moved = tree.move(first)
        assert moved.skipped == {LeftOut.SYMLINK: 2}
        (tree.root / "a").symlink_to(outside)  # as if it had been made
        (tree.root / "up").symlink_to(outside)
        tree.move(second)
        assert on_disk(tree.root) == archived(repo, second)
    assert on_disk(outside) == {}


def test_a_folder_that_someone_made_a_symlink(repo: Repo, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with private(folder, repo) as tree:
        tree.move(tree_of(repo, "one"))
        (tree.root / "pkg").rename(outside / "pkg")
        (tree.root / "pkg").symlink_to(outside / "pkg")
        before = on_disk(outside)
        tree.move(tree_of(repo))
        assert on_disk(outside) == before
        tree.check()
        assert on_disk(tree.root) == archived(repo, "HEAD")
        assert on_disk(outside) == before


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        (b"a/b", True),
        (b".gitignore", True),
        (b"a/.git/config", False),
        (b".GIT/hooks/x", False),
        (b"../x", False),
        (b"a/../../x", False),
        (b"/etc/passwd", False),
        (b"a//b", False),
        (b"a/./b", False),
        (b"a\0b", False),
        (b"n" * 255, True),
        (b"n" * 256, False),
        (b"/".join([b"n" * 200] * 19), True),
        (b"/".join([b"n" * 200] * 21), False),
        (b"/".join([b"n"] * 128), True),
        (b"/".join([b"n"] * 129), False),
    ],
)
def test_names(path: bytes, safe: bool) -> None:
    assert is_safe(RepoPath(path), 30) is safe


@pytest.mark.parametrize(
    ("link", "target", "inside"),
    [
        (b"l", b"a/b", True),
        (b"a/l", b"../b", True),
        (b"a/l", b"./../b//c", True),
        (b"a/l", b"../../b", False),
        (b"l", b"/etc", False),
        (b"l", b"", False),
        (b"l", b"a/../b", False),
        (b"a/b/l", b"../x/../../../y", False),
        (b"a/l", b".", False),
        (b"a/b/l", b"..", False),
        (b"a/b/l", b"../../a", False),
        (b"a/b/l", b"../../c", True),
    ],
)
def test_links(link: bytes, target: bytes, inside: bool) -> None:
    assert stays_inside(RepoPath(link), target) is inside


def test_no_link_that_is_made_leads_out(repo: Repo, folder: Path) -> None:
    """By way of each other neither: `deep` is the root, from where `..` would lead out."""
    made = make_tree(
        repo,
        {
            b"x/y/deep": ("link", b"../../z"),
            b"x/y/out": ("link", b"deep/../../../file"),
            b"z/file": ("file", b""),
            b"z/back": ("link", b"../x/y/deep/file"),
        },
    )
    with private(folder, repo) as tree:
        assert tree.move(made).skipped == {LeftOut.SYMLINK: 1}
        for path in tree.root.rglob("*"):
            assert path.resolve().is_relative_to(tree.root)
        assert (tree.root / "z/back").resolve() == tree.root / "z/file"


def test_names_that_cannot_be_made_are_counted(repo: Repo, folder: Path) -> None:
    deep = b"/".join([b"d"] * 200)
    made = make_tree(repo, {b"n" * 300: ("file", b""), deep: ("file", b""), b"ok": ("file", b"")})
    with private(folder, repo) as tree:
        assert tree.move(made).skipped == {LeftOut.NAME: 2}
        assert on_disk(tree.root) == {b"ok": ("file", b"")}
        assert len(tree.check()) == 0
        tree.move(make_tree(repo, {}))
        assert on_disk(tree.root) == {}


def test_names_that_servers_die_of_are_not_made(repo: Repo, folder: Path) -> None:
    """What is not UTF-8, in whatever part of a path and of whatever kind, also when it came by renaming."""
    odd: dict[bytes, Content] = {
        b"b\xffd.py": ("file", b""),
        b"d\xffr/in.py": ("program", b""),
        b"half\xed\xa0\x80": ("link", b"ok"),
        b"sub\xff": ("folder", b""),
    }
    ok: dict[bytes, Content] = {b"ok": ("file", b""), "é\n\\🙂".encode(): ("file", b"")}
    made, renamed = make_tree(repo, odd | ok), make_tree(repo, {b"\xff": ("file", b"")} | ok)
    with private(folder, repo) as tree:
        assert tree.move(made).skipped == {LeftOut.NOT_UTF8: 4}
        assert on_disk(tree.root) == ok
        assert len(tree.check()) == 0
        assert len(tree.move(renamed)) == 0
        refused = RepoPath(b"d\xffr/node_modules")
        assert tree.place({refused: Placement(PlacementKind.FOLDER)}) == (refused,)
        assert on_disk(tree.root) == ok


def test_those_that_were_made_before_are_removed(
    repo: Repo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_tree(repo, {b"d\xffr/in.py": ("file", b""), b"ok": ("file", b"")})
    with monkeypatch.context() as older:
        older.setattr("nibd.repair.private_tree.writing.is_utf8", lambda name: True)
        older.setattr("nibd.repair.private_tree.tree.FORM", 2)
        with private(folder, repo) as tree:
            tree.move(made)
            assert b"d\xffr/in.py" in on_disk(tree.root)
    with private(folder, repo) as tree:
        moved = tree.move(made)
        assert (moved.deleted, moved.skipped) == ((RepoPath(b"d\xffr/in.py"),), {LeftOut.NOT_UTF8: 1})
        assert on_disk(tree.root) == {b"ok": ("file", b"")}


def test_git_folders_are_not_made(repo: Repo, folder: Path) -> None:
    names = (b".git", b".GIT/hooks/pre-commit", b"sub/.Git/config", b"..", b".")
    made = make_tree(repo, dict.fromkeys(names, ("program", b"#!/bin/sh\n")))
    with private(folder, repo) as tree:
        tree.move(made)
        assert on_disk(tree.root) == {}
        assert {path.name for path in folder.iterdir()} >= {"work", "aside", "state.db"}
