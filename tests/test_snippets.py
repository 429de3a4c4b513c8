"""Which lines of a unit are shown for a query, and where its words stand in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nibd.query.snippets import CHARACTERS, LINE_CHARACTERS, LINES, Lines, Snippet, Words, snippet

FILLER = [f"    filler_{number} = {number}" for number in range(40)]


def shown(lines: list[str], query: str, start: int = 1, end: int | None = None) -> Snippet:
    return snippet(Lines("\n".join(lines).encode()), start, end or len(lines), Words.of_text(query))


def marked(found: Snippet) -> list[str]:
    lines = found.text.split("\n")
    return [lines[each.line - found.line][each.column - 1 : each.end_column - 1] for each in found.matches]


def test_the_lines_with_most_words_are_shown_with_their_numbers() -> None:
    lines = ["def run():", *FILLER[:10], "    parse(x)", *FILLER[10:20], "    parse_cache(y)", "    z"]
    found = shown(lines, "parsing the cache")
    assert found.line == 18
    assert found.text.split("\n")[5] == "    parse_cache(y)"
    assert marked(found) == ["parse_cache"]


def test_without_a_match_it_is_the_beginning() -> None:
    found = shown(["def run():", *FILLER], "nothing like this")
    assert (found.line, found.text.split("\n")[0], found.matches) == (1, "def run():", [])
    assert len(found.text.split("\n")) == LINES


def test_what_stands_outside_of_the_range_is_not_looked_at() -> None:
    lines = ["cache", "def run():", "    return 1", "cache"]
    found = shown(lines, "cache", 2, 3)
    assert (found.line, found.text, found.matches) == (2, "def run():\n    return 1", [])


def test_stop_words_are_not_marked_beside_others() -> None:
    assert marked(shown(["the cache of the parser"], "the cache of the parser")) == ["cache", "parser"]


def test_different_words_tell_more_than_one_word_often() -> None:
    lines = ["cache cache cache", *FILLER[:9], "cache", "parser"]
    assert shown(lines, "cache parser").line == 7


def test_a_long_line_is_cut_to_what_is_around_its_first_match() -> None:
    found = shown(["x = '" + "a " * 500 + "cache'" + " b" * 300], "cache")
    assert len(found.text) == LINE_CHARACTERS
    assert marked(found) == ["cache'"[:5]]


def test_words_of_any_script_and_either_case_are_found() -> None:
    assert marked(shown(["größe = Größe()"], "GRÖSSE größe")) == ["größe", "Größe"]
    assert marked(shown(["x = CACHE\r", "y\r"], "cache")) == ["CACHE"]


TEXT = st.lists(st.text("abcé \t_.漢", max_size=30), min_size=1, max_size=30)


@given(TEXT, st.text("abcé ", max_size=12), st.data())
def test_a_snippet_is_a_part_of_its_range_and_matches_are_in_it(
    lines: list[str], query: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    found = shown(lines, query, start, end)
    assert start <= found.line <= end
    texts = found.text.split("\n")
    assert lines[found.line - 1 : end][: len(texts)] == texts or found.text == ""
    assert len(texts) <= LINES
    assert len(found.text) <= CHARACTERS
    for each in found.matches:
        assert found.line <= each.line <= end
        assert 1 <= each.column < each.end_column <= len(lines[each.line - 1]) + 1
