"""Both ways of reading Git keep one contract, with git itself as the oracle."""

from __future__ import annotations

import hashlib
import itertools
import random
import sys
import zlib
from pathlib import Path

import pytest

from gitrepo import Repo
from gitsources import EMPTY_GIT_TREE, Open, Raw, diff_raw, ls_tree, open_it
from nibd.repair.git import Absence, ChangeSet, Head, MissingObject, TreeEntry, UnknownRevision
from nibd.stores.types import EMPTY_TREE, BlobId, CommitId, RepoPath, TreeId

__all__ = ["open_it"]  # the fixture

ODD_NAMES: list[bytes] = [
    b"plain.py",
    b"with space.py",
    b"with\nnewline",
    b"tab\there",
    b'quote"d',
    b"back\\slash",
    b"\xff\xfe.py",
    "ünïcode.py".encode(),
    b"-dash",
    b"dir/sub/deep.py",
    b"dir.py",
    b"dir-x/a",
    b"dir0",
]


def _raw(changes: ChangeSet) -> Raw:
    """A change set in the words of `git diff-tree`."""
    zero = "0" * 40
    found: Raw = {("A", each.path, 0, each.mode, zero, each.blob) for each in changes.added}
    found |= {("D", each.path, each.mode, 0, each.blob, zero) for each in changes.deleted}
    return found | {
        ("M", old.path, old.mode, new.mode, old.blob, new.blob) for old, new in changes.modified
    }


def _tree(repo: Repo, revision: str = "HEAD") -> TreeId:
    return TreeId(repo.tree(revision))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def test_lists_what_ls_tree_lists(repo: Repo, open_it: Open) -> None:
    other = Repo(repo.path.parent / "other")
    other.commit("in the submodule")
    for number, name in enumerate(ODD_NAMES):
        repo.write(name, f"{number}\n", executable=number == 3)
    repo.symlink("link", b"nowhere\xff")
    repo.git("submodule", "add", "-q", other.path, "mods/sub")
    repo.commit()
    listed = list(open_it(repo.path).list_tree(_tree(repo)))
    assert listed == ls_tree(repo, repo.tree())
    assert {each.mode for each in listed} == {0o100644, 0o100755, 0o120000, 0o160000}
    assert [each.path for each in listed] == sorted(each.path for each in listed)


def test_changes_are_those_of_diff_tree(repo: Repo, open_it: Open) -> None:
    names = [b"a", b"b.py", b"d/a", b"d/e/f", b"d.c", b"D/a", b"x y", b"\xff", b"d/e/g/h"]
    chance = random.Random(7)
    commits = [repo.commit("nothing")]
    for step in range(25):
        for name in chance.sample(names, 3):
            target = repo.file(name)
            if target.is_dir():
                repo.git("rm", "-rqf", "--ignore-unmatch", name)
            elif target.exists() or target.is_symlink():
                what = chance.randrange(4)
                if what == 0:
                    repo.remove(name)
                elif what == 1:
                    repo.symlink(name, "target")
                else:
                    repo.write(name, str(step), executable=what == 2)
            elif not any(parent.is_file() for parent in target.parents):
                repo.write(name, str(chance.randrange(3)))
        commits.append(repo.commit(str(step)))
    source = open_it(repo.path)
    trees = [_tree(repo, commit) for commit in commits]
    kinds = set()
    for old, new in [*itertools.pairwise(trees), (trees[0], trees[-1]), (trees[-1], trees[3])]:
        changes = source.changes(old, new, renames=False)
        assert _raw(changes) == diff_raw(repo, old, new)
        kinds |= {kind for kind, *_ in _raw(changes)}
    assert kinds == {"A", "D", "M"}


def test_a_file_may_become_a_folder_and_back(repo: Repo, open_it: Open) -> None:
    repo.write("x", "1")
    file = repo.commit()
    repo.remove("x")
    repo.write("x/y", "1")
    folder = repo.commit()
    source = open_it(repo.path)
    for old, new in ((file, folder), (folder, file)):
        changes = source.changes(_tree(repo, old), _tree(repo, new), renames=False)
        assert _raw(changes) == diff_raw(repo, old, new)
        assert (len(changes.added), len(changes.deleted)) == (1, 1)


