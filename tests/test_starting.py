"""Waiting for another daemon, which holds the lock and does not listen yet, or no longer."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from nibd.daemon import lock as lock_module
from nibd.daemon.commands import _daemon, _starting
from nibd.daemon.commands._failures import CommandError
from nibd.daemon.commands._launch import user_paths
from nibd.daemon.lock import ANOTHER_RUNS, AnotherRunsError, holder, is_held, only_one
from nibd.ipc.sockets import listen, prepare_folder, socket_path
from waiting import wait_until

HOLD = """
import pathlib, select, sys
from nibd.daemon.lock import only_one
with only_one(pathlib.Path(sys.argv[1])):
    print(flush=True)
    while not select.select([sys.stdin], [], [], float(sys.argv[2]))[0]:
        pass
"""
"""Holds the lock until its standard input ends, and looks up so often."""
Hold = Callable[[float], "subprocess.Popen[bytes]"]
OFTEN, NEVER = 0.005, 1e6


@pytest.fixture
def lock() -> Path:
    lock = user_paths().lock_file
    lock.parent.mkdir(parents=True)
    return lock


@pytest.fixture
def hold(lock: Path) -> Iterator[Hold]:
    with ExitStack() as stack:

        def started(pause_s: float) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-c", HOLD, lock, str(pause_s)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            stack.callback(process.communicate)
            assert process.stdout is not None
            process.stdout.readline()
            return process

        yield started


def test_one_that_is_stuck_is_named_with_what_ends_it(
    lock: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = hold(NEVER)
    monkeypatch.setattr(_starting, "STUCK_S", 0.1)

    with pytest.raises(CommandError) as caught:
        _starting.await_other(lock)

    assert f"another daemon (process {stuck.pid}) does not listen and has done nothing for" in str(
        caught.value
    )
    assert f"'kill -9 {stuck.pid}' ends it" in str(caught.value)


def test_one_that_ends_is_waited_for(lock: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    ending, said = hold(OFTEN), list[str]()
    monkeypatch.setattr(_starting, "SAID_AFTER_S", 0.0)

    def end(text: str) -> None:
        said.append(text)
        ending.communicate()

    monkeypatch.setattr(_starting, "note", end)
    _starting.await_other(lock)

    assert said == [f"waiting for another daemon (process {ending.pid}) that is starting or ending"]
    assert not is_held(lock)
    assert holder(lock) is None


def test_one_that_begins_to_listen_is_waited_for(
    lock: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(OFTEN)
    monkeypatch.setattr(_starting, "SAID_AFTER_S", 0.0)
    socket = Path(_daemon.socket_file())
    prepare_folder(socket.parent, os.getuid())
    with ExitStack() as stack:
        monkeypatch.setattr(_starting, "note", lambda _: stack.enter_context(listen(socket)))
        _starting.await_other(lock)
        assert is_held(lock)
        assert _starting.listens()


@pytest.mark.parametrize("is_ours", [True, False])
def test_whose_daemon_listens_is_told(hold: Hold, monkeypatch: pytest.MonkeyPatch, is_ours: bool) -> None:
    socket = Path(_daemon.socket_file())
    prepare_folder(socket.parent, os.getuid())
    with ExitStack() as stack:

        def spawn(_: Path) -> subprocess.Popen[bytes]:
            of_lock = hold(OFTEN)
            stack.enter_context(listen(socket))
            return of_lock if is_ours else subprocess.Popen(["/bin/sh", "-c", f"exit {ANOTHER_RUNS}"])

        monkeypatch.setattr(_starting, "_spawn", spawn)
        assert _starting.start(user_paths()) is is_ours


def test_only_one_that_does_nothing_runs_out_of_time(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    working = hold(OFTEN)
    monkeypatch.setattr(_starting, "time", SimpleNamespace(monotonic=lambda: now))
    activity, unknown = _starting.Activity(), _starting.Activity()
    assert not unknown.has_ceased(None)
    schedule = Path(f"/proc/{working.pid}/schedstat")

    for now in (29.0, 58.0, 87.0):  # noqa: B007 - the clock reads it
        assert not activity.has_ceased(working.pid)
        before = schedule.read_text()
        wait_until(lambda before=before: schedule.read_text() != before)  # type: ignore[misc]
    assert unknown.has_ceased(None)

    working.communicate()
    now = 100.0
    assert not activity.has_ceased(working.pid)
    now = 130.0
    assert activity.has_ceased(working.pid)


def test_who_only_looks_keeps_no_daemon_from_starting(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock.touch()
    with lock.open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr(lock_module, "time", SimpleNamespace(sleep=lambda _: looking.close()))
        with only_one(lock):
            assert holder(lock) == os.getpid()


def test_who_finds_another_says_which(lock: Path, hold: Hold) -> None:
    other = hold(OFTEN)
    with pytest.raises(AnotherRunsError, match=rf"\(pid {other.pid}\)"), only_one(lock):
        pytest.fail("there are two")


def test_who_has_the_number_of_a_daemon_that_ended_is_none(lock: Path) -> None:
    lock.write_text(f"{os.getpid()}\n")
    assert holder(lock) is None
    lock.write_text("no number")
    assert holder(lock) is None


HASTY = "import sys; from nibd.daemon import main; main.PULSE_S = 0.02; sys.exit(main.main())"


def test_a_daemon_whose_socket_was_removed_ends_so_that_another_can_start(lock: Path) -> None:
    """As when the last session ends, and the user's runtime folder with it."""
    daemon = subprocess.Popen([sys.executable, "-c", HASTY])
    try:
        wait_until(_starting.listens, what="the daemon to listen")
        paths = user_paths()
        socket_path(paths.runtime_dir, paths.uid).path.unlink()
        _starting.await_other(lock)
        assert not is_held(lock)
        assert daemon.wait() == 0
    finally:
        daemon.kill()
        daemon.wait()
    assert "socket_gone" in paths.log_file.read_text()
