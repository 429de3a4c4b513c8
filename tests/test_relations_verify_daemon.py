"""Verification seen from outside: `verify --relations`, audits in quiet times, and what status counts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from cli_run import Home
from gitrepo import Repo
from language_servers import require
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.catalog import UNPUBLISHED, Catalog
from nibd.stores.relation_types import Relation, Target
from nibd.stores.relations import RelationStore
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import resolution_artifact
from nibd.stores.types import CheckoutId, ProfileId, RepoPath
from nibd.stores.verifications import VerificationStore
from waiting import wait_until

WAIT_S = 120.0
SETTINGS = """[dense]
enabled = false
[daemon]
compare_interval_s = 1
[relations]
enabled = true
audit_transitions = 1
"""
LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\ngreet('you')\n"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    _, installed = require("python")
    made = Home(tmp_path / "home", f'{SETTINGS}servers = "{installed.program.parent}"\n')
    yield made
    made.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("lib.py", LIB)
    made.write("app.py", APP)
    made.commit("one")
    return made


def python(home: Home, repo: Repo, *assurances: str) -> Any:
    """Wait until HEAD's relations have one of these assurances; what status says of them."""

    def found() -> Any:
        shown = home.json("status", repo.path)
        relations = shown["relations"].get("python", {})
        is_of_head = (shown["snapshot"] or {}).get("commit") == repo.head()
        return relations if is_of_head and relations.get("assurance") in assurances else None

    return wait_until(found, WAIT_S, f"relations to be {' or '.join(assurances)}")


def folder_of(home: Home) -> RepositoryFolder:
    (catalog,) = (home.folder / "cache").glob("nibd/**/catalog.db")
    return RepositoryFolder(catalog.parent)


def plant(home: Home) -> None:
    """Publish, while no daemon runs, that the last site of app.py refers to something else."""
    folder = folder_of(home)
    catalog, store = Catalog.open(folder.catalog), RelationStore.open(folder.relations)
    (checkout,) = catalog.checkouts()
    shown = catalog.current(CheckoutId(checkout))
    assert shown is not None
    record = shown.snapshot.relations["python"]
    assert record.resolution is not None
    bits, path = store.resolution(record.resolution), RepoPath(b"app.py")
    row, file = store.record_at(bits, path), store.at_path(bits, path)
    assert row is not None
    assert file is not None
    wrong = Relation(file.relations[-1].site, (Target("", path, "", 0, "greet", 5),))
    made = store.add([replace(file, relations=(*file.relations[:-1], wrong))])
    changed = bits.changed(remove=[row], add=made)
    number = store.add_resolution("python", shown.snapshot.tree, ProfileId(record.profile), changed)
    told = replace(record, artifact=resolution_artifact(number, changed))
    snapshot = replace(shown.snapshot.with_relations("python", told), generation=UNPUBLISHED)
    catalog.publish(checkout, shown.commit, snapshot, time.time())
    store.close()
    catalog.close()


def test_published_relations_equal_those_of_fresh_servers_or_the_difference_is_named(
    home: Home, repo: Repo
) -> None:
    home.nibd("init", repo.path)
    python(home, repo, "exact")
    done = home.nibd("verify", "--relations", repo.path)
    assert done.out.splitlines()[0].startswith("equal: commit")
    assert "relations python: equal; compared 2 files, " in done.out

    home.nibd("stop")
    plant(home)
    home.nibd("init", repo.path)
    found = home.json("verify", "--relations", repo.path, status=1)
    assert found["equal"] is False
    assert found["views"] == {}
    verdict = found["relations"]["python"]
    assert (verdict["equal"], verdict["count"], verdict["varying"]["count"]) == (False, 1, 0)
    assert verdict["differences"] == [
        {
            "path": "app.py",
            "line": 3,
            "name": "greet",
            "kind": "other",
            "published": ["app.py greet@5"],
            "fresh": ["lib.py::greet#0 greet@0"],
        }
    ]

    wait_until(lambda: users(home, repo) == ["app.py", "app.py"], WAIT_S, "them to be made anew")
    python(home, repo, "exact")
    assert home.json("verify", "--relations", repo.path)["equal"]


class Verifying:
    """A request for a verification, under way in a thread."""

    def __init__(self, pool: ThreadPoolExecutor, home: Home, repo: Repo, *views: str) -> None:
        self.stages: list[str] = []
        self._client = Client(home.socket, WAIT_S)
        params = {"path": str(repo.path), "relations": True} | ({"views": list(views)} if views else {})
        self.answer = pool.submit(self._client.call, "verify", params, self._noted, WAIT_S)

    def _noted(self, _: str, value: Any) -> None:
        self.stages.append(value["stage"])

    def verdict(self) -> Any:
        """`None`: there was nothing to be compared any more."""
        try:
            return self.answer.result(WAIT_S)
        except RpcError as error:
            if error.code != ErrorCode.VIEW_NOT_READY:
                raise
            return None


