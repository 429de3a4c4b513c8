"""The documents say what is so: names, keys, codes, paths and links are those of the code.

Commands and options are held to docs/cli.md in test_cli_parsing, settings to docs/settings.md in
test_settings.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import structlog

from daemon_world import NO_DENSE, Daemon, configure, running
from gitrepo import Repo
from nibd.daemon import searching, wire
from nibd.daemon.cli import COMMANDS
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.doctor import Verdict
from nibd.daemon.filtering import AskedFilters
from nibd.daemon.grepping import Request
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Registry
from nibd.daemon.scheduler import Kind, Lane
from nibd.daemon.service import Service
from nibd.daemon.sessions import Sessions
from nibd.daemon.settings import Narrowing, Settings
from nibd.hooks import Outcome
from nibd.ipc.client import Client
from nibd.ipc.handlers import Method
from nibd.ipc.messages import ErrorCode
from nibd.query.forms import Form
from nibd.query.hits import Hit
from nibd.query.planning import AUTO, LARGEST, Plan, widths_by_name
from nibd.repair.git import Absence
from nibd.stores.lexical_documents import Field, Population
from nibd.stores.types import Assurance, BlobId, Level, RepoPath, Skip, State, View
from nibd.systemd.files import UnitChange

ROOT = Path(__file__).parent.parent
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
DECISIONS = ROOT / "docs" / "decisions"
WORDS: tuple[type[Enum], ...] = (
    Absence, Assurance, Field, Form, Kind, Lane, Narrowing, Outcome, Plan, Population, Skip, State,
    UnitChange, Verdict, View,
)  # fmt: skip
PORTIONS = ("bench", "daemon", "hooks", "ipc", "query", "repair", "stores", "systemd")
PLACES = re.compile(rf"(?:{'|'.join(PORTIONS)}|docs|tests)/[\w./-]+\w")
MODULES = re.compile(rf"`(nibd\.(?:{'|'.join(PORTIONS)})(?:\.\w+)+)`")
TESTS = re.compile(r"\b(tests/test_\w+\.py)(?:::(\w+))?")
LINKS = re.compile(r"\]\(([^)\s]+)\)")


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def without_examples(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    """A section of the protocol's page, without its heading."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PROTOCOL, re.MULTILINE | re.DOTALL)
    assert found, f"docs/protocol.md has no section {title}"
    return found[1]


def rows(title: str) -> Iterator[list[str]]:
    """The cells of a section's table."""
    for line in re.findall(r"^\| `.* \|$", section(title), re.MULTILINE):
        yield [cell.strip() for cell in line.strip("|").split("|")]


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def keys(title: str) -> set[str]:
    """What the first column of a section's table names."""
    return {key for row in rows(title) for key in quoted(row[0])}


def meaning(title: str, key: str) -> set[str]:
    """What the cell beside `key` names."""
    return next(quoted(row[1]) for row in rows(title) if key in quoted(row[0]))


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    configure(NO_DENSE)
    with running() as started:
        yield started


# The protocol

SHARED: dict[str, Any] = {
    "sessions.at(given": Sessions.at,
    "sessions.take(given": Sessions.take,
    "_reach(given": searching._reach,
    "Filters.take(given": AskedFilters.take,
}
"""What takes parameters for several methods; one that is taken by another stands before it."""


