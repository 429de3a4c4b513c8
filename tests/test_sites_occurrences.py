"""Names for places in a file: both ways, and through edits elsewhere."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.repair.extract import own_ranges
from nibd.repair.syntax import Syntax, read_syntax, spec_of
from nibd.repair.syntax.sites import FileSymbols
from nibd.repair.syntax.units import file_unit
from nibd.stores.types import Unit

PIECES = {
    "python": [
        "import os\n",
        "x = größe = 'é'  # naïve x “x”\n",
        "def f(a, größe):\n    return a + größe\n\n",
        "@deco\nclass A:\n    n = 1\n    def run(self):\n        def run(n): return n\n        return 1\n\n",
        "def f(b):\n    pass\n\n",
        "नाम = x\u00a0+ x\n",
        "\n",
    ],
    "javascript": [
        "const $a = 1, b$ = $a;\r\n",
        "class A { #p = 1; get() { return this.#p; } set p(v) { this.#p = v; } }\n",
        "function f(x) { const g = (x) => { return x; }; return g(x) + `é${x}`; }\n",
        "/* f f f */ f(f);\n",
        "const o = { m() { return o; }, n: function () {} };\n",
    ],
    "rust": [
        "fn r#fn(r#type: u8) -> u8 { r#type + bar }\n",
        "impl A { fn f(&self) { self.f() } }\n",
        "/// f é\nmod m { pub fn f() {} pub fn g() { f() } }\n",
        "struct A<'a> { a: &'a str }\n",
    ],
}


def read(source: str, language: str) -> tuple[bytes, tuple[Unit, ...]]:
    spec = spec_of(language)
    assert spec is not None
    content = source.encode()
    syntax = read_syntax(content, spec)
    assert isinstance(syntax, Syntax)
    return content, syntax.units


@cache
def symbols_of(source: str, language: str = "python") -> FileSymbols:
    return FileSymbols(*read(source, language))


SOURCES = st.sampled_from(sorted(PIECES)).flatmap(
    lambda language: st.tuples(
        st.just(language), st.lists(st.sampled_from(PIECES[language]), max_size=8).map("".join)
    )
)


def at(source: str, text: str, nth: int = 0, language: str = "python") -> tuple[str, int, str, int]:
    """What is said of the start of the nth occurrence of a text."""
    offset = -1
    for _ in range(nth + 1):
        offset = source.encode().index(text.encode(), offset + 1)
    return symbols_of(source, language).at(offset)


@given(SOURCES)
@settings(max_examples=60, deadline=None)
def test_every_word_is_found_again_by_its_name(source: tuple[str, str]) -> None:
    language, text = source
    content, units = read(text, language)
    symbols = FileSymbols(content, units)
    for offset in range(len(content)):
        qualified, ordinal, name, nth = symbols.at(offset)
        found = symbols.position(qualified, ordinal, name, nth)
        assert found is not None
        start, end = found
        assert start <= offset < end
        if name:
            assert content[start:end].decode() == name
            assert {symbols.at(each) for each in range(start, end)} == {(qualified, ordinal, name, nth)}


@given(SOURCES)
@settings(max_examples=60, deadline=None)
def test_the_unit_is_the_innermost_and_names_are_distinct(source: tuple[str, str]) -> None:
    language, text = source
    content, units = read(text, language)
    symbols = FileSymbols(content, units)
    seen: dict[tuple[str, int, str, int], tuple[int, int] | None] = {}
    for ordinal, ranges in enumerate(own_ranges(units)):
        same = [index for index, unit in enumerate(units) if unit.qualified == units[ordinal].qualified]
        for start, end in ranges:
            for offset in range(start, end):
                key = symbols.at(offset)
                assert key[:2] == (units[ordinal].qualified, same.index(ordinal))
                if key[2]:
                    place = symbols.position(*key)
                    assert seen.setdefault(key, place) == place
    places = list(seen.values())
    assert len(set(places)) == len(places)


def test_the_nth_counts_in_the_own_text_of_the_unit() -> None:
    source = "x = 1\ndef f():\n    x = 2\n    x\n\nx\n"
    assert at(source, "x") == ("", 0, "x", 0)
    assert at(source, "x", 1) == ("f", 0, "x", 0)
    assert at(source, "x", 2) == ("f", 0, "x", 1)
    assert at(source, "x", 3) == ("", 0, "x", 1)


def test_units_of_one_name_are_told_apart_by_their_order() -> None:
    source = "def f():\n    a\n\ndef f():\n    a\n"
    assert at(source, "a") == ("f", 0, "a", 0)
    assert at(source, "a", 1) == ("f", 1, "a", 0)


def test_an_edit_in_another_unit_changes_no_name() -> None:
    after = "def f():\n    return a\n"
    for before in ("", "a = 'é'\n\n", "def g(a):\n    a\n\n"):
        assert at(before + after, "return a") == ("f", 0, "return", 0)


def test_a_position_inside_a_word_is_that_word() -> None:
    assert at("größe = 1\n", "ße") == ("", 0, "größe", 0)


def test_where_no_word_is_the_unit_is_meant() -> None:
    symbols = symbols_of("f( 'x' )\ndef g(): pass\n")
    assert symbols.at(1) == ("", 0, "", 0)
    assert symbols.position("g", 0, "", 0) == (9, 22)
    assert symbols.at(10_000) == symbols.at(-1) == ("", 0, "", 0)


def test_what_is_not_there_has_no_position() -> None:
    symbols = symbols_of("def f():\n    a\n")
    assert symbols.position("f", 0, "a", 0) == (13, 14)
    for key in [("f", 1, "a", 0), ("g", 0, "a", 0), ("f", 0, "a", 1), ("f", 0, "a", -1), ("f", -1, "a", 0)]:
        assert symbols.position(*key) is None


@pytest.mark.parametrize(
    ("language", "source", "text", "name"),
    [
        ("javascript", "class A { #p = 1 }", "#p", "#p"),
        ("javascript", "$x$ = 1", "$x", "$x$"),
        ("rust", "static A: u8 = r#type;", "r#type", "r#type"),
        ("rust", "fn f<'a>() {}", "a>", "a"),
        ("python", "नाम = 1", "नाम", "नाम"),
        ("python", "# “quoted”", "quoted", "quoted"),
        ("javascript", "a\u00a0+\u00a0b", "b", "b"),
    ],
)
def test_a_word_is_what_an_identifier_can_be(language: str, source: str, text: str, name: str) -> None:
    assert at(source, text, language=language)[2] == name


def test_a_file_without_units_of_its_own_is_one() -> None:
    content = b"a b a"
    symbols = FileSymbols(content, (file_unit(content),))
    assert symbols.at(4) == ("", 0, "a", 1)
    assert symbols.position("", 0, "", 0) == (0, 5)
