"""Which names of Python mean what scopes say, whatever has another type: no server needed."""

from __future__ import annotations

import pytest

from nibd.repair.relations.by_scope import has_names_by_scope, is_by_scope
from nibd.repair.relations.surface import declared
from test_relations_change import source


def names(text: str, *, by_scope: bool, path: str = "lib.py", language: str = "python") -> str:
    file = source(text, path, language)
    return " ".join(site.name for site in file.sites if is_by_scope(site, file.content, language) is by_scope)


@pytest.mark.parametrize(
    ("text", "by_type"),
    [
        ("x = made\nprint(x)\n", "print"),
        ("x = made.size\nx.kind = y\n", "size kind"),
        (
            "x = (\n    made  # so\n    .first\n    . second\n)\nx = made. \\\n    third\n",
            "first second third",
        ),
        ("K(size=x, kind = y)\nz = x == y\n", "K size kind"),
        ("match x:\n    case K(size=s, kind=t):\n        s\n", "size kind"),
        ("x = (made.  # so\n    # and so\n\n    run)\n", "run"),
        ("x = ('#', made.  # so\n    run)\n", "run"),
        ("x = ('#'.\n    run)\n", "run"),
        ("x = ('#' +  # so\n    run)\n", ""),
        ("x = (made +  # so.\n    # and so.\n    run)\n", ""),
        ("K(size  # so\n    # and so\n    =x, kind  # so = x\n)\n", "K size"),
        ("from lib import a as b\n", "lib a b"),
        ("@mark\ndef f(x: K = y) -> K:\n    return x\n", "mark K"),
        ("class C(B):\n    x: K\n    y: A[int, K(size=1)]\n", "K size"),
        ("for a, b in x:\n    a += b\n", ""),
        ("with x as y:\n    del y\n", ""),
        ("é = 1\né.é\n", "é"),
    ],
)
def test_members_arguments_calls_and_imports_depend_on_what_something_is(text: str, by_type: str) -> None:
    assert names(text, by_scope=False) == by_type


def test_in_other_languages_nothing_is_told_by_syntax() -> None:
    assert names("let x = made;\n", by_scope=True, path="a.ts", language="typescript") == ""
    assert [has_names_by_scope(each) for each in ("python", "typescript", "rust")] == [True, False, False]


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("self.size: int = size", ["int"]),
        ("self.size: int", ["int"]),
        ("self.size: dict[str, int] = {}  # so", ["dict[str, int]"]),
        ("self.size = size", []),
        ("self.size: dict[", []),
        ("self.size: Final = size", []),
        ("self.size: Final[int] = size", ["Final[int]"]),
        ("self.other: int = self.size", []),
        ("if self.size == other: self.size = 2", []),
    ],
)
def test_an_attribute_is_declared_where_its_line_says_all_of_its_type(line: str, types: list[str]) -> None:
    file = source(f"class C:\n    def __init__(self, size, other):\n        {line}\n")
    assert declared(file, ("C.__init__", 0), "size") == types
