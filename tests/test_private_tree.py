"""The private tree holds what git says a tree holds, by the least work, and after what was cut off too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import private_trees
from gitrepo import Repo
from nibd.repair.private_tree import (
    Moved,
    PrivateTree,
    TreeInUse,
    TreeUnknown,
)
from nibd.repair.private_tree.names import stays_inside
from nibd.repair.private_tree.tree import BATCH
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.text import is_utf8
from nibd.stores.types import EMPTY_TREE, RepoPath, TreeId
from private_trees import Content, archived, make_tree, on_disk, paths, private, times, tree_of

Files = dict[bytes, Content]
NAMES = [b"a", b"A", b"a/b", b"a/b/c", b"a/d", b"b", b"b/x.py", b"b/\xff", b"b/n\nl", b"c/d/e/f.go"]
LINKS = {b"b": True, b"../a": True, b"/etc": False, b"../../x": False, b"a/../b": False, b"c/d": True}


repo, folder = private_trees.repo, private_trees.folder


def test_a_first_move_writes_what_git_archives(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        assert tree.tree == EMPTY_TREE
        moved = tree.move(tree_of(repo))
        assert tree.holds(tree_of(repo))
        assert on_disk(tree.root) == archived(repo, "HEAD")
        assert moved.added == tuple(sorted(moved.added))
        assert (moved.written, len(moved.modified), len(moved.deleted), moved.skipped) == (6, 0, 0, {})
    assert on_disk(folder / "aside") == {}


def test_a_move_touches_what_changed_and_nothing_else(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo, "one"))
        before = times(tree.root)
        moved = tree.move(tree_of(repo))
        after = times(tree.root)
        assert moved == Moved(
            paths("pkg/new/added.py"), paths("pkg/changed.py"), paths("pkg/gone/old.py"), {}, 2
        )
        assert not (tree.root / "pkg/gone").exists()
        assert {path for path in after if before.get(path) != after[path]} == {
            b"pkg/changed.py",
            b"pkg/new/added.py",
        }


def test_it_is_kept_from_one_process_to_the_next(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        before = times(tree.root)
    with private(folder, repo) as tree:
        assert tree.holds(tree_of(repo))
        assert len(tree.move(tree_of(repo))) == 0
        assert times(tree.root) == before


def test_the_time_of_a_file_never_comes_again(repo: Repo, folder: Path) -> None:
    """Forth and back within the clock's granularity: content of one size, never one time twice."""
    seen: list[int] = []
    with private(folder, repo) as tree:
        for revision in ("one", "HEAD") * 20:
            tree.move(tree_of(repo, revision))
            seen.append((tree.root / "pkg/changed.py").stat().st_mtime_ns)
    assert seen == sorted(set(seen))
    assert min(later - sooner for sooner, later in pairwise(seen)) >= 1_000_000


def test_a_clock_set_back_does_not_bring_a_time_back(
    repo: Repo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo, "one"))
        first = (tree.root / "pkg/changed.py").stat().st_mtime_ns
        monkeypatch.setattr("nibd.repair.private_tree.tree.time.time_ns", lambda: first - 10**12)
        tree.move(tree_of(repo))
        assert (tree.root / "pkg/changed.py").stat().st_mtime_ns > first


