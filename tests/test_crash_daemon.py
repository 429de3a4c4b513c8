"""The daemon and its children, killed at work: what was done stays, and the rest is done by the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from daemon_world import NO_DENSE, Daemon, configure, running
from gitrepo import Repo
from nibd.daemon.lock import ANOTHER_RUNS
from nibd.daemon.main import REFUSED
from nibd.stores.catalog import Catalog
from nibd.stores.repository import RepositoryFolder
from trouble_world import building, ended, events, family, large, settled
from waiting import wait_until

FILES = 700


def test_an_indexer_killed_in_a_first_build_is_started_again_and_finishes(tmp_path: Path) -> None:
    configure(NO_DENSE)
    repo = large(tmp_path / "large", FILES)
    with running() as daemon:
        daemon.add(repo.path)
        building(daemon, repo.path)
        pid = daemon.pid_of("indexer_build")
        assert pid
        killed = family(pid)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: ended(killed), what="the indexer and its workers to end")
        status = settled(daemon, repo.path)
        assert status["files"] == {"indexed": FILES, "total": FILES}
        assert status["statistics"]["processes"]["indexer_build"]["crashes"] == 1
        assert [event["pause_s"] for event in events(daemon, "child_died")] == [0.5]
        assert len(events(daemon, "job_failed")) == 1
        hits = daemon.call("search", path=str(repo.path), query="name_699_5")["hits"]
        assert hits[0]["name"] == "name_699_5"


def test_a_killed_daemon_leaves_no_process_and_the_next_one_finishes(tmp_path: Path) -> None:
    configure(NO_DENSE)
    repo = large(tmp_path / "large", FILES)
    daemon = Daemon()
    daemon.start()
    assert daemon.process
    daemon.add(repo.path)
    building(daemon, repo.path)
    processes = family(daemon.process.pid)
    assert len(processes) > 1
    daemon.kill()
    wait_until(lambda: ended(processes), what="the children to end")
    assert daemon.socket.exists()
    with running() as second:
        status = second.published(repo.path)
        assert status["files"]["indexed"] == FILES
        # What the killed one had stored is not parsed again.
        assert events(second, "job_done", job="repair")[-1]["work"]["structural"]["parsed"] < FILES
    assert not second.socket.exists()


def test_a_daemon_that_is_stopped_at_work_ends_in_order(tmp_path: Path) -> None:
    configure(NO_DENSE)
    repo = large(tmp_path / "large", FILES)
    with running() as daemon:
        assert daemon.process
        daemon.add(repo.path)
        building(daemon, repo.path)
        processes = family(daemon.process.pid)
        assert len(processes) > 1
        assert daemon.stop() == 0
        wait_until(lambda: ended(processes), what="the children to end")
        assert not daemon.socket.exists()
        assert events(daemon, "stopped")
        assert not events(daemon, "task_failed")


def test_an_idle_indexer_that_was_killed_is_replaced_for_the_next_commit(tmp_path: Path) -> None:
    configure(NO_DENSE)
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "def alpha():\n    pass\n")
    repo.commit("one")
    with running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)
        for number in range(2):
            processes = daemon.call("doctor")["processes"]
            pids = [pid for name in ("indexer_repair", "indexer_build") if (pid := processes[name]["pid"])]
            assert pids
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            repo.write("a.py", f"def after_{number}():\n    pass\n")
            repo.commit("next")
            settled(daemon, repo.path)
            assert daemon.call("symbols", path=str(repo.path), name=f"after_{number}")["hits"]


def test_there_is_one_daemon_a_user(tmp_path: Path) -> None:
    with running() as daemon:
        assert daemon.process
        second = subprocess.run(
            [sys.executable, "-m", "nibd.daemon.main"],
            env=daemon.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == ANOTHER_RUNS == 4
        assert f"another daemon runs (pid {daemon.process.pid})" in second.stderr
        assert daemon.call("hello")["pid"] == daemon.process.pid
        assert daemon.call("shutdown") == {"stopping": True}
        assert daemon.process.wait(60) == 0
        assert not daemon.socket.exists()


def test_a_file_in_the_place_of_the_socket_is_left_and_named(tmp_path: Path) -> None:
    daemon = Daemon()
    daemon.socket.parent.mkdir(mode=0o700)
    daemon.socket.write_text("mine")
    refused = subprocess.run(
        [sys.executable, "-m", "nibd.daemon.main"],
        env=daemon.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == REFUSED
    assert str(daemon.socket) in refused.stderr
    assert daemon.socket.read_text() == "mine"


def test_a_removed_checkout_is_forgotten_by_the_next_daemon_at_the_latest(tmp_path: Path) -> None:
    configure(NO_DENSE)
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "def alpha():\n    pass\n")
    repo.commit("one")
    linked = repo.worktree(tmp_path / "linked", "-b", "topic")
    first = Daemon()
    first.start()
    added = first.add(repo.path)
    first.add(linked.path)
    for each in (repo, linked):
        settled(first, each.path)
    first.call("repository.remove", path=str(linked.path))
    first.kill()
    with running() as daemon:
        folder = RepositoryFolder(daemon.cache / "repositories" / added["repository"])
        repo.write("a.py", "def beta():\n    pass\n")
        repo.commit("two")
        settled(daemon, repo.path)
        catalog = Catalog.open_reader(folder.catalog)
        wait_until(lambda: catalog.checkouts() == {added["checkout"]}, what="the other to be forgotten")
        catalog.close()
