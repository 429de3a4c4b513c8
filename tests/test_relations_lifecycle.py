"""Relations from registration to removal: parts of a first build, kills, failures, damage, waiting."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gated_server import Gate
from gitrepo import Repo
from language_servers import require
from live_world import LiveHome
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.repair.relations.repair import BATCH_SITES
from nibd.stores.repository import RepositoryFolder
from waiting import wait_until

WAIT_S = 120.0
SITES = 201
"""Of each file of a large repository."""
PROBES = 32
LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\ngreet('you')\n"


def large(files: int) -> dict[str, str]:
    return {f"m{n:03}.py": "def f():\n" + "    a = b\n" * (SITES // 2) for n in range(files)}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


@pytest.fixture
def gated(gate: Gate, tmp_path: Path) -> Iterator[LiveHome]:
    """A home whose Python server answers when it is let."""
    with LiveHome(tmp_path, "python", gate.folder) as home:
        yield home
        gate.open(10_000)


def part_of(home: LiveHome, repo: Repo, gate: Gate) -> Any:
    """Let the server answer, a little at a time, until a part of the first build is published; its status.

    It is let go on only when it has used up what it was let: so nothing is saved up, however slowly anything
    starts, and it is never silent for so long that its answers count as missing.
    """

    def found() -> Any:
        if gate.is_used_up():
            gate.open(1)
        relations = home.relations(repo)
        return relations if relations and relations["coverage"]["done"] else None

    return wait_until(found, WAIT_S, "a part of the first build")


def logged(home: LiveHome, event: str) -> list[Any]:
    lines = (home.state / "log" / "nibd.log").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry["event"] == event]


def failures(home: LiveHome, tree: str) -> list[Any]:
    return [entry for entry in logged(home, "relations_failed") if entry["tree"] == tree]


def folder_of(home: LiveHome) -> RepositoryFolder:
    (catalog,) = (home.folder / "cache").glob("nibd/**/catalog.db")
    return RepositoryFolder(catalog.parent)


def test_a_first_build_serves_what_it_has_and_says_what_it_lacks(gated: LiveHome, gate: Gate) -> None:
    repo = gated.repository(large(60))
    part = part_of(gated, repo, gate)
    done = part["coverage"]["done"]
    assert (part["state"], part["assurance"], part["coverage"]["of"]) == ("building", "partial", 60)
    assert 0 < done < 60
    assert part["counts"]["unknown"] == (60 - done) * SITES
    assert f"of {60 * SITES} sites are still to be asked about" in part["reason"]

    here = gated.ask(repo, "definition", "m000.py", line=2, col=5, provider="static")
    assert here["asked"]["name"] == "a"
    everywhere = gated.ask(repo, "references", "m000.py", line=1, col=5, provider="static")
    assert everywhere["views"]["structural"]["relations"]["python"]["assurance"] == "partial"
    with pytest.raises(RpcError, match=f"hold {done} of 60 files, and not m059.py") as refused:
        gated.ask(repo, "definition", "m059.py", line=2, col=5, provider="static")
    assert refused.value.code == ErrorCode.VIEW_NOT_READY


def test_a_killed_navigator_goes_on_and_asks_nothing_again(gated: LiveHome, gate: Gate) -> None:
    repo = gated.repository(large(60))
    done = part_of(gated, repo, gate)["coverage"]["done"]
    (navigator,) = gated.status(repo)["statistics"]["navigators"].values()
    os.kill(navigator["pid"], signal.SIGKILL)
    gate.open(1_000)
    wait_until(lambda: gated.relations(repo)["state"] == "ready", WAIT_S, "the relations")
    asked = gate.asked()

    found = gated.relations(repo)
    assert (found["assurance"], found["coverage"]) == ("exact", {"done": 60, "of": 60})
    staged = [asked[f"m{n:03}.py"] for n in range(done)]
    again = sum(len(places) - len(set(places)) for places in staged)
    assert again <= 4 * PROBES  # two starts, at each of which a few places tell when the server has settled
    every = sum(len(places) - len(set(places)) for places in asked.values())
    assert every <= BATCH_SITES + SITES + 8 * PROBES


def test_a_first_build_is_not_given_up_for_a_newer_commit(gated: LiveHome, gate: Gate) -> None:
    repo = gated.repository(large(60))
    part_of(gated, repo, gate)
    repo.write("more.py", "def g():\n    pass\n")
    second = repo.commit("two")
    gated.nibd("wait", repo.path)
    gate.open(1_000)
    wait_until(
        lambda: [e for e in logged(gated, "relations") if e["job"] == "relate" and len(e) > 5][1:],
        WAIT_S,
        "the relations of both commits",
    )
    (first, repaired) = [e for e in logged(gated, "relations") if e["job"] == "relate"][:2]
    assert first["python"]["files"] == 60
    assert (repaired["python"]["files"], repaired["python"]["asked"]) == (61, 1)
    wait_until(lambda: gated.relations(repo)["commit"] == second, WAIT_S, "HEAD's relations")


def test_what_a_server_leaves_unanswered_is_tried_a_few_times_and_again_at_the_next_commit(
    gated: LiveHome, gate: Gate
) -> None:
    gate.open(10_000)
    repo = gated.repository(large(1) | {"odd.py": "odd = 1\n"})

    def is_left() -> bool:
        return any(each["tried_again_after_s"] > WAIT_S for each in logged(gated, "relations_lack"))

    wait_until(is_left, WAIT_S, "the last try")
    assert [each["tried_again_after_s"] for each in logged(gated, "relations_lack")][:3] == [2.0, 4.0, 8.0]
    found = gated.relations(repo)
    assert (found["state"], found["assurance"], found["counts"]["unknown"]) == ("ready", "partial", 1)
    assert "not this one" in found["reason"] or "no answer for 1 site" in found["reason"]
    done = gated.nibd("wait", repo.path, "--assurance", "verified", status=1)
    assert "python relations are partial" in done.out

    tries = len(gate.asked()["odd.py"])
    repo.write("more.py", "more = 2\n")
    repo.commit("two")
    wait_until(lambda: len(gate.asked()["odd.py"]) > tries, WAIT_S, "another try")


def test_a_live_answer_that_lacks_sites_is_not_called_nothing(gated: LiveHome, gate: Gate) -> None:
    gate.open(10_000)
    repo = gated.repository({"odd.py": "def odd():\n    return other()\n"})
    wait_until(lambda: gated.relations(repo)["state"] == "ready", WAIT_S, "HEAD's relations")
    answer = json.loads(
        gated.nibd("callees", "odd", "--provider", "live", "--json", cwd=repo.path, status=1).out
    )
    assert (answer["provider"], answer["unknown"]) == ("live", 1)
    assert answer["reason"] == "the language server has not answered about all that could be callees of odd"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a server that does not start."""
    folder = tmp_path / "servers"
    folder.mkdir()
    program = folder / "ty"
    script = '[ "$1" = --version ] && echo "ty 0.0.0" && exit\necho "no way" >&2\nexit 3\n'
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    return folder


