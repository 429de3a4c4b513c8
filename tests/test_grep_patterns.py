"""Patterns: what they need never leaves out a text that they match, and lines are matched one by one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.query import matching
from nibd.query.matching import around, matches, normalized, shown
from nibd.query.pattern import Pattern, PatternError, compile_pattern
from nibd.query.pattern_needs import need_of_pattern
from nibd.stores.trigrams import ANYTHING, fulfils, grams_of

LETTERS = "abkKsSéÉſ\N{KELVIN SIGN}0_ -"
CHARACTERS = st.sampled_from(LETTERS)
TEXTS = st.text(st.sampled_from(LETTERS + "\n"), max_size=30)


def quantified(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0}", "{0,1}", "*?", "+?", "{5}"])
    return st.builds(lambda part, times: f"(?:{part}){times}", inner, quantifiers)


ATOMS = st.one_of(
    CHARACTERS,
    st.text(CHARACTERS, min_size=1, max_size=6),
    st.sampled_from(
        [".", r"\w", r"\b", "^", "$", r"\x6b", r"\x{17F}", r"\141", r"\pL", "[[:alpha:]]", r"\Qab\E"]
    ),
    st.builds(lambda chars: f"[{chars}]", st.text(st.sampled_from("abkséſ0"), min_size=1, max_size=4)),
    st.builds(lambda chars: f"[^{chars}]", st.text(st.sampled_from("abkséſ0"), min_size=1, max_size=4)),
    st.sampled_from(["[a-c]", "[j-l0]", "[]a]", r"[\d]", r"[\x61-b]"]),
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=4).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds(
            lambda part, flag: f"({flag}{part})",
            inner,
            st.sampled_from(["", "?:", "?i:", "?-i:", "?P<n>", "?i)("]),
        ),
        quantified(inner),
    ),
    max_leaves=8,
)


def lines_of(pattern: Pattern, text: str) -> list[int]:
    return [found.line for found in matches(pattern, text.encode())]


@settings(max_examples=600, deadline=None)
@given(EXPRESSIONS, st.lists(TEXTS, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_no_text_that_matches_lacks_what_its_pattern_needs(
    expression: str, texts: list[str], ignore_case: bool, word: bool
) -> None:
    try:
        pattern = compile_pattern(expression, ignore_case=ignore_case, word=word)
    except PatternError:
        return  # such as two groups of one name
    for text in texts:
        if lines_of(pattern, text):
            assert fulfils(grams_of(text.encode()), pattern.need)


@settings(deadline=None)
@given(st.text(CHARACTERS, min_size=1, max_size=5), TEXTS)
def test_a_literal_is_found_as_it_is_written(literal: str, text: str) -> None:
    pattern = compile_pattern(literal, literal=True)
    expected = [number for number, line in enumerate(text.split("\n"), 1) if literal in line]
    assert lines_of(pattern, text) == expected
    assert not expected or fulfils(grams_of(text.encode()), pattern.need)


PLAIN = st.recursive(
    st.sampled_from(
        ["a", "b", "0", "_", " ", ".", "[ab]", "[^a]", r"\d", r"\s", r"\S", r"\b", "^", "$", "ab"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        quantified(inner),
    ),
    max_leaves=6,
)
"""What RE2 and Python's `re` mean the same by."""


@settings(max_examples=400, deadline=None)
@given(PLAIN, st.text(st.sampled_from("ab0_ \n"), max_size=30), st.integers(1, 8))
def test_lines_are_those_in_which_a_backtracking_engine_finds_a_match(
    expression: str, text: str, slice_bytes: int
) -> None:
    pattern = compile_pattern(expression)
    reference = re.compile(expression, re.ASCII)
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    expected = [number for number, line in enumerate(lines, 1) if reference.search(line)]
    whole = matching.SLICE_BYTES
    try:
        matching.SLICE_BYTES = slice_bytes
        assert lines_of(pattern, text) == expected
    finally:
        matching.SLICE_BYTES = whole
    assert lines_of(pattern, text) == expected


