"""Servers that die, hang or don't start: nothing is raised, nothing is empty, nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from language_servers import FAMILIES, Project, require
from nibd.repair.servers import Installed, LanguageServer, Options, ServerFailed, Unknown
from nibd.repair.servers.process import session_members
from waiting import wait_until


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has, though its parent has not looked yet."""
    return states(pid) <= {"Z"}


def states(pid: int) -> set[str]:
    """Of the process's threads, as the kernel has them; none when there is no such process."""
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return {stat.read_text().rpartition(")")[2].split()[0] for stat in stats}


def stop(pid: int) -> None:
    """Have it hang. A signal takes a moment to reach every thread, and one of them may still answer."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: states(pid) == {"T"}, what="every thread to stop")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_killed_server_knows_nothing_rather_than_that_there_is_nothing(tmp_path: Path, family: str) -> None:
    with Project(tmp_path, family) as project:
        place = project.place(project.sample.app, "greet", -1)
        os.kill(project.server.pid, signal.SIGKILL)
        answers = project.server.definitions([place] * 1000)
        assert len(answers) == 1000
        assert all(isinstance(answer, Unknown) for answer in answers[1:])
        assert isinstance(answers[-1], Unknown)
        assert "signal 9" in answers[-1].reason
        assert not project.server.is_alive
        assert project.server.must_restart()
        project.server.changed([], [place[0]], [])
        settled = project.server.settle(5)
        assert isinstance(settled, Unknown)
        assert "gone" in settled.reason


def test_a_hanging_server_is_given_up_and_heard_again_when_it_goes_on(tmp_path: Path) -> None:
    with Project(tmp_path, "python") as project:
        place = project.place("app.py", "greet", -1)
        stop(project.server.pid)
        # more than a pipe holds, so writing hangs too
        answers = project.server.definitions([place] * 3000, window=3000, timeout_s=0.3)
        assert {answer.reason for answer in answers if isinstance(answer, Unknown)} == {"no answer in 0.3 s"}
        assert all(isinstance(answer, Unknown) for answer in answers)
        assert isinstance(project.server.settle(0.2), Unknown)
        assert project.server.is_alive

        os.kill(project.server.pid, signal.SIGCONT)
        assert project.ask("app.py", "greet", -1) == {("lib.py", 0, "greet")}


def test_a_hanging_server_is_ended_by_close(tmp_path: Path) -> None:
    with Project(tmp_path, "python") as project:
        stop(project.server.pid)
    assert is_gone(project.server.pid)
    assert project.server.must_restart()


@pytest.mark.parametrize("family", FAMILIES)
def test_closing_leaves_nothing_running(tmp_path: Path, family: str) -> None:
    with Project(tmp_path, family) as project:
        assert project.server.pid in session_members(project.server.pid)
        assert project.server.memory_bytes() > 1 << 20
    assert session_members(project.server.pid) == []
    project.server.close()  # and may be called again


def test_no_server_outlives_a_killed_parent(tmp_path: Path) -> None:
    driver, installed = require("python")
    program = textwrap.dedent(
        """
        import sys, pathlib
        from nibd.repair.servers import *
        driver = driver_of_family(sys.argv[1])
        installed = Installed(pathlib.Path(sys.argv[2]), "")
        root = pathlib.Path(sys.argv[3])
        server = LanguageServer.start(driver, installed, root, Options(cache=root / "cache"))
        print(server.pid, flush=True)
        sys.stdin.read()
        """
    )
    argv = [sys.executable, "-c", program, driver.family, installed.program, tmp_path]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        os.kill(server, signal.SIGSTOP)  # so it can't end by itself, seeing that its input has ended
        parent.kill()
    wait_until(lambda: is_gone(server), what="the end of the server")


def test_a_program_that_is_no_server_fails_to_start_with_its_own_words(tmp_path: Path) -> None:
    driver, _ = require("python")
    program = tmp_path / "ty"
    program.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(ServerFailed, match=r"ended with status 3: no such option"):
        LanguageServer.start(driver, Installed(program, ""), tmp_path, Options(cache=tmp_path / "cache"))


def test_a_program_that_is_not_there_fails_to_start(tmp_path: Path) -> None:
    driver, _ = require("python")
    missing = Installed(tmp_path / "ty", "")
    with pytest.raises(ServerFailed, match="No such file"):
        LanguageServer.start(driver, missing, tmp_path, Options(cache=tmp_path / "cache"))


def test_the_environment_is_made_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    with Project(tmp_path, "python") as project:
        environment = Path(f"/proc/{project.server.pid}/environ").read_bytes().split(b"\0")
    names = {entry.partition(b"=")[0] for entry in environment if entry}
    assert b"VIRTUAL_ENV" not in names
    values = [entry.partition(b"=")[2] for entry in environment if entry.startswith((b"HOME=", b"XDG_"))]
    assert len(values) == 5
    assert all(value.startswith(bytes(tmp_path)) for value in values)


def test_memory_twice_the_fresh_asks_for_a_restart(tmp_path: Path) -> None:
    with Project(tmp_path, "python") as project:
        assert project.server.fresh_memory is not None
        assert not project.server.must_restart()
        assert project.server.note_fresh_memory() == project.server.fresh_memory
