"""The whole way: a commit in a repository, and its relations published and verified by the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cli_run import Home
from gitrepo import Repo
from language_servers import require
from waiting import wait_until

WAIT_S = 120.0
SETTINGS = "[dense]\nenabled = false\n[daemon]\ncompare_interval_s = 1\n[relations]\nenabled = true\n"
LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\ngreet('é🙂')\n"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    _, installed = require("python")
    made = Home(tmp_path / "home", f'{SETTINGS}servers = "{installed.program.parent}"\n')
    yield made
    made.close()


def related(home: Home, repo: Repo) -> Any:
    """Wait until the relations of HEAD are published and every site was asked again; what status says."""

    def is_verified() -> bool:
        shown = home.json("status", repo.path)
        found = shown["relations"].get("python", {})
        assert found.get("state") != "failed", found
        return (
            (shown["snapshot"] or {}).get("commit") == repo.head()
            and found.get("state") == "ready"
            and found["lag"]["commits"] == 0
            and found["assurance"] in ("verified", "exact")
        )

    wait_until(is_verified, WAIT_S, "the relations of HEAD to be verified")
    return home.json("status", repo.path)["relations"]["python"]


def servers(home: Home) -> list[psutil.Process]:
    """The language servers that the daemon's navigators run."""
    daemon = psutil.Process(int((home.state / "daemon.lock").read_text()))
    return [each for each in daemon.children(recursive=True) if each.name() == "ty"]


def inside(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_a_commit_gets_relations_that_are_verified(home: Home, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("lib.py", LIB)
    repo.write("app.py", APP)
    repo.commit("one")
    before = inside(home.folder)
    home.nibd("init", repo.path)
    first = related(home, repo)
    assert (first["assurance"], first["coverage"]) == ("exact", {"done": 2, "of": 2})

    repo.write("lib.py", "import os\n\n\n" + LIB)
    repo.write("more/__init__.py", "import lib\n\nlib.greet(1)\n")
    repo.commit("two")
    second = related(home, repo)
    assert second["coverage"] == {"done": 3, "of": 3}
    assert second["work"]["differences"] == 0
    assert second["work"]["asked"] < second["counts"]["sites"]
    found = home.json("refs", "greet", "--repo", repo.path)
    assert sorted((hit["path"], hit["line"]) for hit in found["hits"]) == [
        ("app.py", 1),
        ("app.py", 3),
        ("more/__init__.py", 3),
    ]

    (server,) = servers(home)
    environment = server.environ()
    cache = str(home.folder / "cache")
    assert all(environment[name].startswith(cache) for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"))
    assert server.cwd().startswith(cache)
    assert server.net_connections() == []
    made = inside(home.folder) - before
    assert made <= {"cache", "state", "data"}, made
    assert repo.git("status", "--porcelain") == ""
