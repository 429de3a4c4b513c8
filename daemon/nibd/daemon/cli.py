"""The command line: finds the command's module, parses, runs, and turns errors into exit codes.

Only the module of the command asked for is imported, so that a query costs an interpreter's start, one
socket and little else. What commands are like is said in `nibd.daemon.commands`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from nibd.daemon.commands._failures import Exit, Failure, explain
from nibd.daemon.commands._output import emit_json, keep_bytes, note, visible

COMMANDS = {
    "init": "give a repository to nibd and build its views",
    "status": "what each view rests on and what is at work",
    "wait": "until HEAD is published",
    "search": "source units that match a query",
    "context": "whole source units for a prompt, within a budget of tokens",
    "grep": "lines that match a regular expression",
    "symbols": "where a name is defined",
    "outline": "the units of a file",
    "def": "where what stands at a place is defined",
    "refs": "what refers to a symbol",
    "callers": "the units that call a symbol",
    "callees": "what the calls in a unit refer to",
    "impls": "what inherits from a symbol",
    "verify": "compare the views with a fresh build",
    "list": "the checkouts that nibd follows",
    "remove": "take a checkout away from nibd",
    "serve": "run the daemon in the foreground",
    "stop": "end the daemon",
    "doctor": "check what nibd needs and say what to do",
    "service": "let systemd run the daemon",
    "version": "say which nibd this is",
}
"""Every command with what it is for, in the order in which help lists them."""


class Command(Protocol):
    """What a command's module is to the dispatcher."""

    ABOUT: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. `argv` is without the program's name."""
    for stream in (sys.stdout, sys.stderr):
        keep_bytes(stream)
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return code


def parser_of(name: str, command: Command) -> argparse.ArgumentParser:
    """The parser of one command."""
    parser = argparse.ArgumentParser(prog=f"nibd {name}", description=command.ABOUT, allow_abbrev=False)
    command.configure(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def load(name: str) -> Command:
    """The module of a command in COMMANDS."""
    return cast(Command, importlib.import_module(f"nibd.daemon.commands.{name}"))


def main_parser() -> argparse.ArgumentParser:
    """The parser of what comes before a command; it knows the commands by name only."""
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="nibd",
        usage="nibd COMMAND [ARGUMENTS]",
        description="Keeps views of Git repositories fresh for editors and coding agents.",
        epilog="\n".join(
            (
                "commands:",
                *(f"  {name:{width}}  {about}" for name, about in COMMANDS.items()),
                "",
                "'nibd COMMAND --help' says more about one. Every command takes --json.",
            )
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="as the command version")
    return parser


def _run(argv: list[str]) -> int:
    if argv[:1] == ["--version"]:
        argv[0] = "version"
    try:
        if not argv or argv[0].startswith("-"):
            return _without_command(argv)
        if argv[0] not in COMMANDS:
            main_parser().error(f"no command is called {visible(argv[0])!r}; 'nibd --help' lists them")
        command = load(argv[0])
        arguments = parser_of(argv[0], command).parse_args(argv[1:])
    except SystemExit as end:  # argparse has said what is wrong, or printed the help
        return int(end.code or 0)
    try:
        return command.run(arguments)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - what was not foreseen is printed whole
        failure = explain(error)
        if failure is None:
            sys.excepthook(*sys.exc_info())  # the module traceback would cost every command its import
            failure = Failure(f"a mistake in nibd: {error!r}", Exit.DEFECT, "internal")
        return _report(failure, arguments.json)


def _without_command(argv: list[str]) -> int:
    parser = main_parser()
    parser.parse_args(argv)
    parser.print_help(sys.stderr)
    return Exit.USAGE


def _report(failure: Failure, as_json: bool) -> int:
    note(f"nibd: {visible(failure.message)}")
    if as_json:
        error = {"code": failure.code, "message": failure.message, "data": failure.data}
        try:
            emit_json({"error": error})
        except BrokenPipeError:
            raise
        except OSError:  # stdout takes nothing (a full disk), which stderr and the exit code have said
            _silence_stdout()
    return failure.exit_code


def _silence_stdout() -> None:
    """Whoever read our output has gone; what the interpreter still flushes at its end goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
