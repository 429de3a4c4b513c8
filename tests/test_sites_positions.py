"""Byte offsets and positions of the Language Server Protocol, against a slow and simple way."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.repair.syntax.sites import Positions

ENCODINGS = ("utf-8", "utf-16", "utf-32")
TEXTS = st.lists(st.sampled_from(["a", "é", "→", "😀", "\n", "\r\n", "\r", "\t", "\u2028", "bc"])).map(
    "".join
)


def width(text: str, encoding: str) -> int:
    return len(text.encode({"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, encoding))) // {
        "utf-8": 1, "utf-16": 2, "utf-32": 4
    }[encoding]  # fmt: skip


def lines_of(text: str) -> list[str]:
    return re.split("\r\n|\n|\r", text)


def every_position(text: str, encoding: str) -> dict[int, tuple[int, int]]:
    """Positions by byte offset, of all that stand between characters and in no line end."""
    found, offset = {}, 0
    ends = [*re.findall("\r\n|\n|\r", text), ""]
    for number, (line, end) in enumerate(zip(lines_of(text), ends, strict=True)):
        for column in range(len(line) + 1):
            before = line[:column]
            found[offset + len(before.encode())] = (number, width(before, encoding))
        offset += len((line + end).encode())
    return found


@given(TEXTS, st.sampled_from(ENCODINGS))
@settings(deadline=None)
def test_positions_are_those_of_counting(text: str, encoding: str) -> None:
    positions = Positions(text.encode())
    for offset, position in every_position(text, encoding).items():
        assert positions.to_lsp(offset, encoding) == position
        assert positions.to_byte(*position, encoding) == offset


@given(TEXTS, st.sampled_from(ENCODINGS), st.integers(-2, 60))
@settings(deadline=None)
def test_an_offset_that_has_no_position_has_the_one_before(text: str, encoding: str, offset: int) -> None:
    known = every_position(text, encoding)
    before = max((each for each in known if each <= max(offset, 0)), default=0)
    assert Positions(text.encode()).to_lsp(offset, encoding) == known[before]


@given(TEXTS, st.sampled_from(ENCODINGS), st.integers(-1, 20), st.integers(-1, 40))
@settings(deadline=None)
def test_what_lies_beyond_an_end_is_that_end(text: str, encoding: str, line: int, character: int) -> None:
    known = every_position(text, encoding)
    offset = Positions(text.encode()).to_byte(line, character, encoding)
    if line < 0:
        assert offset == 0
    elif line >= len(lines_of(text)):
        assert offset == len(text.encode())
    else:
        assert offset == max(
            each for each, (at, column) in known.items() if at == line and column <= max(character, 0)
        )


def test_utf_16_is_what_servers_speak() -> None:
    positions = Positions("x = '😀é'; y\n".encode())
    assert positions.to_lsp(14) == (0, 11)
    assert positions.to_byte(0, 11) == 14


def test_the_middle_of_a_character_is_where_it_begins() -> None:
    positions = Positions("a😀b".encode())
    assert positions.to_byte(0, 2, "utf-16") == 1
    assert positions.to_byte(0, 3, "utf-8") == 1
    assert positions.to_lsp(3, "utf-16") == (0, 1)


def test_a_line_separator_of_unicode_and_a_form_feed_end_no_line() -> None:
    assert Positions("a\u2028b\x0cc\x85d".encode()).to_lsp(6, "utf-32") == (0, 4)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bytes_that_are_no_text_count_one_each(encoding: str) -> None:
    positions = Positions(b"a\xff\xc3\n\x80b")
    assert positions.to_lsp(3, encoding) == (0, 3)
    assert positions.to_lsp(5, encoding) == (1, 1)
    assert positions.to_byte(1, 1, encoding) == 5


def test_an_empty_text_has_one_position() -> None:
    assert Positions(b"").to_lsp(7) == (0, 0)
    assert Positions(b"").to_byte(3, 3) == 0


def test_an_encoding_that_nobody_agreed_on_is_an_error() -> None:
    with pytest.raises(KeyError):
        Positions("é".encode()).to_lsp(0, "utf-7")