def test_a_mode_change_is_a_modification(repo: Repo, open_it: Open) -> None:
    repo.write("a", "same")
    old = repo.commit()
    repo.write("a", "same", executable=True)
    new = repo.commit()
    [(was, now)] = open_it(repo.path).changes(_tree(repo, old), _tree(repo, new)).modified
    assert (was.mode, now.mode, was.blob) == (0o100644, 0o100755, now.blob)


@pytest.mark.parametrize("empty", [EMPTY_TREE, EMPTY_GIT_TREE])
def test_everything_is_added_to_the_empty_tree_and_deleted_from_it(
    repo: Repo, open_it: Open, empty: str
) -> None:
    repo.write("a", "1")
    repo.write("d/b", "2")
    repo.commit()
    source = open_it(repo.path)
    everything = tuple(ls_tree(repo, "HEAD"))
    assert source.changes(TreeId(empty), _tree(repo)) == ChangeSet(added=everything)
    assert source.changes(_tree(repo), TreeId(empty)) == ChangeSet(deleted=everything)
    assert source.changes(TreeId(empty), EMPTY_TREE) == ChangeSet()
    assert list(source.list_tree(TreeId(empty))) == []


def test_finds_renames_of_equal_content(repo: Repo, open_it: Open) -> None:
    text = "".join(f"line {number}\n" for number in range(50))
    repo.write("pkg/Name.py", "case\n")
    repo.write("pkg/moved.py", "moved\n")
    repo.write("similar.py", text)
    repo.write("kept.py", "kept\n")
    repo.symlink("link", "kept\n")
    old = repo.commit()
    repo.move("pkg/Name.py", "pkg/name.py")
    repo.move("pkg/moved.py", "lib/moved.py")
    repo.remove("similar.py")
    repo.write("similar2.py", text + "one more\n")
    repo.write("copy.py", "kept\n")
    repo.file("link").unlink()
    repo.write("was_link", "kept\n")
    new = repo.commit()
    changes = open_it(repo.path).changes(_tree(repo, old), _tree(repo, new))
    assert [(was.path, now.path) for was, now in changes.renamed] == [
        (b"pkg/moved.py", b"lib/moved.py"),
        (b"pkg/Name.py", b"pkg/name.py"),
    ]
    assert [each.path for each in changes.deleted] == [b"link", b"similar.py"]
    assert [each.path for each in changes.added] == [b"copy.py", b"similar2.py", b"was_link"]


def test_equal_files_are_paired_by_name_then_in_order(repo: Repo, open_it: Open) -> None:
    for name in ("old/a.py", "old/b.py", "old/c.py"):
        repo.write(name, "same\n")
    old = repo.commit()
    for name, target in (("a", "x"), ("b", "y"), ("c", "a")):
        repo.move(f"old/{name}.py", f"new/{target}.py")
    new = repo.commit()
    changes = open_it(repo.path).changes(_tree(repo, old), _tree(repo, new))
    assert [(was.path, now.path) for was, now in changes.renamed] == [
        (b"old/a.py", b"new/a.py"),
        (b"old/b.py", b"new/x.py"),
        (b"old/c.py", b"new/y.py"),
    ]


def test_gives_the_entry_at_a_path(repo: Repo, open_it: Open) -> None:
    repo.write(b"d/\xff", "x")
    repo.commit()
    source = open_it(repo.path)
    tree = _tree(repo)
    assert source.entry(tree, RepoPath(b"d/\xff")) == ls_tree(repo, tree)[0]
    for absent in (b"d", b"d/", b"e", b"d/\xff/z", b"e/f", b"/d/\xff"):
        assert source.entry(tree, RepoPath(absent)) is None
    assert source.entry(EMPTY_TREE, RepoPath(b"d")) is None


