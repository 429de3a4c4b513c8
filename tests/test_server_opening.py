"""Which files are open in a server that needs one of each package."""

from __future__ import annotations

from pathlib import Path

from language_servers import Project
from nibd.repair.servers.server import LOADED_FOLDERS
from nibd.stores.types import RepoPath
from waiting import wait_until

FILES = {
    "go.mod": "module example.org/app\n\ngo 1.20\n",
    "a.go": "package app\n\nfunc Greet() string { return polite() }\n",
    "b.go": "package app\n\nfunc polite() string { return name() }\n",
    "c.go": 'package app\n\nfunc name() string { return "" }\n',
    "a_test.go": 'package app_test\n\nimport "example.org/app"\n\nvar x = app.Greet()\n',
    "c_windows.go": "package app\n\nfunc system() string { return name() }\n",
    "tag.go": "//go:build never\n\npackage app\n\nfunc never() string { return name() }\n",
    "sub/d.go": 'package sub\n\nimport "example.org/app"\n\nvar y = app.Greet()\n',
}

ABSENT = """package {}

import "example.org/absent"

func own() {{ absent.F() }}

var _ = own
"""


def opened(project: Project) -> int:
    return project.server.open_all([])


def test_one_file_of_a_package_is_open_and_each_that_may_be_left_out(tmp_path: Path) -> None:
    with Project(tmp_path, "go", FILES) as project:
        assert opened(project) == 5  # a.go, a_test.go, c_windows.go, tag.go, sub/d.go
        assert project.ask("b.go", "name") == {("c.go", 2, "name")}
        assert project.ask("c_windows.go", "name") == {("c.go", 2, "name")}
        assert project.ask("a_test.go", "Greet") == {("a.go", 2, "Greet")}


def test_a_test_is_open_for_its_package_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    files = {"go.mod": FILES["go.mod"], "a_test.go": "package app\n\nvar a = name()\n", "c.go": FILES["c.go"]}
    with Project(tmp_path, "go", files | {"sub/b_test.go": "package sub\n"}) as project:
        assert project.server._versions.keys() == {b"c.go", b"sub/b_test.go"}
        assert project.ask("a_test.go", "name") == {("c.go", 2, "name")}
        project.write("sub/c.go", "package sub\n\nvar z = 1\n")
        project.write("b.go", "package app\n")
        project.delete("c.go")
        project.server.changed([RepoPath(b"sub/c.go"), RepoPath(b"b.go")], [], [RepoPath(b"c.go")])
        assert project.server._versions.keys() == {b"b.go", b"sub/b_test.go", b"sub/c.go"}


def test_another_file_is_opened_for_one_that_is_gone(tmp_path: Path) -> None:
    with Project(tmp_path, "go", FILES) as project:
        project.write("b.go", "// more\n" + FILES["b.go"])
        project.tell(modified="b.go")
        assert opened(project) == 5
        project.write("e.go", FILES["a.go"])
        project.delete("a.go")
        project.tell(added="e.go", deleted="a.go")
        assert opened(project) == 5
        assert project.ask("b.go", "polite") == {("b.go", 3, "polite")}
        assert project.ask("sub/d.go", "Greet") == {("e.go", 2, "Greet")}


def test_a_file_that_comes_into_another_package_is_opened_for_it(tmp_path: Path) -> None:
    with Project(tmp_path, "go", FILES) as project:
        project.write("sub/d.go", "package other\n")
        project.write("sub/f.go", FILES["sub/d.go"].replace("sub", "other"))
        project.write("more/g.go", "package more\n\nvar z = 1\n\nvar w = z\n")
        project.server.changed([RepoPath(b"sub/f.go"), RepoPath(b"more/g.go")], [RepoPath(b"sub/d.go")], [])
        project.settle()
        assert project.ask("more/g.go", "z", -1) == {("more/g.go", 2, "z")}
        assert project.ask("sub/f.go", "Greet") == {("a.go", 2, "Greet")}


def test_what_gopls_forgot_is_loaded_at_once_when_many_packages_are_asked_about(tmp_path: Path) -> None:
    folders = [f"p{n}" for n in range(LOADED_FOLDERS)]
    files = {f"{each}/a.go": ABSENT.format(each) for each in folders} | {"go.mod": FILES["go.mod"]}
    with Project(tmp_path, "go", files) as project:
        places = [project.place(f"{each}/a.go", "own", 1) for each in folders]

        def searches() -> int:
            return project.server.requests.get("workspace/symbol", 0)

        def loaded_alone(folder: str) -> bool:
            return any("query=[file=" in line and f"/{folder}/a.go" in line for line in project.server.log)

        for asked, expected in ((places, 1), (places, 1)):
            assert all(isinstance(answer, tuple) and answer for answer in project.server.definitions(asked))
            assert searches() == expected
        project.write("more/b.go", "package more\n")
        project.tell(added="more/b.go")
        project.server.definitions(places[:1])
        assert searches() == 1
        wait_until(lambda: loaded_alone("p0"), 30, "p0, which was forgotten, to be loaded")
        project.server.definitions(places)
        assert searches() == 2
        assert not any(map(loaded_alone, folders[1:]))
