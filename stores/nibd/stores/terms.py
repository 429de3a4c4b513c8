"""Terms: what lexical search counts. Text in, terms out, the same for a file and for a query.

A *token* is a run of word characters (letters, digits, underscores of any script). Its terms are
the token itself, lower-cased, and, when it has more than one, the stems of its *parts*: split at
underscores, at a change to a capital (`camelCase`, `HTTPServer`), and between letters and digits. A
token of one part gives its stem alone. So `HTTPServers2` gives `httpservers2 http server 2`, `parsing`
gives `pars` once, `__init__` gives `__init__ init`. A token that starts with a digit is split at
underscores only: `0x1F` is a number.

A *stem* (Snowball's English ones) stands for the forms of a word: who asks for "parsing caches" means
`parse_cache` too. There are no stop words: code has names, and every name may be asked for. Scripts
without spaces are not segmented. A text's terms follow from the text and `TERMS_VERSION` alone.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

TERMS_VERSION = f"3-unicode{unicodedata.unidata_version}-snowball{Stemmer.version()}"
"""Part of the lexical profile: which characters are letters depends on Python's Unicode tables, and stems
on the stemmer's rules."""

MAX_TERM_CHARACTERS = 64
MAX_TOKEN_CHARACTERS = 256
"""A token longer than a term may be keeps its parts; one longer than this is data, not a name."""

_TOKEN = re.compile(r"\w+")
_ASCII_PART = re.compile(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def tokenize(text: str) -> Iterator[str]:
    """Yield the terms of `text` in order, each as often as it occurs."""
    for token in _TOKEN.findall(_composed(text)):
        yield from _terms_of(token)


def count_terms(text: str) -> dict[str, int]:
    """Count the terms of `text`: how often `tokenize` yields each, in order of first occurrence."""
    counts: dict[str, int] = {}
    seen = counts.get
    for token, times in Counter(_TOKEN.findall(_composed(text))).items():
        for term in _terms_of(token):
            counts[term] = seen(term, 0) + times
    return counts


def spelled_terms(text: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of `text` as `tokenize` does, each with what the text spells for it.

    In lower case: `Parsing` gives `pars` with `parsing`.
    """
    for token in _TOKEN.findall(_composed(text)):
        terms = _terms_of(token)
        spelt = [part.lower() for part in _parts(token)]
        if len(terms) > len(spelt):
            spelt.insert(0, token.lower())
        # A term that is too long is left out, and then nobody can tell which.
        yield from zip(terms, spelt if len(spelt) == len(terms) else terms, strict=True)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=1 << 16)
def _terms_of(token: str) -> tuple[str, ...]:
    if len(token) > MAX_TOKEN_CHARACTERS:
        return ()
    whole = token.lower()
    parts = [part.lower() for part in _parts(token)]
    stems = [_stem(part) for part in parts]
    terms = stems if parts == [whole] or not parts else [whole, *stems]
    return tuple(term for term in terms if len(term) <= MAX_TERM_CHARACTERS)


class _Stemmers(threading.local):
    """One for each thread: a stemmer has a buffer of its own."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_stemmers = _Stemmers()


def _stem(part: str) -> str:
    """Of an English word in lower case; anything else is its own stem."""
    return _stemmers.english.stemWord(part) if part.isascii() and part.isalpha() else part


def _parts(token: str) -> list[str]:
    if token[0].isdigit():
        return [part for part in token.split("_") if part]
    if token.isascii():
        return _ASCII_PART.findall(token)
    return [part for word in token.split("_") for part in _unicode_parts(word)]


def _unicode_parts(word: str) -> Iterator[str]:
    """Split as `_ASCII_PART` does, for letters of any script; letters without case stay together."""
    start = 0
    for at in range(1, len(word)):
        before, here = word[at - 1], word[at]
        starts_word = here.isupper() and (
            not before.isupper() or (at + 1 < len(word) and word[at + 1].islower())
        )
        if starts_word or before.isdigit() != here.isdigit():
            yield word[start:at]
            start = at
    if word:
        yield word[start:]
