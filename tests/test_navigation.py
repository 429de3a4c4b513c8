"""Navigation over a tree's relations: from a place or a unit to where its symbols are and who uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitrepo import Repo
from made_navigation import MadeTree, add_relations
from nibd.query import navigation
from nibd.query.navigation_asked import Asked, asked_at
from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_places import Answer, External, Page, Place, unit_place
from nibd.query.navigation_symbols import targets_of_unit
from nibd.query.navigation_view import CachedRelations, FamilyView
from nibd.stores.relation_types import Target
from nibd.stores.relations import RelationStore
from nibd.stores.types import RepoPath
from views import Views

BASE = '''class Base:
    """What a Base is."""

    def run(self, deep):
        return deep


class Free:
    @run.setter
    # run is set
    def run(self):
        pass
'''
SHAPES = """from base import Base

# größe: é


class Circle(Base):
    def run(self, deep):
        é = helper(deep); return helper(é)


class Disc(Circle):
    # run is here
    def run(self, deep):
        return mystery(deep)


def helper(value):
    print(value)
    return Circle()
"""
USES = """import shapes


def use():
    def inner():
        helper(1)
    helper(2); helper(3)


helper(4)
"""
LEFT = """def unbuilt():
    return unbuilt()


left = unbuilt
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FamilyView, dict[RepoPath, TreeFile]]]:
    folder: Path = tmp_path_factory.mktemp("navigation")
    repo = Repo(folder / "repo")
    for key in ("user.name", "user.email"):  # made before the test's own home
        repo.git("config", key, "test")
    for path, text in (("base.py", BASE), ("left.py", LEFT), ("shapes.py", SHAPES), ("uses.py", USES)):
        repo.write(path, text)
    repo.commit()
    with closing(Views(folder / "views", repo)) as views:
        snapshot = add_relations(views.folder, repo.path, views.repair(embed=False).snapshot)
        stores = (views.stores.structure, views.stores.facts)
        files = MadeTree(stores, snapshot, repo.path).files
        with closing(RelationStore.open_reader(views.folder.relations)) as store:
            resolution = snapshot.resolutions()["python"]
            yield FamilyView(CachedRelations(store), resolution, files.get), files


Tree = tuple[FamilyView, dict[RepoPath, TreeFile]]


def at(tree: Tree, path: str, line: int, col: int) -> Asked:
    view, files = tree
    file = files[RepoPath(path.encode())]
    byte = file.text.offset(line, col)
    assert byte is not None, f"{path}:{line}:{col} is nowhere"
    return asked_at(view, file, byte)


def unit(tree: Tree, path: str, qualified: str) -> tuple[TreeFile, int]:
    file = tree[1][RepoPath(path.encode())]
    return file, file.text.indexes[qualified, 0]


def places(answer: Answer) -> list[str]:
    return [
        f"{each.path.decode()}:{each.line}:{each.col} {each.kind} {each.name}"
        if isinstance(each, Place)
        else f"{each.package} {each.path.decode()} {each.name}"
        for each in answer.found
    ]


def defined(tree: Tree, path: str, line: int, col: int) -> list[str]:
    return places(navigation.definition(tree[0], at(tree, path, line, col).targets or ()))


def test_a_call_leads_to_the_whole_unit_and_to_its_name(tree: Tree) -> None:
    asked = at(tree, "uses.py", 6, 10)
    (found,) = navigation.definition(tree[0], asked.targets or ()).found

    assert isinstance(found, Place)
    assert (asked.name, asked.kind) == ("helper", "call")
    assert (found.path, found.start_line, found.end_line) == (b"shapes.py", 17, 19)
    assert (found.kind, found.name, found.line, found.col) == ("function", "helper", 17, 5)


def test_columns_count_characters_and_a_cursor_behind_a_word_means_the_word(tree: Tree) -> None:
    helper = ["shapes.py:17:5 function helper"]
    for col in (34, 37, 40):  # behind the two characters of two bytes each
        assert defined(tree, "shapes.py", 8, col) == helper
    assert at(tree, "shapes.py", 8, 33).name == ""
    text = tree[1][RepoPath(b"shapes.py")].text
    for line, col in ((8, 99), (0, 1), (1, 0), (99, 1)):
        assert text.offset(line, col) is None


def test_the_name_of_a_definition_leads_to_what_the_server_has_of_it(tree: Tree) -> None:
    assert defined(tree, "base.py", 1, 7) == ["base.py:1:7 class Base"]
    assert defined(tree, "base.py", 1, 1) == []
    assert len(defined(tree, "base.py", 4, 9)) == 4  # by name alone, each `run` is every `run`


def test_a_module_is_a_file_and_what_is_outside_has_no_lines(tree: Tree) -> None:
    assert defined(tree, "uses.py", 1, 9) == ["shapes.py:1:1 file "]
    assert defined(tree, "shapes.py", 18, 5) == ["stdlib builtins.pyi print"]
    (outside,) = navigation.definition(tree[0], at(tree, "shapes.py", 18, 5).targets or ()).found
    assert isinstance(outside, External)


def test_a_unit_is_where_it_is_declared_and_not_where_a_decorator_names_it(tree: Tree) -> None:
    file, index = unit(tree, "base.py", "Free.run")

    for view in (tree[0], None):
        place = unit_place(view, file, index)
        assert (place.start_line, place.line, place.col) == (9, 11, 9)


def test_a_declaration_that_is_no_site_is_a_reference_too(tree: Tree) -> None:
    comment = Target("", RepoPath(b"base.py"), "Base", 0, "Base", 1)
    whole = navigation.references(tree[0], [comment], include_declaration=True)

    assert places(whole) == ["base.py:2:15 definition Base"]
    assert navigation.references(tree[0], [comment], include_declaration=False).total == 0


