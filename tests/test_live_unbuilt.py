"""Live answers where the server does not build some files: what it does not read is never called nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gitrepo import Repo
from live_world import LiveHome, hits, lines

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
NOT_BUILT = "the language server does not build this file, so what it refers to is not known"


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
    answer = home.ask(repo, "definition", name="tagged", provider="live")
    assert lines(answer) == [("tagged.go", 5)]
    assert hits(answer) == hits(home.ask(repo, "definition", name="tagged", provider="static"))
