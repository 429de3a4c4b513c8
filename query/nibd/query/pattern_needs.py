"""Which trigrams a text must hold for a regular expression of RE2 to match in it.

The pattern is read as RE2 reads it (https://github.com/google/re2/wiki/Syntax) and becomes a
`required_strings.Part` as it is read. What isn't understood makes the whole pattern need nothing, so a
pattern that RE2 takes and this reader doesn't is looked for everywhere.

A match never goes over a line end (`nibd.query.pattern`), so trigrams that hold one are in no text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nibd.query.required_strings import (
    NOTHING_READ,
    UNKNOWN,
    Part,
    either,
    exact,
    following,
    need_of,
    repeated,
)
from nibd.stores.trigrams import ANYTHING, AllOf, Need, folded, literal_grams

MAX_CLASS = 16
"""A class of more characters is taken for any."""
MAX_DEPTH = 60

_REPETITION = re.compile(r"\{(\d{1,4})(,)?(\d{1,4})?\}")
_FLAGS = re.compile(r"([imsU]*)(?:-([imsU]+))?([:)])")
_NAME = re.compile(r"P?<\w+>")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEXADECIMAL = re.compile(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"\^?\{\^?\w+\}|\w")
_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CLASSES = frozenset("dDsSwW")
_PLACES = frozenset("bBAz")


def need_of_pattern(pattern: str, *, ignore_case: bool = False) -> Need:
    """The need of a pattern that RE2 takes."""
    try:
        return need_of(_Reader(without_quotes(pattern), ignore_case).whole())
    except _NotUnderstoodError:
        return ANYTHING


def need_of_literal(text: str) -> Need:
    return AllOf(literal_grams(folded(text.encode())))


class _NotUnderstoodError(Exception):
    """The reader doesn't know what this part of a pattern means."""


