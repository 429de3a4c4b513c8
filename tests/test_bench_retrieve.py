"""The bench of retrieval: figures worked out by hand, questions of a repository's own, and small runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gitrepo import Repo
from nibd.bench import history_rows, intervals
from nibd.bench.asking import Asked
from nibd.bench.charts import Bars, Lines
from nibd.bench.intervals import Estimate
from nibd.bench.page import Table, page
from nibd.bench.report import Report
from nibd.bench.retrieve_ablations import FEATURES, Ablated, lost, report_ablations
from nibd.bench.retrieve_answers import Answered, of_files, of_symbols
from nibd.bench.retrieve_command import main
from nibd.bench.retrieve_figures import difference, estimate, report_answers
from nibd.bench.retrieve_journal import Found, Journal, sources, versions
from nibd.bench.retrieve_names import last_component
from nibd.bench.retrieve_neighbours import indices, overlap_of
from nibd.bench.retrieve_relations import identities, lacking
from nibd.bench.retrieve_rows import Question
from nibd.stores.catalog import Catalog
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import CommitId
from tiny_model import make_tiny_model

PARCEL = "def parcel_weight(parcel):\n    return parcel.weight\n"
QUEUE = "class Queue:\n    def push(self, item):\n        self.items.append(item)\n"


def question(number: int, repository: str = "a/a", language: str = "python") -> Question:
    return Question(
        f"q{number}", repository, CommitId("0" * 40), language, "issue", "why", "", ("f",), (), number % 2
    )


def answer(plan: str, asked: Question, recall: float, form: str = "prose") -> Answered:
    figures = {"file R@10": recall, "nDCG@10": recall}
    return Answered(asked, plan, form, plan, figures, (9.0, 4.0), (8.0, 3.0), {"terms": 1.0, "order": 3.0})


@pytest.mark.parametrize(
    ("known", "unit"),
    [
        ("Job.run", "ns::Job::run"), ("Job#run", "run"), ("Expr.operator ==", "ns::Expr::operator=="),
        ("Expr.operator bool", "Expr::operator bool"), ("<Job<'a, T> as Clone>", "impl Clone for Job<'a, T>"),
        ("Job<'a, T>", "impl Job<'a,T>"), ("fmt.formatter<ns::day, Char>", "formatter<ns::day, Char>"),
    ],
)  # fmt: skip
def test_a_name_is_the_same_however_it_is_written(known: str, unit: str) -> None:
    assert last_component(known) == last_component(unit) != ""


def test_specialisations_of_one_template_are_different_names() -> None:
    assert last_component("formatter<day, Char>") != last_component("formatter<month, Char>")


class TestOneAnswer:
    def test_files_by_hand(self) -> None:
        found = of_files(["a", "b", "c"], ("b", "x"))
        assert found["file R@1"] == 0.0
        assert found["file R@5"] == found["file R@20"] == 0.5
        assert found["success@10"] == 0.0
        assert found["MRR"] == 0.5
        assert found["nDCG@10"] == pytest.approx(0.63093 / (1 + 0.63093), abs=1e-5)

    def test_all_files_of_the_first_ten_are_a_success_and_the_eleventh_is_none(self) -> None:
        ranked = [f"f{n}" for n in range(11)]
        assert of_files(ranked, ("f0", "f9"))["success@10"] == 1.0
        late = of_files(ranked, ("f0", "f10"))
        assert (late["success@10"], late["file R@10"], late["file R@20"]) == (0.0, 0.5, 1.0)

    def test_what_is_not_found_is_nothing(self) -> None:
        assert set(of_files([], ("x",)).values()) == {0.0}

    def test_symbols_by_hand(self) -> None:
        ranked = [("a", "f"), ("b", "g"), ("a", "h")]
        found = of_symbols(ranked, (("b", "g"), ("a", "g")), "symbol")
        assert found == {"symbol R@1": 0.0, "symbol R@5": 0.5, "symbol R@10": 0.5, "symbol R@20": 0.5}
        assert of_symbols(ranked, (), "symbol") == {}


class TestIntervals:
    def test_one_repository_has_no_width(self) -> None:
        assert intervals.mean([("a", 0.0), ("a", 1.0)]) == Estimate(0.5, 0.5, 0.5, 2)

    def test_repositories_are_drawn_with_all_their_questions(self) -> None:
        # Of two repositories the same one is drawn twice half of the time: the ends are their own means.
        found = intervals.mean([("a", 0.0), ("a", 0.0), ("a", 0.0), ("b", 1.0)])
        assert found == Estimate(0.25, 0.0, 1.0, 4)

    def test_a_ratio_is_of_sums(self) -> None:
        assert intervals.ratio([("a", 1.0, 2.0), ("a", 2.0, 10.0)]) == Estimate(0.25, 0.25, 0.25, 2)
        assert intervals.ratio([("a", 1.0, 0.0)]) is None
        assert intervals.mean([]) is None

    def test_a_paired_difference_is_of_the_questions_that_both_have(self) -> None:
        repositories = {"p": "a", "q": "a", "r": "a"}
        found = intervals.paired({"p": 0.5, "q": 1.0}, {"p": 1.0, "q": 0.75, "r": 0.0}, repositories)
        assert found == Estimate(0.125, 0.125, 0.125, 2)
        assert found.signed(2) == "+0.12 (+0.12 to +0.12)"

    def test_they_are_the_same_each_time(self) -> None:
        samples = [(f"r{n % 7}", (n * 37 % 11) / 11) for n in range(60)]
        first = intervals.mean(samples)
        assert first is not None
        assert first == intervals.mean(samples)
        assert first.low < first.value < first.high


class TestReport:
    def answers(self) -> list[Answered]:
        first, second = question(0), question(1, language="go")
        return [
            answer("lexical", first, 1.0), answer("lexical", second, 0.0, "path"),
            answer("hybrid", first, 1.0), answer("hybrid", second, 0.5, "path"),
        ]  # fmt: skip

    def test_each_plan_each_group_and_each_pair_is_a_row(self) -> None:
        report = Report("found")
        report_answers("rows", self.answers(), report)
        rows = {figure.name: figure.value for figure in report.figures}
        assert rows["rows, lexical: file R@10"] == "0.500 (0.500 to 0.500); halves 1.000 / 0.000"
        assert rows["rows, hybrid: file R@10"].startswith("0.750")
        assert rows["rows, lexical: file R@10 by language"] == "go 0.000, python 1.000"
        assert rows["rows, hybrid: nDCG@10 by query type"] == "path 0.500, prose 1.000"
        less = rows["rows: hybrid less lexical, file R@10"]
        assert less == "+0.250 (+0.250 to +0.250); halves +0.000 / +0.500"
        assert rows["rows, lexical: latency, asked again"] == "p50 4.0 ms, p95 4.0 ms"
        assert rows["rows, lexical: processor time, asked first"] == "p50 8.0 ms, p95 8.0 ms"
        assert rows["rows, lexical: stages, p50 in ms"] == "terms 1.0, order 3.0"
        assert "rows, lexical: nDCG@10 by category" not in rows

    def test_a_figure_is_of_the_questions_that_have_it(self) -> None:
        answers = self.answers()
        assert estimate(answers, "symbol R@10") is None
        assert difference(answers[:1], answers[2:], "nDCG@10") == Estimate(0.0, 0.0, 0.0, 1)

    def test_the_page_has_tables_and_plots_and_fetches_nothing(self, tmp_path: Path) -> None:
        report = Report("found <here>")
        report_answers("rows", self.answers(), report)
        report.parts.append(Lines("growth", {"one": [(1, 2.0), (10, 3.0)]}, by_powers=True))
        report.parts.append(Bars("lying", ["a", "b"], {"x": [Estimate(0.1, -0.2, 0.3, 4), None]}, flat=True))
        report.save_page(tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text()
        assert "<h1>found &lt;here&gt;</h1>" in text
        assert text.count("<svg") == len([part for part in report.parts if not isinstance(part, Table)])
        assert "<td>+0.250 (+0.250 to +0.250)</td>" in text
        assert 'src="http' not in text
        assert "<script" not in text
        assert 'href="http' not in text

    def test_without_pygal_the_page_says_what_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("nibd.bench.charts.missing", lambda: "not installed: pygal")
        text = page("t", "m", [Table("kept", ("a",), [["1"]]), Bars("gone", ["a"], {"x": [1.0]})])
        assert "<h2>kept</h2>" in text
        assert "gone: no plot (not installed: pygal)" in text


class TestAblations:
    def made(self, number: int, without: float) -> Ablated:
        figures: Mapping[str, float] = {"file R@10": 1.0}
        left = {name: {"file R@10": without} for name in FEATURES}
        return Ablated(question(number), left | {"nothing": figures})

    def test_what_is_lost_is_the_paired_mean(self) -> None:
        found = lost([self.made(0, 0.5), self.made(1, 1.0)], "penalty: test", "file R@10")
        assert found == Estimate(-0.25, -0.25, -0.25, 2)
        assert lost([self.made(0, 0.5)], "penalty: test", "symbol R@10") is None

    def test_what_each_half_loses_is_told_apart(self) -> None:
        report = Report("found")
        report_ablations("rows", [self.made(0, 0.5), self.made(1, 1.0)], report)
        rows = {figure.name: figure.value for figure in report.figures}
        told = "file R@10 -0.250 (-0.250 to -0.250); halves -0.500 / +0.000, nDCG@10 -, symbol R@10 -"
        assert rows["rows: without penalty: test"] == told


class TestIndices:
    def test_overlap_counts_what_ties_with_the_last_as_good(self) -> None:
        assert overlap_of([3, 1, 2], [3, 1, 2], 3) == 1.0
        assert overlap_of([3, 1, 2, 5], [3, 5, 7], 3) == pytest.approx(2 / 3)
        assert overlap_of([3], [], 1) == 0.0

    @pytest.mark.dense
    def test_an_index_that_looks_at_all_finds_what_flat_finds(self) -> None:
        vectors = np.random.default_rng(3).normal(size=(300, 16)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        exact = np.argsort(-(vectors @ vectors[7]), kind="stable")[:10].tolist()
        found = {name: search(vectors[7]) for name, _, search in indices(vectors, 10)}
        assert set(found["HNSW 32, efSearch 128"]) == set(exact)
        assert set(found["IVF, nprobe 16"]) == set(exact)


class TestHistory:
    def test_a_commit_asks_for_the_code_that_it_changed(self, tmp_path: Path) -> None:
        repo = Repo(tmp_path / "repo")
        repo.write("src/parcel.py", PARCEL)
        repo.write("tests/test_parcel.py", PARCEL)
        repo.write("README.md", "parcels\n")
        first = repo.commit("A first commit has no parent to be asked about")
        repo.write("src/parcel.py", PARCEL + "# heavy\n")
        repo.write("tests/test_parcel.py", PARCEL + "# heavy\n")
        repo.write("README.md", "heavy parcels\n")
        repo.write("src/new.py", PARCEL)
        second = repo.commit("Weigh heavy parcels as well as light ones")
        repo.write("src/parcel.py", PARCEL)
        repo.commit("too short")
        (found,) = history_rows.questions("here", repo.path, 5)
        assert (found.id, found.commit, found.files) == (f"here@{second[:10]}", first, ("src/parcel.py",))
        assert found.query == "Weigh heavy parcels as well as light ones"
        assert (found.repository, found.language, found.category) == ("here", "python", "commit")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "mirrors" / "o+r")
    made.write("src/parcel.py", PARCEL)
    made.write("src/queue.py", QUEUE)
    for number in range(6):
        made.write(f"src/other{number}.py", f"def other_{number}(value):\n    return value + {number}\n")
    return made


def rows(tmp_path: Path, commit: str) -> Path:
    asked = [
        {"id": "1", "query": "weight of a parcel", "gold_files": ["src/parcel.py"],
         "gold_symbols": [{"file": "src/parcel.py", "symbol": "parcel_weight"}]},
        {"id": "2", "query": "Queue.push", "gold": [{"file": "src/queue.py"}], "benchmark_root": "src"},
    ]  # fmt: skip
    shared = {"repo": "o/r", "commit": commit, "language": "python"}
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row | shared) + "\n" for row in asked))
    return file


class TestRun:
    def run(self, tmp_path: Path, file: Path, *options: str) -> dict[str, str]:
        saved = tmp_path / "figures.json"
        where = ["--repositories", str(tmp_path / "mirrors"), "--cache", str(tmp_path / "cache")]
        kept = ["--json", str(saved), "--page", str(tmp_path / "page.html"), "--workers", "1"]
        assert main(["--rows", str(file), *where, *kept, *options]) == 0
        data = json.loads(saved.read_text())
        return {figure["name"]: figure["value"] for figure in data["figures"]}

    def test_rows_are_asked_by_each_plan_and_without_each_feature(self, repo: Repo, tmp_path: Path) -> None:
        file = rows(tmp_path, repo.commit("one"))
        figures = self.run(tmp_path, file, "--plans", "lexical", "structural", "--ablations")
        assert figures["rows, lexical: file R@1"].startswith("1.000 (1.000 to 1.000)")
        assert figures["rows, lexical: symbol R@1"].startswith("1.000")
        less = figures["rows: structural less lexical, success@10"]
        assert less == "+0.000 (+0.000 to +0.000); halves +0.000 / -"
        assert figures["rows, lexical: file R@10 by query type"] == "identifier 1.000, prose 1.000"
        assert figures["rows: without penalty: test"].startswith("file R@10 +0.000")
        assert len([name for name in figures if name.startswith("rows: without ")]) == len(FEATURES) - 1
        assert "<svg" in (tmp_path / "page.html").read_text()

    @pytest.mark.dense
    def test_plans_with_vectors_and_indices(self, repo: Repo, tmp_path: Path) -> None:
        file = rows(tmp_path, repo.commit("one"))
        model = make_tiny_model(tmp_path / "model")
        options = ("--plans", "dense", "hybrid", "auto", "--indices", "--model", str(model))
        figures = self.run(tmp_path, file, *options)
        assert figures["rows, hybrid: file R@10"].startswith("1.000")
        assert "embed" in figures["rows, dense: stages, p50 in ms"]
        assert figures["rows: Flat"].startswith("overlap@10 1.000")
        assert self.run(tmp_path, file, *options).keys() == figures.keys()

    def test_relations_are_made_once_and_followed(self, repo: Repo, tmp_path: Path) -> None:
        repo.write("src/depot.py", "from queue import Queue\n\n\nclass Depot:\n    line: Queue\n")
        file = rows(tmp_path, repo.commit("one"))
        figures = self.run(tmp_path, file, "--plans", "structural", "--relations")
        catalog = Catalog.open_reader(RepositoryFolder(tmp_path / "cache" / "o+r").catalog)
        first = catalog.newest()
        assert first is not None
        assert [*first.snapshot.resolutions()] == ["python"]
        assert self.run(tmp_path, file, "--plans", "structural", "--relations").keys() == figures.keys()
        assert catalog.newest() == first
        found = identities(())
        assert lacking(first.snapshot, found) == []
        assert lacking(first.snapshot, {**found, "python": "ty 999"}) == ["python"]
        catalog.close()

    def test_a_run_goes_on_with_what_its_journal_has(self, repo: Repo, tmp_path: Path) -> None:
        file = rows(tmp_path, repo.commit("one"))
        journal = tmp_path / "journal"
        options = ("--ablations", "--journal", str(journal))
        figures = self.run(tmp_path, file, *options)
        with journal.open("a") as end:
            end.write('{"key": "cut o')
        shutil.rmtree(tmp_path / "cache")
        shutil.rmtree(repo.path / ".git" / "objects")
        assert self.run(tmp_path, file, *options) == figures
        where = ["--repositories", str(tmp_path / "mirrors"), "--cache", str(tmp_path / "cache")]
        assert main(["--rows", str(file), *where, "--journal", str(journal)]) == 1

    def test_what_other_libraries_or_servers_found_is_asked_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        where = Asked("rows", "o/r", CommitId("1" * 40), tmp_path, tmp_path, [])
        asked = []

        def ask() -> Found:
            asked.append(where)
            return Found()

        def find(options: dict[str, str]) -> int:
            """How often anything was asked by then."""
            Journal(tmp_path / "journal", options).found(where, ask)
            return len(asked)

        ty = {"found servers": "ty 1"}
        assert [find(ty), find(ty), find({"found servers": "ty 2"})] == [1, 1, 2]
        assert {"tantivy", "numpy"} <= versions().keys()
        monkeypatch.setattr("nibd.bench.retrieve_journal.versions", lambda: {"tantivy": "999"})
        assert [find(ty), find(ty)] == [3, 3]

    def test_what_other_sources_found_is_asked_again(self, tmp_path: Path) -> None:
        source = tmp_path / "a" / "nibd" / "rank.py"
        source.parent.mkdir(parents=True)
        source.write_text("K = 1\n")
        before = sources([str(tmp_path / "a")])
        assert sources([str(tmp_path / "a")]) == before
        source.write_text("K = 2\n")
        assert sources([str(tmp_path / "a")]) != before

    def test_a_clone_is_asked_what_its_own_commits_say(self, repo: Repo, tmp_path: Path) -> None:
        repo.commit("one")
        repo.write("src/queue.py", QUEUE.replace("append(item)", "append((item, 1))"))
        repo.commit("Push the items of a queue with a count")
        cache = ["--cache", str(tmp_path / "cache"), "--json", str(tmp_path / "figures.json")]
        assert main(["--repository", f"mine={repo.path}", *cache, "--workers", "1"]) == 0
        data = json.loads((tmp_path / "figures.json").read_text())
        (told,) = data["details"]["own commits"]
        assert (told["repository"], told["figures"]["file R@1"]) == ("mine", 1.0)

    def test_a_commit_that_is_not_there_is_a_row_and_the_others_go_on(
        self, repo: Repo, tmp_path: Path
    ) -> None:
        file = rows(tmp_path, repo.commit("one"))
        lost = json.loads(file.read_text().splitlines()[0]) | {"commit": "1" * 40}
        file.write_text(f"{file.read_text()}{json.dumps(lost)}\n")
        saved = tmp_path / "figures.json"
        where = ["--repositories", str(tmp_path / "mirrors"), "--cache", str(tmp_path / "cache")]
        assert main(["--rows", str(file), *where, "--workers", "1", "--json", str(saved)]) == 1
        data = json.loads(saved.read_text())
        assert data["failed"] == ["o/r 1111111111"]
        assert [each["id"] for each in data["details"]["rows"]] == ["1", "2"]

    def test_rows_without_their_folder_are_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for given, said in ((["--rows", "x"], "--repositories"), ([], "nothing to ask")):
            with pytest.raises(SystemExit) as ended:
                main([*given, "--cache", str(tmp_path)])
            assert ended.value.code == 2
            assert said in capsys.readouterr().err
