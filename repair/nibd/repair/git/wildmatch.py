"""Patterns of .gitignore and .gitattributes, matched as Git's wildmatch does, in bounded time.

A pattern becomes a regular expression over bytes. Between stars stand *segments* of fixed width, and
for every star but the last the earliest place of the segment after it is as good as any other; so
each is an atomic group, and a hostile pattern such as `*a*a*a*a*b` can't make matching explode.
`**` between slashes crosses folders and divides the pattern into *sections*, treated alike.

*Pieces* are stretches of plain characters: whatever a pattern matches holds each of them.

As in Git, a pattern without a slash (but at its end) is matched against the file's name in any
folder below, another against the path from the folder of its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

_SPECIAL = re.compile(rb"[*?\[\\]")
_BLANK = b" \t\n\r\f\v"
_CLASSES: dict[bytes, Callable[[bytes], bool]] = {
    b"alnum": lambda char: char.isalnum(),
    b"alpha": lambda char: char.isalpha(),
    b"blank": lambda char: char in {b" ", b"\t"},
    b"cntrl": lambda char: char[0] < 32 or char[0] == 127,
    b"digit": lambda char: char.isdigit(),
    b"graph": lambda char: 32 < char[0] < 127,
    b"lower": lambda char: char.islower(),
    b"print": lambda char: 32 <= char[0] < 127,
    b"punct": lambda char: 32 < char[0] < 127 and not char.isalnum(),
    b"space": lambda char: char in {bytes([blank]) for blank in _BLANK},
    b"upper": lambda char: char.isupper(),
    b"xdigit": lambda char: char in {bytes([digit]) for digit in b"0123456789abcdefABCDEF"},
}


@dataclass(frozen=True)
class PathPattern:
    """One pattern. `text` is without the signs that the flags stand for."""

    negative: bool
    only_folders: bool
    name_only: bool
    text: bytes

    def matches(self, path: bytes, *, is_folder: bool) -> bool:
        """`path` is relative to the folder of the pattern's file and has no slash at its end."""
        if self.only_folders and not is_folder:
            return False
        subject = path.rpartition(b"/")[2] if self.name_only else path
        if self.literal is not None:
            return subject == self.literal
        if len(subject) < self._least_bytes:  # before a pattern longer than any path is even compiled
            return False
        return self._regex is not None and self._regex.match(subject) is not None

    @cached_property
    def pieces(self) -> tuple[bytes, ...] | None:
        """What every match holds; `None` when the pattern can match nothing (an open bracket)."""
        pieces = [bytearray()]
        try:
            for token in _tokens(self.text):
                if isinstance(token, _Plain):
                    pieces[-1] += token.char
                else:
                    pieces.append(bytearray())
        except _NeverMatchesError:
            return None
        return tuple(bytes(piece) for piece in pieces if piece)

    @cached_property
    def literal(self) -> bytes | None:
        """All that the pattern matches, when that is one name or path."""
        if _SPECIAL.search(self.text) is None:
            return self.text
        return None

    @cached_property
    def _least_bytes(self) -> int:
        """The length of the shortest match."""
        try:
            return sum(not isinstance(token, _Star) for token in _tokens(self.text))
        except _NeverMatchesError:
            return 0

    @cached_property
    def _regex(self) -> re.Pattern[bytes] | None:
        """Compiled when first wanted: most patterns of a long file never are."""
        return _compile(self.text)


def parse_pattern(text: bytes) -> PathPattern:
    """Read a pattern as Git's parse_path_pattern does; comments and blanks are the caller's."""
    negative = text.startswith(b"!")
    text = text[1:] if negative else text
    only_folders = text.endswith(b"/")
    text = text[:-1] if only_folders else text
    return PathPattern(negative, only_folders, b"/" not in text, text.removeprefix(b"/"))


class _NeverMatchesError(ValueError):
    """The pattern ends inside a bracket or after a backslash."""


@dataclass(frozen=True, slots=True)
class _Plain:
    """A character that stands for itself."""

    char: bytes


@dataclass(frozen=True, slots=True)
class _Star:
    """A run of stars. `crosses`: goes over slashes; `with_slash`: swallowed the slash after it."""

    crosses: bool
    with_slash: bool


