"""The exit status of every command, cause by cause: like causes end alike.

0 yes, 1 no, 2 what was typed is wrong, 3 it can't be answered as things are.
"""

from __future__ import annotations

import io
import json
import os
import pty
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_run import Home
from gitrepo import Repo
from nibd.daemon.cli import COMMANDS, main
from nibd.daemon.commands._failures import EXITS, Exit
from nibd.daemon.parameters import MAX_QUERY_CHARACTERS

SETTINGS = "[dense]\nenabled = false\n[relations]\nenabled = false\n[daemon]\nkeep_snapshots = 0\n"
NONE = "0" * 40
ASKING = ("search basket", "context basket", "grep basket", "symbols Basket")
PLACES = ("def", "refs", "callers", "callees", "impls")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("exit-home"), SETTINGS)
    yield home
    home.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, home: Home) -> Repo:
    """Its first commit is not published, its second is. The folder beside it is no repository."""
    repo = Repo(tmp_path_factory.mktemp("repos") / "shop", "--initial-branch=main")
    (repo.path.parent / "plain").mkdir()
    repo.git("config", "user.name", "Test")
    repo.git("config", "user.email", "test@example.org")
    repo.write("basket.py", "class Basket:\n    pass\n")
    repo.write("notes.md", "# Notes\n")
    repo.commit("first")
    repo.write("till.py", "def pay(basket):\n    return 1\n")
    repo.commit("second")
    home.nibd("init", repo.path)
    return repo


