"""What a new version of a file keeps of the old one's relations, and what others notice: no server needed."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.repair.extract import extract
from nibd.repair.relations.built import switched_modules
from nibd.repair.relations.change import compare
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.source_file import SourceFile
from nibd.stores.relation_types import Target
from nibd.stores.types import BlobId, RepoPath, Skip

LIB = """import os


class Shape:
    size = 1

    def area(self):
        note = os.name
        return self.size


def make():
    shape = Shape()
    return shape
"""


def source(text: str, path: str = "lib.py", language: str = "python") -> SourceFile:
    data = text.encode()
    facts = extract(data, language)
    assert not isinstance(facts, Skip)
    blob = BlobId(hashlib.sha1(data, usedforsecurity=False).hexdigest())
    return SourceFile(RepoPath(path.encode()), blob, language, data, tuple(facts.units))


def change(old: str, new: str, path: str = "lib.py", language: str = "python") -> FileChange:
    return compare(source(old, path, language), source(new, path, language))


def edit(old: str, new: str) -> FileChange:
    """Of `LIB`, where `old` stands once."""
    assert LIB.count(old) == 1
    return change(LIB, LIB.replace(old, new))


def asked(found: FileChange) -> str:
    """The names of the sites of the new version that are not kept."""
    assert found.new is not None
    sites = found.new.sites
    return " ".join(site.name for index, site in enumerate(sites) if index not in found.kept)


def test_what_did_not_change_is_kept_wherever_it_moved() -> None:
    same = change(LIB, LIB)
    assert same.kept == {index: index for index in range(len(source(LIB).sites))}
    assert (same.turned, same.rebound, same.enclosed) == (frozenset(),) * 3
    assert (same.resurfaced, same.changed_keys) == (frozenset(),) * 2

    moved = edit("import os\n", "import os\n\n\n# é🙂\n")
    assert asked(moved) == "os"
    assert edit("    note = os.name\n", "    note = os.name\n    print(note)\n").kept.items() >= {(0, 0)}
    assert asked(edit("note = os.name", "note = os.sep")) == "area self note os sep self size"


def test_what_is_visible_and_begins_or_ceases_to_be_called_so_is_turned() -> None:
    assert edit("def make", "def build").turned == {"make", "build"}
    assert edit("size = 1", "size = 1\n    kind = 2").turned == {"kind"}
    assert edit("        note = os.name\n", "        self.note = os.name\n").turned == {"note"}
    assert edit("shape = Shape()", "form = Shape()").turned == set()
    assert edit("import os", "import os, sys").turned == {"sys"}


def test_what_appeared_is_what_turned_and_is_there() -> None:
    assert edit("def make", "def build").appeared == {"build"}
    assert edit("size = 1\n", "pass\n").appeared == set()
    assert change("from one import run\n", "from two import run\n", "p.py").appeared == {"two", "run"}
    came, gone = compare(None, source(LIB)), compare(source(LIB), None)
    assert came.appeared == came.turned == gone.turned
    assert gone.appeared == set()
    unit = "struct A;\n\n#[cfg(test)]\nfn f() {}\n"
    switched = change(unit, unit.replace("cfg(test)", "cfg(not(test))"), "a.rs", "rust")
    assert "f" in switched.turned & switched.appeared


@pytest.mark.parametrize(
    ("path", "language", "old", "new", "turned"),
    [
        (
            "p.py",
            "python",
            "from one import run, go\n",
            "from two import run, go\n",
            {"one", "two", "run", "go"},
        ),
        (
            "p.py",
            "python",
            "from one import (\n    run,\n)\n",
            "from one import (\n    run,\n    go,\n)\n",
            {"go"},
        ),
        ("p.py", "python", "from p.a import x\n", "from p.a import x\nfrom p.b import y\n", {"b", "y"}),
        ("p.py", "python", "import os\nimport a\n", "import os\nimport b\n", {"a", "b"}),
        ("p.py", "python", '__all__ = ["a"]\n', '__all__ = [\n    "a",\n    "b",\n]\n', {"b"}),
        ("p.py", "python", 'names = ["a"]\n', 'names = ["a", "b"]\n', set()),
        ("p.ts", "typescript", 'export { run } from "./one";\n', 'export { run } from "./two";\n', {"run"}),
        (
            "p.ts",
            "typescript",
            'import {\n  run,\n} from "./one";\nimport { go } from "./go";\n',
            'import {\n  run,\n} from "./two";\nimport { go } from "./go";\n',
            {"run"},
        ),
        (
            "p.rs",
            "rust",
            "pub use one::run;\nuse std::io;\nmod a;\n",
            "pub use two::run;\nuse std::io;\nmod a;\n",
            {"one", "two", "run"},
        ),
    ],
)
def test_a_name_that_is_imported_from_elsewhere_is_turned(
    path: str, language: str, old: str, new: str, turned: set[str]
) -> None:
    assert change(old, new, path, language).turned == turned


NESTED = """note = 1


