"""Repositories as they are: shared, linked, partial, damaged, rewritten, moved under an open source."""

from __future__ import annotations

import os
import signal
import zlib
from pathlib import Path

import psutil
import pytest

from gitrepo import Repo, run_git
from gitsources import Open, ls_tree, open_it
from nibd.repair.git import Absence, GitError, Head, MissingObject, NotARepository, TreeEntry
from nibd.stores.types import EMPTY_TREE, BlobId, CommitId, TreeId

__all__ = ["open_it"]  # the fixture


def _loose(repo: Repo, oid: str) -> Path:
    return repo.path / ".git" / "objects" / oid[:2] / oid[2:]


def _replace_loose(repo: Repo, oid: str, data: bytes) -> None:
    loose = _loose(repo, oid)
    loose.chmod(0o644)
    loose.write_bytes(data)


def _read_everything(open_it: Open, checkout: Repo) -> Head:
    """Read HEAD's tree with every blob, compare it with git's; what HEAD is."""
    source = open_it(checkout.path)
    head = source.head()
    assert head.commit is not None
    tree = source.tree_of(head.commit)
    assert tree == checkout.tree()
    entries = list(source.list_tree(tree))
    assert entries == ls_tree(checkout, tree)
    for blob, data in source.read_many(entry.blob for entry in entries if entry.mode != 0o160000):
        assert data == checkout.git_bytes("cat-file", "blob", blob)
        assert source.size(blob) == len(data)
    return head


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "a = 1\n")
    repo.write("d/b.py", "b = 2\n")
    repo.commit("first")
    repo.write("a.py", "a = 2\n")
    repo.commit("second")
    return repo


def test_linked_work_trees_each_have_a_head(repo: Repo, open_it: Open, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "-b", "topic")
    linked.write("c.py", "c")
    topic = linked.commit()
    detached = repo.worktree(tmp_path / "detached", "--detach", "main~1")
    assert _read_everything(open_it, repo) == Head(CommitId(repo.head()), "main")
    assert _read_everything(open_it, linked) == Head(CommitId(topic), "topic")
    assert _read_everything(open_it, detached) == Head(CommitId(detached.head()), None)
    source = open_it(linked.path)
    assert source.common_dir == open_it(repo.path).common_dir == repo.path / ".git"
    assert source.git_dir == repo.path / ".git" / "worktrees" / "linked"


def test_clones_that_borrow_objects_are_read(repo: Repo, open_it: Open, tmp_path: Path) -> None:
    repo.git("repack", "-adq")
    borrower = Repo.clone(repo, tmp_path / "borrower", "--shared")
    borrower.write("more", "x")
    borrower.commit()
    assert not list((borrower.path / ".git" / "objects" / "pack").iterdir())
    _read_everything(open_it, borrower)


def test_a_separate_git_dir_is_read(open_it: Open, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    repo = Repo(tmp_path / "work", "--separate-git-dir", tmp_path / "kept" / "there.git")
    repo.write("a", "1")
    repo.commit()
    _read_everything(open_it, repo)
    assert open_it(repo.path).git_dir == tmp_path / "kept" / "there.git"


def test_a_submodule_is_an_entry_and_a_repository_of_its_own(
    repo: Repo, open_it: Open, tmp_path: Path
) -> None:
    outer = Repo(tmp_path / "outer")
    outer.git("submodule", "add", "-q", repo.path, "mods/inner")
    outer.commit()
    _read_everything(open_it, outer)
    source = open_it(outer.path)
    entry = next(each for each in source.list_tree(TreeId(outer.tree())) if each.mode == 0o160000)
    assert (entry.path, entry.blob) == (b"mods/inner", repo.head())
    assert source.read(entry.blob) is None
    inner = Repo(outer.path / "mods" / "inner")
    _read_everything(open_it, inner)
    assert open_it(inner.path).git_dir == outer.path / ".git" / "modules" / "mods" / "inner"
    assert open_it(inner.path).work_tree == inner.path


def test_a_sparse_checkout_changes_nothing(repo: Repo, open_it: Open) -> None:
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "nowhere")
    assert not repo.file("d/b.py").exists()
    _read_everything(open_it, repo)


def test_a_split_index_changes_nothing(repo: Repo, open_it: Open) -> None:
    repo.git("update-index", "--split-index")
    assert list((repo.path / ".git").glob("sharedindex.*"))
    _read_everything(open_it, repo)