def test_every_key_that_crosses_the_wire_is_in_the_protocol(daemon: Daemon, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "def alpha():\n    return 1\n")
    repo.commit("one")
    where = {"path": str(repo.path)}
    results: dict[str, Any] = {"hello": daemon.call("hello"), "repository.add": daemon.add(repo.path)}
    progress: list[Any] = []
    with Client(daemon.socket) as client:
        results["wait"] = client.call(
            "wait", {**where, "timeout_s": 60}, lambda _, value: progress.append(value), timeout_s=90
        )
    status = daemon.call("status", **where)
    answers = {
        "search": daemon.call("search", query="alpha", **where),
        "symbols": daemon.call("symbols", name="alpha", **where),
        "outline": daemon.call("outline", path=str(repo.path / "a.py")),
    }
    explained = daemon.call("search", query="alpha", explain=True, **where)
    found = daemon.call("grep", pattern="return", **where)
    counted = daemon.call("grep", pattern="return", mode="count", **where)
    results["verify"] = daemon.call("verify", views=["structural"], **where)
    results["doctor"] = daemon.call("doctor")
    listed = daemon.call("repository.list")
    results["repository.remove"] = daemon.call("repository.remove", **where)
    results["shutdown"] = daemon.call("shutdown")

    documented = {next(iter(quoted(row[0]))): quoted(row[-1].split(";")[0]) for row in rows("Methods")}
    for method, result in results.items():
        compared = {"equal", "compared", "differences", "count"} if method == "verify" else set()
        assert documented[method] == set(result) | compared, method
    assert documented["repository.list"] == set(listed) | set(listed["checkouts"][0])
    compared = results["verify"]["views"]["structural"]
    assert set(compared) == {"equal", "compared", "differences", "count"}

    assert keys("Status") == set(status)
    assert meaning("Status", "head") - {"commit"} == set(status["head"]) - {"commit"}
    assert meaning("Status", "snapshot") == set(status["snapshot"])
    assert meaning("Status", "files") == set(status["files"])
    assert keys("Views") == set(status["views"]["structural"]) | {"used"}
    assert meaning("Views", "lag") == set(status["views"]["structural"]["lag"])
    assert meaning("Views", "coverage") == set(status["views"]["structural"]["coverage"])

    assert keys("Statistics") == set(status["statistics"])
    jobs = set(status["statistics"]["jobs"]["repair"])
    assert jobs | {kind.value for kind in Kind} == meaning("Statistics", "jobs")
    processes = status["statistics"]["processes"]
    of_processes = set(processes) | {key for process in processes.values() for key in process}
    assert of_processes == meaning("Statistics", "processes")

    for answer in (answers["search"], explained):
        assert (answer.pop("plan"), answer.pop("reranker")) == ("lexical", None)
    for method, answer in answers.items():
        assert keys("Answers") == set(answer), method
        assert meaning("Answers", "snapshot") == set(answer["snapshot"])
        assert meaning("Answers", "head") == set(answer["head"])
        own = set() if method == "outline" else {"level", "parent"}
        assert keys("Hits") - own == set(answer["hits"][0]), method
        for view in answer["views"].values():
            assert set(view) == keys("Views") - {"work"}, method
    assert_explained(explained)
    assert keys("Grep") | keys("Answers") - {"broken"} == set(found)
    assert keys("Broken files") == set(status["broken"])
    assert keys("Matches") == set(found["hits"][0]) | set(counted["hits"][0])
    for value in progress:
        assert set(value) == {"stage", "done", "total"}
        assert value["stage"] in quoted(section("Progress"))


def assert_explained(answer: Any) -> None:
    assert keys("Answers") | {"explain"} == set(answer)
    assert keys("Explanations") == set(answer["explain"])
    assert meaning("Explanations", "plan") == set(answer["explain"]["plan"])
    assert meaning("Hits", "matches") == set(answer["hits"][0]["matches"][0])


def test_every_method_is_in_the_protocol_with_its_parameters(tmp_path: Path) -> None:
    paths = Paths.from_environment(os.environ, os.getuid())
    coordinator = Coordinator(paths, Settings(), Registry(tmp_path / "registry.json"), structlog.get_logger())
    methods = Service(coordinator, lambda: None).methods()
    taken = {}
    for name, method in methods.items():
        handler: Any = method.handler if isinstance(method, Method) else method
        source = inspect.getsource(handler) + (inspect.getsource(Request.take) if name == "grep" else "")
        for call, shared in SHARED.items():
            source += inspect.getsource(shared) if call in source else ""
            source += inspect.getsource(Sessions.take) if "self.take(given" in source else ""
        taken[name] = set(re.findall(r"given\.\w+\(\"(\w+)\"", source))
    values = {"lexical", "structural", "dense", "hybrid", "auto", "L0", "L1", "L2"}

    assert {next(iter(quoted(row[0]))): quoted(row[1]) - values for row in rows("Methods")} == taken


def test_a_path_that_is_not_utf8_is_shown_as_the_protocol_says() -> None:
    shown = wire.path_fields(RepoPath(b"caf\xe9.py"))

    assert shown == {"path": "caf\\xe9.py", "path_base64": "Y2Fm6S5weQ=="}
    assert "path_base64" in PROTOCOL


def test_hits_of_ranked_answers_have_no_more_keys_than_documented() -> None:
    found = Hit(RepoPath(b"a"), 1, 1, "file", "", Level.FILE, "text", BlobId("0" * 40), 1.0)

    assert set(wire.hit(found, None, None)) == keys("Hits") - {"level", "parent"}


def test_every_plan_and_every_width_is_in_the_protocol() -> None:
    assert keys("Search") == {*Plan, AUTO}
    assert widths_by_name(LARGEST).keys() <= quoted(section("Search"))


def test_every_error_code_is_in_the_protocol_with_its_number() -> None:
    documented = {next(iter(quoted(row[0]))): int(row[1]) for row in rows("Errors")}

    assert documented == {code.wire_name: int(code) for code in ErrorCode}