def outer(size):
    note = size

    def inner():
        return note + size

    return inner


def other():
    return note
"""


def enclosed(found: FileChange) -> str:
    assert found.new is not None
    return " ".join(found.new.sites[index].name for index in sorted(found.enclosed))


def test_names_on_changed_lines_may_mean_something_else_in_the_file() -> None:
    assert edit("size = 1", "size = 1 + 1").rebound == frozenset({"size"})
    assert edit("return self.size", "return self.size * 2").rebound == frozenset()
    assert edit("import os", "import os, sys").rebound == frozenset({"os", "sys"})
    assert edit("import os", "from os import *").rebound is None


def test_what_a_callable_binds_on_changed_lines_means_something_else_within_it_alone() -> None:
    assert edit("shape = Shape()", "shape = Shape() or None").rebound == frozenset()
    local = change(NESTED, NESTED.replace("note = size", "note = size + 1"))
    assert (local.rebound, enclosed(local)) == (frozenset(), "note")
    parameter = change(NESTED, NESTED.replace("outer(size)", "outer(size=0)"))
    assert (parameter.rebound, enclosed(parameter)) == (frozenset(), "size")


def test_what_a_callable_sets_for_others_is_visible() -> None:
    text = "class C:\n    def run(self):\n        x = 1\n        x = 2\n"
    assert change(text, text.replace("x = 2", "y = 2")).turned == frozenset()
    assert change(text, text.replace("x = 2", "self.y = 2")).turned == {"y"}
    assert change(text, text.replace("x = 1\n", "global x\n        x = 1\n")).turned == {"x"}
    go = "package a\n\nfunc f(t *T) {\n\ti := 1\n\ti = 2\n\tt.j = i\n}\n"
    assert change(go, go.replace("i = 2", "k = 2").replace("t.j", "t.k"), "a.go", "go").turned == frozenset()


def test_a_symbol_has_another_surface_by_what_it_gives_back() -> None:
    assert edit("note = os.name", "note = os.sep").resurfaced == frozenset()
    assert edit("return shape", "return shape or None").resurfaced == {("make", 0)}
    assert edit("def make()", "def make(kind=0)").resurfaced == frozenset()
    assert edit("def make()", "def make() -> Shape").resurfaced == {("make", 0)}
    assert edit("size = 1", "size = 2").resurfaced == {("Shape", 0)}
    assert edit("size = 1", "size = 1  # note").resurfaced == frozenset()
    assert (
        edit("class Shape:\n", 'class Shape:\n    """Has\n    a size.\n    """\n\n').resurfaced == frozenset()
    )
    assert edit("def make", "def build").resurfaced == {("make", 0), ("build", 0)}


@pytest.mark.parametrize(
    ("path", "text", "same", "other"),
    [
        ("a.py", "def f(x) -> int:\n    return x\n", ("return x", "return 1"), ("int", "str")),
        (
            "a.go",
            "package a\n\nfunc f(x int) int { return x }\n",
            ("(x int)", "(x, y int)"),
            (") int", ") C"),
        ),
        (
            "a.rs",
            "/// Says.\nfn f(x: u8) -> u8 {\n    x\n}\n",
            ("/// Says", "/// Says more"),
            ("-> u8", "-> u16"),
        ),
        (
            "a.rs",
            "macro_rules! m {\n    () => {\n        1\n    };\n}\n",
            ("m {\n", "m {\n// x\n"),
            ("1", "2"),
        ),
        ("a.ts", "function f(x: A): B {\n  return x;\n}\n", ("return x", "return y"), (": B", ": C")),
        ("a.ts", "function f(x: A) {\n  return x;\n}\n", ("x: A", "x: D"), ("return x", "return y")),
        (
            "a.ts",
            "class C {\n  constructor(x: A) {\n    go(x);\n  }\n}\n",
            ("go(x)", "go(1)"),
            ("x: A", "private x: A"),
        ),
        ("a.cpp", "int f(int x) {\n  return x;\n}\n", ("return x", "return 1"), ("int f", "long f")),
        ("a.cpp", "auto f(int x) {\n  return x;\n}\n", ("int x", "long x"), ("return x", "return 1")),
    ],
)
def test_where_a_header_says_what_is_given_back_the_body_does_not(
    path: str, text: str, same: tuple[str, str], other: tuple[str, str]
) -> None:
    languages = {"py": "python", "go": "go", "rs": "rust", "ts": "typescript", "cpp": "cpp"}
    language = languages[path.split(".")[1]]
    assert change(text, text.replace(*same), path, language).resurfaced == frozenset()
    assert change(text, text.replace(*other), path, language).resurfaced != frozenset()


def test_through_a_field_others_are_reached_by_its_own_line() -> None:
    lib = RepoPath(b"lib.py")
    more = edit("size = 1", "size = 1\n    kind = 2")
    other = edit("size = 1", "size = make()")
    base = edit("class Shape:", "class Shape(Base):")
    found = [
        [each.resurfaces(Target("", lib, "Shape", 0, name, 0)) for name in ("Shape", "size", "")]
        for each in (more, other, base)
    ]
    assert found == [[False, False, False], [False, True, False], [True, False, True]]


def test_a_target_is_lost_when_its_line_changed() -> None:
    lib = RepoPath(b"lib.py")
    make = Target("", lib, "make", 0, "make", 0)
    size = Target("", lib, "Shape", 0, "size", 0)
    whole = Target("", lib, "", 0, "", 0)

    assert not edit("shape = Shape()", "shape = Shape() or None").loses(make)
    assert edit("def make()", "def make(kind=0)").loses(make)
    assert edit("def make", "def build").loses(make)
    assert edit("size = 1", "size: int = 1").loses(size)
    assert not edit("size = 1", "kind = 2\n    size = 1").loses(size)
    assert not edit("import os", "import sys").loses(whole)


def test_a_file_that_comes_or_goes_keeps_nothing_and_turns_all_that_it_shows() -> None:
    lib = source(LIB, "shapes/__init__.py")
    for found in (compare(None, lib), compare(lib, None)):
        assert found.kept == {}
        assert found.turned == {"shapes", "os", "Shape", "size", "area", "make"}
        assert found.loses(Target("", lib.path, "make", 0, "make", 0))


def test_units_of_one_name_are_told_apart_by_their_order() -> None:
    one = "def f(x: int): ...\n\n\ndef f(x: str): ...\n"
    found = change(one, "def f(x: int): ...\n\n\ndef f(x: bytes): ...\n")
    assert asked(found) == "f x bytes"
    assert found.changed_keys == {("f", 1)}


def test_where_units_that_look_alike_come_or_go_none_of_them_is_kept() -> None:
    """Else the second of three that look alike, each in a test of its own, would keep what it referred to."""
    call = """test('N', () => {
    let count = 0;
    const load = () => {
        count++;
    };
});
"""
    *two, last = (call.replace("N", name) for name in "abc")
    without = "test('z', () => {\n    const load = () => {\n        other++;\n    };\n});\n"
    old, new = "".join([*two, last, without]), "".join([without, *two])

    found = change(old, new, "hooks.ts", "typescript")

    assert asked(found).count("count") == 4
    assert found.others == {("load", n) for n in range(3)}
    assert found.loses(Target("", RepoPath(b"hooks.ts"), "load", 1, "load", 0))
    one_more = change("".join(two), "".join([*two, without]), "hooks.ts", "typescript")
    assert asked(one_more).count("count") == 4


def test_broken_code_beside_a_unit_does_not_mix_up_its_sites() -> None:
    found = change(LIB, LIB.replace("import os\n", 'import os\n"""\n'))
    assert found.old is not None
    assert found.new is not None
    for now, before in found.kept.items():
        assert found.new.sites[now].name == found.old.sites[before].name


