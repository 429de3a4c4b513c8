"""Go modules that can't be loaded as they are: they ask for a newer Go, or for modules that are absent."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import ClassVar

import pytest

from language_servers import Project, require
from nibd.repair.servers import Options, go_list
from nibd.repair.servers.go_mod_text import asked_version, copy, is_newer, newest, statements
from nibd.stores.types import RepoPath

APP = """package app

import "example.org/dep"

func greet() string { return dep.Greet() }

var x = greet()
"""
NEWER = "go 1.99.0\n\ntoolchain go1.99.1\n"
REQUIRE = "require (\n\texample.org/dep v1.0.0\n\texample.org/Other v1.0.0 // indirect\n)\n"


def go_mod(name: str = "app", more: str = "") -> str:
    return f"module example.org/{name}\n\n{more}"


class TestText:
    def test_statements_of_lines_and_blocks(self) -> None:
        text = 'module "example.org/app" // a\ngo 1.21\nrequire(\na.org/b v1 // indirect\nc.org/d v2\n)\n'
        found = [(each.verb, each.words, each.is_indirect) for each in statements(text)]
        assert found == [
            ("module", ("example.org/app",), False),
            ("go", ("1.21",), False),
            ("require", ("a.org/b", "v1"), True),
            ("require", ("c.org/d", "v2"), False),
        ]

    @pytest.mark.parametrize(
        ("asked", "installed", "newer"),
        [
            ("1.25", "1.24.4", True),
            ("1.25.0", "1.24.4", True),
            ("1.24.5", "1.24.4", True),
            ("1.24", "1.24.0", False),
            ("1.9", "1.24.4", False),
            ("", "1.24.4", False),
            ("1.25", "", True),
            ("what", "1.24.4", False),
        ],
    )
    def test_a_version_is_newer_by_its_numbers(self, asked: str, installed: str, newer: bool) -> None:
        assert is_newer(asked, installed) is newer

    def test_the_newest_is_named(self) -> None:
        assert newest(["1.9", "1.25.0", "1.24"]) == "1.25.0"

    def test_a_copy_has_what_decides_and_no_more(self) -> None:
        text = go_mod(
            more=NEWER + "godebug x=1\n" + REQUIRE + "tool a.org/t\nreplace example.org/dep => ./dep\n"
        )
        found = tuple(statements(text))
        assert asked_version(found) == "1.99.0"
        assert copy(found, "1.24.4", ["example.org/Other"]) == (
            'module "example.org/app"\ngo 1.24\nrequire "example.org/dep" "v1.0.0"\n'
            'replace "example.org/dep" => "./dep"\n'
        )
        assert copy(found, "1.24.4", ["example.org/dep"]) == (
            'module "example.org/app"\ngo 1.24\nrequire "example.org/Other" "v1.0.0" // indirect\n'
        )


def limits(project: Project) -> str:
    return "; ".join(project.server.limits)


def overlaid(project: Project) -> set[str]:
    """The files that copies stand for."""
    launch = project.driver.launch(project.installed, project.root, project.options)
    overlay = re.search(r"'-overlay=([^']+)'", launch.env["GOFLAGS"])
    replaced = json.loads(Path(overlay[1]).read_text())["Replace"] if overlay else {}
    return {Path(path).relative_to(project.root).as_posix() for path in replaced}


def test_a_newer_go_and_absent_modules_are_limits(tmp_path: Path) -> None:
    files = {"go.mod": go_mod(more=NEWER + REQUIRE), "app.go": APP}
    with Project(tmp_path, "go", files) as project:
        assert project.ask("app.go", "greet", 1) == {("app.go", 4, "greet")}
        assert "go.mod asks for Go 1.99.0, Go 1." in limits(project)
        assert "modules that are not on this machine: example.org/dep, example.org/Other" in limits(project)
        assert overlaid(project) == {"go.mod"}
        assert (project.root / "go.mod").read_text() == files["go.mod"]


def test_copies_are_removed_when_others_take_their_place(tmp_path: Path) -> None:
    def copies() -> list[str]:
        return sorted(path.suffix for path in (tmp_path / "cache" / "go-mod").iterdir())

    with Project(tmp_path, "go", {"go.mod": go_mod(more=NEWER + REQUIRE), "app.go": APP}) as project:
        assert copies() == [".json", ".mod"]
        project.write("go.mod", go_mod(more=NEWER + REQUIRE + "require example.org/more v1.0.0\n"))
        project.server.changed([], [RepoPath(b"go.mod")], [])
        assert copies() == [".json", ".mod"]
        assert "example.org/more" in limits(project)
        project.write("go.mod", go_mod(more="go 1.20\n"))
        project.server.changed([], [RepoPath(b"go.mod")], [])
        assert copies() == []


def test_what_can_be_loaded_has_no_copy(tmp_path: Path) -> None:
    files = {
        "go.mod": go_mod(more="go 1.20\nrequire example.org/dep v1.0.0\nreplace example.org/dep => ./dep\n"),
        "app.go": APP,
        "dep/go.mod": go_mod("dep"),
        "dep/dep.go": 'package dep\n\nfunc Greet() string { return "" }\n',
    }
    with Project(tmp_path, "go", files) as project:
        assert project.ask("app.go", "Greet") == {("dep/dep.go", 2, "Greet")}
        assert overlaid(project) == set()
        assert limits(project) == "cgo is off"


@pytest.mark.parametrize("asked", ["", NEWER], ids=["", "newer"])
def test_modules_of_a_workspace_find_each_other(tmp_path: Path, asked: str) -> None:
    files = {
        "go.work": f"{asked or 'go 1.20'}\nuse (\n\t./a\n\t./dep\n)\n",
        "a/go.mod": go_mod("a", asked + REQUIRE),
        "a/app.go": APP,
        "dep/go.mod": go_mod("dep", asked),
        "dep/dep.go": 'package dep\n\nfunc Greet() string { return "" }\n',
    }
    with Project(tmp_path, "go", files) as project:
        assert project.ask("a/app.go", "Greet") == {("dep/dep.go", 2, "Greet")}
        assert "modules that are not on this machine: example.org/Other (" in limits(project)
        assert ("go.mod asks for Go 1.99.0" in limits(project)) is bool(asked)


def test_a_module_in_a_folder_is_loaded_apart(tmp_path: Path) -> None:
    files = {
        "go.mod": go_mod(more="go 1.20\n"),
        "app.go": APP.replace('import "example.org/dep"\n\n', "").replace("dep.Greet()", '""'),
        "tools/go.mod": go_mod("tools", NEWER + REQUIRE),
        "tools/app.go": APP,
    }
    with Project(tmp_path, "go", files) as project:
        assert project.ask("app.go", "greet", 1) == {("app.go", 2, "greet")}
        assert project.ask("tools/app.go", "greet", 1) == {("tools/app.go", 4, "greet")}
        assert overlaid(project) == {"tools/go.mod"}


@pytest.mark.parametrize("asked", ["go 1.20\n", NEWER], ids=["", "newer"])
def test_vendored_modules_are_found(tmp_path: Path, asked: str) -> None:
    files = {
        "go.mod": go_mod(more=asked + "require example.org/dep v1.0.0\n"),
        "app.go": APP,
        "vendor/modules.txt": "# example.org/dep v1.0.0\n## explicit; go 1.20\nexample.org/dep\n",
        "vendor/example.org/dep/dep.go": 'package dep\n\nfunc Greet() string { return "" }\n',
    }
    with Project(tmp_path, "go", files) as project:
        assert project.ask("app.go", "Greet") == {("vendor/example.org/dep/dep.go", 2, "Greet")}
        assert "not on this machine" not in limits(project)


def test_a_vendor_folder_that_does_not_fit_is_said_with_what_to_do(tmp_path: Path) -> None:
    files = {
        "go.mod": go_mod(more="go 1.20\nrequire example.org/dep v1.0.0\n"),
        "app.go": APP,
        "vendor/modules.txt": "# example.org/other v1.0.0\n## explicit\nexample.org/other\n",
    }
    driver, installed = require("go")
    for path, text in files.items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_text(text)
    found = driver.launch(installed, tmp_path / "tree", Options(tmp_path / "cache")).limits
    assert found[0].startswith("go can't load the modules of '.': go: inconsistent vendoring")
    assert found[0].endswith("(try: go mod vendor)")


def test_a_changed_requirement_of_what_is_absent_needs_no_other_server(tmp_path: Path) -> None:
    with Project(tmp_path, "go", {"go.mod": go_mod(more=NEWER + REQUIRE), "app.go": APP}) as project:
        project.write("go.mod", go_mod(more=NEWER + REQUIRE.replace("v1.0.0", "v1.2.0")))
        project.tell(modified="go.mod")
        assert not project.server.must_restart()
        project.write("go.mod", go_mod("renamed", NEWER + REQUIRE))
        project.server.changed([], [RepoPath(b"go.mod")], [])
        assert project.server.must_restart()


def test_a_file_that_imports_what_is_absent_is_of_its_own_package_alone(tmp_path: Path) -> None:
    """Go finds the import first by way of others (a, b), then by a shorter way, and keeps the first place."""

    def importing(package: str, *paths: str) -> str:
        return "".join([f"package {package}\n\n", *(f'import _ "example.org/{path}"\n' for path in paths)])

    imports = 'import (\n\t"example.org/dep"\n\t"example.org/app/lib"\n)\n'
    files = {
        "go.mod": go_mod(more="go 1.20\n" + REQUIRE),
        "a/a.go": importing("a", "app/b"),
        "b/b.go": importing("b", "app/c"),
        "c/c.go": f"package c\n\n{imports}\nfunc greet() string {{ return lib.Name() + dep.Greet() }}\n",
        "c/more.go": "package c\n\nvar more = greet()\n",
        "lib/lib.go": 'package lib\n\nfunc Name() string { return "" }\n',
        "z/z.go": importing("z", "dep"),
    }
    with Project(tmp_path, "go", files) as project:
        assert project.ask("c/c.go", "Name") == {("lib/lib.go", 2, "Name")}
        assert project.ask("c/c.go", "Greet") == set()


class TestGoList:
    ABSENT: ClassVar = {
        "ImportPath": "example.org/dep",
        "Error": {"ImportStack": ["example.org/app", "example.org/dep"], "Pos": "app.go:4:2", "Err": "none"},
    }

    def said(self, *objects: object) -> bytes:
        return b"".join(json.dumps(each, indent="\t").encode() + b"\n" for each in objects)

    def test_a_stack_that_ends_with_an_absent_package_does_no_longer(self) -> None:
        found = json.loads(go_list.told(self.said(self.ABSENT)))
        assert found["Error"].pop("ImportStack")[:2] == ["example.org/app", "example.org/dep"]
        assert found["Error"] == {"Pos": "app.go:4:2", "Err": "none"}
        assert json.loads(go_list.told(self.said(self.ABSENT)))["Error"]["ImportStack"][2:] == ["(absent)"]

    @pytest.mark.parametrize(
        "package",
        [
            {"ImportPath": "a", "GoFiles": ["a.go"], "Error": {"ImportStack": ["b", "a"], "Err": "broken"}},
            {"ImportPath": "a", "Error": {"ImportStack": ["a", "b"], "Err": "found by b"}},
            {"ImportPath": "a", "Error": {"ImportStack": [], "Err": "no Go files in ImportStack"}},
            {"ImportPath": "a", "GoFiles": ["a.go"]},
        ],
    )
    def test_what_else_go_says_is_left_as_it_is(self, package: object) -> None:
        assert go_list.told(self.said(package)) == self.said(package)

    def test_packages_come_one_by_one_and_other_output_whole(self) -> None:
        one, two = self.said({"ImportPath": "a"}), self.said({"ImportPath": "b"})
        assert list(go_list.packages((one + two).splitlines(keepends=True))) == [one, two, b""]
        assert list(go_list.packages([b"a\n", b"b\n"])) == [b"a\nb\n"]

    @pytest.mark.parametrize("status", [0, 3])
    def test_it_is_run_in_the_place_of_go_and_ends_as_go_does(self, tmp_path: Path, status: int) -> None:
        go, ours, out = tmp_path / "a go", tmp_path / "go", tmp_path / "out.json"
        out.write_bytes(self.said(self.ABSENT))
        go.write_text(f'#!/bin/sh\n[ "$1" = list ] && cat \'{out}\' || echo "$@"\nexit {status}\n')
        ours.write_text(go_list.command(str(go)))
        for program in (go, ours):
            program.chmod(0o755)
        found = subprocess.run([ours, "list", "-json"], stdout=subprocess.PIPE, check=False)
        assert (found.returncode, json.loads(found.stdout)["Error"]["ImportStack"][-1]) == (
            status,
            "(absent)",
        )
        found = subprocess.run([ours, "env", "a b"], stdout=subprocess.PIPE, check=False)
        assert (found.returncode, found.stdout) == (status, b"env a b\n")
