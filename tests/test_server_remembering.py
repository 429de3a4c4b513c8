"""A program that is asked the same again is run once, and answers as it would: `servers.remembering`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from language_servers import Project, require
from nibd.repair.servers.driver import Installed, Options
from nibd.repair.servers.remembering import remembering
from nibd.repair.servers.rust_analyzer import DRIVER

PROGRAM = """#!/bin/sh
echo "$RUSTC_BOOTSTRAP $# $*" >> {log}
printf '%s|' "$@"
echo "by $RUSTC_BOOTSTRAP"
echo
echo complaint >&2
[ "$2" != --fail ]
"""
QUESTIONS = '*" --print "* | " -V "'


@dataclass(slots=True)
class Asked:
    """A program behind a script that remembers; `runs` are the times it was run."""

    folder: Path
    before: str = ""
    passed_over: str = "''"
    script: Path = field(init=False)

    def __post_init__(self) -> None:
        real = self.folder / "real one"
        real.write_text(PROGRAM.format(log=f"'{self.log}'"))
        real.chmod(0o700)
        self.script = self.folder / "script"
        self.script.write_text(remembering(real, self.answers, QUESTIONS, self.before, self.passed_over))
        self.script.chmod(0o700)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def answers(self) -> Path:
        return self.folder / "the answers"

    @property
    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def ask(self, *words: str, **env: str) -> tuple[int, bytes]:
        env = {"PATH": "/nonexistent", "RUSTC_BOOTSTRAP": ""} | env
        done = subprocess.run([str(self.script), *words], env=env, capture_output=True, check=False)
        return done.returncode, done.stdout

    def expected(self, *words: str, **env: str) -> tuple[int, bytes]:
        """What it says when it is run."""
        said = "".join(f"{word}|" for word in words or ("",)) + f"by {env.get('RUSTC_BOOTSTRAP', '')}\n\n"
        return int(words[1:2] == ("--fail",)), said.encode()


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


@pytest.mark.parametrize("words", [("--print", "cfg"), ("-V",), ("--print", "--fail"), ("--print", "é *")])
def test_a_question_is_run_once_and_answered_alike_each_time(asked: Asked, words: tuple[str, ...]) -> None:
    answers = [asked.ask(*words) for _ in range(3)]
    assert answers == [asked.expected(*words)] * 3
    assert asked.runs == 1


def test_questions_that_differ_are_not_taken_for_each_other(asked: Asked) -> None:
    questions = [
        ("--print", "a", "b"),
        ("--print", "a b"),
        ("--print", "a/b"),
        ("--print", "/a/b"),
        ("--print", "a", "/b"),
        ("--print", "./a"),
        ("--print", ".a"),
        ("--print", "."),
        ("--print", ".."),
        ("--print", "a"),
        ("--print", "-V"),
        ("--print", "status"),
        ("--print", "printed", "status"),
    ]
    for _ in range(2):
        assert [asked.ask(*each) for each in questions] == [asked.expected(*each) for each in questions]
    for bootstrap in ("1", "/../../escaped"):
        other = {"RUSTC_BOOTSTRAP": bootstrap}
        assert asked.ask("--print", "a", **other) == asked.expected("--print", "a", **other)
    assert asked.runs == len(questions) + 2


def test_words_that_look_like_what_separates_them_are_none(asked: Asked) -> None:
    questions = [("--print", "="), ("--print", "=", "="), ("--print", "==")]
    assert [asked.ask(*each) for each in questions * 2] == [asked.expected(*each) for each in questions * 2]
    assert asked.runs == len(questions)


NAMELESS = ("", "/..", "a/../b", "a/", "a/./b", "a//b", "a/=", "a/=b")


@pytest.mark.parametrize("words", [("build",), (), ("-V", "x"), *(("--print", word) for word in NAMELESS)])
def test_what_is_no_question_or_has_no_name_is_run_each_time(asked: Asked, words: tuple[str, ...]) -> None:
    assert [asked.ask(*words) for _ in range(2)] == [asked.expected(*words)] * 2
    assert asked.runs == 2


def test_an_answer_that_can_t_be_kept_is_given_all_the_same(asked: Asked) -> None:
    asked.answers.write_text("no folder")
    assert [asked.ask("-V") for _ in range(2)] == [asked.expected("-V")] * 2
    assert asked.runs == 2


@pytest.mark.parametrize("lost", ["status", "printed"])
def test_half_an_answer_is_asked_for_again(asked: Asked, lost: str) -> None:
    asked.ask("-V")
    (kept,) = asked.answers.rglob(lost)
    kept.unlink()
    assert [asked.ask("-V") for _ in range(2)] == [asked.expected("-V")] * 2
    assert asked.runs == 2


@pytest.mark.parametrize("status", [137, 127])
def test_what_was_killed_or_not_there_is_asked_again(asked: Asked, status: int) -> None:
    real = asked.folder / "real one"
    healthy = real.read_text()
    real.write_text(f"#!/bin/sh\nexit {status}\n")
    assert asked.ask("-V") == (status, b"")
    real.write_text(healthy)
    assert asked.ask("-V") == asked.expected("-V")


def test_what_is_passed_over_is_no_part_of_a_question(tmp_path: Path) -> None:
    asked = Asked(tmp_path, passed_over="--lockfile-path")
    first = asked.ask("--print", "--lockfile-path", "/tmp/a", "b")
    assert asked.ask("--print", "--lockfile-path", "/tmp/c", "b") == first
    assert asked.ask("--print", "--lockfile-path", "/tmp/c", "d") != first
    assert asked.runs == 2


def test_a_toolchain_that_took_the_place_of_another_is_linked_to(tmp_path: Path) -> None:
    options = Options(cache=tmp_path / "cache")
    for name in ("old", "new"):
        (tmp_path / name / "lib").mkdir(parents=True)
        tools = {"cargo": tmp_path / name / "bin" / "cargo", "rustc": tmp_path / name / "bin" / "rustc"}
        DRIVER.launch(Installed(tmp_path, "1", tools), tmp_path, options)
        assert (options.cache / "sysroot" / "lib").readlink() == tmp_path / name / "lib"


def test_what_comes_before_may_refuse(tmp_path: Path) -> None:
    asked = Asked(tmp_path, '[ "$1" != -V ] || exit 7')
    assert asked.ask("-V") == (7, b"")
    assert asked.ask("--print", "a") == asked.expected("--print", "a")
    assert asked.runs == 1


def test_rustc_is_asked_nothing_more_for_files_that_come_and_go(tmp_path: Path) -> None:
    _, installed = require("rust")
    log, counting = tmp_path / "log", tmp_path / "toolchain" / "bin" / "rustc"
    counting.parent.mkdir(parents=True)
    counting.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {installed.tools["rustc"]} "$@"\n')
    counting.chmod(0o700)
    for name in ("lib", "libexec"):
        (counting.parent.parent / name).symlink_to(installed.tools["rustc"].parent.parent / name)
    installed = replace(installed, tools={**installed.tools, "rustc": counting})
    with Project(tmp_path, "rust", installed=installed) as project:
        at_first = log.read_text().splitlines()
        assert len(at_first) == len(set(at_first)) > 0
        project.write("tests/new.rs", "fn made() {}\n#[test]\nfn uses() { made(); }\n")
        project.tell(added="tests/new.rs")
        assert project.ask("tests/new.rs", "made", -1) == {("tests/new.rs", 0, "made")}
        assert log.read_text().splitlines() == at_first


def test_cargo_is_itself_again_when_the_repository_is_trusted(tmp_path: Path) -> None:
    """What lay at its place was one that refuses. The user's crates are found either way."""
    cargo = tmp_path / "real cargo"
    cargo.write_text('#!/bin/sh\necho "$1 in $CARGO_HOME at $PWD"\n')
    cargo.chmod(0o700)
    tools = {"cargo": cargo, "rustc": tmp_path / "rustc"}
    options = Options(cache=tmp_path / "cache", cargo_home=tmp_path / "user's")

    def build(trusted: bool) -> tuple[int, bytes]:
        DRIVER.launch(Installed(tmp_path, "1", tools), tmp_path, replace(options, trusted=trusted))
        command = [options.cache / "cargo" / "bin" / "cargo", "build"]
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, check=False)
        return done.returncode, done.stdout

    assert build(trusted=False) == (101, b"")
    assert build(trusted=True) == (0, f"build in {options.cargo_home} at {tmp_path}\n".encode())
    assert build(trusted=False) == (101, b"")
