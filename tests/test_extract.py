"""Facts of a blob: own texts, terms, embedded texts, windows and sections."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nibd.repair.extract import EMBEDDED_CHARACTERS, embedding_text, extract, own_ranges, text_id
from nibd.repair.text import Text, decode
from nibd.stores.types import Facts, Level, Skip

GOLDENS = Path(__file__).parent / "goldens" / "units"
SOURCES = sorted(path for path in GOLDENS.glob("*/*") if not path.name.endswith(".units.txt"))
JUNK = [
    b"",
    b"\n",
    b"(",
    b"}",
    b'"',
    b"'''",
    b"#",
    b"/*",
    b"def x():\n",
    b"\0",
    b"\xff",
    b"\r",
    "é世".encode(),
]


def facts_of(data: bytes, language: str) -> Facts:
    facts = extract(data, language)
    assert isinstance(facts, Facts)
    return facts


def content_of(data: bytes) -> bytes:
    text = decode(data)
    assert isinstance(text, Text)
    return text.content


@st.composite
def mutated_sources(draw: st.DrawFn) -> tuple[str, bytes]:
    """A golden source with pieces cut out, doubled or replaced by what upsets a parser."""
    source = draw(st.sampled_from(SOURCES))
    data = source.read_bytes()
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 200)))
        junk = draw(st.sampled_from([*JUNK, data[start:end] * 2]))
        data = data[:start] + junk + data[end:]
    return source.parent.name, data


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated_sources())
def test_own_texts_partition_a_code_file(case: tuple[str, bytes]) -> None:
    language, data = case
    facts = extract(data, language)
    if isinstance(facts, Skip):
        assert facts == Skip.BINARY
        return
    content = content_of(data)
    pieces = sorted(piece for own in own_ranges(facts.units) for piece in own)
    assert b"".join(content[start:end] for start, end in pieces) == content
    assert all(before[1] == after[0] for before, after in pairwise(pieces))
    total: Counter[str] = Counter()
    for terms in facts.terms:
        total.update(terms.counts)
    assert total == Counter(facts.file_terms.counts)


def test_extraction_is_the_same_in_another_process() -> None:
    program = (
        "import sys, hashlib, pathlib; from nibd.repair.extract import extract\n"
        "for p in sys.argv[1:]: p = pathlib.Path(p); print(repr(extract(p.read_bytes(), p.parent.name)))"
    )
    paths = [str(path) for path in SOURCES]
    run = subprocess.run(
        [sys.executable, "-c", program, *paths],
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
        env={"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"},
    )
    here = [repr(extract(path.read_bytes(), path.parent.name)) for path in SOURCES]
    assert run.stdout.splitlines() == here


def test_an_untouched_unit_keeps_its_text_id_when_the_file_changes_around_it() -> None:
    before = facts_of(b"def f():\n    return one\n\nclass A:\n    def m(self):\n        two\n", "python")
    after = facts_of(b"import x\n\n\nclass A:\n    y = 1\n    def m(self):\n        two\n", "python")
    ids = dict(zip((unit.qualified for unit in after.units), after.text_ids, strict=True))
    assert ids["A.m"] == before.text_ids[3]
    assert ids["A"] != before.text_ids[2]


def test_embedded_text_is_qualified_name_then_own_text_cut() -> None:
    content = b"class A:\n    '''Doc.'''\n    def m(self):\n        pass\n    x = 1\n" + b"    y = 2\n" * 500
    facts = facts_of(content, "python")
    embedded = embedding_text(content, facts.units, 1)
    assert embedded is not None
    assert embedded.startswith("A\nclass A:\n    '''Doc.'''\nx = 1\n    y = 2\n")
    assert len(embedded) == len("A\n") + EMBEDDED_CHARACTERS
    assert embedding_text(content, facts.units, 0) is None
    assert facts.text_ids == (
        None,
        *(text_id(embedding_text(content, facts.units, at) or "") for at in (1, 2)),
    )


def test_a_skip_says_why() -> None:
    assert extract(b"\0", "python") == Skip.BINARY
    assert extract(b"x=1;" * 30_000, "javascript") == Skip.MINIFIED


@pytest.mark.parametrize("language", ["text", "markdown", "python"])
def test_an_empty_file_is_one_unit_without_terms(language: str) -> None:
    facts = facts_of(b"", language)
    assert [unit.kind for unit in facts.units] == ["file"]
    assert (facts.lines, facts.file_terms.length, facts.text_ids) == (0, 0, (None,))


@pytest.mark.parametrize(
    ("lines", "windows"),
    [(1, [(1, 1)]), (50, [(1, 50)]), (51, [(1, 50), (41, 51)]), (91, [(1, 50), (41, 90), (81, 91)])],
)
def test_other_text_is_cut_into_overlapping_windows(lines: int, windows: list[tuple[int, int]]) -> None:
    facts = facts_of(b"".join(b"word%d\r\n" % n for n in range(lines)), "text")
    assert [(unit.start_line, unit.end_line) for unit in facts.units[1:]] == windows
    assert {(unit.level, unit.kind, unit.parent) for unit in facts.units[1:]} == {
        (Level.CALLABLE, "window", 0)
    }
    assert facts.terms[0].counts == {}
    assert facts.file_terms.counts["word"] == lines


def test_markdown_is_cut_at_its_headings() -> None:
    source = b"""---
title: front matter
---
Preamble.

# One #
text
## Two `code`
```python
# not a heading
```
~~~
## nor this
```
~~~
Under
lined
===
#hashtag
- item
---
Third
---
####### seven
   ### Deep
#
"""
    facts = facts_of(source, "markdown")
    assert [(u.start_line, u.end_line, u.kind, u.name, u.qualified) for u in facts.units[1:]] == [
        (1, 5, "section", "", ""),
        (6, 7, "section", "One", "One"),
        (8, 15, "section", "Two `code`", "One > Two `code`"),
        (16, 21, "section", "Under lined", "Under lined"),
        (22, 24, "section", "Third", "Under lined > Third"),
        (25, 25, "section", "Deep", "Under lined > Third > Deep"),
        (26, 26, "section", "", ""),
    ]
    assert facts.terms[0].counts == {}


def test_a_long_section_is_several_windows_of_its_name() -> None:
    facts = facts_of(b"# A\n" + b"line\n" * 100, "markdown")
    assert [(unit.start_line, unit.end_line, unit.qualified) for unit in facts.units[1:]] == [
        (1, 50, "A"),
        (41, 90, "A"),
        (81, 101, "A"),
    ]
    assert facts.file_terms.counts["line"] == 100


@pytest.mark.parametrize("language", ["text", "markdown"])
@pytest.mark.parametrize(
    "data", [b"\n" * 100_000, b"#" * 200_000, b"`" * 200_000, b"> " * 100_000 + b"\n", b"a\n" * 100_000]
)
def test_hostile_text_is_cut_or_skipped(language: str, data: bytes) -> None:
    facts = extract(data, language)
    assert isinstance(facts, Skip) or facts.units[0].kind == "file"
