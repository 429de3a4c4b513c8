"""A daemon with language servers, for tests of live answers and of how far static ones equal them.

    with LiveHome(tmp_path, "python") as home:
        repo = home.repository({"lib.py": "def greet(): ...\n"})
        home.related(repo)                                # its relations are made and verified
        home.ask(repo, "definition", "app.py", line=3, col=1, provider="live")

A home has settings, caches and a daemon of its own; servers are found as `language_servers` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import psutil

from cli_run import Home
from gitrepo import Repo
from language_servers import require
from nibd.ipc.client import Client
from nibd.stores.types import Assurance
from waiting import wait_until

WAIT_S = 120.0
SETTINGS = "[dense]\nenabled = false\n[daemon]\ncompare_interval_s = 1\n[relations]\nenabled = true\n"
CERTAIN = (Assurance.VERIFIED, Assurance.EXACT)

Hits = set[tuple[Any, ...]]


class LiveHome(Home):
    """One user's daemon; `family` is that of the server that the test is skipped without."""

    def __init__(self, folder: Path, family: str = "python", servers: Path | None = None) -> None:
        _, installed = require(family)
        self.family = family
        self.repositories = folder / "repositories"
        super().__init__(folder / "home", f'{SETTINGS}servers = "{servers or installed.program.parent}"\n')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def repository(self, files: Mapping[str, str], name: str = "repo") -> Repo:
        """A registered one with a first commit."""
        repo = Repo(self.repositories / name)
        for path, text in files.items():
            repo.write(path, text)
        repo.commit()
        self.nibd("init", repo.path)
        return repo

    def call(self, method: str, **params: Any) -> Any:
        with Client(self.socket, WAIT_S) as client:
            return client.call(method, params, timeout_s=WAIT_S)

    def ask(self, repo: Repo, operation: str, path: str = "", **params: Any) -> Any:
        return self.call("navigate", path=str(repo.path / path), operation=operation, **params)

    def status(self, repo: Repo) -> Any:
        return self.call("status", path=str(repo.path))

    def relations(self, repo: Repo) -> Any:
        return self.status(repo)["relations"].get(self.family, {})

    def related(self, repo: Repo) -> Any:
        """Wait until the relations of HEAD are published and every site was asked; what status says."""

        def is_certain() -> bool:
            shown = self.status(repo)
            found = shown["relations"].get(self.family, {})
            assert found.get("state") != "failed", found
            published = (shown["snapshot"] or {}).get("commit") == repo.head()
            return published and found.get("state") == "ready" and found["assurance"] in CERTAIN

        wait_until(is_certain, WAIT_S, "the relations of HEAD to be verified")
        return self.relations(repo)

    def servers(self) -> list[psutil.Process]:
        """The language servers that run, by name as their programs are."""
        daemon = psutil.Process(int((self.state / "daemon.lock").read_text()))
        navigators = [
            each for each in daemon.children() if "nibd.daemon.navigator" in each.cmdline()
        ]
        return [server for each in navigators for server in each.children()]


def hits(answer: Any) -> Hits:
    """All that static and live hits must have alike."""
    found = set()
    for hit in answer["hits"]:
        outside = hit["external"] and (hit["external"]["package"], hit["external"]["path"])
        place = (hit["path"], hit["start_line"], hit["end_line"], hit["line"], hit["col"])
        found.add((*place, hit["kind"], hit["name"], hit["qualified"], tuple(hit["calls"]), outside))
    return found


def lines(answer: Any) -> list[tuple[str, int]]:
    return [(hit["path"], hit["line"]) for hit in answer["hits"]]
