"""What a go.mod or go.work says, and copies of one that an older Go without some modules can load.

A *statement* is a directive with its words; a block makes one of each line. A copy holds what decides which
packages there are and where they lie; comments and what concerns other commands (`tool`, `retract`,
`toolchain`, `ignore`, `godebug`) are not in it, so that a change of these changes no copy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

_KEPT = ("module", "go", "use", "require", "exclude", "replace")
_VERSION = re.compile(r"(?:go)?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")
_ARROW = "=>"


@dataclass(frozen=True, slots=True)
class Statement:
    verb: str
    words: tuple[str, ...]
    is_indirect: bool = False

    @property
    def module(self) -> str:
        """What a `require`, `exclude`, `replace` or `use` is about."""
        return self.words[0] if self.words else ""

    def replacement(self) -> tuple[str, str]:
        """What a `replace` puts there: a module and its version, or a folder and nothing."""
        behind = self.words[self.words.index(_ARROW) + 1 :] if _ARROW in self.words else ()
        return (behind[0], behind[1] if len(behind) > 1 else "") if behind else ("", "")


def statements(text: str) -> Iterator[Statement]:
    """What can't be read gives odd words, and go says what is wrong."""
    verb = ""
    for line in text.splitlines():
        code, _, comment = line.partition("//")
        words = tuple(word.strip('"`') for word in code.replace("(", " ( ").split())
        is_indirect = comment.strip() == "indirect"
        if not words:
            continue
        if verb and words[0] == ")":
            verb = ""
        elif verb:
            yield Statement(verb, words, is_indirect)
        elif words[-1] == "(":
            verb = words[0]
        else:
            yield Statement(words[0], words[1:], is_indirect)


def asked_version(found: Collection[Statement]) -> str:
    """Of the `go` directive; empty when there is none."""
    return next((each.module for each in found if each.verb == "go"), "")


def newest(versions: Iterable[str]) -> str:
    return max(versions, key=_number, default="")


def is_newer(asked: str, installed: str) -> bool:
    """Whether a `go` directive wants more than the Go that is installed (`1.24.4`)."""
    return bool(asked) and _number(asked) > _number(installed)


def _number(version: str) -> tuple[int, ...]:
    """`1.25` comes before `1.25.0`; what can't be read asks for nothing."""
    match = _VERSION.match(version)
    return (int(match[1]), int(match[2]), int(match[3] or -1)) if match else ()


def copy(found: Collection[Statement], installed: str, left_out: Collection[str]) -> str:
    """The text for the Go that is installed, without the modules or folders that are `left_out`."""
    lines = []
    for each in found:
        if each.verb not in _KEPT or (each.module in left_out and each.verb != "module"):
            continue
        words = list(each.words)
        if each.verb == "go" and is_newer(each.module, installed):
            words = [".".join(map(str, _number(installed)[:2]))]
        line = " ".join([each.verb, *(word if word == _ARROW else f'"{word}"' for word in words)])
        if each.verb == "go":
            line = f"go {words[0]}" if words else "go"
        lines.append(line + (" // indirect" if each.is_indirect else ""))
    return "\n".join(lines) + "\n"
