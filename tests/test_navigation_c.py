"""From declarations in headers to definitions in other files, and back, in C and C++."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nibd.query import navigation
from nibd.query.defined_elsewhere import itself_at
from nibd.query.navigation_asked import asked_at
from nibd.query.navigation_files import SourceText, TreeFile
from nibd.query.navigation_places import Answer, Place
from nibd.query.navigation_view import CachedRelations, FamilyView
from nibd.stores.types import RepoPath
from relations_world import World

FILES = {
    "include/lib.h": """#define TWICE(x) ((x) + (x))
int greet(int n);
extern int total;
struct job { int id; };
static inline int quick(int n) { return n; }
""",
    "src/lib.c": """#include "lib.h"
int total = 1;
int greet(int n) { return TWICE(n); }
""",
    "src/app.c": """#include "lib.h"
int use(struct job *job) { total = quick(1); return greet(job->id) + TWICE(2); }
""",
    "include/apart.h": "int apart(int n);\nint nowhere(void);\n",
    "src/apart.c": "int apart(int n) { int total = n; return total; }\n",
    "src/user.c": '#include "apart.h"\nint used(void) { return apart(1) + nowhere(); }\n',
    "src/lib.cpp": """struct Box { int open(int n); int size; };
int Box::open(int n) { return n; }
""",
}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyView]:
    with World(tmp_path_factory.mktemp("c"), "c", FILES) as world:
        world.relate()
        snapshot, relating = world.current(), world.relating
        listing = relating.structure.listing(snapshot.listing)
        record = snapshot.relations["c"]
        assert record.resolution is not None

        def open_file(path: RepoPath) -> TreeFile | None:
            found = relating.structure.at_path(listing, path)
            source = found and relating.sources.get(path, found[1].blob, found[1].language)
            if not found or not source:
                return None
            return TreeFile(found[1], SourceText(source.content, source.units, source.symbols))

        yield FamilyView(CachedRelations(relating.store), record.resolution, open_file)


def place(view: FamilyView, path: str, needle: str, nth: int = 0) -> tuple[TreeFile, int]:
    file = view.files(RepoPath(path.encode()))
    assert file is not None
    at = -1
    for _ in range(nth + 1):
        at = file.text.content.index(needle.encode(), at + 1)
    return file, at


def definition(view: FamilyView, path: str, needle: str, nth: int = 0) -> set[tuple[str, int]]:
    file, byte = place(view, path, needle, nth)
    asked = asked_at(view, file, byte)
    return lines(navigation.definition(view, asked.targets or (), itself_at(file, asked.byte)))


def lines(answer: Answer) -> set[tuple[str, int]]:
    return {(each.path.decode(), each.line) for each in answer.found if isinstance(each, Place)}


def test_a_call_leads_to_the_function_in_another_file(view: FamilyView) -> None:
    assert definition(view, "src/app.c", "greet") == {("src/lib.c", 3)}


def test_a_declaration_and_its_definition_lead_to_each_other(view: FamilyView) -> None:
    assert definition(view, "include/lib.h", "greet") == {("src/lib.c", 3)}
    assert definition(view, "src/lib.c", "greet") == {("include/lib.h", 2)}


def test_a_function_whose_file_does_not_see_its_declaration_is_found_by_its_name(view: FamilyView) -> None:
    assert definition(view, "src/user.c", "apart", 1) == {("src/apart.c", 1)}
    assert definition(view, "src/user.c", "nowhere") == {("include/apart.h", 2)}


def test_a_variable_leads_to_where_it_is_made(view: FamilyView) -> None:
    assert definition(view, "src/app.c", "total") == {("src/lib.c", 2)}


def test_what_a_header_defines_is_found_there(view: FamilyView) -> None:
    assert definition(view, "src/app.c", "quick") == {("include/lib.h", 5)}
    assert definition(view, "src/app.c", "job") == {("include/lib.h", 4)}
    assert definition(view, "src/app.c", "TWICE") == {("include/lib.h", 1)}


@pytest.mark.parametrize("path", ["include/lib.h", "src/lib.c"])
def test_callers_in_other_files_are_found_from_either_end(view: FamilyView, path: str) -> None:
    file, byte = place(view, path, "greet")
    targets = asked_at(view, file, byte).targets or ()
    assert lines(navigation.callers(view, targets)) == {("src/app.c", 2)}


def test_callees_are_the_functions_themselves(view: FamilyView) -> None:
    file, _ = place(view, "src/app.c", "use")
    found = navigation.callees(view, file, file.text.indexes["use", 0])
    assert lines(found) == {("src/lib.c", 3), ("include/lib.h", 5), ("include/lib.h", 1)}


def test_a_method_defined_out_of_its_class(view: FamilyView) -> None:
    assert definition(view, "src/lib.cpp", "open", 1) == {("src/lib.cpp", 1)}
    assert definition(view, "src/lib.cpp", "open") == {("src/lib.cpp", 2)}
