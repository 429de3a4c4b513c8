"""A repair, a first build, a rebuild and a collection, killed at every kind of step they take.

After each kill the snapshot that was published is still served with its own answers (or the new one
with its own), the same job run again publishes what a build from nothing gives, and nothing is left
on disk or in the stores that no snapshot needs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gitrepo import Repo
from nibd.daemon.reading import Reading
from nibd.daemon.views import RepositoryViews
from nibd.query import lexical
from nibd.stores.dense_rows import members
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import Level, View
from views import MAIN, Views

QUERIES = ("alpha", "beta gamma", "return", "kept", "delta alpha", "added")
STORES = {"catalog.db", "facts.db", "structure.db", "trigrams.db", "rows.db", "vectors.f32"}


@pytest.fixture
def tmp(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a folder: nothing here depends on a disk, and much is written."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as made:
        yield Path(made)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Two commits that differ by an added, a deleted, a changed and a renamed file."""
    made = Repo(tmp_path / "repo")
    made.write("kept.py", "def kept():\n    return 'kept'\n")
    made.write("changed.py", "def alpha():\n    return 'beta'\n\n\ndef gamma():\n    return alpha()\n")
    made.write("gone.go", "package gone\n\nfunc Gone() int { return 1 }\n")
    made.write("old/name.md", "# Kept\n\nThe text of a section.\n")
    made.commit("one")
    made.git("tag", "one")
    made.write("changed.py", "def alpha():\n    return 'delta'\n\n\ndef epsilon():\n    return alpha()\n")
    made.remove("gone.go")
    made.move("old/name.md", "new/name.md")
    made.write("added.rs", "pub fn added() -> u32 {\n    2\n}\n")
    made.commit("two")
    return made


def answers(reading: Reading) -> dict[str, Any]:
    """Everything that a reader can see of a snapshot."""
    files = list(reading.structure.files(reading.listing))
    generation = reading.lexical
    generation.check()
    seen: dict[str, Any] = {
        "units": sorted((f.path, f.skip, tuple(reading.structure.units(f, row))) for row, f in files),
        "hits": [
            lexical.search(generation, reading.facts, query, level, 10)
            for query in QUERIES
            for level in (None, *Level)
        ],
    }
    if reading.snapshot.views[View.DENSE].artifact:
        store, rows = reading.dense
        numbers = members(rows).tolist()
        texts = store.texts(numbers)
        seen["vectors"] = sorted((texts[number], store.vectors([number]).tobytes()) for number in numbers)
    return seen


def served(root: Path) -> tuple[str, dict[str, Any]] | None:
    """What a new daemon serves: the commit, and the answers."""
    views = RepositoryViews(RepositoryFolder(root / "repository"))
    try:
        with views.reading(MAIN, frozenset({View.STRUCTURAL, View.LEXICAL})) as reading:
            return (reading.publication.commit, answers(reading)) if reading else None
    finally:
        views.close()


def leaked(views: Views) -> list[str]:
    """Files that are no store and that no snapshot names."""
    live, _ = views.stores.catalog.live()
    found = []
    for path in sorted(views.folder.root.rglob("*")):
        name = str(path.relative_to(views.folder.root))
        store = path.name.removesuffix("-wal").removesuffix("-shm") in STORES
        named = any(name == location or name.startswith(f"{location}/") for location in live)
        if path.is_file() and not store and not named:
            found.append(name)
    return found


def rows(root: Path) -> dict[str, int]:
    """How many rows each table of the stores has, but for those that only history fills."""
    counted = {}
    by_store = {"structure.db": ("source", "unit", "import", "file"), "facts.db": ("fact",)}
    for store, tables in by_store.items():
        with sqlite3.connect(root / "repository" / store) as database:
            for table in tables:
                counted[table] = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        database.close()
    return counted


class Child:
    """`crash_child.py`, which is told at which step to be killed."""

    def __init__(self, root: Path, repo: Repo, action: str) -> None:
        script = Path(__file__).with_name("crash_child.py")
        here = str(script.parent)
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(root), str(repo.path), action],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )

    def run(self, asked: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(asked + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


@contextmanager
def child(root: Path, repo: Repo, action: str) -> Iterator[Child]:
    made = Child(root, repo, action)
    try:
        yield made
    finally:
        made.close()


def crash_points(taken: list[str]) -> list[tuple[str, int]]:
    """Each kind of step, the first and the last time it is taken; commits every time."""
    counts = {name: taken.count(name) for name in dict.fromkeys(taken)}
    points = []
    for name, count in counts.items():
        every = range(1, count + 1) if name == "commit" else sorted({1, count})
        points += [(name, number) for number in every]
    return points


def restore(root: Path, base: Path | None) -> None:
    shutil.rmtree(root, ignore_errors=True)
    if base is None:
        root.mkdir()
    else:
        shutil.copytree(base, root)


def prove(tmp: Path, repo: Repo, action: str, base: Path | None) -> None:
    """Kill `action` from the state `base` at each of its steps; see the module."""
    root = tmp / "views"
    fresh = Views(tmp / "fresh", repo)
    fresh.repair()
    fresh.close()
    expected = served(tmp / "fresh")
    restore(root, base)
    before = served(root)
    with child(root, repo, action) as crashing:
        whole = crashing.run("record")
        assert whole["code"] == 0
        points = crash_points(whole["taken"])
        assert len(points) > 20, points
        for name, number in points:
            where = f"{action} killed at {name}, time {number} of {whole['taken'].count(name)}"
            restore(root, base)
            ended = crashing.run(f"{name}\t{number}")
            assert ended["code"] == -signal.SIGKILL, where
            found = served(root)
            if found is None or before is None:
                assert found in (None, expected) or without_vectors(found) == without_vectors(expected), where
            elif found[0] == before[0] and action != "discard":
                assert found == before, where
            else:
                assert without_vectors(found) == without_vectors(expected), where
            views = Views(root, repo)
            views.repair()
            views.collect()
            assert leaked(views) == [], where
            views.close()
            assert served(root) == expected, where
            assert rows(root) == rows(tmp / "fresh"), where


def without_vectors(found: tuple[str, dict[str, Any]] | None) -> tuple[str, dict[str, Any]] | None:
    """The new snapshot may be killed before its dense view is published: that one follows."""
    return None if found is None else (found[0], {k: v for k, v in found[1].items() if k != "vectors"})


def test_a_first_build(tmp: Path, repo: Repo) -> None:
    prove(tmp, repo, "repair", None)


def test_a_repair(tmp: Path, repo: Repo) -> None:
    prove(tmp, repo, "repair", published(tmp, repo, "one"))


def test_a_rebuild_of_damaged_views(tmp: Path, repo: Repo) -> None:
    prove(tmp, repo, "discard", published(tmp, repo, "one", "HEAD"))


def test_a_collection(tmp: Path, repo: Repo) -> None:
    prove(tmp, repo, "collect", published(tmp, repo, "one", "one~0", "HEAD"))


def published(tmp: Path, repo: Repo, *revisions: str) -> Path:
    base = tmp / "base"
    views = Views(base, repo)
    for revision in revisions:
        views.repair(revision)
    views.close()
    return base