def test_a_mode_alone_is_a_change(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        repo.write("run.sh", "#!/bin/sh\n", executable=False)
        repo.commit()
        assert tree.move(tree_of(repo)).modified == paths("run.sh")
        assert on_disk(tree.root)[b"run.sh"][0] == "file"


def test_one_process_at_a_time(repo: Repo, folder: Path) -> None:
    with private(folder, repo), pytest.raises(TreeInUse), private(folder, repo):
        pass
    with private(folder, repo):
        pass


def content() -> st.SearchStrategy[Content]:
    files = st.tuples(st.sampled_from(["file", "program"]), st.sampled_from([b"", b"1", b"2", b"long" * 9]))
    links = st.tuples(st.just("link"), st.sampled_from(sorted(LINKS)))
    return st.one_of(files, files, links, st.just(("folder", b"")))


@st.composite
def trees(draw: Callable[[st.SearchStrategy[Files]], Files]) -> Files:
    """Files of one tree: no path is both a file and a folder."""
    drawn = draw(st.dictionaries(st.sampled_from(NAMES), content(), max_size=7))
    return {path: each for path, each in drawn.items() if not any(o.startswith(path + b"/") for o in drawn)}


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(sequence=st.lists(st.tuples(trees(), st.none() | trees()), min_size=2, max_size=5))
def test_after_any_moves_it_equals_git_archive(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[tuple[Files, Files | None]]
) -> None:
    """Some of the moves after one to yet another tree that was cut off."""
    place = tmp_path_factory.mktemp("moves")
    repo = Repo(place / "repo")
    held: Files = {}
    with private(place / "tree", repo) as tree:
        for files, elsewhere in sequence:
            wanted = expected(repo, files)
            before = times(tree.root)
            if elsewhere is not None and not interrupt(tree, make_tree(repo, elsewhere), len(elsewhere) % 2):
                held = expected(repo, elsewhere)  # nothing to write: it was done at once
                before = times(tree.root)
            is_known = tree.tree is not None
            moved = tree.move(make_tree(repo, files))
            assert on_disk(tree.root) == wanted
            after = times(tree.root)
            changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
            assert changed <= {*moved.added, *moved.modified, *moved.deleted}
            there = {path for path, each in wanted.items() if each[0] != "folder"}
            was = {path for path, each in held.items() if each[0] != "folder"}
            assert set(moved.added) == there - was
            assert set(moved.deleted) == was - there
            different = {path for path in there & was if wanted[path] != held[path]}
            assert set(moved.modified) >= different
            if is_known:
                assert set(moved.modified) == different
                assert moved.written == len(moved.added) + len(moved.modified)
            assert len(tree.check()) == 0
            held = wanted


def expected(repo: Repo, files: Files) -> Files:
    links = {RepoPath(path): target for path, (kind, target) in files.items() if kind == "link"}
    left_out = {path for path, target in links.items() if not stays_inside(path, target)}
    left_out |= {RepoPath(path) for path in files if not is_utf8(path)}
    return archived(repo, make_tree(repo, files), left_out)


def interrupt(tree: PrivateTree, to: TreeId, batches: int = 0) -> bool:
    """Cut a move off after so many batches were written; whether it lasted so long."""

    def report(progress: Progress) -> None:
        if progress.done >= min(batches * BATCH, progress.total):
            raise Interrupted

    try:
        tree.move(to, report)
    except Interrupted:
        assert tree.tree is None
        return True
    return False


def test_an_interrupted_first_build_is_not_done_twice(repo: Repo, folder: Path) -> None:
    for number in range(600):
        repo.write(f"many/{number}.py", f"{number}\n")
    repo.commit()
    with private(folder, repo) as tree:
        interrupt(tree, tree_of(repo), 2)
        with pytest.raises(TreeUnknown):
            tree.check()
        assert not tree.holds(tree_of(repo))
    with private(folder, repo) as tree:
        assert tree.tree is None
        moved = tree.move(tree_of(repo))
        assert moved.written == 606 - 512
        assert len(moved.added) == 606
        assert on_disk(tree.root) == archived(repo, "HEAD")


def test_what_an_interrupted_move_wrote_is_named_by_the_next(repo: Repo, folder: Path) -> None:
    """Servers were not told of it, so it counts as changed though it is back where it was."""
    with private(folder, repo) as tree:
        tree.move(tree_of(repo, "one"))
        interrupt(tree, tree_of(repo))
        moved = tree.move(tree_of(repo, "one"))
        assert moved.modified == paths("pkg/changed.py", "pkg/gone/old.py")
        assert on_disk(tree.root) == archived(repo, "one")


def test_a_tree_that_git_has_dropped_can_be_left(repo: Repo, folder: Path) -> None:
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
    repo.git("reset", "-q", "--hard", "one")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    with private(folder, repo) as tree:
        moved = tree.move(tree_of(repo))
        assert moved.modified == paths("pkg/changed.py")
        assert on_disk(tree.root) == archived(repo, "HEAD")
