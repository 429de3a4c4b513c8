"""Navigation over the socket and from the command line: what an answer rests on, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_run import PROGRAM
from daemon_world import Daemon, running_at_home
from gitrepo import Repo
from made_navigation import publish_relations
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import CheckoutId

SHAPES = """class Shape:
    def area(self):
        return helper(self)


class Square(Shape):
    def area(self):
        return mystery(self)


def helper(shape):
    print(shape)
"""
USES = "import shapes\n\n\ndef use(shape):\n    return helper(shape)\n"
CALLS = ["shapes.py:3 call helper", "uses.py:5 call helper"]


class World:
    """A repository in a daemon, whose relations are made when asked for."""

    def __init__(self, daemon: Daemon, repo: Repo) -> None:
        self.daemon = daemon
        self.repo = repo
        self.added = daemon.add(repo.path)
        daemon.published(repo.path)

    @property
    def folder(self) -> RepositoryFolder:
        return RepositoryFolder(self.daemon.cache / "repositories" / self.added["repository"])

    def relate(self) -> None:
        publish_relations(self.folder, self.repo.path, CheckoutId(self.added["checkout"]))

    def ask(self, operation: str, path: str = "", **params: Any) -> Any:
        where = str(self.repo.path / path)
        return self.daemon.call("navigate", path=where, operation=operation, **params)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon, in a home of its own, for a repository of each test."""
    with running_at_home(tmp_path_factory.mktemp("home")) as daemon:
        yield daemon


@pytest.fixture
def world(shared: Daemon, tmp_path: Path) -> World:
    repo = Repo(tmp_path / "repo")
    repo.write("shapes.py", SHAPES)
    repo.write("uses.py", USES)
    repo.write("notes.md", "# Notes\n")
    repo.commit("one")
    return World(shared, repo)


def lines(answer: Any) -> list[str]:
    return [f"{hit['path']}:{hit['line']} {hit['kind']} {hit['name']}" for hit in answer["hits"]]


def test_an_answer_says_what_it_rests_on(world: World) -> None:
    world.relate()
    answer = world.ask("definition", "uses.py", line=5, col=14)

    structural = answer["views"]["structural"]
    python = structural["relations"]["python"]
    assert lines(answer) == ["shapes.py:11 function helper"]
    assert answer["snapshot"]["commit"] == answer["head"]["commit"] == world.repo.head()
    assert (answer["provider"], [step["outcome"] for step in answer["trace"]]) == ("static", ["answered"])
    assert (python["state"], python["assurance"], python["used"]) == ("ready", "verified", True)
    assert python["coverage"] == {"done": 2, "of": 2}
    assert python["lag"] == structural["lag"]
    assert python["lag"]["commits"] == 0
    assert answer["asked"] == {
        "path": "uses.py", "line": 5, "col": 12, "name": "helper", "kind": "call", "edited": False,
    }  # fmt: skip
    (hit,) = answer["hits"]
    assert (hit["start_line"], hit["end_line"], hit["col"], hit["external"]) == (11, 12, 5, None)
    assert hit["snippet"].startswith("def helper(shape):")


def test_every_operation_is_answered_by_place_and_by_name(world: World) -> None:
    world.relate()

    assert lines(world.ask("references", name="helper")) == CALLS
    callers = world.ask("callers", "shapes.py", line=11, col=5)
    assert [(hit["name"], hit["calls"], hit["snippet"]) for hit in callers["hits"]] == [
        ("Shape.area", [3], "        return helper(self)"),
        ("use", [5], "    return helper(shape)"),
    ]
    (outside,) = world.ask("callees", name="helper")["hits"]
    assert outside["external"] == {"package": "stdlib", "path": "builtins.pyi", "name": "print"}
    assert (outside["path"], outside["start_line"], outside["kind"]) == (None, None, "external")
    assert lines(world.ask("callees", "uses.py", line=5, col=1)) == ["shapes.py:11 function helper"]
    assert lines(world.ask("implementations", name="Shape")) == ["shapes.py:6 class Square"]
    assert lines(world.ask("implementations", name="Shape.area")) == ["shapes.py:7 method Square.area"]
    assert lines(world.ask("imports", "uses.py")) == ["shapes.py:1 file "]
    assert lines(world.ask("importers", "shapes.py")) == ["uses.py:1 file "]


def test_pages_are_of_one_whole(world: World) -> None:
    world.relate()
    pages = [
        world.ask("references", name="helper", include_declaration=True, k=1, offset=offset)
        for offset in range(4)
    ]

    assert [lines(page)[:1] for page in pages] == [
        ["shapes.py:3 call helper"], ["shapes.py:11 definition helper"], ["uses.py:5 call helper"], [],
    ]  # fmt: skip
    assert {page["total"] for page in pages} == {3}


def test_an_ambiguous_name_gives_candidates_and_no_hits(world: World) -> None:
    world.relate()
    answer = world.ask("references", name="area")

    assert answer["hits"] == []
    assert [hit["name"] for hit in answer["candidates"]] == ["Shape.area", "Square.area"]
    assert [(hit["line"], hit["col"]) for hit in answer["candidates"]] == [(2, 9), (7, 9)]
    assert "means 2 symbols" in answer["reason"]
    assert len(world.ask("definition", name="area")["hits"]) == 2
    assert world.ask("references", name="nowhere")["reason"] == "nothing is called nowhere"


