"""Navigation that finds nothing, and places that are none: what is said, and with which exit status."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_run import Home
from gitrepo import Repo
from made_navigation import LIMITS, publish_relations
from nibd.daemon.cli import main
from nibd.daemon.navigation.reasons import leads_nowhere
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.query.navigation_asked import Asked
from nibd.query.navigation_files import SourceText, TreeFile
from nibd.repair.syntax.occurrences import FileSymbols
from nibd.repair.syntax.units import file_unit
from nibd.stores.relation_records import RelationRecord, pack
from nibd.stores.relation_types import FileRelations, Relation, RelationKind, Site, Target
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import BlobId, CheckoutId, FileVersion, RepoPath
from test_navigation_daemon import CALLS, SHAPES, USES, lines
from waiting import wait_until

SETTINGS = "[dense]\nenabled = false\n[relations]\nenabled = false\n"
LONELY = """import shapes


def lonely():
    pass


class Alone:
    def run(self):
        return lonely
"""


class World:
    """A repository that a daemon follows, with relations, and the command line in it."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.repo = Repo(folder / "repo")
        texts = {"shapes.py": SHAPES, "uses.py": USES, "pkg/alone.py": LONELY, "notes.md": "# Notes\n"}
        texts["pkg/open.py"] = "def mystery():\n    pass\n"
        texts["pkg/left.py"] = "unbuilt\n"
        for path, text in texts.items():
            self.repo.write(path, text)
        for key in ("user.name", "user.email"):
            self.repo.git("config", key, "test")
        self.repo.commit("one")
        home.nibd("init", "--no-hooks", self.repo.path)
        added = self.call("repository.add", path=str(self.repo.path))
        cache = RepositoryFolder(home.folder / "cache" / "nibd" / "repositories" / added["repository"])
        publish_relations(cache, self.repo.path, CheckoutId(added["checkout"]))

    def call(self, method: str, **params: Any) -> Any:
        with Client(self.home.socket, 60) as client:
            return client.call(method, params)

    def ask(self, operation: str, path: str = "", **params: Any) -> Any:
        return self.call("navigate", path=str(self.repo.path / path), operation=operation, **params)

    def reason(self, operation: str, path: str = "", **params: Any) -> str:
        answer = self.ask(operation, path, **params)
        assert (answer["hits"], answer["candidates"]) == ([], [])
        reason: str = answer["reason"]
        return reason

    def run(self, *arguments: str, status: int) -> str:
        """What a command says that is run in the repository."""
        done = self.home.nibd(*arguments, cwd=self.repo.path, status=status)
        return done.out + done.err


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = Home(tmp_path_factory.mktemp("home"), SETTINGS)
    try:
        yield World(home, tmp_path_factory.mktemp("world"))
    finally:
        home.close()


