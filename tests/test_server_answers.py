"""What real language servers answer: right places, old and new texts, files that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from language_servers import FAMILIES, Project
from nibd.repair.servers import Unknown
from nibd.stores.types import RepoPath


@pytest.fixture(scope="module", params=FAMILIES)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The family's sample, as it was written: a test that changes it puts it back."""
    with Project(tmp_path_factory.mktemp("sample"), request.param) as project:
        yield project


def test_answers_follow_the_text_through_changes_deletion_and_return(project: Project) -> None:
    app, lib = project.sample.app, project.sample.lib
    text = project.sample.files[lib]
    line = text[: text.index("greet")].count("\n")
    moved = project.sample.moved_lib
    moved_line = moved[: moved.index("greet")].count("\n")

    # the use stands after an emoji on its line, so a wrong encoding would ask about something else
    assert project.ask(app, "greet", -1) == {(lib, line, "greet")}

    project.write(lib, moved)
    project.tell(modified=lib)
    assert project.ask(app, "greet", -1) == {(lib, moved_line, "greet")}

    project.delete(lib)
    project.tell(deleted=lib)
    assert lib not in {path for path, _, _ in project.ask(app, "greet", -1)}

    project.write(lib, text)
    project.tell(added=lib)
    assert project.ask(app, "greet", -1) == {(lib, line, "greet")}


def test_a_place_without_a_name_refers_to_nothing(project: Project) -> None:
    nothing = project.place(project.sample.app, '"é')
    assert project.server.definitions([nothing]) == [()]


def test_references_are_found_in_both_files(project: Project) -> None:
    app, lib = project.sample.app, project.sample.lib
    place = project.place(lib, "greet")
    with_declaration, without = (
        project.read(project.server.references([place], include_declaration=declaration)[0])
        for declaration in (True, False)
    )
    assert {path for path, _, _ in with_declaration} == {app, lib}
    assert {path for path, _, _ in without} == {app}
    assert {text for _, _, text in with_declaration} == {"greet"}


def test_answers_come_in_the_order_of_the_questions(tmp_path: Path) -> None:
    names = [f"name_{n}" for n in range(500)]
    text = "".join(f"{name} = {n}\n" for n, name in enumerate(names))
    with Project(tmp_path, "python", {"app.py": text}) as project:
        places = [project.place("app.py", name + " ") for name in names]
        answers = project.server.definitions(places, window=16)
        assert [project.read(answer) for answer in answers] == [
            {("app.py", n, name)} for n, name in enumerate(names)
        ]
        assert project.server.requests["textDocument/definition"] == 500


def test_go_implementations(tmp_path: Path) -> None:
    files = {
        "go.mod": "module example.org/app\n\ngo 1.20\n",
        "app.go": "package app\n\ntype Runner interface{ Run() }\n\ntype T int\n\nfunc (T) Run() {}\n",
    }
    with Project(tmp_path, "go", files) as project:
        answer = project.server.implementations([project.place("app.go", "Run() }")])[0]
        assert project.read(answer) == {("app.go", 6, "Run")}


def test_names_that_need_escaping_in_a_uri(tmp_path: Path) -> None:
    files = {"a b/ü#%41.py": "def greet(): ...\n\n\ngreet()\n"}
    with Project(tmp_path, "python", files) as project:
        path = "a b/ü#%41.py"
        assert project.ask(path, "greet", 1) == {(path, 0, "greet")}


def test_a_library_is_outside_of_the_tree(tmp_path: Path) -> None:
    with Project(tmp_path, "python", {"app.py": "import os\n\nos.getcwd()\n"}) as project:
        answer = project.server.definitions([project.place("app.py", "getcwd")])[0]
        assert not isinstance(answer, Unknown)
        assert [location.path for location in answer] == [None]
        assert answer[0].uri.endswith("/stdlib/os/__init__.pyi")


def test_a_file_that_is_not_utf_8_is_opened_as_it_is_read(tmp_path: Path) -> None:
    with Project(tmp_path, "javascript") as project:
        data = b'import { greet } from "./lib";\n\nconst y = "\xe9\xe8"; greet(y);\n'
        (project.root / "latin.ts").write_bytes(data)
        project.texts["latin.ts"] = data.decode("cp1252").encode()
        project.tell(added="latin.ts")
        assert project.ask("latin.ts", "greet", -1) == {("lib.ts", 0, "greet")}


def test_only_what_the_driver_owns_is_opened(tmp_path: Path) -> None:
    with Project(tmp_path, "javascript") as project:
        assert project.server.open_all([RepoPath(b"tsconfig.json")]) == 2
