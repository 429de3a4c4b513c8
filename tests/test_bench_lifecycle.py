"""The bench of the life cycle: what a session costs, and a run of both ways on a small repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.bench.lifecycle_command import main
from nibd.bench.lifecycle_parts import cost, on_disk
from nibd.bench.lifecycle_serve import Served


def test_what_is_shared_is_divided_among_the_sessions() -> None:
    served = Served([4.0], [1.0, 1.0], [5.0, 6.0], [2.0, 2.5])
    assert cost(served, 1) == (5.0, 2.0)
    assert cost(served, 2) == (3.0, 1.25)


def test_what_lies_on_disk_is_counted_by_part_with_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "repositories" / "r"
    (folder / "lexical" / "1").mkdir(parents=True)
    for path, size in (("facts.db", 5), ("facts.db-wal", 2), ("lexical/1/a", 20), ("lexical/1/b", 1)):
        (folder / path).write_bytes(b"x" * size)
    (tmp_path / "embeddings.db").write_bytes(b"x" * 3)
    assert on_disk(folder, tmp_path / "embeddings.db") == {"lexical": 21, "facts.db": 7, "embeddings.db": 3}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    repo = Repo(tmp_path / "repo")
    for number in range(4):
        repo.write(f"src/part{number}.py", f"def weigh_{number}(parcel):\n    return parcel * {number}\n")
    repo.commit("one")
    return repo.path


def test_both_ways_are_executed_and_answer_alike(clone: Path, tmp_path: Path) -> None:
    saved, shown = tmp_path / "figures.json", tmp_path / "page.html"
    options = ["--sessions", "1", "3", "--no-dense", "--json", str(saved), "--page", str(shown)]
    assert main(["--repository", f"small={clone}", *options]) == 0
    data = json.loads(saved.read_text())
    figures = {figure["name"]: figure for figure in data["figures"]}
    alike = figures["small: sessions answered alike in both ways"]
    assert (alike["value"], alike["met"]) == ("3 of 3", True)
    for way, loads in (("resident", 1), ("isolated", 3)):
        served = data["details"][f"small: {way}"]
        assert (len(served["load_s"]), len(served["serve_s"]), len(served["spent_s"])) == (loads, 3, 3)
        assert served["ended_s"] == sorted(served["ended_s"])
        assert served["memory_mb"] > 10
    assert {"small: a session among 1", "small: a session among 3"} <= figures.keys()
    assert data["details"]["small: on disk"]["facts.db"] > 0
    assert shown.read_text().count("<svg") == 3


def test_a_tree_without_a_text_is_a_row_that_says_so(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("empty.txt", "")
    repo.commit("one")
    saved = tmp_path / "figures.json"
    options = ["--no-dense", "--sessions", "1", "--json", str(saved)]
    assert main(["--repository", f"bare={repo.path}", *options]) == 1
    (figure,) = json.loads(saved.read_text())["figures"]
    assert figure["value"] == "FAILED: BenchError: bare has no text or no callable to be asked about"


def test_no_session_is_refused(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--repository", f"small={clone}", "--sessions", "0"])
    assert ended.value.code == 2
    assert "at least one session" in capsys.readouterr().err
