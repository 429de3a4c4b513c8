"""What form a query has: the plan that answers it goes by that.

identifier  names alone, such as `Flask.run` or `url_for get_root_path`
path        a file or folder, perhaps with a line
trace       the text of an error, or a stack trace
prose       words of people alone
mixed       people's words with names, paths, code or a trace among them

A form follows from the text alone. It says how a query is to be looked for; how its words weigh is
`nibd.query.ranking`'s.
"""

from __future__ import annotations

import re
from enum import StrEnum

from nibd.query.ranking.understanding import Understood, may_be_file
from nibd.query.ranking.weights import Zone


class Form(StrEnum):
    IDENTIFIER = "identifier"
    PATH = "path"
    TRACE = "trace"
    PROSE = "prose"
    MIXED = "mixed"


_PATH = re.compile(r"[\w.@+~-]*/[\w.@+~/-]*(?::\d+){0,2}|[\w.@+-]+\.[A-Za-z]\w{0,4}(?::\d+){1,2}")
_NAME = re.compile(r"[A-Za-z_$~][\w$]*(?:(?:\.|::|->|#|/)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_WRITTEN_AS_NAME = re.compile(r"[a-z0-9][A-Z]|_|::|->|#|\(\)|\w\.\w|^[A-Z][A-Z]")
_ERROR = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|[\w.]*(?:Error|Exception|Warning|Panic)\b\s*[:(]"
    r"|(?:fatal|panic|error|warning|Uncaught|Segmentation fault|Caused by|thread '[^'\n]*' panicked)"
    r"(?:\[\w+\]| error)?(?:: | at ))"
)
_AT_LINE = re.compile(r"\s*(?P<file>(?:[A-Za-z]:)?[^\s:]+)(?::\d+){1,2}(?P<colon>:?) ")
PROSE_OF_TRACE = 0.2
"""A text with a trace or an error is one where no more of its words are people's."""


def form_of(text: str, understood: Understood) -> Form:
    words = text.split()
    if len(words) == 1 and (_is_path(words[0]) or words[0] in (path for path, _ in understood.paths)):
        return Form.PATH
    if all(_NAME.fullmatch(word) for word in words) and _are_names(words):
        return Form.IDENTIFIER
    zones = {zone for _, zone in understood.tokens}
    lines = [line for line in text.split("\n") if line.strip()]
    if understood.frames or _is_error(text):
        prose = sum(zone is Zone.PROSE for _, zone in understood.tokens)
        is_line = len(lines) == 1 and _is_error(text)
        if is_line or prose <= PROSE_OF_TRACE * len(understood.tokens):
            return Form.TRACE
    told = understood.identifiers or understood.paths or understood.frames
    if told or zones & {Zone.CODE, Zone.INLINE, Zone.TITLE_CODE, Zone.TRACE}:
        return Form.MIXED
    return Form.PROSE


def _is_path(word: str) -> bool:
    return _PATH.fullmatch(word) is not None and may_be_file(word.partition(":")[0])


def _is_error(text: str) -> bool:
    """It begins as an error does, or with the line of a file, as compilers print it."""
    line = _AT_LINE.match(text)
    if line and may_be_file(line["file"]):
        return bool(line["colon"]) or any(mark in line["file"] for mark in "./\\")
    return _ERROR.match(text) is not None


def _are_names(words: list[str]) -> bool:
    """One word may be any; of several each is to be written as names alone are."""
    return len(words) == 1 or all(_WRITTEN_AS_NAME.search(word) for word in words)