def test_a_server_that_was_installed_is_tried_at_once_however_often_the_last_failed(
    broken: Path, tmp_path: Path
) -> None:
    _, installed = require("python")
    with LiveHome(tmp_path, "python", broken) as home:
        repo = home.repository({"lib.py": LIB, "app.py": APP})
        done = home.nibd("wait", repo.path, "--view", "relations", status=1)
        assert "python relations are failed" in done.out
        assert "ty: the server is gone: it ended with status 3: no way" in done.out
        assert len(logged(home, "relations_lack")) == 3
        assert "relations python: ty: the server is gone" in home.nibd("status", repo.path, status=1).out
        done = home.nibd("doctor", status=1)
        told = f"{repo.path}: relations python: ty: the server is gone: it ended with status 3: no way"
        assert told in " ".join(done.out.split())
        assert f"'nibd init {repo.path}' tries again at once" in " ".join(done.out.split())

        (broken / "ty.new").symlink_to(installed.program)
        (broken / "ty.new").rename(broken / "ty")
        wait_until(lambda: home.relations(repo)["state"] == "ready", WAIT_S, "the server to be noticed")
        done = home.nibd("wait", repo.path, "--view", "relations", "--assurance", "verified")
        assert done.out.splitlines()[1].startswith("  python relations are exact")


