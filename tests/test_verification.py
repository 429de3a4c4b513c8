"""`verify` asked by several at once: one verifier at a time, shared by those who ask the same."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import psutil
import pytest

from daemon_world import CALL_S, NO_DENSE, Daemon, configure, running
from gitrepo import Repo
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.messages import ErrorCode, RpcError
from trouble_world import events, settled
from waiting import wait_until


class Asked:
    """A request for a verification, under way in a thread."""

    def __init__(self, pool: ThreadPoolExecutor, daemon: Daemon, repo: Repo, *views: str) -> None:
        self.stages: list[str] = []
        self.client = Client(daemon.socket, CALL_S)
        params = {"path": str(repo.path)} | ({"views": list(views)} if views else {})
        self.answer: Future[Any] = pool.submit(self.client.call, "verify", params, self._noted, CALL_S)

    def _noted(self, _: str, value: Any) -> None:
        self.stages.append(value["stage"])


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


def verifiers(daemon: Daemon) -> list[psutil.Process]:
    assert daemon.process is not None
    children = psutil.Process(daemon.process.pid).children()
    found = []
    for child in children:
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile; a zombie is one too
            if "nibd.daemon.verifier" in child.cmdline():
                found.append(child)
    return found


def connections(daemon: Daemon) -> int:
    assert daemon.process is not None
    return len(psutil.Process(daemon.process.pid).net_connections("unix"))


def stopped(daemon: Daemon) -> psutil.Process:
    """The verifier, once there is one, stopped at its start."""
    (verifier,) = wait_until(lambda: verifiers(daemon), what="a verifier")
    os.kill(verifier.pid, signal.SIGSTOP)
    return verifier


def test_who_asks_the_same_shares_a_verifier_and_who_asks_something_else_waits(
    daemon: Daemon, repo: Repo, pool: ThreadPoolExecutor
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    first = Asked(pool, daemon, repo)
    verifier = stopped(daemon)
    same, other = Asked(pool, daemon, repo), Asked(pool, daemon, repo, "lexical")
    wait_until(lambda: other.stages, what="the other to be told that it waits")
    assert other.stages == ["waiting for another verification"]
    assert verifiers(daemon) == [verifier]
    os.kill(verifier.pid, signal.SIGCONT)
    assert first.answer.result(CALL_S) == same.answer.result(CALL_S)
    assert first.answer.result()["equal"]
    assert set(other.answer.result(CALL_S)["views"]) == {"lexical"}
    assert "waiting for another verification" not in first.stages + same.stages
    assert not verifiers(daemon)


def test_a_shared_verification_goes_on_when_who_asked_first_leaves_and_ends_with_the_last(
    daemon: Daemon, repo: Repo, pool: ThreadPoolExecutor
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    first = Asked(pool, daemon, repo)
    verifier = stopped(daemon)
    same = Asked(pool, daemon, repo)
    wait_until(lambda: first.stages and same.stages, what="both to be told that it began")
    both = connections(daemon)
    first.client._socket.shutdown(2)
    with pytest.raises(DaemonUnavailable):
        first.answer.result(CALL_S)
    wait_until(lambda: connections(daemon) < both, what="the first to be gone")
    assert verifiers(daemon) == [verifier]
    os.kill(verifier.pid, signal.SIGCONT)
    assert same.answer.result(CALL_S)["equal"]

    last = Asked(pool, daemon, repo)
    verifier = stopped(daemon)
    last.client._socket.shutdown(2)
    wait_until(lambda: not verifiers(daemon), what="the verifier to be ended")
    wait_until(lambda: not list(daemon.cache.glob("**/nibd-verify-*")), what="its scratch to be removed")
    assert daemon.call("verify", path=str(repo.path))["equal"]


def test_what_several_hear_to_differ_is_made_anew_once(
    daemon: Daemon, repo: Repo, pool: ThreadPoolExecutor
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    (structure,) = daemon.cache.glob("**/structure.db")
    with closing(sqlite3.connect(structure)) as database:  # no checksum is left to tell of it
        assert database.execute("DELETE FROM unit WHERE name = 'alpha'").rowcount
        database.commit()
    first = Asked(pool, daemon, repo, "structural")
    verifier = stopped(daemon)
    same = Asked(pool, daemon, repo, "structural")
    wait_until(lambda: first.stages and same.stages, what="both to be told that it began")
    os.kill(verifier.pid, signal.SIGCONT)
    assert [first.answer.result(CALL_S)["equal"], same.answer.result(CALL_S)["equal"]] == [False, False]
    assert len(events(daemon, "view_damaged")) == 1


def test_what_is_verified_is_not_collected_meanwhile(repo: Repo, pool: ThreadPoolExecutor) -> None:
    configure(f"{NO_DENSE}[daemon]\nkeep_snapshots = 0\n")
    with running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)
        first = repo.head()
        asked = Asked(pool, daemon, repo)
        verifier = stopped(daemon)
        before = len(events(daemon, "job_done", job="collect"))
        repo.write("a.py", "def beta():\n    pass\n")
        repo.commit("two")
        settled(daemon, repo.path)
        wait_until(lambda: len(events(daemon, "job_done", job="collect")) > before, what="a collection")
        assert daemon.call("symbols", path=str(repo.path), name="alpha", at=first)["hits"]
        os.kill(verifier.pid, signal.SIGCONT)
        verdict = asked.answer.result(CALL_S)
        assert (verdict["equal"], verdict["commit"]) == (True, first)
        repo.write("a.py", "def gamma():\n    pass\n")
        repo.commit("three")

        def is_gone() -> bool:
            try:
                daemon.call("symbols", path=str(repo.path), name="alpha", at=first)
            except RpcError as error:
                return error.code == ErrorCode.UNPUBLISHED_COMMIT
            return False

        wait_until(is_gone, what="what nobody reads any more to be collected")