LINES = st.sampled_from(
    [
        "def f(a):", "    return a", "class C:", "    def f(self):", "        self.x = f(1)", "    x = 1",
        "x = f(x)", "import os", "from os import path", "@f", "", "# é🙂", '"""', "if x:", "    f(a) ; g(b)",
        "async def g():", "        await f(x)", "\tx = 2", "def f(a): return (", ")", "\r", "\x0cx = 3",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=14)


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_kept_site_has_the_same_name_and_the_same_text_around_it(
    head: list[str], cut: list[str], put: list[str], tail: list[str]
) -> None:
    old, new = ("\n".join([*head, *middle, *tail]) for middle in (cut, put))
    found = change(old, new)
    assert found.old is not None
    assert found.new is not None
    assert len(set(found.kept.values())) == len(found.kept)
    for now, before in found.kept.items():
        one, two = found.new.sites[now], found.old.sites[before]
        assert (one.name, one.kind) == (two.name, two.kind)
        key = found.new.keys[one.unit]
        assert found.old.keys[two.unit] == key
        assert found.new.own_texts[key] == found.old.own_texts[key]
        assert found.new.lines_with(key, one.name) == found.old.lines_with(key, two.name)
    if old == new:
        assert len(found.kept) == len(found.new.sites)


@pytest.mark.parametrize(
    ("before", "is_other"),
    [
        pytest.param("//go:build foo\n\n", True, id="constraint"),
        pytest.param("// +build foo\n\n", True, id="old constraint"),
        pytest.param("// Copyright\n\n", False, id="comment"),
    ],
)
def test_a_file_of_go_that_is_built_on_other_conditions_is_another(before: str, is_other: bool) -> None:
    text = "package app\n\nfunc helper() int { return 1 }\n"
    for old, new in ((text, before + text), (before + text, text)):
        found = change(old, new, "app.go", "go")
        assert found.loses(Target("", RepoPath(b"app.go"), "helper", 0, "helper", 0)) is is_other
        assert ("helper" in found.turned) is is_other
        assert ("helper" in asked(found)) is is_other


def test_a_unit_of_rust_that_is_built_on_other_conditions_is_another() -> None:
    text = "fn kept() {}\n\npub mod inner {\n    pub fn deep() {}\n}\n\nfn apart() {}\n"
    new = text.replace("pub mod", '#[cfg(feature = "x")]\npub mod').replace("fn apart", "#[inline]\nfn apart")
    found = change(text, new, "lib.rs", "rust")
    assert found.others == {("inner", 0), ("inner::deep", 0)}
    assert {"inner", "deep"} <= found.turned
    assert not {"kept", "apart"} & found.turned
    assert change(text, "#![cfg(unix)]\n" + text, "lib.rs", "rust").others >= {("kept", 0), ("apart", 0)}


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("src/lib.rs", "mod a;\npub mod b;\n", 'mod a;\n#[cfg(feature = "x")]\npub mod b;\n', "src/b"),
        ("src/lib.rs", "mod a;\n", "#[cfg(unix)] mod a;\n", "src/a"),
        ("src/lib.rs", "mod a;\n", "#[allow(dead_code)]\n// why\npub(crate) mod a;\n", ""),
        ("src/lib.rs", "", "mod a;\n", "src/a"),
        ("src/net/mod.rs", "mod a;\n", "", "src/net/a"),
        ("src/net.rs", "mod a;\n", '#[path = "b.rs"]\nmod a;\n', "src/net/a"),
        ("src/lib.rs", "mod a {}\n", "#[cfg(unix)]\nmod a {}\n", ""),
    ],
)
def test_modules_that_other_lines_of_rust_declare_are_found(
    path: str, before: str, after: str, expected: str
) -> None:
    found = switched_modules(source(before, path, "rust"), source(after, path, "rust"))
    assert found == ({f"{expected}.rs".encode(), f"{expected}/".encode()} if expected else set())


