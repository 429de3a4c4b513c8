"""Which files of a tree of Git the private tree holds, and in which form."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

import private_trees
from gitrepo import Repo
from nibd.repair.private_tree import (
    LeftOut,
    Limits,
)
from private_trees import archived, on_disk, paths, private, tree_of

repo, folder = private_trees.repo, private_trees.folder


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