def test_a_shallow_clone_knows_its_edge(repo: Repo, open_it: Open, tmp_path: Path) -> None:
    shallow = Repo.clone(f"file://{repo.path}", tmp_path / "shallow", "--depth=1")
    edge = CommitId(shallow.head())
    shallow.write("new", "x")
    ahead = CommitId(shallow.commit())
    source = open_it(shallow.path)
    _read_everything(open_it, shallow)
    assert (source.is_shallow, open_it(repo.path).is_shallow) == (True, False)
    assert source.distance(edge, ahead) == 1
    assert source.distance(CommitId(repo.git("rev-parse", "HEAD~1")), ahead) is None


def test_promised_objects_are_never_fetched(repo: Repo, open_it: Open, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    partial = Repo.clone(f"file://{repo.path}", tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    before = sorted((partial.path / ".git" / "objects").rglob("*"))
    source = open_it(partial.path)
    assert (source.is_partial, open_it(repo.path).is_partial) == (True, False)
    entries = list(source.list_tree(TreeId(repo.tree())))
    assert entries == ls_tree(repo, "HEAD")
    blobs = [entry.blob for entry in entries]
    assert list(source.read_many(blobs)) == [(blob, None) for blob in blobs]
    assert source.why_absent(blobs[0]) is Absence.PROMISED
    assert source.size(blobs[0]) is None
    assert sorted((partial.path / ".git" / "objects").rglob("*")) == before
    partial.git("checkout", "-q", "main")
    assert source.read(blobs[0]) == repo.git_bytes("cat-file", "blob", blobs[0])


def test_a_promised_tree_is_an_error(repo: Repo, open_it: Open, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    partial = Repo.clone(f"file://{repo.path}", tmp_path / "partial", "--filter=tree:0", "--no-checkout")
    with pytest.raises(MissingObject) as caught:
        list(open_it(partial.path).list_tree(TreeId(repo.tree())))
    assert caught.value.absence is Absence.PROMISED


def test_replace_refs_are_ignored(repo: Repo, open_it: Open) -> None:
    first, second = CommitId(repo.git("rev-parse", "HEAD~1")), CommitId(repo.head())
    tree = repo.tree()
    old_blob, blob = repo.blob("a.py", "HEAD~1"), BlobId(repo.blob("a.py"))
    repo.git("replace", second, first)
    repo.git("replace", blob, old_blob)
    source = open_it(repo.path)
    assert source.tree_of(second) == tree
    assert source.read(blob) == b"a = 2\n"
    assert source.distance(first, second) == 1
    assert source.resolve("HEAD") == second


def test_missing_and_corrupt_objects_are_told_apart(repo: Repo, open_it: Open) -> None:
    missing, corrupt, other = BlobId(repo.blob("a.py")), BlobId(repo.blob("d/b.py")), BlobId(repo.tree())
    swapped = BlobId(repo.git("hash-object", "-w", "--stdin", data=b"right"))
    empty = BlobId(repo.git("hash-object", "-w", "--stdin", data=b"cut off by a crash"))
    good = BlobId(repo.git("hash-object", "-w", "--stdin", data=b"good"))
    _loose(repo, missing).unlink()
    _replace_loose(repo, corrupt, b"no zlib stream")
    _replace_loose(repo, swapped, zlib.compress(b"blob 5\0wrong"))
    _replace_loose(repo, empty, b"")
    source = open_it(repo.path)
    expected = {
        missing: Absence.MISSING,
        corrupt: Absence.CORRUPT,
        swapped: Absence.CORRUPT,
        empty: Absence.CORRUPT,
        other: Absence.OTHER_TYPE,
        good: None,
    }
    assert {blob: source.why_absent(blob) for blob in expected} == expected
    assert [data for _, data in source.read_many(expected)] == [None] * 5 + [b"good"]
    assert source.read(good) == b"good"


def test_a_missing_commit_is_an_error(repo: Repo, open_it: Open) -> None:
    commit = CommitId(repo.head())
    _loose(repo, commit).unlink()
    source = open_it(repo.path)
    assert source.head().commit == commit
    with pytest.raises(MissingObject):
        source.tree_of(commit)


def test_a_size_is_found_without_reading_the_whole(repo: Repo, open_it: Open) -> None:
    data = os.urandom(3_000_000)
    blob = BlobId(repo.git("hash-object", "-w", "--stdin", data=data))
    packed = BlobId(repo.blob("a.py"))
    whole = _loose(repo, blob).read_bytes()
    _replace_loose(repo, blob, whole[:1000])
    source = open_it(repo.path)
    assert source.size(blob) == len(data)
    assert source.read(blob) is None
    _loose(repo, blob).unlink()
    repo.git("repack", "-adq")
    assert source.size(packed) == 6
    assert source.size(blob) is None


def test_history_may_be_rewritten_and_collected_under_an_open_source(repo: Repo, open_it: Open) -> None:
    source = open_it(repo.path)
    for round_number in range(3):
        commit = source.head().commit
        assert commit is not None
        old = source.tree_of(commit)
        repo.write("a.py", f"a = {round_number} * 100\n")
        repo.commit("rewritten", "--amend")
        repo.git("reflog", "expire", "--expire=all", "--all")
        repo.git("gc", "-q", "--prune=now")
        head = source.head()
        assert head == Head(CommitId(repo.head()), "main")
        assert head.commit is not None
        new = source.tree_of(head.commit)
        assert list(source.list_tree(new)) == ls_tree(repo, new)
        blob = BlobId(repo.blob("a.py"))
        assert source.read(blob) == f"a = {round_number} * 100\n".encode()
        assert old != new
    assert source.read(BlobId("6" * 40)) is None


def test_objects_that_come_later_are_found(repo: Repo, open_it: Open) -> None:
    source = open_it(repo.path)
    list(source.list_tree(TreeId(repo.tree())))
    repo.write("late", "late\n")
    repo.commit()
    repo.git("gc", "-q")
    assert source.read(BlobId(repo.blob("late"))) == b"late\n"


@pytest.mark.parametrize("moved", [True, False])
def test_nothing_is_called_missing_once_the_repository_is_gone(
    repo: Repo, open_it: Open, tmp_path: Path, moved: bool
) -> None:
    blobs = [entry.blob for entry in ls_tree(repo, "HEAD")]
    tree, commit = TreeId(repo.tree()), CommitId(repo.head())
    source = open_it(repo.path)
    repo.path.rename(tmp_path / "elsewhere")
    if not moved:
        run_git("init", "-q", "--bare", tmp_path / "unrelated")
        repo.path.mkdir()
    with pytest.raises(NotARepository):
        source.head()
    with pytest.raises(NotARepository):
        source.resolve("HEAD")
    for ask in (
        lambda: source.read(blobs[0]),
        lambda: source.size(blobs[0]),
        lambda: dict(source.read_many(blobs)),
        lambda: source.tree_of(commit),
        lambda: source.changes(EMPTY_TREE, tree),
    ):
        with pytest.raises(NotARepository):
            ask()


def test_a_removed_linked_work_tree_is_gone(repo: Repo, open_it: Open, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "-b", "topic")
    source = open_it(linked.path)
    repo.git("worktree", "remove", linked.path)
    with pytest.raises(NotARepository):
        source.head()


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\0" * 41])
def test_a_damaged_branch_is_an_error_and_not_unborn(repo: Repo, open_it: Open, content: bytes) -> None:
    (repo.path / ".git" / "refs" / "heads" / "main").write_bytes(content)
    source = open_it(repo.path)
    with pytest.raises(GitError):
        source.head()


def test_a_hooks_environment_shows_no_other_repository(
    repo: Repo, open_it: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repo(tmp_path / "other")
    other.commit()
    commit = CommitId(repo.head())
    for name, value in {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_COMMON_DIR": str(other.path / ".git"),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git" / "objects"),
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_NAMESPACE": "other",
        "GIT_PREFIX": "d/",
    }.items():
        monkeypatch.setenv(name, value)
    source = open_it(repo.path)
    assert source.head() == Head(commit, "main")
    assert source.resolve("main") == commit
    assert [entry.path for entry in source.list_tree(source.tree_of(commit))] == [b"a.py", b"d/b.py"]


def test_a_checkout_in_an_oddly_named_folder_is_read(open_it: Open, tmp_path: Path) -> None:
    odd = Repo(Path(os.fsdecode(os.fsencode(tmp_path) + b"/o d\n\xff'\"")))
    odd.write("a", "1")
    odd.commit()
    _read_everything(open_it, odd)


def test_git_children_that_die_are_replaced_and_closed_ones_end(repo: Repo, open_it: Open) -> None:
    known = set(psutil.Process().children())
    source = open_it(repo.path)
    blob, missing = BlobId(repo.blob("a.py")), BlobId("7" * 40)

    def children() -> set[psutil.Process]:
        return set(psutil.Process().children()) - known

    for _ in range(2):
        assert (source.read(blob), source.read(missing)) == (b"a = 2\n", None)
        assert (source.size(blob), source.size(missing)) == (6, None)
        assert len(children()) == 2
        for child in children():
            child.send_signal(signal.SIGKILL)
            child.wait()
    assert source.read(missing) is None
    source.close()
    assert children() == set()


def test_entries_are_values(repo: Repo, open_it: Open) -> None:
    entry = next(open_it(repo.path).list_tree(TreeId(repo.tree())))
    assert isinstance(entry, TreeEntry)
    with pytest.raises(AttributeError):
        entry.mode = 0  # type: ignore[misc]
