"""Files that the parser can't make out wholly: found, counted and said, and repaired as they are built."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from cli_run import PROGRAM
from daemon_world import Daemon
from gitrepo import Repo
from nibd.repair.extract import extract
from nibd.repair.syntax import Syntax, read_syntax, spec_of
from nibd.stores.bitmap import Bitmap
from nibd.stores.facts import FactStore
from nibd.stores.structure import StructureStore
from nibd.stores.types import BlobId, Facts, FileVersion, ProfileId, RepoPath

HIDES = "def shown():\n    return [1, 2\n\ndef hidden():\n    return 2\n"
"""The bracket takes the second function with it."""


def printed(daemon: Daemon, *arguments: str) -> str:
    command = [*PROGRAM, *arguments]
    return subprocess.run(command, env=daemon.environment, capture_output=True, text=True, check=False).stdout


def first_broken(language: str, source: str) -> int:
    spec = spec_of(language)
    assert spec is not None
    syntax = read_syntax(source.encode(), spec)
    assert isinstance(syntax, Syntax)
    return syntax.broken_line


@pytest.mark.parametrize(
    ("language", "source", "line"),
    [
        ("python", "def a():\n    return 1\n", 0),
        ("python", HIDES, 2),
        ("python", "x = 1\n\ndef a(:\n    pass\n", 3),
        ("python", "def a():\n    print 'x'\n", 0),
        ("javascript", "function a() {\n  if (x) {\n}\n\nfunction b() {}\n", 5),
        ("typescript", "const a = 1;\nclass B {\n  c() { return `x${1}`; }\n}\n", 0),
        ("tsx", 'const a = 1;\nconst b = <a href="/?x=1&utm_y=2">c</a>;\n', 0),
        ("tsx", "const a = <b>\n", 1),
        ("go", "package a\n\nfunc A( {\n}\n", 3),
        ("rust", "fn a() {\n  if x {\n}\n", 1),
        ("c", "int a(void) { return va_arg(ap, char*); }\n", 1),
    ],
)
def test_the_first_line_that_cannot_be_made_out_is_known(language: str, source: str, line: int) -> None:
    assert first_broken(language, source) == line


def test_broken_files_are_counted_and_said_where_they_may_matter(daemon: Daemon, repo: Repo) -> None:
    repo.write("broken.py", HIDES)
    repo.write("macros.c", "int a(void) { return va_arg(ap, char*); }\n")
    repo.commit("broken")
    daemon.add(repo.path)
    status = daemon.published(repo.path)
    where = {"path": str(repo.path)}
    named = {"count": 1, "files": [{"path": "broken.py", "line": 2}]}

    counts = status["views"]["structural"]["counts"]
    assert {key: counts[key] for key in counts if key.startswith("broken")} == {
        "broken:c": 1,
        "broken:python": 1,
    }
    assert status["broken"] == named
    assert daemon.call("outline", path=str(repo.path / "broken.py"))["broken"] == named
    assert daemon.call("outline", path=str(repo.path / "macros.c"))["broken"]["count"] == 0
    assert daemon.call("symbols", name="hidden", **where)["broken"] == named
    assert daemon.call("symbols", name="shown", **where)["broken"] == named
    assert daemon.call("symbols", name="alpha", **where)["broken"]["count"] == 0
    assert daemon.call("navigate", operation="definition", name="hidden", **where)["broken"] == named
    assert "broken" not in daemon.call("grep", pattern="hidden", **where)
    said = "! BROKEN: 1 file can't be parsed wholly, so units may be missing: broken.py:2\n"
    for arguments in (("status", str(repo.path)), ("symbols", "hidden", "--repo", str(repo.path))):
        assert said in printed(daemon, *arguments)


def test_a_repair_knows_of_broken_files_what_a_rebuild_knows(daemon: Daemon, repo: Repo) -> None:
    for number in range(5):
        repo.write(f"broken{number}.py", f"# {number}\n{HIDES}")
    repo.commit("broken")
    daemon.add(repo.path)
    status = daemon.published(repo.path)
    assert (status["broken"]["count"], len(status["broken"]["files"])) == (5, 3)
    text = printed(daemon, "status", str(repo.path))
    assert "broken0.py:3, broken1.py:3, broken2.py:3, …\n" in text.replace("\n  ", " ")

    repo.write("broken0.py", "# mended\n")
    repo.git("mv", "broken1.py", "later.py")
    repo.write("broken2.py", "# more\n# lines\n" + HIDES)
    repo.commit("mended, moved and shifted")
    status = daemon.published(repo.path)
    assert status["broken"]["count"] == status["views"]["structural"]["counts"]["broken:python"] == 4
    assert [tuple(file.values()) for file in status["broken"]["files"]] == [
        ("broken2.py", 4), ("broken3.py", 3), ("broken4.py", 3),
    ]  # fmt: skip
    verdict = daemon.call("verify", path=str(repo.path), views=["structural"])
    assert verdict["equal"], json.dumps(verdict)


def test_stores_of_before_are_brought_up_to_date(tmp_path: Path) -> None:
    blob, facts = BlobId("1" * 40), extract(HIDES.encode(), "python")
    assert isinstance(facts, Facts)
    for name, open_store, without in (
        ("nibd.facts", lambda path: FactStore.open(path, "now"), "ALTER TABLE fact DROP COLUMN broken_line"),
        ("nibd.structure", StructureStore.open, "DROP TABLE broken"),
    ):
        path = tmp_path / name
        open_store(path).close()
        with closing(sqlite3.connect(path)) as database:
            database.execute(without)
            forgotten = (
                "DELETE FROM _sqlite_migrations WHERE migration_set = ? AND name = 'm002_broken_lines'"
            )
            assert database.execute(forgotten, (name,)).rowcount == 1
            database.commit()
    with closing(FactStore.open(tmp_path / "nibd.facts", "now")) as kept:
        kept.put_many([(blob, "python", facts)])
        assert kept.get(blob, "python") == facts
    with closing(StructureStore.open(tmp_path / "nibd.structure")) as structure:
        file = FileVersion(RepoPath(b"a.py"), blob, 0o100644, "python", None)
        rows = structure.add([file], [(blob, "python", facts)], extractor="now", profile=ProfileId("p"))
        assert structure.broken(Bitmap.of(rows)) == [(file, 2)]
        assert structure.broken(Bitmap.of(rows), ("python",)) == []
