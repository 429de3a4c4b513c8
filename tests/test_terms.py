"""Terms: identifiers whole and split, the same for a file and a query."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nibd.stores import terms as terms_module
from nibd.stores.terms import (
    MAX_TERM_CHARACTERS,
    MAX_TOKEN_CHARACTERS,
    count_terms,
    spelled_terms,
    tokenize,
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("HTTPServer2", "httpserver2 http server 2"),
        ("camelCase", "camelcase camel case"),
        ("PascalCase", "pascalcase pascal case"),
        ("snake_case_name", "snake_case_name snake case name"),
        ("kebab-case", "kebab case"),
        ("SCREAMING_CASE", "screaming_case scream case"),
        ("XMLHttpRequest", "xmlhttprequest xml http request"),
        ("utf8", "utf8 utf 8"),
        ("i18n", "i18n i 18 n"),
        ("aB", "ab a b"),
        ("AB", "ab"),
        ("parse", "pars"),
        ("Parse", "pars"),
        ("__init__", "__init__ init"),
        ("foo_foo", "foo_foo foo foo"),
        ("___", ""),
        ("0x1F 42 3.14 1_000", "0x1f 42 3 14 1_000 1 000"),
        ("self.run(Job)", "self run job"),
        ("ÉcoleNormale été2", "écolenormale école normal été2 été 2"),
        ("имяФайла", "имяфайла имя файла"),
        ("解析 файл", "解析 файл"),
        ("parsing parsed parses Parser", "pars pars pars parser"),
        ("parse_caches", "parse_caches pars cach"),
        ("the of", "the of"),
        ("", ""),
    ],
)
def test_text_gives_terms(text: str, terms: str) -> None:
    assert list(tokenize(text)) == terms.split()


def test_composed_and_decomposed_letters_are_one_term() -> None:
    assert list(tokenize("cafe\u0301")) == list(tokenize("caf\u00e9")) == ["café"]


def test_a_token_longer_than_a_term_keeps_only_its_parts() -> None:
    token = "_".join(["word"] * 20)
    assert len(token) > MAX_TERM_CHARACTERS
    assert list(tokenize(token)) == ["word"] * 20


def test_a_token_longer_than_any_name_has_no_terms() -> None:
    assert list(tokenize("aB_" * MAX_TOKEN_CHARACTERS)) == []


@given(st.text())
def test_counting_agrees_with_tokenizing(text: str) -> None:
    assert count_terms(text) == Counter(tokenize(text))


@given(st.text())
def test_no_term_is_empty_too_long_or_has_a_space(text: str) -> None:
    assert all(0 < len(term) <= MAX_TERM_CHARACTERS and not term.split()[1:] for term in tokenize(text))


@given(st.from_regex(r"[A-Za-z0-9_]{1,40}", fullmatch=True))
def test_letters_of_ascii_split_as_letters_of_any_script(token: str) -> None:
    """The ASCII path and the Unicode path are one rule: swapping a letter for é splits alike. What has one
    has no stem but itself, so it is compared before words have."""
    accented = token.replace("a", "é").replace("A", "É")
    ascii_parts = [part.replace("a", "é").replace("A", "É") for part in terms_module._parts(token)]
    assert terms_module._parts(accented) == ascii_parts


@given(st.text())
def test_terms_come_with_what_was_spelled_and_are_the_same(text: str) -> None:
    assert [term for term, _ in spelled_terms(text)] == list(tokenize(text))


def test_what_is_spelled_is_the_word_and_not_its_stem() -> None:
    found = list(spelled_terms("Parsing HTTPServers2 __init__"))
    assert found == [
        ("pars", "parsing"), ("httpservers2", "httpservers2"), ("http", "http"), ("server", "servers"),
        ("2", "2"), ("__init__", "__init__"), ("init", "init"),
    ]  # fmt: skip
