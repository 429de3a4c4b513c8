"""What is placed beside the files of the private tree gives way to them, and goes without a trace."""

from __future__ import annotations

from pathlib import Path

import private_trees
from gitrepo import Repo
from nibd.repair.private_tree import (
    Placement,
    PlacementKind,
)
from nibd.stores.types import RepoPath
from private_trees import archived, on_disk, private, times, tree_of

LINK = RepoPath(b"node_modules/left-pad")
FILE = RepoPath(b"compile_commands.json")


repo, folder = private_trees.repo, private_trees.folder


def test_they_are_made_changed_and_removed(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        link = Placement(PlacementKind.LINK, b"/elsewhere/left-pad")
        wanted = {
            LINK: link,
            FILE: Placement(PlacementKind.FILE, b"[]"),
            RepoPath(b"build/deep"): Placement(PlacementKind.FOLDER),
        }
        assert tree.place(wanted) == ()
        found = on_disk(tree.root)
        assert found[LINK] == ("link", b"/elsewhere/left-pad")
        assert found[FILE] == ("file", b"[]")
        assert found[b"build/deep"] == ("folder", b"")
        before = times(tree.root)
        tree.place(wanted)
        assert len(tree.check()) == 0
        assert times(tree.root) == before
        (tree.root / "compile_commands.json").write_text("other")
        tree.check()
        assert on_disk(tree.root) == found
        tree.place({LINK: link})
        assert on_disk(tree.root).keys() - archived(repo, "HEAD").keys() == {b"node_modules", LINK}
    with private(folder, repo) as tree:
        tree.place({})
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_the_tree_comes_first(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        wanted = {
            LINK: Placement(PlacementKind.LINK, b"/elsewhere"),
            FILE: Placement(PlacementKind.FILE, b"[]"),
        }
        tree.place(wanted)
        repo.write("compile_commands.json", "tracked")
        repo.write("node_modules/left-pad/index.js", "tracked")
        repo.commit()
        tree.move(tree_of(repo))
        assert on_disk(tree.root) == archived(repo, "HEAD")
        assert tree.place(wanted) == (FILE, LINK)
        assert on_disk(tree.root) == archived(repo, "HEAD")
        repo.git("reset", "-q", "--hard", "HEAD~1")
        tree.move(tree_of(repo))
        assert tree.place(wanted) == ()


def test_none_leads_out_by_its_name(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        path = RepoPath(b"../outside")
        assert tree.place({path: Placement(PlacementKind.FILE, b"")}) == (path,)
        assert not (folder / "outside").exists()