def test_reads_blobs_in_the_order_asked(repo: Repo, open_it: Open) -> None:
    contents = {f"f{number}": b"\0\r\n\xff" * number for number in range(100)}
    for name, data in contents.items():
        repo.write(name, data)
    repo.commit()
    source = open_it(repo.path)
    missing, tree = BlobId("1" * 40), BlobId(_tree(repo))
    asked = [repo_entry.blob for repo_entry in ls_tree(repo, "HEAD")]
    asked = [missing, *asked[:40], tree, *asked[40:], missing, asked[0]]
    found = list(source.read_many(asked))
    assert [blob for blob, _ in found] == asked
    by_blob = {entry.blob: contents[entry.path.decode()] for entry in ls_tree(repo, "HEAD")}
    assert [data for _, data in found] == [by_blob.get(blob) for blob in asked]
    assert source.read(asked[1]) == by_blob[asked[1]]
    assert source.size(asked[5]) == len(by_blob[asked[5]])


def test_other_blobs_may_be_read_while_many_are(repo: Repo, open_it: Open) -> None:
    for number in range(70):
        repo.write(f"f{number}", str(number))
    repo.commit()
    source = open_it(repo.path)
    blobs = [entry.blob for entry in ls_tree(repo, "HEAD")]
    for blob, data in source.read_many(blobs):
        assert data is not None
        assert source.read(blobs[0]) == b"0"
        assert source.size(blob) == len(data)
    next(iter(source.read_many(blobs)))
    assert source.read(blobs[-1]) == repo.git_bytes("cat-file", "blob", blobs[-1])


def test_says_why_a_blob_is_absent(repo: Repo, open_it: Open) -> None:
    repo.write("a", "1")
    repo.commit()
    source = open_it(repo.path)
    assert source.why_absent(BlobId(repo.blob("a"))) is None
    assert source.why_absent(BlobId("2" * 40)) is Absence.MISSING
    assert source.why_absent(BlobId(_tree(repo))) is Absence.OTHER_TYPE
    for odd in ("", "HEAD", "2" * 64, "-p", "2" * 40 + "\n" + "3" * 40):
        assert source.why_absent(BlobId(odd)) is Absence.MISSING
        assert source.read(BlobId(odd)) is None
        assert source.size(BlobId(odd)) is None


def test_a_missing_tree_or_commit_is_an_error(repo: Repo, open_it: Open) -> None:
    repo.write("d/a", "1")
    commit = repo.commit()
    source = open_it(repo.path)
    with pytest.raises(MissingObject) as caught:
        source.tree_of(CommitId("3" * 40))
    assert caught.value.absence is Absence.MISSING
    with pytest.raises(MissingObject):
        source.tree_of(CommitId(_tree(repo)))
    with pytest.raises(MissingObject):
        source.changes(_tree(repo), TreeId("3" * 40))
    with pytest.raises(MissingObject):
        list(source.list_tree(TreeId(commit)))


def test_names_that_git_would_not_check_out_are_left_out(repo: Repo, open_it: Open) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", data=b"x")
    names = [b"..", b".git", b".GIT", b"a/b", b".", b"ok", b".gitx", b"..x"]
    data = b"".join(b"100664 " + name + b"\0" + bytes.fromhex(blob) for name in names)
    tree = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", data=data)
    listed = list(open_it(repo.path).list_tree(TreeId(tree)))
    assert [(entry.path, entry.mode) for entry in listed] == [
        (b"..x", 0o100644),
        (b".gitx", 0o100644),
        (b"ok", 0o100644),
    ]


def test_a_malformed_tree_is_corrupt(repo: Repo, open_it: Open) -> None:
    tree = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", data=b"100644 a\0short")
    with pytest.raises(MissingObject) as caught:
        list(open_it(repo.path).list_tree(TreeId(tree)))
    assert caught.value.absence is Absence.CORRUPT


