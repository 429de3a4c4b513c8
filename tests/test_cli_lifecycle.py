"""How a daemon comes and goes by the command line, and what init and remove leave behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli_run import Home
from gitrepo import Repo
from nibd.daemon.lock import only_one
from nibd.ipc.handlers import Method, RequestContext
from nibd.ipc.messages import PROTOCOL_VERSION, Json, JsonObject
from nibd.ipc.server import Server
from nibd.ipc.sockets import listen, prepare_folder
from waiting import wait_until

HOOK = b"#!/bin/sh\necho theirs\n"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "def first(): pass\n")
    repo.commit()
    return repo


def hook(repo: Repo, name: str = "post-commit") -> Path:
    return repo.path / ".git" / "hooks" / name


def test_init_starts_a_daemon_chains_hooks_and_remove_restores_them(home: Home, repo: Repo) -> None:
    home.config.write_text("[dense]\nenabled = false\n")  # relations are announced
    repo.write(".git/hooks/post-commit", HOOK, executable=True)
    repo.write(".git/hooks/post-merge", "#!/usr/bin/env python3\n", executable=True)

    done = home.nibd("init", repo.path)
    first, relations = done.out.splitlines()
    assert first == f"{repo.path} registered; published {repo.head()[:10]}"
    assert relations.startswith(("relations (python) follow in the background; 'nibd", "relations: python"))
    assert "daemon started" in done.err
    assert "hook post-commit chained" in done.err
    assert "hook post-merge left alone" in done.err
    assert "python3" in done.err
    assert b"nibd" in hook(repo).read_bytes()

    again = home.json("init", repo.path / ".git" / "..")
    assert (again["added"], again["daemon"], again["published"]) == (False, "running", True)
    outcomes = {each["name"]: each["outcome"] for each in again["hooks"]}
    assert (outcomes["post-commit"], outcomes["post-checkout"]) == ("unchanged", "unchanged")

    removed = home.nibd("remove", cwd=repo.path)
    assert removed.out == f"{repo.path} is no longer followed; 4 hooks taken out\n"
    assert "hook post-commit restored" in removed.err
    assert hook(repo).read_bytes() == HOOK
    assert not hook(repo, "post-checkout").exists()
    assert "registers it" in home.nibd("list").out


def test_hooks_make_a_commit_known(home: Home, repo: Repo) -> None:
    home.nibd("init", repo.path)
    repo.write("b.py", "def second(): pass\n")
    head = repo.commit()

    home.nibd("wait", repo.path)

    answer = home.json("symbols", "second", cwd=repo.path)
    assert answer["snapshot"]["commit"] == head
    assert answer["hits"][0]["path"] == "b.py"


def test_an_unborn_branch_is_no_failure(home: Home, tmp_path: Path) -> None:
    empty = Repo(tmp_path / "empty")

    assert "nothing is committed yet" in home.nibd("init", empty.path).out
    waited = home.json("wait", empty.path, status=1)
    assert waited["published"] is False
    assert "nothing is committed yet" in home.nibd("wait", empty.path, status=1).out
    assert "without a commit" in home.nibd("status", empty.path).out


def test_a_checkout_that_is_gone_can_be_removed_by_its_path_and_by_its_name(
    home: Home, repo: Repo, tmp_path: Path
) -> None:
    other = Repo.clone(repo, tmp_path / "other")
    for each in (repo, other):
        home.nibd("init", each.path, "--no-wait")
        shutil.rmtree(each.path)

    assert home.json("remove", repo.path)["path"] == str(repo.path)
    said = home.nibd("doctor", status=1).out
    assert "problem  repository" in said
    assert said.count(f"{other.path} is gone") == 1
    assert "problem  daemon" not in said
    assert "is no longer followed" in home.nibd("remove", "other").out
    assert home.json("list")["checkouts"] == []


def test_hooks_stay_while_another_work_tree_uses_them(home: Home, repo: Repo, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "-b", "topic")
    for each in (repo, linked):
        home.nibd("init", each.path, "--no-wait")

    home.nibd("remove", linked.path)
    assert b"nibd" in hook(repo).read_bytes()
    home.nibd("remove", repo.path)
    assert not hook(repo).exists()


def test_remove_starts_the_daemon_when_none_runs(home: Home, repo: Repo) -> None:
    home.nibd("init", repo.path, "--no-wait")
    home.nibd("stop")

    assert home.json("remove", repo.path)["removed"] is True
    assert not hook(repo).exists()


def test_stop_comes_back_when_the_process_is_gone_and_is_fine_without_one(home: Home, repo: Repo) -> None:
    home.nibd("init", repo.path, "--no-wait")
    stopped = home.json("stop")

    assert stopped["stopped"] is True
    assert not Path(f"/proc/{stopped['pid']}").exists() or is_zombie(stopped["pid"])
    assert not home.socket.exists()
    assert home.json("stop") == {"stopped": False, "pid": None, "systemd_listens": False}
    assert "no daemon listens" in home.nibd("status", repo.path, status=3).err


def is_zombie(pid: int) -> bool:
    """Ended, and not yet waited for by who has it for a child, as in a container without an init."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_serve_runs_in_the_foreground_until_it_is_stopped(home: Home) -> None:
    process = home.start("serve")
    wait_until(home.socket.exists, what="the daemon's socket")

    assert home.json("list") == {"checkouts": []}
    assert "process" in home.nibd("stop").out
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


