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
from nibd.daemon.relations.steps import as_of_now
from nibd.stores.snapshot import ViewRecord
from nibd.stores.types import State
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
    found = home.json("status", repo.path, status=None)["relations"].get("go", {})
    return str(found.get("state"))


def home_without_go(folder: Path) -> tuple[Home, Repo, Path]:
    """A home with git alone on its PATH, a repository of Go, and the folder that is the PATH."""
    tools, repo = folder / "tools", Repo(folder / "repo")
    tools.mkdir()
    git = shutil.which("git")
    assert git is not None
    (tools / "git").symlink_to(git)
    repo.write("go.mod", "module example.org/app\n\ngo 1.20\n")
    repo.write("app.go", "package app\n\nfunc run() {}\n")
    repo.commit("one")
    home = Home(folder, "[dense]\nenabled = false\n[daemon]\ncompare_interval_s = 1\n")
    home.environment["PATH"] = str(tools)
    return home, repo, tools


def install_go(tools: Path) -> None:
    for name in ("go", "gopls"):  # they tell a version, and no more
        (tools / name).write_text(f"#!/bin/sh\necho {name} version 1\n")
        (tools / name).chmod(0o755)


def test_a_server_that_is_absent_is_asked_for_and_noticed_when_it_comes(tmp_path: Path) -> None:
    home, repo, tools = home_without_go(tmp_path)
    try:
        home.nibd("init", repo.path)
        wait_until(lambda: state_of_go(home, repo) == "absent", WAIT_S, "the reason")
        said = "gopls is not installed; install it with: go install golang.org/x/tools/gopls@latest"
        assert f"relations go: {said}" in " ".join(home.nibd("status", repo.path).out.split())
        found = {check["name"]: check for check in home.json("doctor", status=None)["checks"]}
        assert found["relations go"]["found"] == "gopls is not installed"
        assert found["relations go"]["advice"] == "go install golang.org/x/tools/gopls@latest"

        install_go(tools)

        wait_until(lambda: state_of_go(home, repo) == "failed", WAIT_S, "the server to be tried")
    finally:
        home.close()


def test_a_daemon_that_starts_repeats_no_old_reason(tmp_path: Path) -> None:
    home, repo, tools = home_without_go(tmp_path)
    try:
        home.nibd("init", repo.path)
        wait_until(lambda: state_of_go(home, repo) == "absent", WAIT_S, "the reason")
        home.nibd("stop")
        install_go(tools)
        said = []

        def is_tried() -> bool:
            said.append(home.json("status", repo.path, status=None)["relations"]["go"])
            return bool(said[-1]["state"] == "failed")

        home.nibd("init", "--no-wait", repo.path)
        refused = home.nibd("refs", "run", cwd=repo.path, status=None).err
        wait_until(is_tried, WAIT_S, "the server to be tried")
        assert not [each for each in said if "not installed" in (each["reason"] or "")]
        assert "not installed" not in refused
    finally:
        home.close()


@pytest.mark.parametrize(
    ("state", "looked", "missing", "shown", "reason"),
    [
        (State.ABSENT, False, None, State.BUILDING, "its server is being looked for"),
        (State.ABSENT, True, None, State.BUILDING, "its language server was found, and is about to be asked"),
        (State.ABSENT, True, "go is not installed", State.ABSENT, "go is not installed"),
        (State.READY, True, None, State.READY, "old"),
        (
            State.READY,
            True,
            "go is not installed",
            State.READY,
            "old; newer commits and live answers need its server: go is not installed",
        ),
        (State.FAILED, True, "go is not installed", State.FAILED, "old"),
    ],
)
def test_what_a_record_says_of_its_server_is_of_now(
    state: State, looked: bool, missing: str | None, shown: State, reason: str
) -> None:
    found = as_of_now(ViewRecord(state, reason="old"), looked=looked, missing=missing)
    assert (found.state, found.reason) == (shown, reason)