@pytest.mark.parametrize(
    ("pattern", "texts", "lacking"),
    [
        ("handle_request", [b"def handle_request", b"HANDLE_REQUEST"], [b"handle request", b""]),
        ("(get|set)_value", [b"get_value", b"set_value"], [b"let_value", b"get_valu"]),
        ("foo.*bar", [b"foo and bar"], [b"foo", b"bar"]),
        ("ab[cd]ef", [b"abcef", b"abdef"], [b"abeef"]),
        ("(abc)+", [b"abcabc"], [b"ab"]),
        ("x?yzw", [b"yzw"], [b"xyw"]),
        ("(?i)Token", [b"TOKEN"], [b"toke"]),
        (r"\Qa.b\E", [b"a.b"], [b"axb"]),
        (r"colou?r", [b"color", b"colour"], [b"colr"]),
    ],
)
def test_needs_tell_texts_apart(pattern: str, texts: list[bytes], lacking: list[bytes]) -> None:
    need = need_of_pattern(pattern)
    assert [fulfils(grams_of(text), need) for text in (*texts, *lacking)] == [True] * len(texts) + [
        False
    ] * len(lacking)


@pytest.mark.parametrize(
    "pattern", [".*", "a", "ab", r"\w+", "(abc)?", "(abc|)", "[a-z]{3}", "(?:abc|.)", "é"]
)
def test_a_pattern_without_a_trigram_needs_nothing(pattern: str) -> None:
    assert need_of_pattern(pattern) == ANYTHING


@pytest.mark.parametrize(
    ("pattern", "message", "position"),
    [
        ("a(b", "missing )", 1),
        (r"\((a)(b", "missing )", 5),
        ("[(](a", "missing )", 3),
        ("a)b", "unexpected )", 1),
        ("é[a", "missing ]", 1),
        ("a**", "bad repetition", 1),
        (r"\\8\8", "invalid escape", 3),
        ("x(?=y)", "invalid perl operator", 1),
        (r"(a)\1", "invalid escape", 3),
        ("a{2,1}", "invalid repetition size", 1),
        ("ab\\", "backslash", 2),
        ("[z-a]", "invalid character class range", 1),
        ("a\nb", "line end", 1),
        ("((a{100}){100}){100}", "invalid repetition size", 3),
        (r"(\pL{1,100}){1,10}", "too large", None),
        (".{1,900}a.{1,900}b.{1,900}c.{1,900}", "too large", None),
        ("a" * 5000, "at most 4096", None),
        ("a\ud800", "not a character", 1),
    ],
)
def test_an_error_says_what_is_wrong_and_where(pattern: str, message: str, position: int | None) -> None:
    with pytest.raises(PatternError) as error:
        compile_pattern(pattern)
    assert message in str(error.value)
    assert error.value.position == position
    assert position is None or f"at character {position + 1}" in str(error.value)


def test_patterns_that_explode_elsewhere_take_linear_time() -> None:
    text = b"a" * 200_000 + b"!"
    for hostile in (r"(a+)+$", r"(a|a)*b", r"(a*)*b", r"(.*a){20}b", r"(?:a?){50}a{50}b"):
        assert list(matches(compile_pattern(hostile), text)) == []


def test_words_are_whole() -> None:
    word = compile_pattern("a|ab", word=True)
    assert lines_of(word, "a\nab\nabc\n_a\na.b\n") == [1, 2, 5]
    assert lines_of(compile_pattern(r"\Qab", word=True), "ab\nabc") == [1]


def test_a_line_end_is_no_part_of_a_line_and_the_last_needs_none() -> None:
    assert lines_of(compile_pattern("$"), "a\n\nb") == [1, 2, 3]
    assert lines_of(compile_pattern("^$"), "a\n\nb\n") == [2]
    assert lines_of(compile_pattern(""), "") == []
    assert [found.line for found in matches(compile_pattern("a$"), normalized(b"a\r\nba\r\nab"))] == [1, 2]


def test_a_search_is_asked_now_and_then_whether_to_go_on() -> None:
    paused: list[int] = []
    found = matches(compile_pattern("a"), b"a\n" * 5000, lambda: paused.append(1))
    assert sum(1 for _ in found) == 5000
    assert len(paused) > 10


def test_what_is_around_a_match_ends_with_the_text() -> None:
    text = b"1\n2\n3\n4\n5"
    (three,) = matches(compile_pattern("3"), text)
    before, after = around(text, three, 1)
    assert ([line.text for line in before], [line.text for line in after]) == (["2"], ["4"])
    before, after = around(text, three, 9)
    assert ([line.text for line in before], [line.text for line in after]) == (["1", "2"], ["4", "5"])
    assert around(text, three, 0) == ([], [])


def test_a_long_line_is_cut_to_what_is_around_the_match() -> None:
    text = b"x" * 5000 + b"needle" + "é".encode() * 5000
    (found,) = matches(compile_pattern("needle"), text)
    cut = shown(text, found.start, found.end, found.match_start)
    assert cut.is_cut
    assert "needle" in cut.text
    assert len(cut.text) <= 400
    assert "\N{REPLACEMENT CHARACTER}" not in cut.text
