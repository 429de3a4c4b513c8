"""The daemon's side of the navigators: when each runs, what it is asked, and what came of it.

A repository has one navigator at most, started when its checkout shows a tree whose relations are not made.
First the relations of that tree are made, then verified; each result waits here until the indexer has
published it. A newer tree makes what is asked unwanted: what was verified by then is asked again later.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from nibd.daemon.navigator import Job
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout
from nibd.daemon.settings import RelationsSettings
from nibd.daemon.supervisor import Supervisor
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.repair.relations.families import families_of
from nibd.stores.snapshot import Publication, Snapshot, ViewRecord
from nibd.stores.types import Assurance, CheckoutId, RepositoryId, State, TreeId, View

RETRY_S = 60.0
SWITCHED_OFF = "switched off by the settings ([relations] enabled)"

STAGES = {"relate": "relations", "verify": "relations again"}

Publish = Callable[[Checkout], None]


class _Work:
    """What a navigator is doing for a checkout."""

    def __init__(self, checkout: Checkout, method: str, tree: TreeId) -> None:
        self.checkout = checkout
        self.method = method
        self.tree = tree
        self.unwanted = asyncio.Event()
        self.progress: JsonObject | None = None


class Navigation:
    """All of it on one event loop. `publish(checkout)` is called when `result(checkout)` has something."""

    def __init__(
        self,
        settings: RelationsSettings,
        paths: Paths,
        log: structlog.stdlib.BoundLogger,
        publish: Publish,
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._log = log
        self._publish = publish
        self._children: dict[RepositoryId, Supervisor] = {}
        self._working: dict[RepositoryId, _Work] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._results: dict[CheckoutId, tuple[TreeId, JsonObject]] = {}
        self._not_before: dict[RepositoryId, float] = {}
        self.failures: dict[RepositoryId, str] = {}

    @property
    def absent(self) -> str | None:
        return None if self._settings.enabled else SWITCHED_OFF

    def follow(self, checkout: Checkout, published: Publication, again: bool) -> None:
        """See that the tree that the checkout shows gets its relations, and that they are verified.

        `again`: also try what failed, or had no server, when it was tried last.
        """
        step = None if self.absent else next_step(published.snapshot, again)
        if step is None or self.has_result(checkout.id, published.snapshot.tree):
            return
        work = self._working.get(checkout.repository)
        if work is not None:
            if work.checkout.id == checkout.id and work.tree != published.snapshot.tree:
                work.unwanted.set()
            return
        if asyncio.get_running_loop().time() < self._not_before.get(checkout.repository, 0.0):
            return
        work = self._working[checkout.repository] = _Work(checkout, step[0], published.snapshot.tree)
        task = asyncio.ensure_future(self._work(work, published, step[1]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def has_result(self, checkout: CheckoutId, tree: TreeId) -> bool:
        held = self._results.get(checkout)
        return held is not None and held[0] == tree

    def result(self, checkout: CheckoutId, tree: TreeId) -> JsonObject:
        """Records by family to be published for this tree; each is given once."""
        held = self._results.pop(checkout, None)
        return held[1] if held and held[0] == tree else {}

    def progress(self) -> dict[RepositoryId, JsonObject]:
        """Of the navigators that are at work."""
        begun: JsonObject = {"done": 0, "total": None}
        return {
            repository: begun | (work.progress or {}) | {"stage": STAGES[work.method]}
            for repository, work in self._working.items()
        }

    def pids(self) -> dict[RepositoryId, int | None]:
        return {repository: child.pid for repository, child in self._children.items()}

    async def remove(self, repository: RepositoryId) -> None:
        """Before the repository's folder is deleted."""
        child = self._children.pop(repository, None)
        if child:
            await child.stop()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(child.stop() for child in self._children.values()))

    async def _work(self, work: _Work, published: Publication, families: list[str]) -> None:
        repository = work.checkout.repository
        log = self._log.bind(job=work.method, repository=repository, commit=published.commit)

        def reported(_: str, value: Any) -> None:
            work.progress = value

        try:
            child = self._child(repository)
            parameters = self._parameters(work.checkout, published.snapshot, families)
            result = await child.call(work.method, parameters, reported, work.unwanted)
        except (RpcError, ChildDied, OSError) as error:
            if not (isinstance(error, RpcError) and error.code in (ErrorCode.CANCELLED, ErrorCode.MOVING)):
                self.failures[repository] = str(error)
                self._not_before[repository] = asyncio.get_running_loop().time() + RETRY_S
                log.error("relations_failed", reason=str(error))
        else:
            self.failures.pop(repository, None)
            self._results[work.checkout.id] = (TreeId(result["tree"]), result["families"])
            log.info(
                "relations",
                **{
                    family: {**record["counts"], **record["work"], "assurance": record["assurance"]}
                    for family, record in result["families"].items()
                },
            )
        finally:
            del self._working[repository]
        self._publish(work.checkout)

    def _child(self, repository: RepositoryId) -> Supervisor:
        child = self._children.get(repository)
        if child is None:
            log = self._log.bind(repository=repository)
            child = Supervisor("nibd.daemon.navigator", log, idle_s=self._settings.idle_seconds)
            self._children[repository] = child
        return child

    def _parameters(self, checkout: Checkout, snapshot: Snapshot, families: list[str]) -> JsonObject:
        folders = [self._settings.servers] if self._settings.servers else []
        return Job(
            folder=str(self._paths.repository_dir(checkout.repository)),
            work_tree=str(checkout.work_tree),
            generation=snapshot.generation,
            path=os.environ.get("PATH", ""),
            folders=[*folders, str(Path(sys.executable).parent)],
            home=str(Path.home()),
            families=families,
        ).as_params()


def next_step(snapshot: Snapshot, again: bool = False) -> tuple[str, list[str]] | None:
    """What is to be done for the snapshot's relations: make them, verify some families, or nothing."""
    untried = {State.BUILDING, State.FAILED, State.ABSENT} if again else {State.BUILDING}
    records = snapshot.relations
    families = families_of(snapshot.views[View.STRUCTURAL].counts)
    if any(family not in records or records[family].state in untried for family in families):
        return "relate", families
    repaired = [family for family in families if _is_repaired(records[family])]
    return ("verify", repaired) if repaired else None


def _is_repaired(record: ViewRecord) -> bool:
    return record.state is State.READY and record.assurance is Assurance.REPAIRED