class TestPlaces:
    @pytest.mark.parametrize(
        ("what", "said"),
        [
            ("uses.py:0:1", "0 is no line: lines and columns count from 1"),
            ("uses.py:1:0", "0 is no column: lines and columns count from 1"),
            ("uses.py:-1", "-1 is no line"),
            ("uses.py:00:4", "00 is no line"),
            ("uses.py:99999999999999:1", "99999999999999 is no line"),
            ("uses.py", "uses.py is a file; give a place in a file, as FILE:LINE:COL or FILE:LINE"),
            ("./uses.py", "./uses.py is a file"),
            ("uses.py:", "uses.py: is no place"),
            ("uses.py:four:1", "uses.py:four:1 is no place"),
            ("pkg/alone.py", "pkg/alone.py is a file"),
            ("pkg/", "pkg/ is a folder; give a place in a file"),
            (".", ". is a folder"),
            ("pkg:1:1", "pkg is a folder"),
        ],
    )
    def test_what_can_be_no_place_is_usage_and_no_name(
        self,
        what: str,
        said: str,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """No daemon is asked: there is none in this process's home."""
        monkeypatch.chdir(world.repo.path)
        assert main(["refs", what]) == 2
        assert said in capsys.readouterr().err

    def test_a_place_may_be_written_as_compilers_and_grep_print_it(self, world: World) -> None:
        for what in ("./uses.py:5:12:", "shapes.py:11", "uses.py:05:12"):
            assert "shapes.py:11:5 function helper" in world.run("def", what, status=0)

    def test_names_stay_names(self, world: World) -> None:
        assert "shapes.py" in world.run("def", "Shape::area", status=0)
        for what in ("pkg", "no/such.py", "uses.py::use"):
            assert f"nothing is called {what}" in world.run("def", what, status=1)

    def test_files_are_relative_to_the_checkout_that_is_asked(self, world: World) -> None:
        elsewhere = world.home.folder
        done = world.home.nibd("def", "uses.py:5:12", "--repo", world.repo.path, cwd=elsewhere)
        assert "function helper" in done.out
        wrong = world.home.nibd("def", "uses.py", "--repo", world.repo.path, cwd=elsewhere, status=2)
        assert "uses.py is a file" in wrong.err

    def test_a_folder_is_refused_over_the_socket_too(self, world: World) -> None:
        for path in ("", "pkg"):
            with pytest.raises(RpcError, match="is a folder; a file is needed") as refused:
                world.ask("definition", path, line=1, col=1)
            assert refused.value.code == ErrorCode.INVALID_PARAMS

    def test_what_the_text_does_not_have_is_said_with_what_it_has(self, world: World) -> None:
        assert "uses.py has 6 lines in the snapshot" in world.run("def", "uses.py:7:1", status=1)
        assert "the line has 13 characters" in world.run("def", "uses.py:1:15", status=1)
        assert "gone.py is not in the snapshot" in world.run("def", "gone.py:1:1", status=1)


class TestLines:
    def test_a_line_means_what_is_declared_on_it(self, world: World) -> None:
        assert lines(world.ask("references", "shapes.py", line=11)) == CALLS
        assert [hit["name"] for hit in world.ask("callers", "shapes.py", line=11)["hits"]] == [
            "Shape.area", "use",
        ]  # fmt: skip

    def test_or_its_only_symbol(self, world: World) -> None:
        answer = world.ask("definition", "uses.py", line=1)
        assert lines(answer) == ["shapes.py:1 file "]
        assert answer["asked"]["name"] == "shapes"

    def test_of_several_it_gives_the_candidates(self, world: World) -> None:
        answer = world.ask("definition", "uses.py", line=5)
        assert answer["hits"] == []
        candidates = [(each["name"], each["col"]) for each in answer["candidates"]]
        assert candidates == [("helper", 12), ("shape", 19)]
        assert answer["reason"] == "uses.py:5 has 2 symbols; name one by its column"
        assert "  uses.py:5:12 call helper" in world.run("refs", "uses.py:5", status=1).splitlines()

    def test_or_the_unit_around_it_whose_callees_are_asked_for(self, world: World) -> None:
        assert lines(world.ask("callees", "uses.py", line=5)) == ["shapes.py:11 function helper"]
        assert lines(world.ask("callees", "uses.py", line=4)) == ["shapes.py:11 function helper"]

    def test_a_line_without_symbols_says_so(self, world: World) -> None:
        assert world.reason("definition", "uses.py", line=2) == (
            "uses.py:2: no identifier that refers to something stands on this line"
        )


class TestReasons:
    def test_a_place_without_a_site_says_what_stands_there(self, world: World) -> None:
        assert world.reason("definition", "uses.py", line=3, col=1) == (
            "uses.py:3:1: no identifier stands there"
        )
        assert world.reason("references", "uses.py", line=5, col=6).startswith(
            "uses.py:5:6: return refers to nothing there: it is a keyword"
        )

    def test_what_the_server_knows_nothing_of_differs_from_what_it_did_not_answer(self, world: World) -> None:
        assert world.reason("definition", "uses.py", line=5, col=19) == (
            f"uses.py:5:19: shape (read) refers to nothing that the language server knows of ({LIMITS})"
        )
        assert world.reason("definition", "shapes.py", line=8, col=16) == (
            "shapes.py:8:16: mystery (call): the language server has not answered, so what it refers to is"
            " not known"
        )

    def test_what_the_server_does_not_build_is_said(self, world: World) -> None:
        assert world.reason("definition", "pkg/left.py", line=1, col=1) == (
            "pkg/left.py:1:1: unbuilt (read): the server does not build this file or names too many places, "
            "so what it refers to is not known"
        )

    def test_modules_are_no_part_of_names(self, world: World) -> None:
        why = "modules and files are no part of a name"
        assert world.reason("references", name="pkg.alone.Alone.run") == (
            f"nothing is called pkg.alone.Alone.run; {why}: Alone.run alone is one (pkg/alone.py:9)"
        )
        assert world.reason("definition", name="shapes.area") == (
            f"nothing is called shapes.area; {why}: area alone is one (shapes.py:2 and 1 other)"
        )
        assert world.reason("callers", name="no.such") == "nothing is called no.such"

    def test_sections_of_markdown_are_no_symbols(self, world: World) -> None:
        here = "nothing in code is called Notes; a section of Markdown is (notes.md:1)"
        for operation in ("definition", "references", "callers"):
            assert world.reason(operation, name="Notes") == here
        assert "notes.md:1-1 section Notes" in world.run("symbols", "Notes", status=0)

    def test_sites_of_the_name_that_lead_nowhere_are_counted(self, world: World) -> None:
        left = "; 1 place with this name could not be resolved (nibd grep -w mystery)"
        mystery = "function mystery (pkg/open.py:1:5)"
        assert world.reason("references", name="mystery") == f"nothing refers to {mystery}{left}"
        assert world.reason("callers", name="mystery") == f"nothing calls {mystery}{left}"
        assert f"nothing refers to {mystery}{left}" in world.run("refs", "mystery", status=1)

    def test_what_nobody_uses_is_named(self, world: World) -> None:
        here = "(pkg/alone.py:8:7)"
        assert world.reason("references", name="Alone") == f"nothing refers to class Alone {here}"
        assert world.reason("callers", "pkg/alone.py", line=4, col=5) == (
            "nothing calls function lonely (pkg/alone.py:4:5), to which 1 site refers otherwise"
        )
        assert world.reason("implementations", name="Alone") == (
            f"nothing in the repository says that it inherits from class Alone {here}"
        )
        assert world.reason("implementations", name="Alone.run") == (
            "nothing that inherits from what holds method Alone.run (pkg/alone.py:9:9) has a method of"
            " this name"
        )
        assert world.reason("implementations", name="lonely") == (
            "function lonely (pkg/alone.py:4:5) is nothing that could be inherited from or overridden"
        )

    def test_what_calls_nothing_differs_from_what_is_not_known(self, world: World) -> None:
        assert world.reason("callees", name="lonely") == (
            "there is no call in function lonely (pkg/alone.py:4:1)"
        )
        assert world.reason("callees", name="Square.area") == (
            "what 1 call in method Square.area (shapes.py:7:5) refers to is not known"
        )

    def test_files_have_reasons_too(self, world: World) -> None:
        assert world.reason("importers", "pkg/alone.py") == "no file imports pkg/alone.py"
        assert world.reason("imports", "shapes.py") == "shapes.py imports nothing"

    def test_what_is_found_needs_no_reason(self, world: World) -> None:
        for operation in ("definition", "references", "callers", "callees"):
            assert world.ask(operation, name="helper")["reason"] is None
        beyond = world.ask("references", name="helper", offset=9)
        assert (beyond["hits"], beyond["total"], beyond["reason"]) == ([], 2, None)


def of_rust(text: str, *answers: tuple[Target, ...]) -> tuple[Asked, RelationRecord]:
    """A file with these answers for its words, the last of which is asked about."""
    units = (file_unit(text.encode()),)
    source = SourceText(text.encode(), units, FileSymbols(text.encode(), units))
    version = FileVersion(RepoPath(b"other.rs"), BlobId("b" * 40), 0o100644, "rust", None)
    words = [match.span() for match in re.finditer(r"\w+", text)]
    relations = tuple(
        Relation(Site(start, end, text[start:end], RelationKind.READ, 0), answer)
        for (start, end), answer in zip(words, answers, strict=True)
    )
    record, _ = pack(FileRelations(version.path, version.blob, version.language, relations))
    last = relations[-1]
    file = TreeFile(version, source)
    return Asked(file, last.site.start_byte, last.site.name, last, last.targets), record


def test_a_file_that_no_crate_has_is_told_from_a_name_that_leads_nowhere() -> None:
    asked, record = of_rust("greet polite", (), ())
    why = "no crate has this file, or a cfg leaves it out, so nothing is known of it"
    assert leads_nowhere(asked, "macros are not run", record) == f"other.rs:1:7: polite (read): {why}"
    asked, record = of_rust("greet polite", (Target("", RepoPath(b"other.rs"), "", 0, "greet", 0),), ())
    assert leads_nowhere(asked, "macros are not run", record).endswith("knows of (macros are not run)")


class TestExits:
    def test_no_answer_is_1_with_its_reason(self, world: World) -> None:
        assert "nothing refers to class Alone" in world.run("refs", "Alone", status=1)
        assert "notes.md has no relations: it is markdown" in world.run("def", "notes.md:1:3", status=3)

    def test_as_json_an_answer_without_hits_is_an_answer(self, world: World) -> None:
        answer = world.home.json("refs", "Alone", cwd=world.repo.path, status=1)
        assert (answer["hits"], answer["reason"][:15]) == ([], "nothing refers ")
        error = world.home.json("refs", "uses.py:0:1", cwd=world.repo.path, status=2)["error"]
        assert error["code"] == "usage"

    def test_what_is_not_followed_and_no_daemon_are_3(self, world: World, tmp_path: Path) -> None:
        other = Repo(tmp_path / "other")
        other.write("a.py", "x = 1\n")
        other.commit()
        world.home.nibd("def", "a.py:1:1", cwd=other.path, status=3)
        alone = Home(tmp_path / "home")
        try:
            assert "no daemon listens" in alone.nibd("def", "helper", cwd=world.repo.path, status=3).err
        finally:
            alone._runtime.cleanup()


def test_a_family_whose_server_is_missing_is_3_with_how_to_get_it(tmp_path: Path) -> None:
    """Its servers are looked for along PATH and beside the interpreter: a family that is in neither here."""
    home = Home(tmp_path / "home", "[dense]\nenabled = false\n")
    home.environment["PATH"] = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "gopls").exists()
    )
    repo = Repo(tmp_path / "repo")
    repo.write("main.go", "package main\n\nfunc main() {}\n")
    repo.write("go.mod", "module example.org/app\n")
    repo.commit()
    try:
        home.nibd("init", "--no-hooks", repo.path)
        home.nibd("wait", repo.path)
        said = _absent(home, repo)
        assert "gopls is not installed" in said["error"]["message"]
    finally:
        home.close()


def _absent(home: Home, repo: Repo) -> Any:
    found: list[Any] = []

    def is_absent() -> bool:
        done = home.nibd("refs", "main.go:3:6", "--json", cwd=repo.path, status=None)
        found[:] = [done.status, json.loads(done.out)]
        assert done.status == 3  # at first since they are not made yet
        return bool(found[1]["error"]["code"] == "view_absent")

    wait_until(is_absent, 60, "the daemon to miss gopls")
    return found[1]
