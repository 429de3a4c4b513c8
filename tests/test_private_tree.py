"""The private tree holds what git says a tree holds, by the least work, and nothing leaves it."""

from __future__ import annotations

import atexit
import codecs
import os
import resource
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitrepo import Repo
from nibd.repair.private_tree import (
    LeftOut,
    Limits,
    Moved,
    NoRoom,
    NotWritable,
    Placement,
    PlacementKind,
    PrivateTree,
    PrivateTreeError,
    TreeGone,
    TreeInUse,
    TreeUnknown,
)
from nibd.repair.private_tree.names import is_safe, stays_inside
from nibd.repair.private_tree.tree import BATCH
from nibd.repair.progress import Interrupted, Progress
from nibd.stores.types import EMPTY_TREE, RepoPath, TreeId
from private_trees import Content, archived, make_tree, on_disk, paths, private, times, tree_of


@cache
def template() -> Path:
    """The repository that each test begins with a copy of, made once."""
    made = Repo(Path(tempfile.mkdtemp(prefix="nibd-")))
    atexit.register(shutil.rmtree, made.path)
    made.write("kept.py", "kept = 1\n")
    made.write("pkg/changed.py", "a = 1\n")
    made.write("pkg/gone/old.py", "b = 1\n")
    made.write("run.sh", "#!/bin/sh\n", executable=True)
    made.write(b"odd \xff\n name.txt", b"\x00\xff")
    made.symlink("pkg/link.py", "../kept.py")
    made.commit("one")
    made.git("tag", "one")
    made.write("pkg/changed.py", "a = 2\n")
    made.remove("pkg/gone/old.py")
    made.write("pkg/new/added.py", "c = 1\n")
    made.commit("two")
    return made.path


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Two commits; `one` is a tag."""
    shutil.copytree(template(), tmp_path / "repo", symlinks=True)
    made = Repo(tmp_path / "repo")
    made.seconds += 3600
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "tree"


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


Files = dict[bytes, Content]
NAMES = [b"a", b"A", b"a/b", b"a/b/c", b"a/d", b"b", b"b/x.py", b"b/\xff", b"b/n\nl", b"c/d/e/f.go"]
LINKS = {b"b": True, b"../a": True, b"/etc": False, b"../../x": False, b"a/../b": False, b"c/d": True}


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
    left_out = [path for path, target in links.items() if not stays_inside(path, target)]
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


class TestHostileTrees:
    """Nothing is written outside, whatever a tree says."""

    def test_a_symlink_becomes_a_folder(self, repo: Repo, folder: Path, tmp_path: Path) -> None:
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

    def test_a_folder_that_someone_made_a_symlink(self, repo: Repo, folder: Path, tmp_path: Path) -> None:
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
    def test_names(self, path: bytes, safe: bool) -> None:
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
    def test_links(self, link: bytes, target: bytes, inside: bool) -> None:
        assert stays_inside(RepoPath(link), target) is inside

    def test_no_link_that_is_made_leads_out(self, repo: Repo, folder: Path) -> None:
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

    def test_names_that_cannot_be_made_are_counted(self, repo: Repo, folder: Path) -> None:
        deep = b"/".join([b"d"] * 200)
        made = make_tree(repo, {b"n" * 300: ("file", b""), deep: ("file", b""), b"ok": ("file", b"")})
        with private(folder, repo) as tree:
            assert tree.move(made).skipped == {LeftOut.NAME: 2}
            assert on_disk(tree.root) == {b"ok": ("file", b"")}
            assert len(tree.check()) == 0
            tree.move(make_tree(repo, {}))
            assert on_disk(tree.root) == {}

    def test_git_folders_are_not_made(self, repo: Repo, folder: Path) -> None:
        names = (b".git", b".GIT/hooks/pre-commit", b"sub/.Git/config", b"..", b".")
        made = make_tree(repo, dict.fromkeys(names, ("program", b"#!/bin/sh\n")))
        with private(folder, repo) as tree:
            tree.move(made)
            assert on_disk(tree.root) == {}
            assert {path.name for path in folder.iterdir()} >= {"work", "aside", "state.db"}


def test_large_files_are_left_out_unless_they_are_source(repo: Repo, folder: Path) -> None:
    repo.write("data.json", "x" * 100)
    repo.write("code.py", "x" * 100)
    repo.write("compile_commands.json", "x" * 100)
    repo.write("huge.py", "x" * 1000)
    repo.commit()
    with private(folder, repo, Limits(max_source_bytes=500, max_other_bytes=50)) as tree:
        assert tree.move(tree_of(repo)).skipped == {LeftOut.TOO_LARGE: 2}
        assert {b"data.json", b"huge.py"} & on_disk(tree.root).keys() == set()
        assert {b"code.py", b"compile_commands.json"} <= on_disk(tree.root).keys()
        repo.write("data.json", "x")
        repo.write("code.py", "x" * 600)
        repo.commit()
        moved = tree.move(tree_of(repo))
        assert (moved.added, moved.deleted) == (paths("data.json"), paths("code.py"))


def test_sources_are_written_as_units_read_them(repo: Repo, folder: Path) -> None:
    repo.write("latin.py", 'é = "¢"\n'.encode("latin-1"))
    repo.write("marked.py", codecs.BOM_UTF8 + 'é = "¢"\n'.encode())
    repo.write("wide.ts", codecs.BOM_UTF16_LE + 'é = "¢"\n'.encode("utf-16-le"))
    repo.write("latin.txt", 'é = "¢"\n'.encode("latin-1"))
    repo.write("binary.py", b"\0\xe9")
    repo.commit()
    wanted = archived(repo, "HEAD")
    wanted |= {path: ("file", 'é = "¢"\n'.encode()) for path in (b"latin.py", b"marked.py", b"wide.ts")}
    with private(folder, repo) as tree:
        tree.move(tree_of(repo))
        assert on_disk(tree.root) == wanted
        assert len(tree.check()) == 0
        blob = repo.git_bytes("cat-file", "blob", "HEAD:latin.py")
        (tree.root / "latin.py").write_bytes(blob)
        (tree.root / "wide.ts").write_bytes(b"other")
        assert tree.check().modified == paths("latin.py", "wide.ts")
        assert on_disk(tree.root) == wanted


def test_what_was_written_in_another_form_is_written_anew(
    repo: Repo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("latin.py", b"# \xe9\n")
    repo.commit()
    with monkeypatch.context() as older:
        older.setattr("nibd.repair.private_tree.writing.as_read", lambda path, content: content)
        older.setattr("nibd.repair.private_tree.tree.FORM", 1)
        with private(folder, repo) as tree:
            tree.move(tree_of(repo))
            assert on_disk(tree.root)[b"latin.py"] == ("file", b"# \xe9\n")
    with private(folder, repo) as tree:
        assert tree.tree is None
        assert tree.move(tree_of(repo)).written == 1
        assert on_disk(tree.root)[b"latin.py"] == ("file", "# é\n".encode())


def test_a_missing_object_is_looked_for_at_each_move(repo: Repo, folder: Path) -> None:
    blob = repo.blob("kept.py")
    loose = repo.path / ".git/objects" / blob[:2] / blob[2:]
    data = loose.read_bytes()
    loose.unlink()
    with private(folder, repo) as tree:
        assert tree.move(tree_of(repo, "one")).skipped == {LeftOut.MISSING_OBJECT: 1}
        assert not (tree.root / "kept.py").exists()
        loose.write_bytes(data)
        moved = tree.move(tree_of(repo))
        assert b"kept.py" in moved.added
        assert on_disk(tree.root) == archived(repo, "HEAD")


class TestCheck:
    def test_what_was_edited_deleted_or_added_is_healed(self, repo: Repo, folder: Path) -> None:
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

    def test_a_file_and_a_folder_that_took_each_others_place(self, repo: Repo, folder: Path) -> None:
        with private(folder, repo) as tree:
            tree.move(tree_of(repo))
            (tree.root / "kept.py").unlink()
            (tree.root / "kept.py/inner").mkdir(parents=True)
            (tree.root / "pkg").rename(folder / "elsewhere")
            (tree.root / "pkg").write_text("")
            tree.check()
            assert on_disk(tree.root) == archived(repo, "HEAD")

    def test_what_servers_keep_in_scratch_folders_stays(self, repo: Repo, folder: Path) -> None:
        with private(folder, repo) as tree:
            tree.move(tree_of(repo))
            (tree.root / ".cache/clangd/index").mkdir(parents=True)
            (tree.root / ".cache/clangd/index/x.idx").write_text("")
            assert len(tree.check()) == 0
            assert (tree.root / ".cache/clangd/index/x.idx").exists()

    def test_a_deleted_folder_is_made_anew(self, repo: Repo, folder: Path) -> None:
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

    def test_a_damaged_record_is_made_anew(self, repo: Repo, folder: Path) -> None:
        with private(folder, repo) as tree:
            tree.move(tree_of(repo))
        (folder / "state.db").write_bytes(b"not a database" * 1000)
        with private(folder, repo) as tree:
            assert tree.tree == EMPTY_TREE
            assert on_disk(tree.root) == {}
            tree.move(tree_of(repo))
            assert on_disk(tree.root) == archived(repo, "HEAD")

    def test_after_another_boot_contents_are_compared(
        self, repo: Repo, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


class TestTrouble:
    def test_no_permission(self, repo: Repo, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    def test_no_room(self, repo: Repo, folder: Path) -> None:
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

    def test_a_folder_that_cannot_be_made(self, repo: Repo, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(PrivateTreeError), private(tmp_path / "file" / "tree", repo):
            pass


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


class TestPlacements:
    LINK = RepoPath(b"node_modules/left-pad")
    FILE = RepoPath(b"compile_commands.json")

    def test_they_are_made_changed_and_removed(self, repo: Repo, folder: Path) -> None:
        with private(folder, repo) as tree:
            tree.move(tree_of(repo))
            link = Placement(PlacementKind.LINK, b"/elsewhere/left-pad")
            wanted = {
                self.LINK: link,
                self.FILE: Placement(PlacementKind.FILE, b"[]"),
                RepoPath(b"build/deep"): Placement(PlacementKind.FOLDER),
            }
            assert tree.place(wanted) == ()
            found = on_disk(tree.root)
            assert found[self.LINK] == ("link", b"/elsewhere/left-pad")
            assert found[self.FILE] == ("file", b"[]")
            assert found[b"build/deep"] == ("folder", b"")
            before = times(tree.root)
            tree.place(wanted)
            assert len(tree.check()) == 0
            assert times(tree.root) == before
            (tree.root / "compile_commands.json").write_text("other")
            tree.check()
            assert on_disk(tree.root) == found
            tree.place({self.LINK: link})
            assert on_disk(tree.root).keys() - archived(repo, "HEAD").keys() == {b"node_modules", self.LINK}
        with private(folder, repo) as tree:
            tree.place({})
            assert on_disk(tree.root) == archived(repo, "HEAD")

    def test_the_tree_comes_first(self, repo: Repo, folder: Path) -> None:
        with private(folder, repo) as tree:
            tree.move(tree_of(repo))
            wanted = {
                self.LINK: Placement(PlacementKind.LINK, b"/elsewhere"),
                self.FILE: Placement(PlacementKind.FILE, b"[]"),
            }
            tree.place(wanted)
            repo.write("compile_commands.json", "tracked")
            repo.write("node_modules/left-pad/index.js", "tracked")
            repo.commit()
            tree.move(tree_of(repo))
            assert on_disk(tree.root) == archived(repo, "HEAD")
            assert tree.place(wanted) == (self.FILE, self.LINK)
            assert on_disk(tree.root) == archived(repo, "HEAD")
            repo.git("reset", "-q", "--hard", "HEAD~1")
            tree.move(tree_of(repo))
            assert tree.place(wanted) == ()

    def test_none_leads_out_by_its_name(self, repo: Repo, folder: Path) -> None:
        with private(folder, repo) as tree:
            path = RepoPath(b"../outside")
            assert tree.place({path: Placement(PlacementKind.FILE, b"")}) == (path,)
            assert not (folder / "outside").exists()
