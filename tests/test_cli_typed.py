"""A refusal of the daemon's names what was typed: every option of every command, and each word."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

import pytest

from nibd.daemon.cli import COMMANDS, load, main, parser_of
from nibd.daemon.commands import _daemon
from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._typed import TYPED, as_typed
from nibd.ipc.messages import ErrorCode, RpcError

ASKING = (
    "wait", "search", "context", "grep", "symbols", "outline", "def", "refs", "callers", "callees", "impls",
    "verify",
)  # fmt: skip
WITHOUT_PARAMETERS = {
    "status --watch", "init --no-hooks", "init --no-wait", "service --no-enable", "service --force",
}  # fmt: skip
"""Options of commands that ask nothing which could be refused."""
WORDS = {"QUERY": "words", "PATTERN": "words", "NAME": "name", "FILE": "a.py", "FILE:LINE[:COL]|NAME": "name"}
VALUES = {
    "--width": "seeds=9", "--at": "1" * 40, "--changed-since": "2" * 40, "--time": "7", "--timeout": "7"
}  # fmt: skip
PLACE = "a.py:7:7"


class Refusing:
    """In place of a connection: keeps the parameters, and refuses one of them."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.refused = "nothing"

    def __enter__(self) -> Refusing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, _method: str, params: dict[str, Any], *_: object, **__: object) -> None:
        self.params = params
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{self.refused}: found 1; allowed: 2")


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Refusing:
    refusing = Refusing()
    monkeypatch.setattr(_daemon, "connect", lambda: refusing)
    return refusing


def options_of(command: str) -> Iterator[argparse.Action]:
    for action in parser_of(command, load(command))._actions:
        if not isinstance(action, argparse._HelpAction) and action.dest not in ("json", "repo"):
            yield action


def typed_for(command: str, action: argparse.Action) -> list[str]:
    """A command line with this option, or with another word than `plain`."""
    if not action.option_strings:
        return [command, PLACE if "LINE" in str(action.metavar) else "others"]
    option = action.option_strings[0]
    if action.nargs == 0:
        return [*plain(command), option]
    values = [each for each in action.choices or () if each != action.default]
    return [*plain(command), option, VALUES.get(option, values[0] if values else "7")]


def plain(command: str) -> list[str]:
    words = [
        WORDS[str(each.metavar)] for each in options_of(command) if each.metavar in WORDS and each.required
    ]
    return [command, *words]


def sent(refusing: Refusing, argv: list[str]) -> dict[str, Any]:
    assert main(argv) == Exit.USAGE
    return refusing.params


@pytest.mark.parametrize("command", ASKING)
def test_what_is_refused_is_called_as_it_was_typed(
    command: str, refusing: Refusing, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = sent(refusing, plain(command))
    for action in options_of(command):
        argv = typed_for(command, action)
        now = sent(refusing, argv)
        changed = {name for name in now if now[name] != usual.get(name)} - {"path"}
        for refusing.refused in changed:
            capsys.readouterr()
            assert main(argv) == Exit.USAGE
            assert capsys.readouterr().err == f"nibd: {TYPED[refusing.refused]}: found 1; allowed: 2\n"
        called = {word for name in changed for word in TYPED[name].split(" or ")}
        if action.option_strings:
            assert action.option_strings[0] in called
        elif action.metavar not in ("PATH", "FILE"):
            assert called <= {*re.findall(r"\w+", str(action.metavar))}
        refusing.refused = "nothing"


def test_no_command_that_asks_is_left_out() -> None:
    others = {*COMMANDS} - {*ASKING}
    options = {
        " ".join([command, *action.option_strings])
        for command in others
        for action in options_of(command)
        if action.option_strings
    }
    assert options == WITHOUT_PARAMETERS


def test_only_the_parameter_at_the_front_is_called_as_it_was_typed() -> None:
    assert as_typed("kinds: found 'k'; allowed: k: file") == "--kind: found 'k'; allowed: k: file"
    assert as_typed("widths.seeds: found 0") == "--width seeds: found 0"
    for other in ("/home/ann/k: nothing", "no language: k", "kinds", "path: found ''"):
        assert as_typed(other) == other
