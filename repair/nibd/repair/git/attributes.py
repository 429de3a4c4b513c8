"""Files of attributes (.gitattributes), with Git's precedence and macros.

The file nearest to the path decides before those above it, within a file the last line that matches.
`[attr]name …` in the top file defines a *macro*: where `name` is set, so is what follows it. Git's
own macro `binary` is known. What lies outside the tree (info/attributes, a user's own) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nibd.repair.git.ignores import UTF8_BOM, folders_of
from nibd.repair.git.pattern_list import PatternList
from nibd.repair.git.wildmatch import PathPattern, parse_pattern

Value = bool | bytes | None
"""Set, unset (`-name`), a text (`name=text`), or unspecified (`!name`)."""

_MACRO = b"[attr]"
_BLANK = b" \t\r\n"
_MAX_LINE_BYTES = 2048
_NAME = re.compile(rb"[A-Za-z0-9_.][-A-Za-z0-9_.]*")
_ESCAPE = re.compile(rb"\\(?:([abfnrtv\\\"])|([0-3][0-7]{2}))")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv\\"]|[0-3][0-7]{2}))*)"')

Assignments = tuple[tuple[bytes, Value], ...]


@dataclass(frozen=True, slots=True)
class AttributeFile:
    """One file: its lines, and the macros it defines."""

    lines: tuple[tuple[PathPattern, Assignments], ...]
    macros: Mapping[bytes, Assignments]


BUILT_IN: Mapping[bytes, Assignments] = {b"binary": ((b"diff", False), (b"merge", False), (b"text", False))}


def parse_attributes(data: bytes) -> AttributeFile:
    """Read a file; a line that Git would not accept is left out."""
    lines: list[tuple[PathPattern, Assignments]] = []
    macros: dict[bytes, Assignments] = {}
    for line in data.removeprefix(UTF8_BOM).split(b"\n"):
        subject, rest = _subject(line.strip(_BLANK))
        assignments = _assignments(rest)
        if not subject or assignments is None or len(line) >= _MAX_LINE_BYTES:
            continue
        if subject.startswith(_MACRO) and len(subject) > len(_MACRO):
            if _NAME.fullmatch(subject, len(_MACRO)):
                macros[subject.removeprefix(_MACRO)] = assignments
        elif not subject.startswith(b"!"):
            lines.append((parse_pattern(subject), assignments))
    return AttributeFile(tuple(lines), macros)


def _subject(line: bytes) -> tuple[bytes, bytes]:
    """The pattern of a line (or `[attr]name`), unquoted, and what follows."""
    if line.startswith(b"#"):
        return b"", b""
    quoted = _QUOTED.match(line)
    if quoted is not None:
        return _ESCAPE.sub(_unescape, quoted[1]), line[quoted.end() :]
    end = next((at for at, char in enumerate(line) if char in _BLANK), len(line))
    return line[:end], line[end:]


def _unescape(escape: re.Match[bytes]) -> bytes:
    if escape[2] is not None:
        return bytes([int(escape[2], 8)])
    return _ESCAPED.get(escape[1], escape[1])


def _assignments(text: bytes) -> Assignments | None:
    """What a line says of attributes; `None` when a name is not valid."""
    found: list[tuple[bytes, Value]] = []
    for word in re.split(rb"[ \t\r\n]+", text.strip(_BLANK)):
        if not word:
            continue
        name, equals, text_value = word.partition(b"=")
        sign = name[:1] if name[:1] in {b"-", b"!"} else b""
        name = name.removeprefix(sign)
        if not _NAME.fullmatch(name):
            return None
        value: Value = text_value if equals else True
        found.append((name, {b"-": False, b"!": None}[sign] if sign else value))
    return tuple(found)


class Attributes:
    """Attribute files by folder; answers for the attributes in `wanted`."""

    def __init__(self, by_folder: Mapping[bytes, AttributeFile], wanted: Sequence[bytes]) -> None:
        top = by_folder.get(b"")
        self._macros = {**BUILT_IN, **(top.macros if top is not None else {})}
        names = self._leading_to(wanted)
        self._lines = {
            folder: (PatternList([pattern for pattern, _ in lines]), [said for _, said in lines])
            for folder, file in by_folder.items()
            if (lines := [line for line in file.lines if any(name in names for name, _ in line[1])])
        }
        self._wanted = wanted

    def _leading_to(self, wanted: Sequence[bytes]) -> set[bytes]:
        """The wanted names and the macros that give them a value, directly or through others."""
        names = set(wanted)
        while more := {
            macro
            for macro, assignments in self._macros.items()
            if macro not in names and any(name in names for name, _ in assignments)
        }:
            names |= more
        return names

    def of(self, path: bytes) -> dict[bytes, Value]:
        """Values of the wanted attributes; one that is unspecified may be absent."""
        values: dict[bytes, Value] = {}
        if self._lines:
            for folder in reversed(list(folders_of(path))):
                patterns, said = self._lines.get(folder, (None, ()))
                if patterns:
                    for position in patterns.matching(path[len(folder) :], is_folder=False):
                        self._fill(values, said[position])
        return {name: values[name] for name in self._wanted if name in values}

    def _fill(self, values: dict[bytes, Value], assignments: Assignments) -> None:
        """Take what no nearer line decided; the last of one line counts."""
        # A stack of assignments instead of recursion: macros can be nested as deep as someone likes.
        stack = list(assignments)
        while stack:
            name, value = stack.pop()
            if name not in values:
                values[name] = value
                if value is True:
                    stack.extend(self._macros.get(name, ()))
