"""Units and imports of code, against goldens that were checked by eye.

`tests/goldens/units/LANGUAGE/SOURCE` has its expected listing beside it, `SOURCE.units.txt`. Any
folder there is found. `pytest --update-goldens tests/test_units.py` rewrites the listings.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from nibd.repair.languages import CODE_LANGUAGES, UNIT_KINDS
from nibd.repair.syntax import Syntax, parse, read_syntax, spec_of
from nibd.repair.syntax.brackets import is_nested_deeper
from nibd.repair.text import Text, decode
from nibd.stores.types import Level, Skip

GOLDENS = Path(__file__).parent / "goldens" / "units"
SOURCES = sorted(path for path in GOLDENS.glob("*/*") if not path.name.endswith(".units.txt"))
LANGUAGES = sorted({path.parent.name for path in SOURCES})
FIRST_RANK = {"python", "typescript", "tsx", "javascript", "go", "rust", "c", "cpp"}

HOSTILE = {
    "empty": b"",
    "one newline": b"\n",
    "blank": b" \n\t\n",
    "only comments": b"# a\n// b\n/* c */\n" * 100,
    "closed brackets": b"x = " + b"[" * 20_000 + b"]" * 20_000,
    "open parentheses": b"(" * 100_000,
    "open braces": b"{" * 20_000,
    "open angles": b"a<" * 5_000,
    "open interpolations": b'"${' * 5_000,
    "one expression": b"a+" * 10_000 + b"a\n",
    "one name": b"a" * 200_000,
    "one string": b'"' + b"a" * 200_000,
    "comment without end": b"/*" * 5_000,
    "nested functions": b"function f() {" * 4_000 + b"}" * 4_000,
    "nested classes": b"class A {" * 4_000 + b"}" * 4_000,
    "nested functions in python": b"".join(b" " * i + b"def f():\n" for i in range(400)),
    "many functions": b"def a(): pass\n" * 2_000,
    "many comments": b"#\n" * 50_000,
    "many line comments": b"// x\n" * 5_000,
    "far comment": b"# c\n" + b"\n" * 200_000 + b"def f(): pass\n" * 1_000,
    "nul inside": b"def f():\n" + b" " * 9_000 + b"\0\0 pass\n",
    "invalid utf-8": b"def caf\xe9():\n  return '\xff\xfe\x80'\n",
    "every byte": bytes(range(1, 256)) * 200,
}


def listing(syntax: Syntax) -> str:
    """Write units and imports one a line: level, kind, lines, end of header, qualified name."""
    rows = [
        f"{'  ' * _depth(syntax, ordinal)}L{unit.level:d} {unit.kind} {unit.start_line}-{unit.end_line} "
        f"header {unit.header_end_line} {unit.qualified}".rstrip()
        for ordinal, unit in enumerate(syntax.units)
    ]
    rows += [f"import {each.start_line}-{each.end_line} {each.module}" for each in syntax.imports]
    return "\n".join(rows) + "\n"


def _depth(syntax: Syntax, ordinal: int) -> int:
    parent = syntax.units[ordinal].parent
    return 0 if parent is None else 1 + _depth(syntax, parent)


def read(language: str, data: bytes) -> Syntax | Skip:
    spec = spec_of(language)
    assert spec is not None
    text = decode(data)
    return read_syntax(text.content, spec) if isinstance(text, Text) else text


def read_source(source: Path) -> Syntax:
    syntax = read(source.parent.name, source.read_bytes())
    assert isinstance(syntax, Syntax)
    return syntax


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_units_equal_the_golden_listing(source: Path, request: pytest.FixtureRequest) -> None:
    expected = source.with_name(source.name + ".units.txt")
    actual = listing(read_source(source))
    if request.config.getoption("--update-goldens"):
        expected.write_text(actual, encoding="utf-8")
    assert actual == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_units_stand_in_document_order_inside_their_parents(source: Path) -> None:
    units = read_source(source).units
    assert units[0].level == Level.FILE
    for before, unit in pairwise(units):
        assert (before.start_byte, -before.end_byte) <= (unit.start_byte, -unit.end_byte)
        assert unit.parent is not None
        parent = units[unit.parent]
        assert parent.start_byte <= unit.start_byte < unit.end_byte <= parent.end_byte
        assert unit.start_line <= unit.header_end_line <= unit.end_line


@pytest.mark.parametrize("language", sorted(FIRST_RANK & set(LANGUAGES)))
def test_first_rank_goldens_have_fifty_units(language: str) -> None:
    found = [read_source(source) for source in SOURCES if source.parent.name == language]
    assert sum(len(syntax.units) - 1 for syntax in found) >= 50


def test_the_kinds_that_can_be_asked_for_are_those_that_units_have() -> None:
    found = {unit.kind for source in SOURCES for unit in read_source(source).units}
    assert found | {"window", "section"} == set(UNIT_KINDS)


def test_every_code_language_with_a_spec_has_goldens() -> None:
    assert [language for language in sorted(CODE_LANGUAGES) if spec_of(language)] == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_sources_give_units_or_a_skip(language: str) -> None:
    for name, data in HOSTILE.items():
        syntax = read(language, data)
        assert isinstance(syntax, Skip) or syntax.units[0].kind == "file", name


def test_units_nested_without_end_are_too_deep() -> None:
    source = b"".join(b" " * depth + b"def f():\n" for depth in range(300)) + b" " * 300 + b"pass\n"
    assert read("python", source) == Skip.TOO_DEEP


DEEP = {
    "python": b"x = " + b"not " * 6_000 + b"1\n",
    "javascript": b"x = " + b"a => " * 40_000 + b"1;\n",
    "typescript": b"x = a" + b".b().c()\n" * 3_000 + b";\n",
    "tsx": b"x = " + b"<div>\n" * 6_000 + b"</div>\n" * 6_000,
    "go": b"package a\nfunc f() {\n" + b"if a {\n} else " * 6_000 + b"{}\n}\n",
    "rust": b"fn f() { // }\n" * 6_000 + b"}\n" * 6_000,
    "c": b"int x = " + b"a +\n" * 6_000 + b"a;\n",
    "cpp": b"namespace a { // }\n" * 6_000 + b"}\n" * 6_000,
}


@pytest.mark.parametrize("language", sorted(DEEP))
def test_a_tree_without_end_is_too_deep_and_never_matched(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(read(language, b""), Syntax)
    monkeypatch.delattr(parse, "QueryCursor")
    assert read(language, DEEP[language]) == Skip.TOO_DEEP


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("nested", ["()", "[]", "{}", "([{}])"])
def test_brackets_without_end_are_refused_before_parsing(
    language: str, nested: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(parse, "Parser")
    opening, closing = nested[: len(nested) // 2], nested[len(nested) // 2 :]
    assert read(language, f"{opening}\n".encode() * 20_000) == Skip.TOO_DEEP
    assert read(language, (f"{opening}\n" * 20_000 + f"{closing}\n" * 20_000).encode()) == Skip.TOO_DEEP


def test_a_sum_of_many_terms_is_not_too_deep() -> None:
    assert isinstance(read("python", b"x = (" + b"a +\n" * 2_000 + b"a)\n"), Syntax)


def test_an_operator_and_a_star_over_and_over_is_refused_before_python_parses_it() -> None:
    assert read("python", b"/*\n" * 20_000) == Skip.TOO_DEEP
    assert read("python", b"/ \\\n * # c\n" * 20_000) == Skip.TOO_DEEP
    assert isinstance(read("python", b"f(*a, '/*', 'b/*')\n" * 2_000), Syntax)


@pytest.mark.parametrize("language", ["java", "csharp", "cpp"])
def test_angles_opened_without_end_are_refused_before_parsing(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(read(language, b"x = a<b<c;\n" * 1_000), Syntax)
    monkeypatch.delattr(parse, "Parser")
    assert read(language, b"a<" * 20_000) == Skip.TOO_DEEP
    assert read(language, b"a.b <\n" * 20_000) == Skip.TOO_DEEP


def test_work_beyond_its_bound_is_a_failed_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MIN_PROGRESS_REPORTS", 50)
    monkeypatch.setattr(parse, "BYTES_A_REPORT", 1_000)
    assert isinstance(read("python", b"x = 1\n" * 100), Syntax)
    assert read("python", b"x = 1\n" * 10_000) == Skip.PARSER_FAILED


def test_processor_time_beyond_its_bound_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_PARSE_SECONDS", 0.0)
    assert read("python", b"x = 1\n" * 10_000) == Skip.PARSE_TIMEOUT


def test_brackets_that_strings_leave_open_are_closed_with_what_is_around_them() -> None:
    assert isinstance(read("python", b"print('\\033[1m{')\n" * 3_000), Syntax)
    assert isinstance(read("bash", b"case a in\n" + b"b) c ;;\n" * 3_000 + b"esac\n"), Syntax)


def test_closing_brackets_hide_no_depth() -> None:
    assert read("c", b"}" * 5_000 + b"{" * 5_000) == Skip.TOO_DEEP


def test_brackets_are_counted_exactly() -> None:
    for opening, closing in (b"()", b"[]", b"{}"):
        most = bytes([opening]) * 1_000 + bytes([closing]) * 1_000
        assert not is_nested_deeper(most * 3, 1_000)
        assert is_nested_deeper(most + b"(" + most + b")", 1_000)
    assert not is_nested_deeper(b"{([" * 333 + b"(" + b")" + b"])}" * 333, 1_000)
    assert is_nested_deeper(b"{([" * 333 + b"((" + b"))" + b"])}" * 333, 1_000)


def test_an_error_too_vast_to_search_is_a_failed_parse() -> None:
    assert read("python", b"x=" + b"a?a:\n" * 20_000) == Skip.PARSER_FAILED


def test_a_character_across_the_reading_chunks_stays_whole() -> None:
    source = b"x = '" + b"a" * 65_530 + "é".encode() * 10 + "'\ndef naïve(): pass\n".encode()
    syntax = read("python", source)
    assert isinstance(syntax, Syntax)
    assert [unit.name for unit in syntax.units[1:]] == ["naïve"]
