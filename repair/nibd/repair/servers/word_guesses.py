"""Definitions that clangd guesses by the word alone, from its index, and says so in its log.

It does so for names in code that is not compiled, in what templates leave open, and in comments. Ten of the
symbols whose names begin so, in any case, are looked at; of these those of that very name are given, five at
most. Which ten varies from process to process where more begin so. So a guess counts only in a source of C,
when it leads to one place, and unless so many words of the file begin with it that more than ten symbols are
likely to: then it is what an editor shows there. Else it is no answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

from nibd.stores.types import RepoPath

MOST_WORDS = 50
"""Of a file that begin with a word that counts. Of 7,001 guesses in C one varied: `CURL`, with which 140
words of its file begin."""
_LINE = re.compile(
    rb"^I\[[\d:.]+\] (?:<-- textDocument/definition\((\d+)\)"
    rb"|Found definition heuristically in index for (\S+))",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d]\w*")


class WordGuesses:
    """Of the process of one file."""

    def __init__(self, path: RepoPath, text: str) -> None:
        self._is_c = path.endswith(b".c")
        self._text = text
        self._guessed: dict[int, str] = {}
        self._rest = b""
        self._asked = 0

    def hear(self, log: bytes) -> None:
        whole, end, self._rest = (self._rest + log).rpartition(b"\n")
        for line in _LINE.finditer(whole + end):
            if line[1]:
                self._asked = int(line[1])
            else:
                self._guessed[self._asked] = line[2].decode("utf-8", "replace")

    def is_void(self, number: int, targets: int) -> bool:
        word = self._guessed.get(number)
        return word is not None and not (self._is_c and targets == 1 and self._is_apart(word.casefold()))

    def _is_apart(self, word: str) -> bool:
        """Whether few words of the file begin with this one."""
        begin = bisect_left(self._words, word)
        last = begin + MOST_WORDS
        return not any(each.startswith(word) for each in self._words[last : last + 1])

    @cached_property
    def _words(self) -> list[str]:
        return sorted({word.casefold() for word in _WORD.findall(self._text)})