def test_a_file_that_the_relations_do_not_have_stays_so(tree: Tree) -> None:
    for _ in range(2):
        assert tree[0].record(RepoPath(b"gone.py")) is None


def test_unknown_is_not_nothing(tree: Tree) -> None:
    assert at(tree, "shapes.py", 14, 18).targets is None
    assert at(tree, "base.py", 4, 19).name == "deep"
    assert at(tree, "base.py", 5, 16).targets == ()


def test_references_come_by_path_and_offset_with_what_they_do(tree: Tree) -> None:
    targets = targets_of_unit(*unit(tree, "shapes.py", "helper"))
    without = navigation.references(tree[0], targets, include_declaration=False)
    whole = navigation.references(tree[0], targets, include_declaration=True)

    assert places(without) == [
        "shapes.py:8:13 call helper",
        "shapes.py:8:34 call helper",
        "uses.py:6:9 call helper",
        "uses.py:7:5 call helper",
        "uses.py:7:16 call helper",
        "uses.py:10:1 call helper",
    ]
    assert [each.qualified for each in without.found if isinstance(each, Place)][2:4] == ["use.inner", "use"]
    assert set(places(whole)) - set(places(without)) == {"shapes.py:17:5 definition helper"}
    assert places(whole) == sorted(places(whole), key=lambda place: (place[0], places(whole).index(place)))


def test_a_page_of_references_says_how_many_there_are(tree: Tree) -> None:
    targets = targets_of_unit(*unit(tree, "shapes.py", "helper"))
    whole = navigation.references(tree[0], targets, include_declaration=True)
    pages = [
        navigation.references(tree[0], targets, include_declaration=True, page=Page(offset, 3))
        for offset in range(0, 9, 3)
    ]

    assert [place for page in pages for place in page.found] == list(whole.found)
    assert {page.total for page in pages} == {whole.total} == {7}


def test_what_is_outside_has_references_too(tree: Tree) -> None:
    asked = at(tree, "shapes.py", 18, 5)
    found = navigation.references(tree[0], asked.targets or (), include_declaration=True)

    assert places(found) == ["shapes.py:18:5 call print"]


def test_callers_are_the_innermost_units_with_their_calls(tree: Tree) -> None:
    found = navigation.callers(tree[0], targets_of_unit(*unit(tree, "shapes.py", "helper")))

    assert [(each.name, each.calls) for each in found.found] == [
        ("Circle.run", (8,)), ("use.inner", (6,)), ("use", (7,)), ("", (10,)),
    ]  # fmt: skip
    assert navigation.callers(tree[0], (), Page(0, 1)).total == 0


def test_sites_of_the_same_name_that_nothing_is_known_of_are_counted(tree: Tree) -> None:
    helper = targets_of_unit(*unit(tree, "shapes.py", "helper"))
    mystery = (Target("", RepoPath(b"gone.py"), "mystery", 0, "mystery", 0),)

    assert navigation.callers(tree[0], helper).unknown == 0
    assert navigation.callers(tree[0], mystery).unknown == 1
    lost = navigation.definition(tree[0], mystery)
    assert (lost.found, lost.lost) == ((), 1)


def test_what_is_declared_in_a_file_of_which_nothing_is_known_is_told_by_the_file(tree: Tree) -> None:
    unbuilt = at(tree, "left.py", 1, 5)
    assert places(navigation.definition(tree[0], unbuilt.targets or ())) == ["left.py:1:5 function unbuilt"]
    assert at(tree, "left.py", 2, 12).targets is None

    found = navigation.references(tree[0], unbuilt.targets or (), include_declaration=False)
    assert (found.total, found.unknown) == (0, 2)  # its uses, and not itself


def test_callees_are_what_the_calls_in_a_unit_and_inside_it_refer_to(tree: Tree) -> None:
    use = navigation.callees(tree[0], *unit(tree, "uses.py", "use"))
    helper = navigation.callees(tree[0], *unit(tree, "shapes.py", "helper"))
    disc = navigation.callees(tree[0], *unit(tree, "shapes.py", "Disc.run"))

    assert [(each.name, each.calls) for each in use.found] == [("helper", (6, 7))]
    assert places(helper) == ["shapes.py:6:7 class Circle", "stdlib builtins.pyi print"]
    assert (disc.found, disc.unknown) == ((), 1)


def test_implementations_inherit_also_through_others_and_methods_have_their_namesakes(tree: Tree) -> None:
    view = tree[0]
    classes = navigation.implementations(view, targets_of_unit(*unit(tree, "base.py", "Base")))
    methods = navigation.implementations(view, targets_of_unit(*unit(tree, "base.py", "Base.run")))

    assert places(classes) == ["shapes.py:6:7 class Circle", "shapes.py:11:7 class Disc"]
    assert places(methods) == ["shapes.py:7:9 method Circle.run", "shapes.py:13:9 method Disc.run"]
    free = targets_of_unit(*unit(tree, "base.py", "Free"))
    assert navigation.implementations(view, free) == Answer()


def test_files_import_files(tree: Tree) -> None:
    view = tree[0]

    assert places(navigation.imports(view, RepoPath(b"shapes.py"))) == ["base.py:1:1 file "]
    assert places(navigation.importers(view, RepoPath(b"shapes.py"))) == ["uses.py:1:1 file "]
    assert places(navigation.importers(view, RepoPath(b"uses.py"))) == []