def test_another_commit_and_another_registration_are_tried_at_once(tmp_path: Path) -> None:
    with LiveHome(tmp_path, "python") as home:
        repo = home.repository({"lib.py": LIB, "app.py": APP})
        home.related(repo)
        folder = folder_of(home).root
        (navigator,) = home.status(repo)["statistics"]["navigators"].values()
        os.kill(navigator["pid"], signal.SIGKILL)
        shutil.rmtree(folder / "tree")
        (folder / "tree").touch()  # where the private tree should be
        for times in (3, 1):  # the second within the pause of 8 s that follows the first
            repo.write("app.py", APP + f"greet({times})\n")
            repo.commit()
            tree = repo.git("rev-parse", "HEAD^{tree}").strip()
            wait_until(lambda: failures(home, tree)[times - 1 :], WAIT_S, "failures")  # noqa: B023
        (folder / "tree").unlink()
        home.nibd("init", repo.path)
        home.nibd("wait", repo.path, "--view", "relations")
        assert len(failures(home, tree)) <= 2
        failed = len(logged(home, "relations_failed"))
        home.nibd("remove", repo.path)
        home.nibd("init", repo.path)
        home.related(repo)
        assert len(logged(home, "relations_failed")) == failed


def test_relations_that_are_damaged_are_noticed_said_and_made_anew(tmp_path: Path) -> None:
    with LiveHome(tmp_path, "python") as home:
        repo = home.repository({"lib.py": LIB, "app.py": APP})
        before = home.related(repo)
        with closing(sqlite3.connect(folder_of(home).relations)) as database:
            database.execute("UPDATE record SET payload = x'00'")
            database.commit()
        with pytest.raises(RpcError, match="can't be read"):
            home.ask(repo, "references", name="greet", provider="static")
        assert logged(home, "relations_damaged")
        home.nibd("wait", repo.path, "--view", "relations")
        found = home.ask(repo, "references", name="greet", provider="static")
        assert sorted((hit["path"], hit["line"]) for hit in found["hits"]) == [("app.py", 1), ("app.py", 3)]
        after = home.related(repo)
        assert after["generation"] > before["generation"]


def test_relations_that_were_deleted_are_made_anew_for_what_is_shown_alone(tmp_path: Path) -> None:
    with LiveHome(tmp_path, "python") as home:
        repo = home.repository({"lib.py": LIB, "app.py": APP})
        home.related(repo)
        older = repo.head()
        repo.write("late.py", "late = 1\n")
        repo.commit()
        home.related(repo)
        where = {"path": str(repo.path), "operation": "references", "name": "greet", "provider": "static"}
        with Client(home.socket, WAIT_S) as client:
            session = client.call("session.open", {"path": str(repo.path)})["session"]
            folder_of(home).clear_relations()

            def is_answered() -> bool:
                try:
                    return bool(home.call("navigate", **where)["total"] == 2)
                except RpcError:
                    return False

            wait_until(is_answered, WAIT_S, "the relations")
            damaged = len(logged(home, "relations_damaged"))
            for pinned in ({"at": older}, {"session": session}):
                with pytest.raises(RpcError, match="not shown are not made again"):
                    client.call("navigate", where | pinned)
            assert len(logged(home, "relations_damaged")) == damaged


def test_waiting_for_relations_says_what_there_is_of_each_family(tmp_path: Path) -> None:
    require("python")
    with LiveHome(tmp_path, "python") as home:
        plain = home.repository({"notes.txt": "nothing to refer to\n"}, "plain")
        assert home.nibd("wait", plain.path, "--view", "relations").out.count("\n") == 1
        repo = home.repository({"lib.py": LIB, "app.py": APP})
        found = home.json("wait", repo.path, "--assurance", "repaired")
        assert found["published"]
        assert found["status"]["relations"]["python"]["state"] == "ready"
        with pytest.raises(RpcError, match="assurance: only for the view relations"):
            home.call("wait", path=str(repo.path), view="lexical", assurance="exact")