@dataclass(slots=True)
class _Reader:
    pattern: str
    ignores_case: bool
    at: int = 0
    depth: int = 0

    def whole(self) -> Part:
        part = self._alternatives()
        if self.at != len(self.pattern):
            raise _NotUnderstoodError
        return part

    def _alternatives(self) -> Part:
        """Up to the end, or the bracket that closes the group."""
        parts = [self._sequence()]
        while self._takes("|"):
            parts.append(self._sequence())
        return either(parts) if len(parts) > 1 else parts[0]

    def _sequence(self) -> Part:
        """Up to the end, a bar, or the bracket that closes the group."""
        whole = NOTHING_READ
        run: list[str] = []  # characters that stand for themselves and aren't repeated
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            read = self._atom()
            bounds = self._repetition()
            if isinstance(read, str) and bounds is None:
                run.append(read)
                continue
            whole, run = following(whole, self._run(run)), []
            part = self._character(read) if isinstance(read, str) else read
            whole = following(whole, repeated(part, *bounds) if bounds else part)
        return following(whole, self._run(run))

    def _atom(self) -> Part | str:
        """One character that stands for itself, or a part. Flags without a group read nothing."""
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case ".":
                return UNKNOWN
            case "^" | "$":
                return NOTHING_READ
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise _NotUnderstoodError
        return self._literal(char)

    def _group(self) -> Part:
        outer = self.ignores_case
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NotUnderstoodError
        if self._takes("?") and not self._matches(_NAME):
            flags = self._matches(_FLAGS)
            if flags is None:
                raise _NotUnderstoodError
            self.ignores_case = "i" in flags[1] or (self.ignores_case and "i" not in (flags[2] or ""))
            if flags[3] == ")":  # for the rest of the group around
                self.depth -= 1
                return NOTHING_READ
        part = self._alternatives()
        if not self._takes(")"):
            raise _NotUnderstoodError
        self.depth -= 1
        self.ignores_case = outer
        return part

    def _repetition(self) -> tuple[int, int | None] | None:
        """How often, and at most how often, the atom before it is there."""
        bounds: tuple[int, int | None] | None = None
        if self._takes("*"):
            bounds = (0, None)
        elif self._takes("+"):
            bounds = (1, None)
        elif self._takes("?"):
            bounds = (0, 1)
        elif found := self._matches(_REPETITION):
            least = int(found[1])
            most = int(found[3]) if found[3] else None if found[2] else least
            bounds = (least, most)
        if bounds:
            self._takes("?")
        return bounds

    def _escape(self) -> Part | str:
        if _OCTAL.match(self.pattern, self.at):
            return self._literal(self._character_code())
        char = self._next()
        if char in _PLACES:
            return NOTHING_READ
        if char in _CLASSES or char == "C":
            return UNKNOWN
        if char in "pP":
            if not self._matches(_PROPERTY):
                raise _NotUnderstoodError
            return UNKNOWN
        self.at -= 1
        return self._literal(self._character_code())

    def _character_code(self) -> str:
        """The character that an escape names, after its backslash."""
        if octal := self._matches(_OCTAL):
            return chr(int(octal[0], 8))
        char = self._next()
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "x":
            found = self._matches(_HEXADECIMAL)
            if found is None:
                raise _NotUnderstoodError
            code = int(found[1] or found[2], 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise _NotUnderstoodError
            return chr(code)
        if char.isascii() and (char.isalnum() or char == "_"):
            raise _NotUnderstoodError
        return char

    def _class(self) -> Part:
        negated = self._takes("^")
        members: set[str] | None = set()
        first = True
        while first or not self._takes("]"):
            found = self._class_item()
            members = None if members is None or found is None else members | found
            first = False
        if negated or members is None:
            return UNKNOWN
        parts = [self._character(char) for char in sorted(members)]
        return UNKNOWN if UNKNOWN in parts else either(parts)

    def _class_item(self) -> set[str] | None:
        """The characters of a part of a class; `None` when they are many."""
        if self.pattern.startswith("[:", self.at):
            end = self.pattern.find(":]", self.at)
            if end >= 0:
                self.at = end + 2
                return None
        low = self._class_character()
        if low is None:
            return None
        if not self.pattern.startswith("-", self.at) or self.pattern.startswith("-]", self.at):
            return {low}
        self.at += 1
        high = self._class_character()
        if high is None:
            raise _NotUnderstoodError
        codes = range(ord(low), ord(high) + 1)
        return set(map(chr, codes)) if len(codes) <= MAX_CLASS else None

    def _class_character(self) -> str | None:
        char = self._next()
        if char != "\\":
            return char
        if self.pattern[self.at : self.at + 1] in _CLASSES:
            self.at += 1
            return None
        if self.pattern[self.at : self.at + 1] in {"p", "P"}:
            self.at += 1
            if not self._matches(_PROPERTY):
                raise _NotUnderstoodError
            return None
        return self._character_code()

    def _literal(self, char: str) -> Part | str:
        """Whatever the case, a letter beyond ASCII stands for nobody knows which."""
        return UNKNOWN if self.ignores_case and not char.isascii() else char

    def _character(self, char: str) -> Part:
        known = self._literal(char)
        return exact([folded(known.encode())]) if isinstance(known, str) else known

    def _run(self, characters: list[str]) -> Part:
        return exact([folded("".join(characters).encode())])

    def _next(self) -> str:
        if self.at == len(self.pattern):
            raise _NotUnderstoodError
        self.at += 1
        return self.pattern[self.at - 1]

    def _takes(self, text: str) -> bool:
        taken = self.pattern.startswith(text, self.at)
        self.at += len(text) if taken else 0
        return taken

    def _matches(self, what: re.Pattern[str]) -> re.Match[str] | None:
        found = what.match(self.pattern, self.at)
        self.at = found.end() if found else self.at
        return found


def without_quotes(pattern: str) -> str:
    r"""`pattern` with the characters between `\Q` and `\E` escaped one by one."""
    parts: list[str] = []
    at = 0
    while (escape := pattern.find("\\", at)) >= 0:
        parts.append(pattern[at:escape])
        at = escape + 2
        if pattern[escape:at] != r"\Q":
            parts.append(pattern[escape:at])
            continue
        end = pattern.find(r"\E", at)
        quoted = pattern[at:] if end < 0 else pattern[at:end]
        parts += [rf"\x{{{ord(char):X}}}" for char in quoted]
        at = len(pattern) if end < 0 else end + 2
    return "".join([*parts, pattern[at:]])
