"""docs/bench.md says of the benches of retrieval, context and life cycle what they do."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from nibd.bench import (
    agent,
    agent_tools,
    context_command,
    context_figures,
    history_rows,
    intervals,
    lifecycle_command,
    retrieve_command,
    retrieve_plans,
)
from nibd.bench.retrieve_answers import FIRST
from nibd.bench.trajectory import Policy

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "bench.md").read_text()


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/bench.md has no section {title}"
    return found[1]


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"}


def named(text: str) -> set[str]:
    return set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text)) - {"--help"}


@pytest.mark.parametrize(
    ("parser", "sections"),
    [
        (retrieve_command.make_parser(), ("Questions", "Retrieval")),
        (context_command.make_parser(), ("Questions", "Context")),
        (lifecycle_command.make_parser(), ("Life cycle",)),
    ],
    ids=["retrieve", "context", "lifecycle"],
)
def test_every_option_is_documented_and_no_other(
    parser: argparse.ArgumentParser, sections: tuple[str, ...]
) -> None:
    assert named("".join(map(section, sections))) == options_of(parser)


def test_every_plan_and_every_policy_is_named() -> None:
    assert all(f"`{plan}`" in section("Retrieval") for plan in retrieve_plans.PLANS)
    assert all(f"| `{policy.value}` |" in section("Context") for policy in Policy)


def test_what_the_agent_goes_by_is_as_documented() -> None:
    text = section("Context")
    assert f"until it has {agent.ENOUGH} things to go by" in text
    assert f"has read one file and knows of {agent.ANSWERED}." in text
    assert f"reads {agent_tools.READ_LINES} lines" in text
    assert f"has read, {agent.READS} at most" in text
    assert f"the {agent.ANSWERED} files that it believes in most" in text
    most = f"up to {agent_tools.FOUND_LINES} lines, or where there are more the files"
    assert f"{most} ({agent_tools.FOUND_FILES})" in text
    assert agent.PATH_WEIGHT == agent.QUOTED_WEIGHT == 2
    assert f"names that are written as such ({agent.NAME_WEIGHT:g})" in text
    assert f"of the title ({agent.WORD_WEIGHT:g})" in text
    assert (agent.WORD_LETTERS, agent.NO_CODE_SHARE, context_command.PACKET_UNITS) == (5, 0.25, 10)
    assert f"tokens ({context_command.BUDGET})" in text
    assert f"at least {context_figures.GATE:g}" in text


def test_how_figures_are_made_is_as_documented() -> None:
    assert f"{intervals.BOOTSTRAPS:,} times from a fixed seed" in section("Questions")
    assert f"*file R@{', '.join(map(str, FIRST))}*" in section("Retrieval")
    assert history_rows.MOST_FILES == 5
    assert "one to five files of code" in section("Questions")
    assert f"({', '.join(map(str, lifecycle_command.SESSIONS))})" in section("Life cycle")


def test_the_makefile_has_a_target_for_each() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for name in ("retrieve", "context", "lifecycle"):
        assert f"make bench-{name}" in PAGE
        assert re.search(rf"^[\w -]*\bbench-{name}\b.*: setup$", makefile, re.MULTILINE)
