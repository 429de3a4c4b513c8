"""What a private tree must look like, by git's own word, and what it does look like."""

from __future__ import annotations

import atexit
import io
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pygit2
import pytest

from gitrepo import Repo
from nibd.repair.git import open_source
from nibd.repair.private_tree import Limits, PrivateTree
from nibd.stores.types import RepoPath, TreeId

Content = tuple[str, bytes]
"""`file`, `program`, `link` or `folder`, and bytes."""
_MODES = {"file": b"100644", "program": b"100755", "link": b"120000", "folder": b"160000"}


@contextmanager
def private(folder: Path, repo: Repo, limits: Limits | None = None) -> Iterator[PrivateTree]:
    source = open_source(repo.path)
    try:
        with PrivateTree.open(folder, source, limits=limits) as tree:
            yield tree
    finally:
        source.close()


def tree_of(repo: Repo, revision: str = "HEAD") -> TreeId:
    return TreeId(repo.tree(revision))


def paths(*names: str | bytes) -> tuple[RepoPath, ...]:
    return tuple(RepoPath(name.encode() if isinstance(name, str) else name) for name in names)


def archived(repo: Repo, tree: str, without: Iterable[bytes] = ()) -> dict[bytes, Content]:
    """What `git archive` puts into a tree's archive, but for paths that are left out."""
    data = repo.git_bytes("archive", "--format=tar", tree)
    found: dict[bytes, Content] = {}
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            name = member.name.rstrip("/").encode("utf-8", "surrogateescape")
            if member.issym():
                found[name] = "link", member.linkname.encode("utf-8", "surrogateescape")
            elif member.isdir():
                found[name] = "folder", b""
            else:
                file = archive.extractfile(member)
                assert file is not None
                found[name] = ("program" if member.mode & 0o100 else "file"), file.read()
    for path in without:
        del found[path]
    emptied = {path for path, (kind, _) in found.items() if kind == "folder"} - set(_submodules(repo, tree))
    for folder in sorted(emptied, reverse=True):
        if not any(path.startswith(folder + b"/") for path in found):
            del found[folder]
    return found


def on_disk(root: Path) -> dict[bytes, Content]:
    """What is below a folder; nothing is followed."""
    found: dict[bytes, Content] = {}
    for path in sorted(root.rglob("*")):
        name = bytes(path.relative_to(root))
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[name] = "link", bytes(path.readlink())
        elif stat.S_ISDIR(status.st_mode):
            found[name] = "folder", b""
        else:
            found[name] = ("program" if status.st_mode & 0o100 else "file"), path.read_bytes()
    return found


def times(root: Path) -> dict[bytes, int]:
    """The modification time of every file and symlink."""
    return {
        bytes(path.relative_to(root)): path.lstat().st_mtime_ns
        for path in root.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def _submodules(repo: Repo, tree: str) -> Iterator[bytes]:
    for line in repo.git_bytes("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]:
        head, path = line.split(b"\t", 1)
        if head.startswith(b"160000"):
            yield path


def make_tree(repo: Repo, files: Mapping[bytes, Content]) -> TreeId:
    """Write a tree straight into the object database: names that no work tree could hold too.

    Kinds as in `Content`; a `folder` is a submodule.
    """
    return _make_tree(pygit2.Repository(str(repo.path)), files)


def _make_tree(objects: Any, files: Mapping[bytes, Content]) -> TreeId:
    nodes: dict[bytes, bytes] = {}
    below: dict[bytes, dict[bytes, Content]] = {}
    for path, (kind, data) in files.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = kind, data
        else:
            oid = bytes(range(20)) if kind == "folder" else _write(objects, pygit2.GIT_OBJECT_BLOB, data)
            nodes[name] = b"%s %s\0%s" % (_MODES[kind], name, oid)
    for name, inner in below.items():
        nodes[name] = b"40000 %s\0%s" % (name, bytes.fromhex(_make_tree(objects, inner)))
    ordered = sorted(nodes, key=lambda name: name + b"/" if name in below else name)
    made = _write(objects, pygit2.GIT_OBJECT_TREE, b"".join(nodes[name] for name in ordered))
    return TreeId(made.hex())


def _write(objects: Any, kind: int, data: bytes) -> bytes:
    oid: str = str(objects.write(kind, data))
    return bytes.fromhex(oid)


@cache
def template() -> Path:
    """The repository that tests begin with a copy of, made once."""
    made = Repo(Path(tempfile.mkdtemp(prefix="nibd-")))
    atexit.register(shutil.rmtree, made.path)
    made.write("kept.py", "kept = 1\n")
    made.write("pkg/changed.py", "a = 1\n")
    made.write("pkg/gone/old.py", "b = 1\n")
    made.write("run.sh", "#!/bin/sh\n", executable=True)
    made.write("odd é\\\n name.txt", b"\x00\xff")
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
    """A copy of a small repository with two commits; `one` is a tag. A module names it its own."""
    shutil.copytree(template(), tmp_path / "repo", symlinks=True)
    made = Repo(tmp_path / "repo")
    made.seconds += 3600
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a private tree may lie."""
    return tmp_path / "cache" / "tree"