@pytest.mark.parametrize("words", [State, Assurance])
def test_states_and_assurances_are_in_the_protocol_and_explained(words: type[State | Assurance]) -> None:
    explained = (ROOT / "docs" / "consistency.md").read_text()

    assert meaning("Views", words.__name__.lower()) == {each.value for each in words}
    for each in words:
        assert f"\n| `{each.value}` | " in explained


# Words


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_every_value_of_an_enumeration_is_in_the_glossary(words: type[Enum]) -> None:
    assert {str(each.value) for each in words} - quoted(GLOSSARY) == set()


def test_levels_are_in_the_glossary() -> None:
    for level in Level:
        assert re.search(rf"`{level.name}` \(L{int(level)}\b", GLOSSARY)


def test_every_term_of_the_glossary_is_explained_once() -> None:
    terms = re.findall(r"\*\*([^*]+)\*\*", GLOSSARY)

    assert sorted(terms) == sorted(set(terms))


# Paths, links, tests, decisions


@pytest.mark.parametrize("document", DOCS, ids=name_of)
def test_relative_links_lead_somewhere(document: Path) -> None:
    for link in LINKS.findall(without_examples(document.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        found = (document.parent / target).resolve() if target else document
        assert found.exists(), f"{name_of(document)} links to {link}"
        assert not anchor or anchor in _anchors(found), f"{name_of(document)} links to {link}"


@pytest.mark.parametrize("document", DOCS, ids=name_of)
def test_files_and_modules_that_are_named_exist(document: Path) -> None:
    text = without_examples(document.read_text())
    for code in quoted(text):
        if PLACES.fullmatch(code) and "<" not in code:
            assert (ROOT / code).exists(), f"{name_of(document)} names {code}"
    for module in MODULES.findall(text):
        assert _is_of_a_module(module), f"{name_of(document)} names {module}"


@pytest.mark.parametrize("document", DOCS, ids=name_of)
def test_tests_that_are_named_exist(document: Path) -> None:
    for file, test in TESTS.findall(document.read_text()):
        assert (ROOT / file).is_file(), f"{name_of(document)} names {file}"
        if test:
            defined = re.search(rf"^(?:async )?def {test}\(", (ROOT / file).read_text(), re.MULTILINE)
            assert defined, f"{name_of(document)} names {file}::{test}"


def test_every_invariant_names_the_test_that_holds_it() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    invariants = re.search(r"^## Invariants\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert invariants
    numbered = re.findall(r"^(\d+)\. (.*)$", invariants[1], re.MULTILINE)

    assert [int(number) for number, _ in numbered] == list(range(1, len(numbered) + 1))
    for number, invariant in numbered:
        assert TESTS.search(invariant), f"invariant {number} names no test"


def test_every_decision_is_in_the_index() -> None:
    indexed = LINKS.findall((DECISIONS / "README.md").read_text())

    assert indexed == sorted(page.name for page in DECISIONS.glob("[0-9]*.md"))


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        links = LINKS.findall(without_examples(page.read_text()))
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links if "://" not in link]

    assert [name_of(page) for page in DOCS if page.resolve() not in reached] == []


def test_each_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: each for name, each in project["optional-dependencies"].items() if name != "all"}
    page = (DECISIONS / "0001-dependencies.md").read_text()

    for dependency in [*project["dependencies"], *chain.from_iterable(extras.values())]:
        name = re.split(r"[<>=\[ ]", dependency)[0]
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page), f"{name} is not explained"


def test_the_readme_shows_only_commands_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    readme = (ROOT / "README.md").read_text()
    for command in _shown("nibd", readme):
        assert command in COMMANDS, f"README.md shows nibd {command}"
    for target in _shown("make", readme):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"README.md shows make {target}"


def _shown(program: str, text: str) -> set[str]:
    """What follows `program` in examples and in code within the text."""
    examples = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`[^`\n]+`", without_examples(text))
    code = "\n".join([*examples, *inline])
    return set(re.findall(rf"(?:^|`|&& ){program} ([a-z]+)\b", code, re.MULTILINE))


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", without_examples(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _is_of_a_module(name: str) -> bool:
    """Whether `nibd.a.b.C` names a module, or something that a module defines."""
    parts = name.split(".")
    base = ROOT / parts[1] / "nibd"
    for end in (len(parts), len(parts) - 1):
        path = base.joinpath(*parts[1:end])
        rest = parts[end:]
        file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
        if file.is_file() and (not rest or re.search(rf"\b{rest[0]}\b", file.read_text())):
            return True
    return False
