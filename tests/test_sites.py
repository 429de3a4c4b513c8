"""Sites of code, against goldens that were checked by eye.

`tests/goldens/sites/LANGUAGE/SOURCE` has its expected sites beside it, `SOURCE.sites.txt`: each line of the
source that has sites, below it each with its kind, and above it the unit where that changes. Any folder
there is found. `pytest --update-goldens tests/test_sites.py` rewrites the listings.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path

import pytest

from nibd.repair.syntax import read_syntax, spec_of
from nibd.repair.syntax.sites import SITE_LANGUAGES, FileSymbols, sites
from nibd.repair.syntax.units import file_unit
from nibd.stores.relation_types import RelationKind, Site
from nibd.stores.types import Skip, Unit

GOLDENS = Path(__file__).parent / "goldens" / "sites"
SOURCES = sorted(path for path in GOLDENS.glob("*/*") if not path.name.endswith(".sites.txt"))
HOSTILE = {
    "empty": b"",
    "blank": b"\n \n",
    "only a comment": b"# a\n",
    "closed brackets": b"x = " + b"[" * 5_000 + b"]" * 5_000,
    "wide and deep": b"f(" * 500 + b"x," * 5_000 + b")" * 500,
    "deep pattern": b"const " + b"[" * 500 + b"a," * 5_000 + b"]" * 500 + b" = x",
    "chained calls": b"a" + b".b()" * 1_000,
    "qualified": b"int " + b"a::" * 2_000 + b"b;",
    "broken": b"def ( class ) { fn <<<< x; int } \xc3\xa9 = (\n" * 50,
    "missing names": b"class : pass\nstruct {;}\nfn (\nfunc (\nint ;\nimport\nfrom  import\n" * 20,
    "every byte": bytes(range(1, 128)) * 50,
}


def units_of(content: bytes, language: str) -> tuple[Unit, ...]:
    spec = spec_of(language)
    assert spec is not None
    syntax = read_syntax(content, spec)
    return (file_unit(content),) if isinstance(syntax, Skip) else syntax.units


def sites_of(source: str, language: str) -> tuple[Site, ...]:
    content = source.encode()
    found = sites(content, language, units_of(content, language))
    assert not isinstance(found, Skip)
    return found


def kinds(source: str, language: str) -> list[str]:
    return [f"{site.name} {site.kind}" for site in sites_of(source, language)]


def listing(content: bytes, language: str) -> str:
    units = units_of(content, language)
    lines = content.decode().split("\n")
    rows: list[str] = []
    in_unit = -1
    for number, group in groupby(
        sites_of(content.decode(), language), lambda site: content.count(b"\n", 0, site.start_byte)
    ):
        rows.append(f"{number + 1:3} {lines[number]}")
        for unit, of_unit in groupby(group, lambda site: site.unit):
            if unit != in_unit:
                rows.append(f"  in {units[unit].qualified or 'file'}")
                in_unit = unit
            rows.append("      " + " ".join(f"{site.name}:{site.kind}" for site in of_unit))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sites_are_as_listed(source: Path, request: pytest.FixtureRequest) -> None:
    got = listing(source.read_bytes(), source.parent.name)
    golden = source.with_name(source.name + ".sites.txt")
    if request.config.getoption("--update-goldens"):
        golden.write_text(got)
    assert got == golden.read_text()


def test_every_language_has_a_golden() -> None:
    assert {source.parent.name for source in SOURCES} == set(SITE_LANGUAGES)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sites_are_identifiers_in_order_within_their_unit(source: Path) -> None:
    content, language = source.read_bytes(), source.parent.name
    units = units_of(content, language)
    found = sites_of(content.decode(), language)
    assert all(one.end_byte <= other.start_byte for one, other in pairwise(found))
    for site in found:
        assert content[site.start_byte : site.end_byte].decode() == site.name
        around = [
            ordinal
            for ordinal, unit in enumerate(units)
            if unit.start_byte <= site.start_byte < unit.end_byte
        ]
        assert site.unit == max(around, key=lambda ordinal: (units[ordinal].start_byte, ordinal))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_name_at_a_site_leads_back_to_it(source: Path) -> None:
    content, language = source.read_bytes(), source.parent.name
    symbols = FileSymbols(content, units_of(content, language))
    for site in sites_of(content.decode(), language):
        at = symbols.at(site.start_byte)
        start, end = symbols.position(*at) or (-1, -1)
        whole = (site.start_byte, site.end_byte, site.name)
        assert (start, end, at[2]) == whole or site.name.startswith(f"{at[2]}-")


@pytest.mark.parametrize("language", SITE_LANGUAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_any_text_has_sites_or_a_reason(name: str, language: str) -> None:
    content = HOSTILE[name]
    found = sites(content, language, (file_unit(content),))
    if not isinstance(found, Skip):
        assert all(site.start_byte < site.end_byte and site.unit == 0 for site in found)
        assert all(one.end_byte <= other.start_byte for one, other in pairwise(found))


def test_of_other_languages_there_are_none() -> None:
    with pytest.raises(KeyError):
        sites(b"class A {}", "java", (file_unit(b"class A {}"),))


def test_of_the_bindings_of_a_name_in_a_unit_the_first_defines_it() -> None:
    assert kinds("def f(a):\n    a = b = 1\n    b = a\n\nb = 2\nb = 3\n", "python") == [
        "f definition", "a definition", "a write", "b definition", "b write", "a read",
        "b definition", "b write",
    ]  # fmt: skip


def test_a_name_of_a_comprehension_or_lambda_is_no_binding_of_the_unit() -> None:
    found = kinds("[x for x in y]\nlambda z: z\nx = 1\nz = 2\n", "python")
    assert found[-2:] == ["x definition", "z definition"]


def test_what_an_edit_in_one_function_does_stays_there() -> None:
    before = "def f():\n    x = 1\n\ndef g():\n    x = 2\n"
    after = "def f():\n    x = 0\n    x = 1\n\ndef g():\n    x = 2\n"
    assert kinds(before, "python")[-2:] == kinds(after, "python")[-2:] == ["g definition", "x definition"]


def test_blanked_macros_have_no_sites_and_leave_offsets_alone() -> None:
    source = "class MY_EXPORT Job : Base {};\n"
    found = sites_of(source, "cpp")
    assert [(site.name, site.start_byte) for site in found] == [
        ("Job", source.index("Job")), ("Base", source.index("Base"))
    ]  # fmt: skip


def test_keywords_that_are_no_identifiers_are_no_sites() -> None:
    names = {site.name for site in sites_of("class A { m() { super.m(this.x, undefined); } }", "javascript")}
    assert names == {"A", "m", "x"}
    assert "self" not in {site.name for site in sites_of("fn f(&self) { self.x(crate::y()) }", "rust")}
    assert {site.name for site in sites_of("class A:\n    def f(self): self.x", "python")} >= {"self"}


def test_a_fixed_width_type_is_a_site_and_a_built_in_one_is_not() -> None:
    assert kinds("uint8_t a; size_t b; int c; char d;", "c") == [
        "uint8_t type", "a definition", "size_t type", "b definition", "c definition", "d definition"
    ]  # fmt: skip
    assert kinds("char16_t a;", "cpp") == ["a definition"]


def test_a_capital_tells_a_constant_in_a_pattern_from_a_binding() -> None:
    found = kinds("fn f() { match x { NONE => 1, Some(y) => 2, z => 3 } }", "rust")
    assert found[2:] == ["NONE read", "Some read", "y definition", "z definition"]


def test_every_kind_occurs_in_some_golden() -> None:
    seen = {site.kind for source in SOURCES for site in sites_of(source.read_text(), source.parent.name)}
    assert seen == set(RelationKind)