def test_unknown_is_said_and_not_taken_for_nothing(world: World) -> None:
    world.relate()
    asked = world.ask("definition", "shapes.py", line=8, col=16)
    callees = world.ask("callees", name="Square.area")
    nothing = world.ask("definition", "shapes.py", line=4, col=1)

    assert (asked["hits"], "not known" in asked["reason"]) == ([], True)
    assert (callees["hits"], callees["unknown"]) == ([], 1)
    assert (nothing["hits"], nothing["asked"]["name"]) == ([], "")


def test_an_edited_file_is_marked_also_where_it_was_asked_about(world: World) -> None:
    world.relate()
    world.repo.write("uses.py", "\n" + USES)
    answer = world.ask("definition", "uses.py", line=5, col=14)

    assert (answer["asked"]["edited"], answer["hits"][0]["edited"]) == (True, False)


def test_an_older_snapshot_answers_until_the_newest_has_relations(world: World) -> None:
    world.relate()
    first = world.repo.head()
    world.repo.write("shapes.py", SHAPES.replace("helper(shape)", "helper(shape, more=0)"))
    world.repo.write("new.py", "def fresh():\n    pass\n")
    second = world.repo.commit("two")
    world.daemon.published(world.repo.path)

    answer = world.ask("references", name="helper")
    assert (answer["snapshot"]["commit"], answer["head"]["commit"]) == (first, second)
    assert answer["views"]["structural"]["relations"]["python"]["lag"]["commits"] == 1
    assert [step["commit"] for step in answer["trace"]] == [second, first]
    assert lines(answer) == CALLS
    for question in ({"name": "fresh"}, {"path": "new.py", "line": 1, "col": 5}):
        with pytest.raises(RpcError, match="relations of python"):
            world.ask("references", **question)
    assert lines(world.ask("definition", name="fresh")) == ["new.py:1 function fresh"]
    with pytest.raises(RpcError) as refused:
        world.ask("references", name="helper", at=second)
    assert refused.value.code == ErrorCode.UNPUBLISHED_COMMIT


def test_what_cannot_be_answered_is_an_error_with_its_reason(world: World) -> None:
    def refused(operation: str, path: str = "", **params: Any) -> tuple[int, str]:
        with pytest.raises(RpcError) as error:
            world.ask(operation, path, **params)
        return error.value.code, error.value.message

    code, message = refused("references", name="helper")
    assert code in (ErrorCode.VIEW_ABSENT, ErrorCode.VIEW_NOT_READY)
    assert "relations of python" in message
    _, message = refused("references", name="helper", at=world.repo.head())
    assert message.endswith("are not there for this commit; relations are made of what a checkout shows")
    world.relate()
    assert refused("references", name="helper", provider="live")[0] == ErrorCode.VIEW_ABSENT
    assert refused("definition", "notes.md", line=1, col=3)[0] == ErrorCode.VIEW_ABSENT
    assert refused("definition", "gone.py", line=1, col=1)[0] == ErrorCode.NOT_FOUND
    assert refused("definition", "uses.py", line=99, col=1) == (
        ErrorCode.NOT_FOUND,
        "line 99, column 1 is not there: uses.py has 6 lines in the snapshot",
    )
    for params in ({}, {"name": "a", "line": 1, "col": 1}, {"col": 1}):
        assert refused("definition", "uses.py", **params)[0] == ErrorCode.INVALID_PARAMS
    assert refused("imports", "uses.py", name="x")[0] == ErrorCode.INVALID_PARAMS
    assert refused("guess", name="x")[0] == ErrorCode.INVALID_PARAMS


def test_relations_that_were_deleted_are_not_there(world: World) -> None:
    world.relate()
    assert world.ask("references", name="helper")["total"] == 2
    world.folder.clear_relations()

    said = "relations of python are not there for this commit: .*; `nibd wait --view relations` comes"
    with pytest.raises(RpcError, match=said):
        world.ask("references", name="helper")
    assert world.ask("definition", name="helper")["total"] == 1


def test_the_command_line_prints_places_that_it_takes(world: World) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=world.repo.path,
            env=world.daemon.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr

    world.relate()
    status, text = run("def", "uses.py:5:14")
    assert status == 0
    assert text.splitlines()[0].endswith("; structural exact; python relations verified; static")
    assert "shapes.py:11:5 function helper" in text.splitlines()
    status, text = run("refs", "shapes.py:11:5", "--declaration", "--repo", str(world.repo.path), "--json")
    found = json.loads(text)
    assert (status, [hit["line"] for hit in found["hits"]]) == (0, [3, 11, 5])
    assert run("callers", "helper", "-k", "1")[1].splitlines()[-1] == "… 1 more"
    assert "stdlib builtins.pyi external print" in run("callees", "helper")[1]
    assert run("impls", "Shape")[0] == 0
    assert run("impls", "Square")[0] == 1
    status, text = run("refs", "area")
    assert status == 1
    assert "  shapes.py:2:9 method Shape.area" in text.splitlines()
    assert run("def", "helper", "--provider", "live")[0] == 3
    world.repo.write("uses.py", "\n" + USES)
    assert "! EDITED in the work tree since: uses.py" in run("def", "uses.py:5:14")[1]
