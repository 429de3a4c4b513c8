"""Whether a block can stand in an existing hook without changing what that hook does. Pure.

Yes only for text that a shell of the sh family runs: its shebang says so, or it has none (Git hands such
a file to sh). Not for other interpreters, programs, files that can't run as they are, and scripts that
read themselves (an `exec python "$0"` line that makes the same text a Python program, an archive behind
`tail -n +20 "$0"`), where a line more would be read as something else. When in doubt, no: what a hook
left alone costs is a delay of milliseconds, what a broken one costs is the user's trust.
"""

from __future__ import annotations

import re

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "yash", "zsh"})

_OPTION = re.compile(r"-[aefhlmpuvxbCE]+|--|--posix|--norc|--noprofile")
"""Options under which the block works; not `-r` (no redirections), `-n`, `-s`, `-c`, `-i`."""
_OPTION_WITH_NAME = re.compile(r"-[aefhlmpuvxbCE]*o")
_NAME = re.compile(r"(?!noexec|restricted)[a-z]+")

_ITSELF = re.compile(rb"\$\{?(?:0|BASH_SOURCE)(?![0-9A-Za-z_])")
_HARMLESS_BEFORE = re.compile(
    rb"(?:(?:dirname|basename|readlink|realpath)\s+(?:-\S+\s+)*[\"']?|^\s*(?:echo|printf)\b.*)$"
)
_HARMLESS_AFTER = re.compile(rb"\$\{(?:0|BASH_SOURCE(?:\[0\])?)[%#:/]")


def obstacle(text: bytes) -> str | None:
    """Why the block can't stand in this hook (the text is without a block), or `None` when it can."""
    if b"\0" in text:
        return "it is a program, not a script"
    if text.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark, so its first line is not seen as one that names a shell"
    if text.startswith(b"#!"):
        line = text.partition(b"\n")[0]
        if line.endswith(b"\r"):
            return "its first line ends in CRLF, so it can't run as it is"
        reason = _interpreter_obstacle(line[2:].decode("latin-1").split())
        if reason:
            return reason
    if any(_reads_itself(line) for line in text.splitlines()):
        return "it uses its own file ($0), so a line more could change what it does"
    return None


def _interpreter_obstacle(words: list[str]) -> str | None:
    program, arguments = _program(words)
    if program not in SHELLS:
        return f"it is run by {program or 'an interpreter without a name'}, not by a shell of the sh family"
    awaits_name = False
    for word in arguments:
        if awaits_name:
            known, awaits_name = _NAME.fullmatch(word), False
        elif _OPTION_WITH_NAME.fullmatch(word):
            known, awaits_name = _NAME.match("o"), True
        else:
            known = _OPTION.fullmatch(word)
        if not known:
            return f"its shell runs with the option {word}, under which the block may not work"
    return None


def _program(words: list[str]) -> tuple[str, list[str]]:
    """The interpreter's name and its arguments, seen through `env` and `env -S`."""
    name = words[0].rpartition("/")[2] if words else ""
    if name != "env":
        return name, words[1:]
    rest = words[1:]
    if rest and rest[0] == "-S":
        rest = rest[1:]
    return (rest[0].rpartition("/")[2], rest[1:]) if rest else ("env", [])


def _reads_itself(line: bytes) -> bool:
    if line.lstrip().startswith(b"#"):
        return False
    return any(
        not _HARMLESS_BEFORE.search(line[: use.start()]) and not _HARMLESS_AFTER.match(line, use.start())
        for use in _ITSELF.finditer(line)
    )