def test_wrong_relations_are_made_anew_once_whoever_finds_them_wrong(home: Home, repo: Repo) -> None:
    home.nibd("init", repo.path)
    python(home, repo, "exact")
    home.nibd("stop")
    plant(home)
    home.nibd("init", repo.path)
    before = made(home)
    daemon = psutil.Process(int((home.state / "daemon.lock").read_text()))

    def verifiers() -> list[psutil.Process]:
        return [each for each in daemon.children() if "nibd.daemon.verifier" in commands(each)]

    with ThreadPoolExecutor(2) as pool:
        first = Verifying(pool, home, repo)
        (stopped,) = wait_until(verifiers, WAIT_S, "a verifier")
        stopped.suspend()
        second = Verifying(pool, home, repo, "structural")
        wait_until(lambda: second.stages, WAIT_S, "the second to be told that it waits")
        stopped.resume()
        assert not first.verdict()["equal"]
        wait_until(lambda: users(home, repo) == ["app.py", "app.py"], WAIT_S, "them to be made anew")
        found = second.verdict()
    assert found is None or found["views"]["structural"]["equal"]
    python(home, repo, "exact")
    assert home.json("verify", "--relations", repo.path)["equal"]
    assert made(home) == before + 1
    assert len(logged(home, "relations_damaged")) == 1
    assert not logged(home, "view_damaged")


def users(home: Home, repo: Repo) -> list[str] | None:
    """The files that refer to greet, by what is stored; `None`: that can't be read now."""
    asked = {"path": str(repo.path), "operation": "references", "name": "greet", "provider": "static"}
    try:
        with Client(home.socket, WAIT_S) as client:
            return [hit["path"] for hit in client.call("navigate", asked)["hits"]]
    except RpcError as error:
        if error.code != ErrorCode.VIEW_NOT_READY:
            raise
        return None


def commands(process: psutil.Process) -> list[str]:
    """Its command line; nothing of one that has ended."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def logged(home: Home, event: str) -> list[Any]:
    lines = map(json.loads, (home.state / "log" / "nibd.log").read_text().splitlines())
    return [line for line in lines if line["event"] == event]


def made(home: Home) -> int:
    """How often relations were made, or looked whether they are."""
    return sum(line["job"] == "relate" for line in logged(home, "relations"))


def test_what_cant_be_compared_is_said_and_no_equality_claimed(home: Home, repo: Repo) -> None:
    repo.write("main.go", "package main\n")
    repo.write("go.mod", "module example.org/m\n")
    repo.commit("two")
    home.config.write_text(home.config.read_text() + '[index]\nignore = ["*.nothing"]\n')
    home.environment["PATH"] = "/usr/bin:/bin"
    home.nibd("init", repo.path)
    python(home, repo, "exact")
    if home.json("status", repo.path)["relations"]["go"]["state"] == "ready":
        pytest.skip("gopls is beside ty on this machine")
    wait_until(
        lambda: home.json("status", repo.path)["relations"]["go"]["state"] == "absent", WAIT_S, "no gopls"
    )
    done = home.nibd("verify", "--relations", repo.path, status=1)
    assert "NOT COMPARED IN FULL: commit" in done.out
    assert "relations python: equal" in done.out
    assert "relations go: not compared: there are none: gopls" in done.out


def test_a_commit_is_audited_when_all_is_quiet_and_status_counts_it(home: Home, repo: Repo) -> None:
    home.nibd("init", repo.path)
    python(home, repo, "exact")
    repo.write("lib.py", "import os\n\n\n" + LIB)
    repo.commit("two")
    first = python(home, repo, "verified", "exact")
    assert first["counts"]["verified"] == 2
    audited = python(home, repo, "exact")
    assert audited["work"]["audit_differences"] == 0
    assert audited["repairs"] == {
        "transitions": 1,
        "verified": 1,
        "right": 1,
        "differing": 0,
        "audits": 1,
        "audits_right": 1,
        "audit_differing": 0,
    }
    home.nibd("stop")
    home.nibd("init", repo.path)
    text = home.nibd("status", repo.path).out
    assert "relations python: repair alone was right on 1 of 1 transition" in text
    assert "relations python: a fresh server agreed in 1 of 1 audit" in text
    statistics = home.json("status", repo.path)["statistics"]
    assert [account["right"] for each in statistics["repairs"].values() for account in each.values()] == [1]


def test_a_damaged_memory_of_what_was_verified_costs_a_verification_and_no_relation(
    home: Home, repo: Repo
) -> None:
    home.nibd("init", repo.path)
    python(home, repo, "exact")
    home.nibd("stop")
    path = folder_of(home).verifications
    VerificationStore.remove(path)
    path.write_bytes(b"no database" * 100)

    home.nibd("init", repo.path)
    assert home.json("status", repo.path)["relations"]["python"]["repairs"] is None
    repo.write("app.py", APP + "greet('me')\n")
    repo.commit("two")
    verified = python(home, repo, "verified", "exact")
    assert verified["repairs"]["transitions"] == 1
    assert verified["counts"]["verified"] == 2
