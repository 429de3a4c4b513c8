"""What the preprocessor does to C and C++, as far as it hides declarations from the grammar.

Nothing is expanded. Macros that say nothing about units are blanked; so are branches of `#if`, when
all of them together don't parse. Offsets stay, and what is stored comes from the text as written.
"""

from __future__ import annotations

import re
from enum import Enum

_NOISE = re.compile(
    rb"""
    \b(?:class|struct|union|enum)[ \t]+
      (?P<export>[A-Z][A-Z0-9_]{2,60}(?:\([^()\n]{0,200}\))?)
      (?=\s{1,200}(?!final\b)[A-Za-z_]\w{0,200}(?:<[^<>{};\n]{0,200}>)?\s{0,200}(?:final\b|:[^:]|\{))
  | ^[ \t]*(?P<before>[A-Z][A-Z0-9_]{2,60})
      (?=\s{1,200}(?:template[ \t]*<|
         (?:class|struct|enum|union|using|concept|inline|namespace|typedef|friend)[ \t]))
  | (?<![A-Za-z0-9_])
      (?P<specifier>(?:[A-Z][A-Z0-9_]{0,60}_)?
        (?:CONSTEXPR|CONSTEVAL|INLINE|FORCEINLINE|API|EXPORTS?|IMPORTS?|PUBLIC|HIDDEN|VISIBILITY|NODISCARD
          |NORETURN|DEPRECATED|EXTERN|NOINLINE|NOTHROW|DECLSPEC)[0-9_]{0,4}
        (?:\([^()\n]{0,200}\))?)
      (?=\s{1,200}[A-Za-z_~(])
  | (?<=[\s)])
      (?P<annotation>[A-Z_]{0,60}(?:GUARDED|LOCK|EXCLUDE|ACQUIRE|RELEASE|REQUIRE|NOEXCEPT|ATTRIBUTE|LIFETIME)
        [A-Z0-9_]{0,60}(?:\([^()\n]{0,200}\))?)
      (?=\s{0,200}[;{:=])
    """,
    re.MULTILINE | re.VERBOSE,
)
"""Macros where no grammar expects a name: `class EXPORT Job {`, `API int f();`, `int a GUARDED_BY(m);`."""
_CONDITIONAL = re.compile(
    rb"[ \t]*#[ \t]*(?:(?P<opens>if(?:n?def)?\b)(?P<never>[ \t]+0\b)?|(?P<closes>endif\b)|el(?:se|if)\w*)"
)
_BLACK = re.compile(rb"[^\r\n]")
_DIRECTIVE = re.compile(rb"\n[ \t]*#[^\n]*\Z")
_LOOK_BACK_BYTES = 200


class _Branch(Enum):
    """Where in an `#if` a line stands: before the branch that is kept, in it, after it."""

    WAITING = 0
    KEPT = 1
    OVER = 2


def blanking(content: bytes) -> bytes:
    """Blank macros that say nothing about units, but in directives; all offsets stay."""

    def blank(match: re.Match[bytes]) -> bytes:
        start, end = match.span(match.lastgroup or 0)
        before = content[max(0, start - _LOOK_BACK_BYTES) : start]
        if _DIRECTIVE.search(before if start > _LOOK_BACK_BYTES else b"\n" + before):
            return match[0]
        start, end = start - match.start(), end - match.start()
        return match[0][:start] + b" " * (end - start) + match[0][end:]

    return _NOISE.sub(blank, content)


def first_branches(content: bytes) -> bytes:
    """Blank `#if` directives and all their branches but the first (but the second of `#if 0`)."""
    kept: list[bytes] = []
    branches: list[_Branch] = []
    is_continued = False
    for line in content.splitlines(keepends=True):
        directive = None if is_continued else _CONDITIONAL.match(line)
        if directive:
            _follow(directive, branches)
        is_directive = directive is not None or is_continued
        is_hidden = is_directive or any(branch is not _Branch.KEPT for branch in branches)
        kept.append(_BLACK.sub(b" ", line) if is_hidden else line)
        is_continued = is_directive and line.rstrip().endswith(b"\\")
    return b"".join(kept)


def _follow(directive: re.Match[bytes], branches: list[_Branch]) -> None:
    if directive["opens"]:
        branches.append(_Branch.WAITING if directive["never"] else _Branch.KEPT)
    elif directive["closes"]:
        del branches[-1:]
    elif branches:
        branches[-1] = _Branch.KEPT if branches[-1] is _Branch.WAITING else _Branch.OVER
