"""Live answers where the server does not build some files: what it does not read is never called nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitrepo import Repo
from live_world import CERTAIN, WAIT_S, LiveHome, hits, lines
from waiting import wait_until

TAGGED = """//go:build never

package app

func tagged() string {
	return unique()
}
"""
FILES = {
    "go.mod": "module example.org/app\n\ngo 1.20\n",
    "lib.go": 'package app\n\nfunc unique() string { return "" }\n\nfunc plain() string { return "" }\n',
    "tagged.go": TAGGED,
}
NOT_BUILT = "the server does not build this file or names too many places, so what it refers to is not known"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    with LiveHome(tmp_path_factory.mktemp("unbuilt"), "go") as made:
        yield made


@pytest.fixture(scope="module")
def repo(home: LiveHome) -> Repo:
    made = home.repository(FILES)
    home.related(made)
    return made


@pytest.mark.parametrize("operation", ["definition", "references", "callers", "implementations"])
def test_a_place_in_a_file_that_is_not_built_gets_the_reason(
    home: LiveHome, repo: Repo, operation: str
) -> None:
    def said(provider: str) -> Any:
        answer = home.ask(repo, operation, "tagged.go", line=6, col=10, provider=provider)
        return answer["asked"], answer["hits"], answer["reason"]

    assert said("live") == said("static")
    asked, _, reason = said("live")
    assert (asked["name"], reason) == ("unique", f"tagged.go:6:9: unique (call): {NOT_BUILT}")


def test_of_a_place_without_a_symbol_in_such_a_file_that_is_said(home: LiveHome, repo: Repo) -> None:
    answers = [
        home.ask(repo, "definition", "tagged.go", line=6, col=2, provider=provider)
        for provider in ("live", "static")
    ]
    assert [answer["reason"] for answer in answers] == [
        "tagged.go:6:2: return refers to nothing there: it is a keyword, or part of a literal, a comment or"
        " the like"
    ] * 2


def test_what_is_called_in_such_a_file_is_unknown(home: LiveHome, repo: Repo) -> None:
    answer = home.ask(repo, "callees", "tagged.go", line=6, provider="live")
    assert (answer["hits"], answer["unknown"]) == ([], 1)


def test_a_name_in_such_a_file_is_found_where_it_stands(home: LiveHome, repo: Repo) -> None:
    for asked in ({"name": "tagged"}, {"path": "tagged.go", "line": 5, "col": 6}):
        answer = home.ask(repo, "definition", provider="live", **asked)
        assert lines(answer) == [("tagged.go", 5)]
        assert hits(answer) == hits(home.ask(repo, "definition", provider="static", **asked))


@pytest.mark.parametrize("operation", ["references", "callers"])
def test_what_is_not_built_could_belong_to_a_live_answer_as_to_a_stored_one(
    home: LiveHome, repo: Repo, operation: str
) -> None:
    """Nothing else refers to `unique`, and who does is in a file that the server reads nothing of."""
    for asked in ({"name": "unique"}, {"path": "lib.go", "line": 3, "col": 6}):
        live, static = (home.ask(repo, operation, provider=each, **asked) for each in ("live", "static"))
        assert (live["hits"], live["unknown"]) == (static["hits"], static["unknown"]) == ([], 1)
        assert live["reason"] == (
            f"the language server knows of no {operation} of unique in the files that it builds"
        )
        plain = home.ask(repo, operation, name="plain", provider="live")
        assert (plain["hits"], plain["unknown"]) == ([], 0)
    command = {"references": "refs", "callers": "callers"}[operation]
    said = home.nibd(command, "unique", "--provider", "live", cwd=repo.path, status=1).out.splitlines()
    assert said[0].startswith(f"commit {repo.head()[:10]}; structural exact; live from gopls v")
    assert said[1:3] == [
        "! LIMITED: cgo is off",
        "! UNKNOWN: 1 site could belong here; no server says whether",
    ]


def test_what_is_not_built_is_not_forgotten_when_a_server_answers_after_a_commit(tmp_path: Path) -> None:
    """Until relations are made, repaired, and verified again, whoever answers says so."""
    with LiveHome(tmp_path, "go") as home:
        repo = home.repository(FILES)
        home.related(repo)

        def said_live() -> bool:
            repo.write("lib.go", (repo.path / "lib.go").read_text() + "\n// more\n")
            head = repo.commit()
            answers: list[Any] = []

            def is_certain() -> bool:
                answers.append(home.ask(repo, "references", name="unique"))
                relations = answers[-1]["views"]["structural"]["relations"]["go"]
                return answers[-1]["snapshot"]["commit"] == head and relations["assurance"] in CERTAIN

            wait_until(is_certain, WAIT_S, "relations that are verified")
            assert [answer["unknown"] for answer in answers] == [1] * len(answers)
            return any(answer["provider"] == "live" for answer in answers)

        wait_until(said_live, WAIT_S, "a live answer after a commit")