@pytest.fixture
def run(home: Home, shop: Repo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line in the checkout; its exit status, and what it printed."""
    for name in ("HOME", *(each for each in home.environment if each.startswith("XDG_"))):
        monkeypatch.setenv(name, home.environment[name])
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.chdir(shop.path)

    def run(line: str, *more: str) -> tuple[int, str, str]:
        status = main([*line.split(), *more])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


FIRST, SHORT_FIRST = "FIRST", "SHORT"
"""Stand for the unpublished commit's id, and its beginning."""

CASES: list[tuple[str, Exit, str]] = [
    ("version", Exit.OK, "nibd "),
    ("list", Exit.OK, "shop"),
    ("status", Exit.OK, "published"),
    ("status ../plain", Exit.ENVIRONMENT, "in no registered checkout; run `nibd init` there first"),
    ("status ../nowhere", Exit.ENVIRONMENT, "in no registered checkout; nothing is there"),
    ("status no/such", Exit.USAGE, "shop/no/such is not there"),
    ("wait", Exit.OK, "published"),
    ("wait --view dense", Exit.NO, "switched off"),
    ("wait --view relations", Exit.NO, "switched off"),
    ("wait --timeout soon", Exit.USAGE, "a number of seconds"),
    ("wait ../plain", Exit.ENVIRONMENT, "in no registered checkout"),
    ("wait no/such", Exit.USAGE, "shop/no/such is not there"),
    ("verify no/such", Exit.USAGE, "shop/no/such is not there"),
    ("verify --view lexical", Exit.OK, "equal"),
    ("verify ../plain", Exit.ENVIRONMENT, "in no registered checkout"),
    ("verify --view smell", Exit.USAGE, "invalid choice"),
    ("init ../plain", Exit.ENVIRONMENT, "no Git repository"),
    ("init ../nowhere", Exit.ENVIRONMENT, "nowhere is not there\n"),
    ("init basket.py/more", Exit.ENVIRONMENT, "more can't be opened: Not a directory\n"),
    (
        "remove never-heard-of",
        Exit.ENVIRONMENT,
        "is not there, and in no registered checkout, and none is called",
    ),
    ("remove ../plain", Exit.ENVIRONMENT, "plain is in no registered checkout; 'nibd list'"),
    ("remove basket.py", Exit.USAGE, "shop/basket.py is in the checkout "),
    ("doctor", Exit.OK, "no problems"),
    ("service sing", Exit.USAGE, "invalid choice"),
    ("service status", Exit.ENVIRONMENT, "no user service manager"),
    ("nonsense", Exit.USAGE, "no command is called"),
    *(
        case
        for asked in ASKING
        for case in (
            (asked, Exit.OK, "basket"),
            (f"{asked} --path /no/such", Exit.NO, "nothing found" if "context" not in asked else "0 units"),
            (f"{asked} --language klingon", Exit.USAGE, "--language: found 'klingon'"),
            (f"{asked} --kind klingon", Exit.USAGE, "--kind: found 'klingon'"),
            (f"{asked} --changed-since HEAD", Exit.NO, ""),
            (f"{asked} --changed-since no-such", Exit.USAGE, "'no-such' names no commit"),
            (f"{asked} --changed-since {NONE}", Exit.USAGE, "can't be compared"),
            (f"{asked} --changed-since HEAD --repo ../plain", Exit.ENVIRONMENT, "not a git repository"),
            (f"{asked} --at HEAD", Exit.OK, "basket"),
            (f"{asked} --at no-such", Exit.USAGE, "'no-such' names no commit"),
            (f"{asked} --at {NONE}", Exit.USAGE, "names no commit"),
            (f"{asked} --at {FIRST}", Exit.ENVIRONMENT, "is not published"),
            (f"{asked} --at {SHORT_FIRST}", Exit.ENVIRONMENT, "is not published"),
            (f"{asked} --at HEAD --repo ../plain", Exit.ENVIRONMENT, "not a git repository"),
            (f"{asked} --repo ../plain", Exit.ENVIRONMENT, "in no registered checkout"),
            (f"{asked} --repo no/such", Exit.USAGE, "shop/no/such is not there"),
            (f"{asked} -k 0", Exit.USAGE, "a whole number from 1"),
            (f"{asked} -k 20000", Exit.USAGE, "20000"),
        )
    ),
    *(
        case
        for asked in ASKING[:2]
        for case in (
            (f"{asked} --plan dense", Exit.ENVIRONMENT, "there is no dense view"),
            (f"{asked} --plan hybrid", Exit.OK, "WITHOUT the dense view"),
            (f"{asked} --plan smell", Exit.USAGE, "invalid choice"),
            (f"{asked} --width depth=3", Exit.USAGE, "--width: found 'depth'; allowed: any of widening"),
            (f"{asked} --width seeds=9999", Exit.USAGE, "--width seeds: found 9999"),
        )
    ),
    ("search zyzzyva", Exit.NO, "nothing found"),
    ("grep a**", Exit.USAGE, "bad repetition operator"),
    ("grep basket --time 26", Exit.USAGE, "--time: found 26;"),
    ("symbols nowhere", Exit.NO, "nothing found"),
    ("service", Exit.USAGE, "required: install|status|uninstall"),
    ("outline basket.py", Exit.OK, "class Basket"),
    ("outline none.py", Exit.NO, "not in the snapshot"),
    ("outline .", Exit.USAGE, "is a folder"),
    ("outline basket.py --at no-such", Exit.USAGE, "names no commit"),
    ("outline gone/basket.py --at no-such", Exit.USAGE, "names no commit in "),
    ("outline gone/basket.py --at HEAD", Exit.NO, "not in the snapshot"),
    (f"outline basket.py --at {NONE}", Exit.USAGE, "names no commit"),
    (f"outline basket.py --at {FIRST}", Exit.ENVIRONMENT, "is not published"),
    ("outline ../plain/a.py", Exit.ENVIRONMENT, "in no registered checkout"),
    *(
        case
        for command in PLACES
        for case in (
            (f"{command} basket.py:1:7", Exit.ENVIRONMENT, "switched off"),
            (f"{command} notes.md:1:3", Exit.ENVIRONMENT, "has no relations"),
            (f"{command} basket.py:0:1", Exit.USAGE, "count from 1"),
            (f"{command} basket.py", Exit.USAGE, "is a file"),
            (f"{command} Basket --at no-such", Exit.USAGE, "names no commit"),
            (f"{command} Basket --at {NONE}", Exit.USAGE, "names no commit"),
            (f"{command} Basket --at {FIRST}", Exit.ENVIRONMENT, "is not published"),
            (f"{command} Basket --repo ../plain", Exit.ENVIRONMENT, "in no registered checkout"),
        )
    ),
]


@pytest.mark.parametrize(("line", "status", "said"), CASES, ids=[line for line, _, _ in CASES])
def test_like_causes_end_alike(run: Run, shop: Repo, line: str, status: Exit, said: str) -> None:
    first = shop.git("rev-parse", "HEAD~1")
    ended, out, err = run(line.replace(FIRST, first).replace(SHORT_FIRST, first[:10]))

    assert ended == status, (out, err)
    assert said in out + err


def test_every_command_is_in_the_table() -> None:
    named = {line.split()[0] for line, _, _ in CASES}
    assert named >= {*COMMANDS} - {"serve", "stop"}  # those are run in test_cli_lifecycle


@pytest.mark.parametrize(
    "line",
    ["status", "wait", "verify", "list", "outline a.py", *ASKING, *(f"{each} Basket" for each in PLACES)],
)
def test_without_a_daemon_nothing_can_be_answered(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*line.split(), "--json"]) == Exit.ENVIRONMENT
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no_daemon"