@pytest.mark.parametrize(
    ("path", "language", "old", "new", "moved"),
    [
        ("a.py", "python", "from a import A\n", "from b import A\n", {"A"}),
        ("a.py", "python", "from p.a import A\n", "from p.b import A\n", {"A"}),
        ("a.py", "python", "from a import A, B\n", "from a import A, C\n", {"B", "C"}),
        ("a.py", "python", "from a import A as T\n", "from a import B as T\n", {"A", "B", "T"}),
        ("a.py", "python", "T = A\n", "T = B\n", {"T"}),
        ("a.py", "python", "def f():\n    T = A\n", "def f():\n    T = B\n", set()),
        ("a.py", "python", "def f(): ...\n", "def f(x): ...\n", set()),
        ("a.ts", "typescript", "import { A } from './a';\n", "import { A } from './b';\n", {"A"}),
        ("a.rs", "rust", "use a::A;\n", "use b::A;\n", {"A"}),
    ],
)
def test_names_that_mean_something_else_move(
    path: str, language: str, old: str, new: str, moved: set[str]
) -> None:
    assert change(old, new, path, language).moved == moved


def test_through_names_that_moved_others_are_reached() -> None:
    text = """from a import A


class C(A):
    x: A

    def __init__(self, size: A) -> None:
        self.y = A()
        self.z = size
        self.n: int = 1


def make(size: int) -> A: ...


def take(size: A) -> int: ...
"""
    made = change(text, text.replace("from a", "from b"))
    other = [("C", "C"), ("C", "x"), ("C.__init__", "__init__"), ("make", "make")]
    other += [("C.__init__", "y"), ("C.__init__", "z")]
    same = [("C.__init__", "n"), ("make", "size"), ("take", "take"), ("take", "size")]
    for names, is_other in ((other, True), (same, False)):
        for qualified, name in names:
            target = Target("", RepoPath(b"lib.py"), qualified, 0, name, 0)
            assert made.resurfaces(target) is is_other, (qualified, name)


def test_a_class_gains_what_others_may_find_in_it() -> None:
    old = "class C:\n    def run(self):\n        pass\n\n\ndef f():\n    pass\n"
    new = old.replace("pass\n\n\n", "self.x = 1\n\n    y = 2\n\n    def go(self):\n        z = 1\n\n\n")
    gained = change(old, new + "\n\nclass D:\n    def go(self): ...\n").gained
    assert gained == {(("C", 0), "x"), (("C", 0), "y"), (("C", 0), "go")}
