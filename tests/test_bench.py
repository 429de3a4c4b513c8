"""The bench: how figures are made and printed, and a run of it on a small repository."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.bench import made, maintain
from nibd.bench.command import main
from nibd.bench.dense_rebuild import compare_vectors
from nibd.bench.rebuild import compare, rebuild
from nibd.bench.report import Report, p95, spread
from nibd.bench.world import BenchError, first_parent, world
from nibd.stores.types import TextId

TRANSITIONS = 2
CORE = 'def run(count):\n    """Runs {number} times."""\n    return count + {number}\n'
PART = "class Part{number}:\n    def size(self):\n        return {number}\n"


def small_repository(path: Path, commits: int) -> Path:
    """A Python file changes in each commit; in every second one another file comes too."""
    repo = Repo(path)
    for number in range(commits):
        repo.write("app/core.py", CORE.format(number=number))
        if number % 2:
            repo.write(f"app/part_{number}.py", PART.format(number=number))
        repo.commit(f"commit {number}")
    return path


class TestFigures:
    def test_p95_is_the_smallest_value_that_95_percent_do_not_exceed(self) -> None:
        assert p95([5.0]) == 5.0
        assert p95([float(n) for n in range(1, 21)]) == 19.0
        assert p95([float(n) for n in range(100, 0, -1)]) == 95.0
        assert p95([1.0, 9.0, 2.0]) == 9.0

    def test_a_spread_names_its_unit_and_number_of_samples(self) -> None:
        assert spread([0.1, 0.3, 0.2]) == "median 0.200 s, p95 0.300, max 0.300 (n=3)"
        assert spread([2.0], "ms", 1) == "median 2.0 ms, p95 2.0, max 2.0 (n=1)"

    @pytest.mark.parametrize(
        ("seconds", "met"), [([0.1, 0.2, 0.3], True), ([0.1, 0.2, 0.9], False), ([0.4, 0.4, 0.4], False)]
    )
    def test_median_and_p95_have_each_to_meet_their_bar(self, seconds: list[float], met: bool) -> None:
        report = Report("figures")
        report.add_spread("publication", seconds, median_bar=0.3, p95_bar=0.5)
        figure = report.figures[0]
        assert (figure.met, figure.bar) == (met, "median <= 0.3 s, p95 <= 0.5 s")
        assert report.details["publication"] == seconds

    def test_what_has_no_bar_is_neither_met_nor_not_met(self) -> None:
        report = Report("figures")
        report.add_spread("publication", [9.0])
        report.add_spread("nothing", [], median_bar=1.0)
        assert [figure.met for figure in report.figures] == [None, None]
        assert report.figures[1].value == "no sample"

    def test_a_count_is_met_only_by_every_one_and_never_by_none_of_none(self) -> None:
        report = Report("figures")
        for good, of in ((3, 3), (2, 3), (0, 0)):
            report.add_count("equal", good, of)
        assert [figure.met for figure in report.figures] == [True, False, False]

    def test_a_ratio_says_how_it_came_about(self) -> None:
        report = Report("figures")
        report.add_ratio("repair against rebuild", 12.34, "repair 0.1 s, rebuild 1.23 s", 10)
        assert report.figures[0].value == "12.3 times (repair 0.1 s, rebuild 1.23 s)"
        assert report.figures[0].met


class TestTable:
    def report(self) -> Report:
        report = Report("the title")
        report.add("short", "1 s", "<= 2 s", True)
        report.add("a longer name", "300 ms", "<= 0.1 s", False)
        report.add("no bar", "7 MB")
        report.add_failure("a part", BenchError("no daemon"))
        return report

    def test_it_has_the_machine_and_one_aligned_row_a_figure(self) -> None:
        lines = self.report().text().splitlines()
        assert lines[0] == "the title"
        assert "Python" in lines[1]
        assert "tantivy" in lines[1]
        rows = lines[3:]
        assert [row.split()[0] for row in rows] == ["what", "short", "a", "no", "a"]
        values = ("figure", "1 s", "300 ms", "7 MB", "FAILED")
        assert len({row.index(value) for row, value in zip(rows, values, strict=True)}) == 1
        assert rows[1].endswith(" met")
        assert rows[2].endswith("NOT MET")
        assert rows[3].endswith("7 MB")

    def test_a_failed_part_is_a_row_and_is_counted(self) -> None:
        report = self.report()
        assert "FAILED: BenchError: no daemon" in report.text()
        assert report.failed == ["a part"]

    def test_it_is_saved_with_its_samples(self, tmp_path: Path) -> None:
        report = self.report()
        report.add_spread("publication", [0.1, 0.2])
        report.save(tmp_path / "figures.json")
        saved = json.loads((tmp_path / "figures.json").read_text())
        assert saved["details"] == {"publication": [0.1, 0.2]}
        assert [figure["met"] for figure in saved["figures"]] == [True, False, None, False, None]
        assert saved["failed"] == ["a part"]


class TestMadeRepository:
    def test_it_has_the_files_asked_for_and_is_the_same_each_time(self, tmp_path: Path) -> None:
        for name in ("one", "other"):
            made.make(tmp_path / name, 230)
        heads = [git(tmp_path / name, "rev-parse", "HEAD^{tree}") for name in ("one", "other")]
        assert heads[0] == heads[1]
        listed = git(tmp_path / "one", "ls-tree", "-r", "--name-only", "HEAD").split()
        assert listed == [made.path_of(number) for number in range(230)]

    def test_its_files_are_python_that_compiles(self, tmp_path: Path) -> None:
        made.make(tmp_path / "made", 20)
        for number in range(20):
            path = made.path_of(number)
            compile(git(tmp_path / "made", "show", f"HEAD:{path}"), path, "exec")


class TestTransitions:
    def test_they_follow_first_parents_oldest_first(self, tmp_path: Path) -> None:
        path = small_repository(tmp_path / "repo", 3)
        repo = Repo(path)
        side = repo.git("commit-tree", "-p", "HEAD~1", "-m", "side", "HEAD^{tree}")
        merge = repo.git("commit-tree", "-p", "HEAD", "-p", side, "-m", "merge", "HEAD^{tree}")
        repo.git("reset", "-q", "--hard", merge)
        assert first_parent(path, 2) == [repo.git("rev-parse", f"HEAD~{n}") for n in (2, 1, 0)]

    def test_too_short_a_history_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(BenchError, match="has 2 commits along first parents, 4 are wanted"):
            first_parent(small_repository(tmp_path / "repo", 2), 3)


class TestWorld:
    def test_it_leaves_nothing_and_its_git_reads_nothing_of_the_users(self, tmp_path: Path) -> None:
        path = small_repository(tmp_path / "repo", 1)
        Repo(path).git("config", "--global", "user.name", "Somebody")
        with world(dense=False) as where:
            clone = where.clone(path, "clone")
            assert where.git(clone, "config", "user.name").strip() == "Bench"
            assert where.git(clone, "rev-parse", "HEAD").strip() == git(path, "rev-parse", "HEAD")
            root = where.root
        assert not root.exists()


class TestComparison:
    def test_another_tree_is_told_from_a_rebuild(self, tmp_path: Path) -> None:
        path = small_repository(tmp_path / "repo", 3)
        old, new = (
            rebuild(path, commit, tmp_path / name)
            for commit, name in zip(first_parent(path, 1), ("old", "new"), strict=True)
        )
        structure, lexical = compare(old.folder, old.snapshot, new)
        assert [structure.equal, lexical.equal] == [False, False]
        assert any("app/core.py" in difference for difference in structure.differences)

    @pytest.mark.parametrize(
        ("old", "texts", "made", "count"),
        [
            ({"a": b"1", "b": b"2"}, "ab", {"a": b"1", "b": b"2"}, 0),
            ({"a": b"1", "b": b"2"}, "ab", {"b": b"2"}, 0),
            ({"a": b"1", "b": b"2"}, "ab", {"a": b"1", "b": b"x"}, 1),
            ({"a": b"1"}, "ab", {"a": b"1", "b": b"2"}, 1),
            ({"a": b"1"}, "ab", {"a": b"1"}, 1),
            ({"a": b"1", "b": b"2"}, "a", {"a": b"1"}, 1),
        ],
        ids=["equal", "sample", "other bits", "not published", "not in the sample", "no longer there"],
    )
    def test_every_difference_of_vectors_is_counted_once(
        self, old: dict[str, bytes], texts: str, made: dict[str, bytes], count: int
    ) -> None:
        result = compare_vectors(ids(old), ids(dict.fromkeys(texts, b"")).keys(), ids(made))
        assert result.count == count, result.differences
        assert result.compared["texts"] == len(texts)


class TestRun:
    def test_transitions_are_published_and_equal_to_a_rebuild(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = small_repository(tmp_path / "repo", TRANSITIONS + 2)
        before = standing(path)
        saved = tmp_path / "figures.json"
        options = ["--transitions", str(TRANSITIONS), "--made-files", "0", "--no-dense", "--json", str(saved)]
        code = main(["maintain", "--repository", f"small={path}", *options, "--only", "follow", "switch"])

        printed = capsys.readouterr().out
        assert code == 0, printed
        data = json.loads(saved.read_text())
        figures = {figure["name"]: figure for figure in data["figures"]}
        equal = figures["small: units, and lexical scores and order, equal to a rebuild"]
        assert (equal["value"], equal["met"]) == (f"{TRANSITIONS + 1} of {TRANSITIONS + 1}", True)
        samples = data["details"]["small: HEAD moved to lexical and units published"]
        assert [sample["commit"] for sample in samples] == first_parent(path, TRANSITIONS)[-TRANSITIONS - 1 :]
        assert [sample["files"] for sample in samples] == [2, 1, 2]
        assert [sample["parsed"] for sample in samples] == [2, 1, 2]
        assert all(sample["publish_s"] > 0 for sample in samples)
        assert figures["small: checkout of a branch published before: work"]["met"]
        assert "small: HEAD moved to lexical and units published" in printed
        assert standing(path) == before

    def test_a_part_that_fails_is_reported_and_the_others_go_on(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        short = small_repository(tmp_path / "short", 1)
        report = Report("figures")
        plan = maintain.Plan({"short": short}, made_files=0, dense=False, only=("jumps", "empty"), idle_s=0.1)
        maintain.run(plan, report)
        assert report.failed == ["short: jumps"]
        assert any(figure.name == "daemon after start, no repository: memory" for figure in report.figures)

    @pytest.mark.parametrize("value", ["flask", "=/tmp", "flask=/no/such/folder", "a/b=/tmp"])
    def test_a_repository_that_is_not_named_or_not_there_is_refused(
        self, value: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            main(["maintain", "--repository", value])
        assert ended.value.code == 2
        assert "is not NAME=PATH of a clone" in capsys.readouterr().err


def ids(vectors: dict[str, bytes]) -> dict[TextId, bytes]:
    return {TextId(name.encode()): vector for name, vector in vectors.items()}


def standing(path: Path) -> list[str]:
    """What the bench may not change of a clone that it is given."""
    asked = (["for-each-ref"], ["rev-parse", "HEAD"], ["status", "--porcelain"], ["worktree", "list"])
    return [git(path, *arguments) for arguments in asked]


def git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=path, check=True, capture_output=True, text=True)
    return done.stdout.strip()