def test_the_page_says_which_errors_end_how() -> None:
    page = (Path(__file__).parent.parent / "docs" / "cli.md").read_text()
    (said,) = re.findall(r"^Of the daemon's \[errors\].*$", page, re.MULTILINE)
    parts = [
        (set(re.findall(r"`(\w+)`", names)), int(n))
        for names, n in re.findall(r"(.*?) (?:is|are) (\d+)", said)
    ]

    for exit_code in (Exit.NO, Exit.USAGE, Exit.DEFECT):
        wanted = {code.wire_name for code, known in EXITS.items() if known is exit_code}
        assert (wanted, int(exit_code)) in parts
    assert f"all others are {int(Exit.ENVIRONMENT)}" in said


# A query on standard input


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("command", ["search", "context"])
def test_a_query_may_come_from_standard_input(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for data in (b"Basket\n", "\N{ZERO WIDTH NO-BREAK SPACE}Basket".encode(), "naïve\r\n\r\nBasket".encode()):
        given(monkeypatch, data)
        status, out, _ = run(f"{command} -")
        assert (status, "basket.py" in out) == (Exit.OK, True)
    given(monkeypatch, b"zyzzyva")
    assert run(f"{command} -")[0] == Exit.NO


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"caf\xe9 is closed", "it is not UTF-8: byte 0xe9 at 3"),
        (b"x" * (MAX_QUERY_CHARACTERS + 1), f"more than {MAX_QUERY_CHARACTERS} characters"),
        (b"\xff" * (4 * MAX_QUERY_CHARACTERS + 1), f"more than {MAX_QUERY_CHARACTERS} characters"),
    ],
    ids=["empty", "blank", "latin", "long", "endless"],
)
def test_what_is_no_query_on_standard_input_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, data: bytes, said: str
) -> None:
    given(monkeypatch, data)
    status, _, err = run("search -")

    assert status == Exit.USAGE
    assert "the query was to come from standard input, but" in err
    assert said in err


def test_the_longest_query_is_taken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, ("Basket " + "é" * (MAX_QUERY_CHARACTERS - 7)).encode())
    assert run("search -")[0] == Exit.OK


def test_a_terminal_is_not_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    controller, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        status, _, err = run("search -")
    os.close(controller)
    assert (status, "it is a terminal" in err) == (Exit.USAGE, True)


def test_no_standard_input_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert "there is none" in run("context -")[2]


def test_a_dash_among_words_is_a_word(run: Run) -> None:
    status, out, _ = run("search Basket -")
    assert (status, "basket.py" in out) == (Exit.OK, True)


def test_with_json_a_query_from_standard_input_is_answered_alike(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, b"Basket")
    read: Any = json.loads(run("search - --json")[1])
    assert read["hits"] == json.loads(run("search Basket --json")[1])["hits"]
