"""The bench of relations: how differences are told apart, which transitions are chosen, and a small run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import language_servers
from gitrepo import Repo, run_git
from nibd.bench import relations_cases, relations_command
from nibd.bench.relations_cases import evenly_spread
from nibd.bench.relations_figures import report_transitions
from nibd.bench.relations_follow import Failed, Followed, Sample
from nibd.bench.relations_inverse import Matches
from nibd.bench.report import Report
from nibd.bench.world import BenchError
from nibd.repair.relations.comparison import Compared, compare, kind_of
from nibd.stores.relation_records import RelationRecord, pack
from nibd.stores.relation_types import FileRelations, Relation, RelationKind, Site, Target
from nibd.stores.types import BlobId, RepoPath

LIB = 'def greet(name):\n    """Greets."""\n    return "hello " + name\n'
APP = "from lib import greet\n\n\ndef main():\n    return greet('you')\n"
OTHER = "from lib import greet\n\nprint(greet('me'))\n"


def target(path: str, name: str, package: str = "") -> Target:
    return Target(package, RepoPath(path.encode()), "", 0, name, 0)


def record(path: str, *answers: tuple[Target, ...] | None) -> RelationRecord:
    """A file with one site for each answer, all called `x`."""
    sites = [Site(at, at + 1, "x", RelationKind.READ, 0) for at in range(len(answers))]
    relations = tuple(Relation(site, found) for site, found in zip(sites, answers, strict=True))
    return pack(FileRelations(RepoPath(path.encode()), BlobId("1" * 40), "python", relations))[0]


def compared(ours: list[RelationRecord], theirs: list[RelationRecord]) -> Compared:
    return compare({each.path: each for each in ours}, {each.path: each for each in theirs})


@pytest.fixture
def history(tmp_path: Path) -> Repo:
    """A callee is edited, then gets another caller, with a commit between that has nothing to do with it."""
    repo = Repo(tmp_path / "repo")
    repo.write("lib.py", LIB)
    repo.write("app.py", APP)
    repo.commit("begin")
    repo.write("lib.py", "import os\n\n" + LIB)
    repo.commit("move")
    repo.write("README.md", "words\n")
    repo.commit("say")
    repo.write("other.py", OTHER)
    repo.commit("call")
    return repo


class TestDifferences:
    def test_equal_relations_have_none(self) -> None:
        found = compared([record("a.py", (target("b.py", "f"),))], [record("a.py", (target("b.py", "f"),))])
        assert (found.are_equal, found.count, found.listed) == (True, 0, [])

    def test_each_is_listed_with_what_both_sides_refer_to(self) -> None:
        ours = [record("a.py", (target("b.py", "f"),), ()), record("c.py", ())]
        theirs = [record("a.py", (target("b.py", "f"),), (target("os.py", "x", "stdlib"),))]
        found = compared(ours, theirs)
        assert found.spots == {(b"a.py", 1), (b"c.py", -1)}
        assert found.kinds == {"unresolved": 1, "file": 1}
        assert [(each.path, each.ours, each.theirs) for each in found.listed] == [
            ("a.py", (), ("[stdlib] os.py x@0",)),
            ("c.py", ("there",), None),
        ]

    def test_other_sites_make_the_whole_file_differ(self) -> None:
        found = compared([record("a.py", (), ())], [record("a.py", ())])
        assert found.kinds == {"sites": 1}

    def test_kinds_are_told_by_what_differs(self) -> None:
        inside, outside = (target("b.py", "f"),), (target("os.py", "f", "stdlib"),)
        assert kind_of(None, inside) == "unknown"
        assert kind_of((), outside) == "unresolved"
        assert kind_of((*outside, *inside), inside) == "external"
        assert kind_of(outside, (target("io.py", "f", "stdlib"),)) == "external"
        assert kind_of(inside, (target("c.py", "f"),)) == "other"
        assert kind_of(inside, outside) == "other"


class TestCases:
    def test_of_a_clone_the_newest_that_change_the_family_make_a_chain(self, history: Repo) -> None:
        chain = relations_cases.newest("made", history.path, None, 5)
        assert chain.family == "python"
        assert len(chain.cases) == 2
        assert chain.cases[0].child == chain.cases[1].parent

    def test_a_clone_without_such_commits_is_an_error(self, history: Repo) -> None:
        with pytest.raises(BenchError, match="no two commits that change go files"):
            relations_cases.newest("made", history.path, "go", 5)

    def test_of_a_file_so_many_of_each_repository_are_taken_the_oldest_first(
        self, history: Repo, tmp_path: Path
    ) -> None:
        clones = tmp_path / "clones"
        for name in ("owner+one", "two"):
            run_git("clone", "-q", history.path, clones / name)
        *_, third, second, first = history.git("rev-list", "HEAD").split()
        rows = [
            {"repo": repo, "language": language, "parent": first, "child": child, "bucket": "tiny"}
            for repo, language in (("owner/one", "Go"), ("owner/two", "C/C++"))
            for child in (third, second, history.git("rev-parse", "HEAD"))
        ]
        file = tmp_path / "cases.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        chains = relations_cases.listed(file, clones, 2, None)
        assert [(c.repository.name, c.family, [each.child for each in c.cases]) for c in chains] == [
            ("owner+one", "go", [second, third]),
            ("two", "c", [second, third]),
        ]
        (only,) = relations_cases.listed(file, clones, 0, "go")
        assert [case.child for case in only.cases] == [second, third, history.git("rev-parse", "HEAD")]
        with pytest.raises(BenchError, match="no clone of owner/one"):
            relations_cases.listed(file, tmp_path / "elsewhere", 0, "go")
        short = {"repo": "two", "language": "C", "parent": first[:10], "child": second[:10]}
        file.write_text(json.dumps(short))
        (chain,) = relations_cases.listed(file, clones, 0, None)
        assert chain.cases == (relations_cases.Case(first, second),)
        file.write_text(json.dumps(short | {"child": "0123456789"}))
        with pytest.raises(BenchError, match="two has no commit 0123456789"):
            relations_cases.listed(file, clones, 0, None)


class TestFigures:
    def chain(self) -> relations_cases.Chain:
        return relations_cases.Chain("made", Path(), "go", ())

    def sample(self, repaired: Compared, verified: Compared) -> Sample:
        case = relations_cases.Case("a" * 40, "b" * 40)
        return Sample(
            "made", "go", case, 1, 100, asked={"new": 4}, repair_s=0.1, to_repaired_s=0.2, by_file_s=0.12,
            rebuild_s=1.0, verify_s=0.5, repaired=repaired, verified=verified,
        )  # fmt: skip

    def test_bars_are_met_or_not_by_family(self) -> None:
        wrong = compared([record("a.py", ())], [record("a.py", (target("b.py", "f"),))])
        report = Report("figures")
        samples = [self.sample(wrong, Compared()), self.sample(Compared(), Compared())]
        report_transitions([Followed(self.chain(), [], samples)], report)
        rows = {figure.name: figure for figure in report.figures}
        assert rows["go: repair against rebuild"].met is False
        assert rows["go: repaired equals a rebuild"].met is False
        assert rows["go: verified equals a rebuild"].met is True
        assert rows["go: repair by symbol against by file"].met is True
        assert rows["go: commit to repaired, warm, at most 5 files"].met is True
        assert rows["go: sites asked by repair"].value.startswith("8 of 200 (new 8), kept 192")
        assert rows["go: made bbbbbbbbbb: repaired differs"].value == "1 unresolved of 100 sites"

    def test_a_transition_that_failed_is_a_row_and_fails_the_run(self) -> None:
        report = Report("figures")
        case = relations_cases.Case("a" * 40, "b" * 40)
        report_transitions([Followed(self.chain(), [], [], [Failed("made", "go", case, "it died")])], report)
        assert report.figures[0].value == "FAILED: it died"
        assert report.failed


class TestMatches:
    def test_requests_that_differ_are_counted_by_all_their_kinds(self) -> None:
        found = Matches(
            2, 4, Counter({"it died": 1}), 3, causes=Counter({"static import": 2}),
            static_only=Counter({"import": 3}), asked=Counter({"class": 4}), differing=Counter({"class": 2}),
        )  # fmt: skip
        assert str(found) == (
            "50.0% (2 of 4); 1 of them empty on both sides; 1 unanswered: it died; differing: 2 of 4 class;"
            " 2 by static import; static only: import 3"
        )
        assert Matches().share == 0.0

    def test_a_sample_is_spread_over_all(self) -> None:
        assert evenly_spread([1, 2, 3], 5) == [1, 2, 3]
        assert evenly_spread(list(range(100)), 4) == [0, 25, 50, 75]


class TestRun:
    def test_transitions_of_a_small_repository(self, history: Repo, tmp_path: Path) -> None:
        language_servers.require("python")
        saved = tmp_path / "figures.json"
        clone = f"small={history.path}"
        options = ["--repository", clone, "--only", "transitions", "--transitions", "2", "--cold", "1"]
        options += ["--json", str(saved)]
        options += [f"--servers={folder}" for folder in language_servers.search().folders]
        assert relations_command.main(options) == 0
        data = json.loads(saved.read_text())
        move, call = data["details"]["transitions"]
        for sample in (move, call):
            assert sample["differences_repaired"]["sites"] == 0
            assert sample["differences_by_file"]["sites"] == 0
            assert sample["differences_verified"]["sites"] == 0
            assert sample["verify_asked"] == sample["sites"] > 0
            assert sample["kept"] + sum(sample["asked"].values()) == sample["sites"]
            assert sample["requests"]["rebuild"]["textDocument/definition"] >= sample["sites"]
        assert move["cold_s"] is not None
        assert call["cold_s"] is None
        assert call["asked"]["new"] == 4  # lib, greet, print, greet of the new file
        assert data["details"]["first builds"][0]["files"] == 2
        equal = [figure["met"] for figure in data["figures"] if "equals a rebuild" in figure["name"]]
        assert equal == [True, True, None]  # of repair by file nothing is asked

    def test_navigation_of_a_small_repository(self, history: Repo, tmp_path: Path) -> None:
        language_servers.require("python")
        saved = tmp_path / "figures.json"
        options = ["--repository", f"small={history.path}", "--only", "inverse", "static"]
        options += [f"--servers={folder}" for folder in language_servers.search().folders]
        assert relations_command.main([*options, "--transitions", "1", "--json", str(saved)]) == 0
        rows = {figure["name"]: figure for figure in json.loads(saved.read_text())["figures"]}
        assert rows["python: small: static definitions equal live ones"]["value"] == "100.0% (12 of 12)"
        assert rows["python: small: static references equal live ones"]["value"] == "100.0% (3 of 3)"
        assert rows["python: small: static implementations equal live ones"]["value"] == "0.0% (0 of 0)"
        assert "(n=12)" in rows["python: small: definition over the socket, static"]["value"]

    def test_what_cannot_be_measured_is_a_row_that_says_why(self, history: Repo, tmp_path: Path) -> None:
        saved = tmp_path / "figures.json"
        options = ["--repository", f"small={history.path}", "--family", "rust", "--json", str(saved)]
        assert relations_command.main(options) == 1
        (figure,) = json.loads(saved.read_text())["figures"]
        assert figure["name"] == "small"
        assert "no two commits that change rust files" in figure["value"]