def test_a_second_daemon_is_refused_with_status_3(home: Home) -> None:
    process = home.start("serve")
    wait_until(home.socket.exists, what="the daemon's socket")

    assert "another daemon runs" in home.nibd("serve", status=3).err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_two_inits_at_once_share_one_daemon_and_outlast_one_that_never_listened(
    home: Home, repo: Repo, tmp_path: Path
) -> None:
    other = Repo.clone(repo, tmp_path / "other")
    words = home.state / "log" / "stderr.txt"
    with only_one(home.state / "daemon.lock"):
        processes = [home.start("init", "--no-wait", each.path) for each in (repo, other)]
        wait_until(lambda: words.exists() and b"another daemon runs" in words.read_bytes())
    said = [process.communicate(timeout=120) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], said
    assert len(home.json("list")["checkouts"]) == 2


def test_settings_that_are_refused_are_named_with_file_and_key(home: Home, repo: Repo) -> None:
    home.config.write_text("[index]\nworkers = -1\n")

    for command in (("init", repo.path), ("serve",)):
        said = home.nibd(*command, status=3).err
        assert f"{home.config}: index.workers: found -1" in said
    assert home.json("init", repo.path, status=3)["error"]["code"] == "settings"
    assert "problem  settings" in home.nibd("doctor", status=1).out
    assert not hook(repo).exists()


def test_a_daemon_that_ends_at_its_start_is_quoted(home: Home, repo: Repo) -> None:
    home.state.mkdir(parents=True)
    (home.state / "registry.json").write_text("{")

    said = home.nibd("init", repo.path, status=3).err

    assert "the daemon ended at its start (status 3)" in said
    assert "registry.json cannot be read" in said


def test_a_repository_that_cannot_be_read_is_refused_before_a_daemon_starts(
    home: Home, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    Repo(tmp_path / "x").git("init", "-q", "--bare", bare)

    assert "bare repository" in home.nibd("init", bare, status=3).err
    assert f"{tmp_path / 'nowhere'} is not there" in home.nibd("init", tmp_path / "nowhere", status=3).err
    assert not home.socket.exists()


def test_what_is_no_daemon_behind_the_socket_is_said(home: Home) -> None:
    home.socket.parent.mkdir(mode=0o700)
    with listen(home.socket) as listener:
        listener.setblocking(True)

        def talk() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                peer.recv(65536)

        thread = threading.Thread(target=talk)
        thread.start()
        said = home.nibd("list", status=3).err
        thread.join()
    home.socket.unlink()

    assert "does not speak our protocol" in said


@contextmanager
def stand_in(home: Home, handlers: dict[str, Any]) -> Iterator[None]:
    """A server with just these methods: for what a real daemon does too fast, or never."""
    prepare_folder(home.socket.parent, os.getuid())
    listener = listen(home.socket)
    loop = asyncio.new_event_loop()
    failed: list[Any] = []
    server = Server(handlers, lambda *what: failed.append(what))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.serve(listener), loop).result(10)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        home.socket.unlink()
    assert not failed


def hello(version: str) -> Any:
    async def handler(params: JsonObject, context: RequestContext) -> Json:
        return {"version": version, "protocol": PROTOCOL_VERSION, "pid": 1, "started_at": 0.0}

    return handler


def test_interrupting_init_leaves_the_build_going_on(home: Home, repo: Repo) -> None:
    waiting = threading.Event()

    async def add(params: JsonObject, context: RequestContext) -> Json:
        return {"path": params["path"], "marker": str(home.state / "markers" / "m"), "added": True}

    async def wait(params: JsonObject, context: RequestContext) -> Json:
        await context.notify("progress", {"stage": "facts", "done": 3, "total": 9})
        waiting.set()
        await asyncio.Event().wait()

    handlers = {"hello": hello("0.0.1"), "repository.add": add, "wait": Method(wait, None)}
    with stand_in(home, handlers):
        process = home.start("init", repo.path)
        assert waiting.wait(60)
        said = b""
        assert process.stderr is not None
        while b"facts: 3 of 9" not in said:
            said += process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (130, b"")
    assert b"the build goes on without you" in err
    assert b"Traceback" not in err
    assert b"the running daemon is nibd 0.0.1" in said


def test_a_daemon_of_another_version_that_lacks_a_method_is_named_as_the_cause(home: Home) -> None:
    with stand_in(home, {"hello": hello("0.0.1")}):
        said = home.nibd("list", status=3).err

    assert "another version" in said
