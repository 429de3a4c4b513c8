"""What the command line takes, how it says so, and what it costs to load."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nibd.daemon import commands
from nibd.daemon.cli import COMMANDS, load, main, main_parser, parser_of
from nibd.daemon.commands._failures import Exit

GOLDENS = Path(__file__).parent / "goldens" / "cli"
DOCUMENT = Path(__file__).parent.parent / "docs" / "cli.md"
HEAVY = ("asyncio", "dataclasses", "numpy", "pygit2", "rich", "structlog", "subprocess", "tantivy", "torch")
LIGHT = ("search", "context", "symbols", "outline", "status", "list")


def help_of(name: str) -> str:
    return (main_parser() if name == "nibd" else parser_of(name, load(name))).format_help()


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("name", ["nibd", *COMMANDS])
def test_help_is_as_recorded(name: str, request: pytest.FixtureRequest) -> None:
    golden = GOLDENS / f"{name}.txt"
    if request.config.getoption("--update-goldens"):
        golden.write_text(help_of(name))

    assert help_of(name) == golden.read_text()


def test_every_command_has_its_module_and_every_module_its_command() -> None:
    modules = {file.stem for file in Path(commands.__path__[0]).glob("*.py") if not file.stem.startswith("_")}

    assert modules == set(COMMANDS)
    assert {file.stem for file in GOLDENS.glob("*.txt")} == {"nibd", *COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_document_shows_every_command_and_option(name: str) -> None:
    sections = re.split(r"^## ", DOCUMENT.read_text(), flags=re.MULTILINE)
    section = next((text for text in sections if text.startswith(f"`nibd {name}")), "")

    assert f"$ nibd {name}" in section, "each command has an example"
    heading = section.partition("\n")[0]
    for action in parser_of(name, load(name))._actions:
        if isinstance(action, argparse._HelpAction) or action.dest == "json":
            continue
        for option in action.option_strings:
            assert f"| `{option}" in section, f"{name}: {option} is not in docs/cli.md"
        if not action.option_strings:
            shown = "|".join(action.choices or ()) or str(action.metavar)
            assert shown in heading, f"{name}: {shown} is not in docs/cli.md"


def test_the_document_says_what_each_exit_code_is() -> None:
    text = DOCUMENT.read_text()

    for code in Exit:
        assert f"| {code.value} |" in text


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["index"],
        ["--colour"],
        ["search"],
        ["search", "x", "-k", "0"],
        ["search", "x", "-k", "ten"],
        ["search", "x", "--plan", "regex"],
        ["search", "x", "--level", "L3"],
        ["wait", "--timeout", "-1"],
        ["wait", "--timeout", "nan"],
        ["wait", "--view", "lexi"],
        ["status", "a", "b"],
        ["service"],
        ["service", "restart"],
        ["init", "--no-h"],
        ["outline"],
        ["search", "x", "--repo", "a\0b"],
    ],
)
def test_what_cannot_be_understood_is_said_on_stderr_with_status_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == Exit.USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err


def test_help_and_version_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "commands:" in capsys.readouterr().out
    assert main(["search", "--help"]) == 0
    assert "--plan" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert re.match(r"nibd \d+\.\d+\.\d+ \(protocol 1, Python 3\.", capsys.readouterr().out)


def test_commands_that_ask_load_nothing_heavy() -> None:
    modules = ", ".join(f"nibd.daemon.commands.{name}" for name in LIGHT)
    script = f"import sys, nibd.daemon.cli, {modules}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded.split()}
    assert "nibd.daemon.settings" not in loaded.split()


def test_the_dispatcher_loads_no_command_before_it_is_asked_for() -> None:
    script = "import sys, nibd.daemon.cli; print(*(m for m in sys.modules if 'daemon.commands.' in m))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert all(name.rpartition(".")[2].startswith("_") for name in loaded.split())
