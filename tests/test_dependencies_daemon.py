"""What a checkout has installed, in a daemon with real servers: found, noticed, waited for."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_run import Home
from daemon_world import Daemon, configure, running
from gitrepo import Repo
from language_servers import require
from waiting import wait_until

WAIT_S = 90.0
LONG_AGO = 1_700_000_000
APP = "from lib import greet\nfrom pkg import thing\nfrom draft import other\n\ngreet(thing, other)\n"


class Checkout:
    """A Python project in a daemon that compares every second, with an environment made by hand."""

    def __init__(self, daemon: Daemon, repo: Repo) -> None:
        self.daemon = daemon
        self.repo = repo
        self.site = repo.path / ".venv" / "lib" / "python3.11" / "site-packages"

    def make_environment(self) -> None:
        self.site.mkdir(parents=True)
        (self.site.parents[2] / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
        self.rest()

    def install(self, name: str, text: str) -> None:
        (self.site / name).write_text(text)
        self.rest()

    def rest(self) -> None:
        """As if nothing had been installed for long; each time another moment."""
        count = len(list(self.site.iterdir()))
        os.utime(self.site, (LONG_AGO + count, LONG_AGO + count))

    def relations(self) -> Any:
        return self.daemon.call("status", path=str(self.repo.path))["relations"].get("python", {})

    def related(self, other_than: str = "") -> Any:
        """Wait until the relations are there, under another profile than the one given."""

        def are_there() -> bool:
            found = self.relations()
            return bool(found.get("state") == "ready" and found["profile"] != other_than)

        wait_until(are_there, WAIT_S, "the relations")
        return self.relations()

    def definitions(self, column: int) -> list[str]:
        """Where what is used on the last line, at a column, is defined."""
        answer = self.daemon.call(
            "navigate", path=str(self.repo.path / "app.py"), operation="definition", line=5, col=column
        )
        outside = [hit["external"] for hit in answer["hits"] if hit["external"]]
        inside = [hit["path"] for hit in answer["hits"] if not hit["external"]]
        return [*inside, *(f"{each['package']}: {each['path']}" for each in outside)]


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    _, installed = require("python")
    configure(
        f'[dense]\nenabled = false\n[relations]\nservers = "{installed.program.parent}"\n'
        "[daemon]\ncompare_interval_s = 1\n"
    )
    repo = Repo(tmp_path / "repo")
    repo.write(".gitignore", ".venv\n")
    repo.write("app.py", APP)
    repo.write("src/lib.py", "def greet(*names):\n    return names\n")
    repo.commit("one")
    with running() as daemon:
        yield Checkout(daemon, repo)


def test_an_install_is_noticed_without_a_commit(checkout: Checkout) -> None:
    checkout.make_environment()
    checkout.daemon.add(checkout.repo.path)
    before = checkout.related()
    assert checkout.definitions(7) == ["app.py"], "the import, which leads nowhere"

    checkout.install("pkg.py", "def thing():\n    pass\n")
    checkout.related(other_than=before["profile"])

    assert checkout.definitions(7) == ["pkg.py: "]


def test_an_environment_that_appears_is_noticed(checkout: Checkout) -> None:
    checkout.daemon.add(checkout.repo.path)
    before = checkout.related()
    assert "no Python environment" in before["reason"]

    checkout.make_environment()

    assert checkout.related(other_than=before["profile"])["reason"] is None


def test_an_editable_install_leads_to_what_is_committed_and_to_nothing_else(checkout: Checkout) -> None:
    checkout.make_environment()
    checkout.install("_editable.pth", f"{checkout.repo.path / 'src'}\n")
    (checkout.repo.path / "src" / "draft.py").write_text("def other():\n    pass\n")
    checkout.daemon.add(checkout.repo.path)

    found = checkout.related()

    assert checkout.definitions(1) == ["src/lib.py"]
    assert checkout.definitions(14) == []
    assert found["work"]["dropped"] == 2, "the module and the function"


def test_an_install_in_progress_is_waited_for(checkout: Checkout) -> None:
    checkout.make_environment()
    aside = checkout.site / "~kg"
    aside.mkdir()  # as pip sets a package aside
    os.utime(checkout.site, (time.time() - 60, time.time() - 60))
    checkout.daemon.add(checkout.repo.path)

    said = "an install seems to run: pip has packages set aside"
    wait_until(lambda: said in (checkout.relations().get("reason") or ""), WAIT_S, "the reason")
    assert checkout.relations()["state"] == "building"

    aside.rmdir()
    checkout.rest()

    assert checkout.related()["reason"] is None


def state_of_go(home: Home, repo: Repo) -> str:
    found = home.json("status", repo.path)["relations"].get("go", {})
    return str(found.get("state"))


def test_a_server_that_is_absent_is_asked_for_and_noticed_when_it_comes(tmp_path: Path) -> None:
    tools, repo = tmp_path / "tools", Repo(tmp_path / "repo")
    tools.mkdir()
    git = shutil.which("git")
    assert git is not None
    (tools / "git").symlink_to(git)
    repo.write("go.mod", "module example.org/app\n\ngo 1.20\n")
    repo.write("app.go", "package app\n\nfunc run() {}\n")
    repo.commit("one")
    home = Home(tmp_path, "[dense]\nenabled = false\n[daemon]\ncompare_interval_s = 1\n")
    home.environment["PATH"] = str(tools)
    try:
        home.nibd("init", repo.path)
        wait_until(lambda: state_of_go(home, repo) == "absent", WAIT_S, "the reason")
        said = "gopls is not installed; install it with: go install golang.org/x/tools/gopls@latest"
        assert f"relations go: {said}" in " ".join(home.nibd("status", repo.path).out.split())
        found = {check["name"]: check for check in home.json("doctor", status=None)["checks"]}
        assert found["relations go"]["found"] == "gopls is not installed"
        assert found["relations go"]["advice"] == "go install golang.org/x/tools/gopls@latest"

        for name in ("go", "gopls"):  # they tell a version, and no more
            (tools / name).write_text(f"#!/bin/sh\necho {name} version 1\n")
            (tools / name).chmod(0o755)

        wait_until(lambda: state_of_go(home, repo) == "failed", WAIT_S, "the server to be tried")
    finally:
        home.close()
