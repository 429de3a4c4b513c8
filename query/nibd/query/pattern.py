"""A regular expression as a person writes it, ready to be looked for: RE2, line by line, and its need.

RE2 takes time linear in the text whatever the pattern, and bounded memory, so a stranger's pattern is safe;
in exchange it has no back references and no look-around. A pattern is matched against lines: `^` and `$` are
a line's, and nothing matches a line end, which is `\\n` or `\\r\\n`. `\\w`, `\\d`, `\\b` are those of ASCII.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import re2

from nibd.query.pattern_needs import need_of_literal, need_of_pattern, without_quotes
from nibd.stores.trigrams import Need

MAX_PATTERN_CHARACTERS = 4096
MAX_REGEX_BYTES = 8 << 20
MAX_PROGRAM = 10_000
"""Of RE2's instructions. In a line of 1 MB, which nothing interrupts, so many take up to some 6 s."""
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)
TOO_LARGE = "the pattern is too large: it repeats too much"
_UNCLOSED, _UNOPENED = "missing )", "unexpected )"


class PatternError(ValueError):
    """A pattern can't be used. `position` counts its characters from 0; `None` when it is the whole."""

    def __init__(self, message: str, position: int | None) -> None:
        super().__init__(message if position is None else f"{message}, at character {position + 1}")
        self.position = position


@dataclass(frozen=True, slots=True)
class Pattern:
    """`regex` is RE2's, to be searched in UTF-8; a text that does not fulfil `need` has no match."""

    regex: Any
    need: Need


def compile_pattern(
    text: str, *, ignore_case: bool = False, word: bool = False, literal: bool = False
) -> Pattern:
    """`word`: only where no letter, digit or underscore is right beside. Raises `PatternError`."""
    if len(text) > MAX_PATTERN_CHARACTERS:
        raise PatternError(f"a pattern has at most {MAX_PATTERN_CHARACTERS} characters", None)
    if "\n" in text:
        raise PatternError("a pattern is looked for in single lines and holds no line end", text.index("\n"))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PatternError("not a character", error.start) from error
    expression = re2.escape(text) if literal else text
    _compiled(expression, ignore_case)  # as it was written, for an error that speaks of that
    inner = rf"\b(?:{without_quotes(expression)})\b" if word else expression
    need = need_of_literal(text) if literal else need_of_pattern(text, ignore_case=ignore_case)
    return Pattern(_compiled(f"(?m){inner}", ignore_case), need)


def _compiled(expression: str, ignore_case: bool) -> Any:
    options = re2.Options()
    options.max_mem = MAX_REGEX_BYTES
    options.case_sensitive = not ignore_case
    options.never_capture = True
    options.never_nl = True
    options.log_errors = False
    try:
        compiled = re2.compile(expression, options)
    except re2.error as error:
        raise _explained(expression, error) from error
    finally:
        re2.purge()  # its cache keeps 128 patterns with up to 8 MB each
    if compiled.programsize > MAX_PROGRAM:
        raise PatternError(TOO_LARGE, None)
    return compiled


def _explained(expression: str, error: Exception) -> PatternError:
    """RE2 says what is wrong and quotes the place."""
    said = error.args[0]
    whole = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    message, _, quoted = whole.partition(": ")
    if message in {_UNCLOSED, _UNOPENED}:
        return PatternError(message, _unpaired(expression, message == _UNCLOSED))
    if message.startswith("pattern too large"):
        return PatternError(TOO_LARGE, None)
    if message.startswith("trailing"):
        return PatternError("a backslash stands at the end", len(expression) - 1)
    starts = (token.start() for token in _TOKEN.finditer(expression))
    within = (at for at in starts if expression.startswith(quoted, at))
    position = next(within, expression.find(quoted)) if quoted else -1
    return PatternError(whole, None if position < 0 else position)


def _unpaired(expression: str, unclosed: bool) -> int:
    """Where the first bracket without its partner stands."""
    opened: list[int] = []
    for token in _TOKEN.finditer(expression):
        if token[0] == "(":
            opened.append(token.start())
        elif token[0] == ")":
            if not opened:
                return token.start()
            opened.pop()
    return opened[-1 if unclosed else 0] if opened else len(expression) - 1