def _compile(text: bytes) -> re.Pattern[bytes] | None:
    try:
        tokens = list(_tokens(text))
    except _NeverMatchesError:
        return None
    sections: list[tuple[_Star | None, list[bytes]]] = [(None, [b""])]
    for token in tokens:
        if isinstance(token, _Plain):
            sections[-1][1][-1] += re.escape(token.char)
        elif isinstance(token, bytes):
            sections[-1][1][-1] += token
        elif token.crosses:
            sections.append((token, [b""]))
        else:
            sections[-1][1].append(b"")
    last = len(sections) - 1
    parts = [_section(star, segments, last=at == last) for at, (star, segments) in enumerate(sections)]
    return re.compile(b"".join(parts) + rb"\Z", re.DOTALL)


def _section(star: _Star | None, segments: list[bytes], *, last: bool) -> bytes:
    """What a section looks like, with the `**` before it. Only the last may be tried again."""
    body, *rest = segments
    for at, segment in enumerate(rest, 1):
        body += b"[^/]*" + segment if last and at == len(rest) else b"(?>[^/]*?" + segment + b")"
    if star is None:
        return body
    body = (b"(?:.*?/)??" if star.with_slash else b".*?") + body
    return body if last else b"(?>" + body + b")"


def _tokens(text: bytes) -> Iterator[_Plain | bytes | _Star]:
    """Plain characters, regular expressions of other single ones, and stars."""
    special = _SPECIAL.search(text)
    first_special = special.start() if special else len(text)
    at = 0
    while at < len(text):
        char = text[at : at + 1]
        if char == b"*":
            end = at
            while text[end : end + 1] == b"*":
                end += 1
            # Git strips what stands before the first special character, so `**` right there counts
            # as if it stood at the start.
            starts = at == first_special or text[at - 1 : at] == b"/"
            crosses = end - at > 1 and starts and text[end : end + 1] in {b"", b"/"}
            with_slash = crosses and end < len(text)
            yield _Star(crosses, with_slash)
            at = end + with_slash
        elif char == b"?":
            yield b"[^/]"
            at += 1
        elif char == b"[":
            allowed, at = _bracket(text, at + 1)
            yield _any_of(allowed - {ord("/")})
        elif char == b"\\":
            if at + 1 == len(text):
                raise _NeverMatchesError
            yield _Plain(text[at + 1 : at + 2])
            at += 2
        else:
            yield _Plain(char)
            at += 1


def _any_of(allowed: set[int]) -> bytes:
    if not allowed:
        return b"(?!)"
    return b"[" + b"".join(b"\\x%02x" % value for value in sorted(allowed)) + b"]"


def _bracket(text: bytes, at: int) -> tuple[set[int], int]:
    """The bytes a bracket matches, and where the pattern goes on after it."""
    negated = text[at : at + 1] in {b"!", b"^"}
    at += negated
    allowed: set[int] = set()
    previous: int | None = None
    first = True
    while first or text[at : at + 1] != b"]":
        first = False
        char = _at(text, at)
        if char == ord("-") and previous is not None and text[at + 1 : at + 2] not in {b"", b"]"}:
            at += 1
            at += _at(text, at) == ord("\\")
            allowed.update(range(previous, _at(text, at) + 1))
            previous = None
        elif text[at : at + 2] == b"[:" and (named := _named_class(text, at + 2)) is not None:
            members, at = named
            allowed |= members
            previous = None
        else:
            at += char == ord("\\")
            previous = _at(text, at)
            allowed.add(previous)
        at += 1
    return (set(range(256)) - allowed if negated else allowed), at + 1


def _at(text: bytes, at: int) -> int:
    if at >= len(text):
        raise _NeverMatchesError
    return text[at]


def _named_class(text: bytes, start: int) -> tuple[set[int], int] | None:
    """Bytes of `[:name:]` whose name starts at `start` and where its last bracket stands."""
    end = text.find(b"]", start)
    if end < 0:
        raise _NeverMatchesError
    if end == start or text[end - 1 : end] != b":":
        return None
    member = _CLASSES.get(text[start : end - 1])
    if member is None:
        raise _NeverMatchesError
    return {value for value in range(128) if member(bytes([value]))}, end
