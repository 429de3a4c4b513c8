"""The scripted agent: what it does with what it is shown, what a policy costs it, and the gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitrepo import Repo
from nibd.bench import retrieve_views
from nibd.bench.agent import ENOUGH, SYSTEM, clues, next_step
from nibd.bench.agent_tools import FOUND_LINES, Tools
from nibd.bench.context_command import main
from nibd.bench.context_figures import Run, difference, report_runs, share
from nibd.bench.intervals import Estimate
from nibd.bench.report import Report
from nibd.bench.retrieve_rows import Question
from nibd.bench.trajectory import Policy, Trajectory, run
from nibd.query.context.compaction import compact
from nibd.query.hits import Hit
from nibd.query.ranking.rank import rank
from nibd.stores.types import CommitId, Level

ONE_WORKER = retrieve_views.How(workers=1)
ISSUE = "ParcelScale shows the wrong weight\n\nSee `weigh_parcel` in src/scale.py and ParcelScale."
PACKET = "Source units of commit 0000000000:\n" + "".join(
    f"\nsrc/m{n}.py:{n}-{n + 9} function f{n} (blob 0000000000)\n```python\npass\n```\n" for n in range(1, 11)
)


def history(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ISSUE}, *more]


def packet() -> dict[str, Any]:
    return {"role": "user", "content": PACKET}


def found(pattern: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool": "grep", "pattern": pattern, "ok": True, "content": content}


def read(path: str, content: str, ok: bool = True) -> dict[str, Any]:
    return {"role": "tool", "tool": "read", "path": path, "ok": ok, "content": content}


class TestClues:
    def test_paths_and_quoted_names_come_before_names_and_words(self) -> None:
        texts = [clue.text for clue in clues(ISSUE)]
        assert texts == ["ParcelScale", "scale", "weigh_parcel", "shows", "weight"]

    def test_what_is_repeated_weighs_more(self) -> None:
        assert clues("AbcDef")[0].weight == 1.5
        assert clues("AbcDef AbcDef")[0].weight == 1.5 * 1.5


class TestSteps:
    def test_it_looks_for_its_first_clue(self) -> None:
        step = next_step(history())
        assert (step.tool, step.text) == ("grep", "ParcelScale")

    def test_a_clue_that_was_looked_for_is_not_looked_for_again(self) -> None:
        assert next_step(history(found("ParcelScale", "Nothing found."))).text == "scale"

    def test_a_packet_of_enough_units_is_read_from_at_once(self) -> None:
        step = next_step(history(packet()))
        assert (step.tool, step.text) == ("read", "src/m1.py")
        assert "src/m1.py, src/m2.py" in step.note

    def test_a_definition_tells_more_than_a_use_and_few_files_more_than_many(self) -> None:
        uses = "\n".join(f"use{n}.py:1: ParcelScale()" for n in range(8))
        lines = found("ParcelScale", f"{uses}\nlib/it.py:40: class ParcelScale:")
        assert "changed: lib/it.py, use0.py" in next_step(history(lines)).note
        rare = found("weigh_parcel", "rare.py:1: weigh_parcel()")
        assert "changed: rare.py, lib/it.py" in next_step(history(lines, rare)).note

    def test_it_reads_around_the_line_that_it_knows(self) -> None:
        lines = [found(c.text, "lib/it.py:40: class ParcelScale:") for c in clues(ISSUE)]
        step = next_step(history(*lines))
        assert (step.tool, step.text, step.line) == ("read", "lib/it.py", 20)

    def test_it_answers_when_what_it_believes_in_most_was_read(self) -> None:
        step = next_step(history(packet(), read("src/m1.py", "ParcelScale weigh_parcel scale")))
        assert (step.tool, step.answer[0], len(step.answer)) == ("answer", "src/m1.py", 5)

    def test_what_is_not_there_or_a_test_is_no_answer(self) -> None:
        lines = found("ParcelScale", "tests/test_scale.py:1: class ParcelScale:")
        step = next_step(history(packet(), lines, read("src/m1.py", "no such file", ok=False)))
        assert not {"src/m1.py", "tests/test_scale.py"} & {*step.note.replace(",", " ").split()}

    def test_after_a_compaction_it_knows_what_is_left_and_no_more(self) -> None:
        noted = {"role": "assistant", "content": next_step(history(packet())).note}
        before = history(packet(), noted, read("src/m1.py", "ParcelScale"))
        after = compact(before).history
        assert next_step(before).tool == "answer"
        step = next_step(after)
        assert (step.tool, step.answer) == ("answer", next_step(before).answer)
        assert next_step(after[:2]).tool == "grep"

    def test_a_silent_one_has_only_what_it_read_after_a_compaction(self) -> None:
        noted = {"role": "assistant", "content": next_step(history(packet()), silent=True).note}
        after = compact(history(packet(), noted, read("src/m1.py", "ParcelScale"))).history
        step = next_step(after, silent=True)
        assert (step.tool, step.text) == ("grep", "ParcelScale")
        assert "changed: src/m1.py, src/scale.py." in next_step(after).note


class Ones:
    """Each text is one token."""

    name = "ones"
    exact = True

    def count(self, text: str) -> int:
        return 1


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("src/scale.py", "class ParcelScale:\n    def weigh_parcel(self):\n        return 1\n")
    made.write("src/use.py", "def use():\n    return ParcelScale()\n")
    made.write("tests/test_scale.py", "def test():\n    ParcelScale()\n")
    for number in range(6):
        made.write(f"src/other{number}.py", f"def other_{number}(weight):\n    return weight + {number}\n")
    return made


@pytest.fixture
def opened(repo: Repo, tmp_path: Path) -> Iterator[retrieve_views.Opened]:
    commit = CommitId(repo.commit("one"))
    with retrieve_views.opened(repo.path, commit, tmp_path / "views", ONE_WORKER) as found:
        yield found


@pytest.fixture
def tools(opened: retrieve_views.Opened) -> Iterator[Tools]:
    made = Tools(opened)
    yield made
    made.close()


@pytest.fixture
def hits(opened: retrieve_views.Opened) -> list[Hit]:
    return rank(opened.tree, ISSUE, Level.CALLABLE, 10).hits


class TestTools:
    def test_grep_gives_lines_without_those_of_tests(self, tools: Tools) -> None:
        ok, content = tools.grep("ParcelScale")
        assert ok
        assert content == "src/scale.py:1: class ParcelScale:\nsrc/use.py:2: return ParcelScale()"
        assert tools.grep("nowhere") == (False, "Nothing found.")

    def test_of_many_lines_grep_gives_the_files(self, repo: Repo, tmp_path: Path) -> None:
        repo.write("src/many.py", "x = weight\n" * FOUND_LINES)
        commit = CommitId(repo.commit("many"))
        with retrieve_views.opened(repo.path, commit, tmp_path / "views", ONE_WORKER) as opened:
            made = Tools(opened)
            lines = made.grep("weight")[1].split("\n")
            made.close()
        assert lines[0] == f"src/many.py: {FOUND_LINES} lines"
        assert len(lines) == 7

    def test_read_gives_lines_from_one_on(self, tools: Tools) -> None:
        assert tools.read("src/use.py", 2) == (True, "    return ParcelScale()")
        assert tools.read("src/gone.py", 1)[0] is False


class TestTrajectories:
    def test_prompts_add_up_and_a_prefix_cache_holds_what_came_before(
        self, tools: Tools, hits: list[Hit]
    ) -> None:
        found = run(Policy.GREP_READ, ISSUE, hits, tools, Ones(), 8000)
        # Prompts have 2, 4, 6 ... messages; after the first, two of them are new.
        assert found.prompt == sum(2 * turn for turn in range(1, found.turns + 1))
        assert found.fresh == found.largest == 2 * found.turns
        assert (found.written, found.packet, found.rewritten) == (found.turns, 0, False)
        assert (found.greps, found.reads, found.answer[0]) == (5, 1, "src/scale.py")

    def test_eager_begins_with_a_packet_and_has_to_look_for_less(self, tools: Tools, hits: list[Hit]) -> None:
        bare, eager = (
            run(policy, ISSUE, hits, tools, Ones(), 8000) for policy in (Policy.GREP_READ, Policy.EAGER)
        )
        assert eager.packet == 1
        assert eager.greps < bare.greps
        assert eager.fresh == eager.largest == 2 * eager.turns + 1

    def test_compact_is_rewritten_once_and_its_prompts_begin_anew(
        self, tools: Tools, hits: list[Hit]
    ) -> None:
        policies = (Policy.EAGER, Policy.COMPACT)
        eager, compacted = (run(policy, ISSUE, hits, tools, Ones(), 8000) for policy in policies)
        assert (compacted.rewritten, eager.rewritten) == (True, False)
        assert (compacted.turns, compacted.reads, compacted.answer) == (eager.turns, 1, eager.answer)
        # The last prompt is system, issue and summary, of which the summary alone is new.
        assert compacted.prompt == eager.prompt - eager.largest + 3
        assert compacted.fresh == eager.fresh - 2 + 1

    def test_equal_issues_take_equal_steps(self, tools: Tools, hits: list[Hit]) -> None:
        first, again = (run(Policy.COMPACT, ISSUE, hits, tools, Ones(), 8000) for _ in range(2))
        assert first == again

    def test_a_packet_keeps_to_its_budget(self, tools: Tools, hits: list[Hit]) -> None:
        assert run(Policy.EAGER, ISSUE, hits, tools, Ones(), 0).packet == 0


def trajectory(answer: tuple[str, ...], prompt: int) -> Trajectory:
    return Trajectory(answer, 2, 1, 0, prompt, prompt // 2, 10, prompt // 2, 0, False)


def made_run(number: int, eager: tuple[str, ...], prompt: int, repository: str = "a/a") -> Run:
    asked = Question(
        f"q{number}", repository, CommitId("0" * 40), "go", "", "why", "", ("a", "b"), (), number % 2
    )
    by = {Policy.GREP_READ: trajectory(("a", "x"), 100), Policy.COMPACT: trajectory((), 50)}
    return Run(asked, by | {Policy.EAGER: trajectory(eager, prompt)})


class TestFigures:
    def test_recall_and_its_difference_by_hand(self) -> None:
        runs = [made_run(0, ("b", "a"), 30), made_run(1, ("a",), 20)]
        assert [run.recall(Policy.EAGER) for run in runs] == [1.0, 0.5]
        assert difference(runs, Policy.EAGER) == Estimate(0.25, 0.25, 0.25, 2)
        assert share(runs, Policy.EAGER, Policy.GREP_READ, lambda each: each.prompt) == Estimate(
            0.25, 0.25, 0.25, 2
        )

    @pytest.mark.parametrize(("second", "met"), [(("a", "x"), True), (("x",), False)])
    def test_a_policy_counts_by_the_lower_end(self, second: tuple[str, ...], met: bool) -> None:
        # On the average it gains, but drawn twice the second repository may lose a half.
        runs = [made_run(0, ("a", "b"), 30, "a/a"), made_run(1, second, 30, "b/b")]
        report = Report("context")
        report_runs("rows", runs, report)
        figures = {figure.name: figure for figure in report.figures}
        assert figures["rows: eager less grep-read, AnswerRecall@5"].met is met
        assert figures["rows: compact less grep-read, AnswerRecall@5"].met is False
        assert figures["rows: eager over grep-read, prompt tokens"].value == "0.30 (0.30 to 0.30)"
        assert "scripted agent" in "".join(part.title for part in report.parts)


class TestRun:
    def test_rows_are_answered_under_each_policy(self, repo: Repo, tmp_path: Path) -> None:
        row = {
            "id": "1", "repo": "o/r", "base_commit": repo.commit("one"), "language": "python",
            "issue_text": ISSUE, "gold_files": ["src/scale.py"],
        }  # fmt: skip
        (tmp_path / "rows.jsonl").write_text(json.dumps(row))
        (tmp_path / "mirrors").mkdir()
        repo.path.rename(tmp_path / "mirrors" / "o+r")
        where = ["--repositories", str(tmp_path / "mirrors"), "--cache", str(tmp_path / "cache")]
        kept = ["--json", str(tmp_path / "figures.json"), "--page", str(tmp_path / "page.html")]
        assert main(["--rows", str(tmp_path / "rows.jsonl"), *where, *kept, "--workers", "1"]) == 0
        data = json.loads((tmp_path / "figures.json").read_text())
        (told,) = data["details"]["rows"]
        assert {policy: each["AnswerRecall@5"] for policy, each in told["policies"].items()} == {
            "grep-read": 1.0, "eager": 1.0, "compact": 1.0
        }  # fmt: skip
        assert "not of a language model" in (tmp_path / "page.html").read_text()

    def test_a_tokenizer_that_is_none_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text("{}")
        options = ["--repository", f"a={tmp_path}", "--cache", str(tmp_path)]
        with pytest.raises(SystemExit) as ended:
            main([*options, "--tokenizer", str(tmp_path / "tokenizer.json")])
        assert ended.value.code == 2


def test_the_agent_has_as_much_to_go_by_as_a_packet_shows() -> None:
    assert PACKET.count("(blob ") >= ENOUGH