def test_a_tree_deeper_than_the_interpreters_stack_is_listed(repo: Repo, open_it: Open) -> None:
    depth = sys.getrecursionlimit() + 100
    blob = repo.git("hash-object", "-w", "--stdin", data=b"x")
    kind, name, oid = b"100644", b"f", bytes.fromhex(blob)
    objects = []
    for _ in range(depth):
        data = kind + b" " + name + b"\0" + oid
        oid = hashlib.sha1(b"tree %d\0" % len(data) + data).digest()
        objects.append((oid.hex(), data))
        kind, name = b"40000", b"d"
    for tree, data in objects:
        loose = repo.path / ".git" / "objects" / tree[:2] / tree[2:]
        loose.parent.mkdir(exist_ok=True)
        loose.write_bytes(zlib.compress(b"tree %d\0" % len(data) + data))
    deep = TreeEntry(RepoPath(b"d/" * (depth - 1) + b"f"), 0o100644, BlobId(blob))
    source = open_it(repo.path)
    top = TreeId(objects[-1][0])
    assert list(source.list_tree(top)) == [deep]
    assert source.changes(EMPTY_TREE, top).added == (deep,)
    assert source.entry(top, deep.path) == deep


def test_head_names_commit_and_branch(repo: Repo, open_it: Open) -> None:
    source = open_it(repo.path)
    assert source.head() == Head(None, "main")
    first = CommitId(repo.commit())
    assert source.head() == Head(first, "main")
    repo.git("checkout", "-q", "-b", "topic/ä")
    second = CommitId(repo.commit())
    assert source.head() == Head(second, "topic/ä")
    repo.git("pack-refs", "--all", "--prune")
    assert source.head() == Head(second, "topic/ä")
    repo.git("checkout", "-q", "--detach", first)
    assert source.head() == Head(first, None)
    repo.git("checkout", "-q", "--orphan", "fresh")
    assert source.head() == Head(None, "fresh")
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/alias")
    assert source.head() == Head(first, "main")
    repo.git("update-ref", "refs/other/place", first)
    repo.git("symbolic-ref", "HEAD", "refs/other/place")
    assert source.head() == Head(first, "refs/other/place")
    repo.git("update-ref", b"refs/heads/odd\xff", first)
    repo.git("symbolic-ref", "HEAD", b"refs/heads/odd\xff")
    assert source.head() == Head(first, "odd\\xff")


def test_resolves_what_shows_a_commit(repo: Repo, open_it: Open) -> None:
    first = repo.commit()
    second = repo.commit()
    repo.git("tag", "-a", "-m", "x", "v1", first)
    repo.git("tag", "light", second)
    source = open_it(repo.path)
    for revision in ("HEAD", "main", "refs/heads/main", second, second[:12], "light", "HEAD^0"):
        assert source.resolve(revision) == second
    for revision in ("v1", "HEAD~1", "v1^{commit}", "main^"):
        assert source.resolve(revision) == first
    tree = _tree(repo)
    for revision in ("nope", "--all", "-q", "", "HEAD~9", tree, "HEAD:x", "main\0", "4" * 40, "\udcff"):
        with pytest.raises(UnknownRevision):
            source.resolve(revision)


def test_distance_counts_what_one_of_two_has(repo: Repo, open_it: Open) -> None:
    commits = [repo.commit(str(number)) for number in range(6)]
    repo.git("checkout", "-q", "-b", "side", commits[2])
    side = [repo.commit(f"side {number}") for number in range(3)]
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "main")
    merged = repo.head()
    commits = [*commits, *side, merged, repo.commit("after")]
    source = open_it(repo.path)
    for old in commits:
        for new in commits:
            count = int(repo.git("rev-list", "--count", f"{old}...{new}"))
            assert source.distance(CommitId(old), CommitId(new)) == count
    first, last = CommitId(commits[0]), CommitId(commits[-1])
    assert source.distance(first, last, limit=10) == 10
    assert source.distance(first, last, limit=9) is None


def test_distance_is_unknown_across_unrelated_or_absent_history(repo: Repo, open_it: Open) -> None:
    here = CommitId(repo.commit())
    repo.git("checkout", "-q", "--orphan", "other")
    orphan = CommitId(repo.commit("orphan"))
    source = open_it(repo.path)
    assert source.distance(here, orphan) is None
    assert source.distance(here, CommitId("5" * 40)) is None
    assert source.distance(CommitId("5" * 40), here) is None
