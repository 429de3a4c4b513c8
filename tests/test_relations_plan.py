"""What is asked of files that did not change, by what they refer to and what changed: no server needed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from nibd.repair.relations.change import compare
from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.plan import Planner
from nibd.repair.relations.source_file import SourceFile
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import FileRelations, Relation, Target
from nibd.stores.relations import RelationStore
from nibd.stores.types import RepoPath
from test_relations_change import source

Versions = Mapping[str, tuple[str | None, str | None]]
ENDINGS = {"py": "python", "pyi": "python", "rs": "rust", "ts": "typescript", "go": "go", "c": "c"}


def planned(folder: Path, path: str, text: str, leads: Mapping[str, str], changed: Versions) -> str:
    """Why which sites of the file at `path` are asked, as `name:rule`; `later` those that wait for others.

    Of its sites those named in `leads` refer to the symbol of that name in that file, its own definitions to
    themselves, all others to nothing.
    """
    file = made(path, text)
    store = RelationStore.open(folder / "relations.db")
    with closing(store):
        rows = store.add([related(file, leads)])
        changes = {
            RepoPath(name.encode()): compare(*(None if each is None else made(name, each) for each in both))
            for name, both in changed.items()
        }
        old = {path: related(change.old, {}) for path, change in changes.items() if change.old}
        plan = Planner(OldTree(store, Bitmap.of(rows), lambda _: file), changes, old).plan()
        asked = plan.elsewhere.get(file.path)
        if asked is None:
            return ""
        now = [f"{file.sites[i].name}:{rule}" for i, rule in sorted(asked.why.items())]
        later = [file.sites[i].name for i in sorted(asked.later)]
        return " ".join([*now, *(["later", *later] if later else [])])


def made(path: str, text: str) -> SourceFile:
    return source(text, path, ENDINGS[path.rpartition(".")[2]])


def related(file: SourceFile, leads: Mapping[str, str]) -> FileRelations:
    found = []
    for site in file.sites:
        place = leads.get(site.name) or (file.path.decode() if site.kind == "definition" else None)
        qualified = site.name if site.name in leads else ""
        target = Target("", RepoPath(place.encode()), qualified, 0, site.name, 0) if place else None
        found.append(Relation(site, (target,) if target else ()))
    return FileRelations(file.path, file.blob, file.language, tuple(found))


F = "def run():\n    pass\n"
FIRST = "fn first() {}\n"


@pytest.mark.parametrize(
    ("path", "text", "changed", "asked"),
    [
        ("app.py", "run()\n", {"a.py": (None, F)}, "run:turned"),
        ("app.py", "run()\n", {"a.py": ("x = 1\n", F)}, "run:turned"),
        ("app.py", "run()\n", {"a.py": (F, "x = 1\n")}, ""),
        ("app.py", "run()\n", {"a.py": (F, None)}, ""),
        ("app.py", "run()\n", {"a.py": (F, None), "b.py": (None, F)}, "run:turned"),
        ("app.py", "run()\n", {"a.py": ("from a import run\n", "from b import run\n")}, "run:turned"),
        ("app.c", "int f(void) { run(); }\n", {"a.c": ("void run(void) {}\n", "\n")}, "run:turned"),
        ("app.ts", "run();\n", {"a.ts": ("export function run() {}\n", "\n")}, ""),
        ("app.ts", "run();\n", {"a.ts": ("\n", "export function run() {}\n")}, "run:turned"),
    ],
)
def test_what_was_not_found_is_asked_by_names_that_appear(
    tmp_path: Path, path: str, text: str, changed: Versions, asked: str
) -> None:
    assert planned(tmp_path, path, text, {}, changed) == asked


NEW = "impl A {\n    fn new() {}\n}\n"
LATE = "struct Late {}\n" + NEW.replace("A", "Late")
BUILT = {"a.rs": ("struct A {}\n", "struct A {}\n" + NEW)}


@pytest.mark.parametrize(
    ("call", "changed", "asked"),
    [
        ("Away::new();", BUILT, ""),
        ("Away ::\n new();", BUILT, ""),
        ("use away::new;", BUILT, ""),
        ("A::new();", BUILT, "new:turned"),
        ("away().new();", BUILT, "new:turned"),
        ("Away::<u8>::new();", BUILT, "new:turned"),
        ("new();", BUILT, "new:turned"),
        ("[Away, new];", BUILT, "new:turned"),
        ("Late::new();", {"a.rs": ("\n", LATE)}, "Late:turned new:turned"),
        (
            "Away::new();",
            {"a.rs": ("struct A {}\n" + NEW, "struct A {}\n" + NEW + NEW.replace("A", "B"))},
            "",
        ),
    ],
)
def test_what_is_looked_for_in_what_is_not_found_either_is_left(
    tmp_path: Path, call: str, changed: Versions, asked: str
) -> None:
    leads = {"A": "a.rs", "first": "app.rs"}
    assert planned(tmp_path, "app.rs", f"fn first() {{\n    {call}\n}}\n", leads, changed) == asked


TS = "import { run } from './a';\nconst x = () => run(x.run);\n"
RUN = "export const run = 1;\n"


@pytest.mark.parametrize(
    ("text", "leads", "changed", "asked"),
    [
        (TS, {"run": "a.ts"}, {"b.ts": ("export {};\n", RUN)}, "run:turned run:turned later run"),
        (TS, {"run": "a.ts"}, {"b.ts": (RUN, "export {};\n")}, ""),
        (TS, {"run": "a.ts"}, {"b.ts": ("export {};\n", "export {};\nconst run = 1;\n")}, ""),
        (TS, {"run": "a.ts"}, {"b.ts": ("import './c';\n", "import './c';\nconst run = 1;\n")}, ""),
        (TS, {"run": "a.ts"}, {"b.ts": ("\n", "const run = 1;\n")}, "run:turned run:turned run:turned"),
        (TS, {}, {"b.ts": ("export {};\n", RUN)}, "run:turned later run run"),
        ("run(y);\nconst x = [run];\n", {"run": "app.ts"}, {"b.ts": ("export {};\n", RUN)}, "run:turned"),
        ("const x = [run];\n", {}, {"b.ts": ("export {};\n", RUN)}, ""),
        ("const x = [y.run];\n", {}, {"b.ts": ("export {};\n", RUN)}, ""),
        ("const x = [y.run];\n", {"y": "app.ts"}, {"b.ts": ("export {};\n", RUN)}, "run:turned"),
        ("const x = { run: 1 };\n", {}, {"b.ts": ("export {};\n", RUN)}, "run:turned"),
        ("const run = (x) => x;\n", {}, {"b.ts": ("export {};\n", RUN)}, ""),
    ],
)
def test_in_typescript_an_import_tells_of_the_bare_names_that_it_binds(
    tmp_path: Path, text: str, leads: Mapping[str, str], changed: Versions, asked: str
) -> None:
    assert planned(tmp_path, "app.ts", text, leads, changed) == asked


P = "package p\n"
GO = P + "\nfunc app() {\n\trun(x.run)\n}\n"
GO_RUN = P + "\nfunc run() {}\n"
GO_ALL = "p:turned run:turned run:turned"
METHOD = P + "\nfunc (t *T) run() {}\n"


@pytest.mark.parametrize(
    ("path", "changed", "asked"),
    [
        ("p/app.go", {"p/b.go": (P, GO_RUN)}, "run:turned run:turned"),
        ("p/app.go", {"p/b.go": (P, GO_RUN), "p/c.go": (GO_RUN, P)}, ""),
        ("p/app.go", {"p/b.go": (None, GO_RUN), "p/c.go": (GO_RUN, None)}, "p:turned"),
        ("p/app.go", {"p/b_linux.go": (None, GO_RUN), "p/c.go": (GO_RUN, None)}, "p:turned"),
        (
            "p/app.go",
            {"p/b.go": (None, GO_RUN), "p/c_linux.go": (GO_RUN, None)},
            "p:turned run:turned run:turned",
        ),
        ("p/app.go", {"p/b.go": (None, METHOD), "p/c.go": (GO_RUN, None)}, GO_ALL),
        ("p/app.go", {"q/b.go": (P, GO_RUN)}, ""),
        ("p/app.go", {"q/b.go": (P, METHOD)}, "run:turned"),
        ("p/app.go", {"a/b.go": (P, GO_RUN)}, "run:turned run:turned"),
        ("p/app.go", {"q/b.go": (METHOD, P)}, ""),
    ],
)
def test_in_go_what_was_found_is_asked_by_names_of_its_package_and_of_members(
    tmp_path: Path, path: str, changed: Versions, asked: str
) -> None:
    assert planned(tmp_path, path, GO, {"run": "a/a.go"}, changed) == asked


@pytest.mark.parametrize(
    ("came", "asked"),
    [
        ("a.py", "a:turned run:turned run:turned later x print"),
        ("a.pyi", "a:module run:turned x:module print:module run:turned"),
        ("b.py", "run:turned run:turned later a x print"),
    ],
)
def test_a_file_is_asked_when_an_import_in_it_leads_elsewhere(tmp_path: Path, came: str, asked: str) -> None:
    text = "from a import run\nx = print(run)\n"
    leads = {"a": "a/__init__.py"}
    assert planned(tmp_path, "app.py", text, leads, {came: (None, F)}) == asked
