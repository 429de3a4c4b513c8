"""Finding units by a name as people write it, operators too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.query import symbols
from views import MAIN, Views

CPP = """struct Foo {
    bool operator<(const Foo&) const;
    auto operator<=>(const Foo&) const = default;
    operator bool() const { return true; }
    int run() { return 1; }
};
int Foo::operator()(int a) { return a; }
Foo operator/(Foo a, Foo b) { return a; }
Foo *Foo::operator->() { return this; }
"""
RUBY = "class Foo\n  def <=>(other)\n  end\n  def [](at)\n  end\n  def -@\n  end\nend\n"
SCALA = "class Foo {\n  def :::(a: Int) = a\n  def +(a: Int) = a\n}\n"
SWIFT = "struct Foo {\n    static func == (a: Foo, b: Foo) -> Bool { return true }\n}\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    folder: Path = tmp_path_factory.mktemp("symbols")
    repo = Repo(folder / "repo")
    for path, text in (("a.cpp", CPP), ("b.rb", RUBY), ("c.scala", SCALA), ("d.swift", SWIFT)):
        repo.write(path, text)
    repo.commit()
    with closing(Views(folder / "views", repo)) as views:
        views.repair()
        yield views


@pytest.mark.parametrize(
    ("name", "qualified"),
    [
        ("operator/", {"operator/"}),
        ("Foo::operator<=>", {"Foo::operator<=>"}),
        ("operator <=>", {"Foo::operator<=>"}),
        ("operator<", {"Foo::operator<"}),
        ("Foo::operator()", {"Foo::operator()"}),
        ("Foo::operator->", {"Foo::operator->"}),
        ("Foo::operator bool", {"Foo::operator bool"}),
        ("Foo::run", {"Foo::run"}),
        ("Foo#<=>", {"Foo#<=>"}),
        ("<=>", {"Foo#<=>"}),
        ("Foo#[]", {"Foo#[]"}),
        ("Foo#-@", {"Foo#-@"}),
        ("Foo.:::", {"Foo.:::"}),
        ("Foo.+", {"Foo.+"}),
        ("Foo.==", {"Foo.=="}),
        ("Bar#<=>", set()),
    ],
)
def test_operators_are_found_by_name_and_by_path(found: Views, name: str, qualified: set[str]) -> None:
    current = found.stores.catalog.current(MAIN)
    assert current is not None
    listing = found.stores.structure.listing(current.snapshot.listing)
    units = symbols.find(found.stores.structure, listing, name)
    assert {unit.qualified for unit in units} == qualified


def test_other_names_are_split_at_what_their_language_writes() -> None:
    for name in ("a::b", "a.b", "a#b", "a->b", "a/b", "::a::b", "a b"):
        assert symbols.components(name) == ["a", "b"]
    assert symbols.components("formatter<int>::parse") == ["formatter", "int", "parse"]
    assert symbols.components("Job#run?") == ["Job", "run?"]
    assert symbols.components("Job::~Job") == ["Job", "~Job"]
