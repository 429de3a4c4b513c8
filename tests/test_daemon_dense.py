"""The dense view of a real daemon with the real model: built in the background, asked, repaired."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from daemon_world import CALL_S, Daemon, running_at_home
from gitrepo import Repo
from nibd.ipc.client import Client
from waiting import wait_until

pytestmark = pytest.mark.dense

SOURCE = '''
def parse_configuration_file(path):
    """Read the settings of the program from a TOML file."""
    return load(path)


def bake_bread(flour, water):
    """Mix dough, let it rise and put it into the oven."""
    return oven(flour + water)
'''


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Of all tests: each embedder loads torch and the model."""
    with running_at_home(tmp_path_factory.mktemp("home"), "[relations]\nenabled = false\n") as started:
        yield started


def vectors(daemon: Daemon) -> int:
    with sqlite3.connect(daemon.cache / "embeddings.db") as database:
        count: int = database.execute("SELECT count(*) FROM vector").fetchone()[0]
        return count


def names(answer: Any) -> list[str]:
    return [hit["name"] for hit in answer["hits"]]


def test_meaning_is_found_and_a_commit_embeds_only_what_it_changed(daemon: Daemon, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", SOURCE)
    repo.commit("one")
    daemon.add(repo.path)
    lexical = daemon.published(repo.path)
    assert lexical["views"]["dense"]["state"] in {"building", "ready"}
    ready = daemon.published(repo.path, "dense")["views"]["dense"]
    assert (ready["state"], ready["assurance"]) == ("ready", "exact")
    assert ready["coverage"] == {"done": 2, "of": 2}
    query = {"path": str(repo.path), "query": "cooking a loaf", "k": 2}
    answer = daemon.call("search", plan="dense", **query)
    assert names(answer) == ["bake_bread", "parse_configuration_file"]
    assert answer["views"]["dense"]["used"] is True
    hybrid = daemon.call("search", plan="hybrid", path=str(repo.path), query="bread dough", k=1)
    assert names(hybrid) == ["bake_bread"]
    assert {view["used"] for view in hybrid["views"].values()} == {True}
    assert vectors(daemon) == 2
    for question, plan in (("cooking a loaf", "hybrid"), ("bake_bread", "lexical")):
        chosen = daemon.call("search", plan="auto", path=str(repo.path), query=question, explain=True)
        assert chosen["plan"] == plan, chosen["explain"]["plan"]
    for time_ms, plan in ((0, "lexical"), (1, "lexical"), (None, "hybrid")):
        within = {"plan": "auto", "path": str(repo.path), "query": "cooking a loaf", "time_ms": time_ms}
        assert daemon.call("search", **within)["plan"] == plan
    narrow = daemon.call("search", plan="dense", paths=["b.py"], **query)
    assert narrow["hits"] == []

    repo.write("b.py", SOURCE.replace("bake_bread", "bake_cake"))
    repo.commit("two")
    again = daemon.published(repo.path, "dense")["views"]["dense"]
    assert again["coverage"] == {"done": 3, "of": 3}
    assert vectors(daemon) == 3
    verdict = daemon.call("verify", path=str(repo.path), views=["dense"])
    assert verdict["equal"], verdict
    assert verdict["views"]["dense"]["compared"]["vectors"] == 3

    # What was embedded is known to every repository of the user: nothing is embedded again.
    clone = Repo.clone(repo.path, tmp_path / "clone")
    daemon.add(clone.path)
    assert daemon.published(clone.path, "dense")["views"]["dense"]["coverage"] == {"done": 3, "of": 3}
    assert vectors(daemon) == 3


def test_a_dense_search_right_after_a_commit_says_how_old_it_is(daemon: Daemon, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", SOURCE)
    first = repo.commit("one")
    daemon.add(repo.path)
    daemon.published(repo.path, "dense")
    repo.write("a.py", SOURCE.replace("bread", "pretzel"))
    repo.commit("two")
    daemon.published(repo.path)
    answer = daemon.call("search", path=str(repo.path), query="oven", plan="dense", k=1)
    served, lag = answer["snapshot"]["commit"], answer["views"]["dense"]["lag"]
    assert (lag["commits"] == 1) == (served == first)
    assert names(answer) == ["bake_bread" if served == first else "bake_pretzel"]

    def fresh() -> bool:
        found = daemon.call("search", path=str(repo.path), query="oven", plan="dense", k=1)
        return names(found) == ["bake_pretzel"] and found["views"]["dense"]["lag"]["commits"] == 0

    wait_until(fresh, 60, "the dense view to follow")


def embedders(daemon: Daemon) -> list[psutil.Process]:
    assert daemon.process is not None
    children = psutil.Process(daemon.process.pid).children()
    return [child for child in children if "nibd.daemon.embedder" in child.cmdline()]


def test_waiting_for_the_dense_view_waits_for_the_model_too(daemon: Daemon, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", SOURCE)
    repo.commit("one")
    daemon.add(repo.path)
    daemon.published(repo.path, "dense")
    hybrid = {"path": str(repo.path), "query": "bread dough", "plan": "hybrid", "k": 1}
    assert daemon.call("search", **hybrid)["views"]["dense"]["used"] is True

    daemon.stop()
    daemon.start()  # everything is published, and no model is loaded
    daemon.published(repo.path)
    assert not embedders(daemon)
    cold = daemon.call("search", **hybrid)["views"]["dense"]
    assert (cold["used"], cold["reason"]) == (False, "warming")
    (embedder,) = wait_until(lambda: embedders(daemon), what="the embedder to start")
    embedder.suspend()
    stages: list[str] = []
    with Client(daemon.socket, CALL_S) as client, ThreadPoolExecutor(1) as pool:
        asked = {"path": str(repo.path), "view": "dense"}

        def noted(_: str, value: Any) -> None:
            stages.append(value["stage"])

        waiting = pool.submit(client.call, "wait", asked, noted, CALL_S)
        wait_until(lambda: "loading the model" in stages, what="the wait to say what it waits for")
        assert not waiting.done()
        embedder.resume()
        assert waiting.result(CALL_S)["published"]
    assert daemon.call("search", **hybrid)["views"]["dense"]["used"] is True
