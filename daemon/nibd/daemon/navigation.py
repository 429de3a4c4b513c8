"""The daemon's side of the navigators: when each runs, what it is asked, and what came of it.

A repository has one navigator at most, started when its checkout shows a tree whose relations are not made.
First the relations of that tree are made, then verified; each result waits here until the indexer has
published it. A newer tree makes what is asked unwanted: what was verified by then is asked again later.

What a checkout has installed is looked up by the navigator before each of its works, and once when it has
nothing else to do. After that the daemon compares the stamps of a few files now and then, since a navigator
that is asked would never be idle. When one differs the navigator looks again, and relations that were made
with other dependencies, or by another server, are made anew. An install that seems to run is waited for.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
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
from nibd.repair.private_tree import stamp
from nibd.repair.relations.families import families_of
from nibd.stores.snapshot import Publication, Snapshot, ViewRecord
from nibd.stores.types import Assurance, CheckoutId, RepositoryId, State, TreeId, View

RETRY_S = 60.0
MOVING_S = 1.0
LATER_S = 6.0
"""After this an install that was at work may have ended: what changed is quiet then."""
SWITCHED_OFF = "switched off by the settings ([relations] enabled)"

STAGES = {"relate": "relations", "verify": "relations again"}

Publish = Callable[[Checkout], None]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a navigator found installed for a tree, as its `Result` has it."""

    tree: TreeId
    profiles: Mapping[str, str | None]
    watched: Mapping[str, str]

    def is_outdated(self) -> bool:
        """Whether some of it has changed on disk."""
        return any(stamp(path) != found for path, found in self.watched.items())


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
        compare_s: float,
    ) -> None:
        """What is installed is compared every `compare_s` seconds, if `follow` is called as often."""
        self._settings = settings
        self._compare_s = compare_s
        self._paths = paths
        self._log = log
        self._publish = publish
        self._children: dict[RepositoryId, Supervisor] = {}
        self._working: dict[RepositoryId, _Work] = {}
        self._tasks: set[asyncio.Future[None]] = set()
        self._results: dict[CheckoutId, tuple[TreeId, JsonObject]] = {}
        self._not_before: dict[RepositoryId, float] = {}
        self._seen: dict[CheckoutId, _Seen] = {}
        self._compared: dict[CheckoutId, float] = {}
        self.failures: dict[RepositoryId, str] = {}
        self.waiting: dict[CheckoutId, Mapping[str, str]] = {}
        """By family, why the relations of a checkout's tree are not made yet."""

    @property
    def absent(self) -> str | None:
        return None if self._settings.enabled else SWITCHED_OFF

    def follow(self, checkout: Checkout, published: Publication, again: bool) -> None:
        """See that the tree that the checkout shows gets its relations, and that they are verified.

        `again`: also try what failed, or had no server, when it was tried last.
        """
        tree = published.snapshot.tree
        if self.absent:
            return
        if self.has_result(checkout.id, tree):
            # Again: what came while the one before it was being published was not wanted then.
            self._publish(checkout)
            return
        seen = self._seen.get(checkout.id)
        known = seen if seen and seen.tree == tree else None
        step = next_step(published.snapshot, again, known.profiles if known else None)
        if step is None and known:
            self._compare(checkout, known)
        if step is None:
            return
        work = self._working.get(checkout.repository)
        if work is not None:
            if work.checkout.id == checkout.id and work.tree != tree:
                work.unwanted.set()
            return
        if asyncio.get_running_loop().time() < self._not_before.get(checkout.repository, 0.0):
            return
        work = self._working[checkout.repository] = _Work(checkout, step[0], tree)
        self._spawn(self._work(work, published, step[1]))

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
            if work.method in STAGES
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
            if isinstance(error, RpcError) and error.code == ErrorCode.MOVING:
                # Another tree is being published; the next look asks again, but not at once.
                self._pause(work.checkout, MOVING_S)
            elif not (isinstance(error, RpcError) and error.code == ErrorCode.CANCELLED):
                self.failures[repository] = str(error)
                self._pause(work.checkout, RETRY_S)
                log.error("relations_failed", reason=str(error))
        else:
            self.failures.pop(repository, None)
            self._note(work.checkout, result)
            if result["later"]:
                log.info("relations_later", reasons=result["later"])
            log.info(
                "relations",
                **{
                    family: {**record["counts"], **record["work"], "assurance": record["assurance"]}
                    for family, record in result["families"].items()
                },
            )
            if work.method == "look" and not result["servers"]:
                await child.rest()  # else it would stay for nothing
        finally:
            del self._working[repository]
        self._publish(work.checkout)

    def _pause(self, checkout: Checkout, seconds: float) -> None:
        """Ask nothing about the repository for so long, then look again."""
        loop = asyncio.get_running_loop()
        self._not_before[checkout.repository] = loop.time() + seconds
        loop.call_later(seconds + 0.1, self._publish, checkout)

    def _note(self, checkout: Checkout, result: JsonObject) -> None:
        """Keep what a navigator answered."""
        tree, loop = TreeId(result["tree"]), asyncio.get_running_loop()
        if result["families"]:
            self._results[checkout.id] = (tree, result["families"])
        self.waiting[checkout.id] = result["later"]
        if result["later"]:
            self._seen.pop(checkout.id, None)
            self._not_before[checkout.repository] = loop.time() + LATER_S
            loop.call_later(LATER_S, self._publish, checkout)
        else:
            self._seen[checkout.id] = _Seen(tree, result["profiles"], result["watched"])
            self._compared[checkout.id] = loop.time()

    def _compare(self, checkout: Checkout, seen: _Seen) -> None:
        """See whether something was installed, unless that was done a moment ago."""
        now = asyncio.get_running_loop().time()
        if now >= self._compared.get(checkout.id, 0.0) + self._compare_s:
            self._compared[checkout.id] = now
            self._spawn(self._compared_with(checkout, seen))

    async def _compared_with(self, checkout: Checkout, seen: _Seen) -> None:
        if await asyncio.to_thread(seen.is_outdated) and self._seen.get(checkout.id) is seen:
            del self._seen[checkout.id]
            self._publish(checkout)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            self._log.error("task_failed", exc_info=task.exception())

    def _child(self, repository: RepositoryId) -> Supervisor:
        child = self._children.get(repository)
        if child is None:
            log = self._log.bind(repository=repository)
            child = Supervisor("nibd.daemon.navigator", log, idle_s=self._settings.idle_seconds)
            self._children[repository] = child
        return child

    def _parameters(self, checkout: Checkout, snapshot: Snapshot, families: list[str]) -> JsonObject:
        return Job(
            folder=str(self._paths.repository_dir(checkout.repository)),
            work_tree=str(checkout.work_tree),
            generation=snapshot.generation,
            path=os.environ.get("PATH", ""),
            folders=[str(folder) for folder in server_folders(self._settings)],
            home=str(Path.home()),
            go_modules=str(_go_modules(os.environ)),
            cargo_home=os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo"),
            families=families,
        ).as_params()


def server_folders(settings: RelationsSettings) -> list[Path]:
    """Where language servers are looked for before PATH."""
    chosen = [Path(settings.servers)] if settings.servers else []
    return [*chosen, Path(sys.executable).parent]


def _go_modules(environment: Mapping[str, str]) -> Path:
    """Where the go command keeps modules."""
    chosen = environment.get("GOMODCACHE")
    if chosen:
        return Path(chosen)
    first = environment.get("GOPATH", "").split(os.pathsep)[0]
    return (Path(first) if first else Path.home() / "go") / "pkg" / "mod"


def next_step(
    snapshot: Snapshot, again: bool = False, profiles: Mapping[str, str | None] | None = None
) -> tuple[str, list[str]] | None:
    """What is to be done for the snapshot's relations: make them, verify some families, or nothing.

    `profiles` are those of what is installed now; `None`: that is not known, and has to be looked up.
    """
    untried = {State.BUILDING, State.FAILED, State.ABSENT} if again else {State.BUILDING}
    records = snapshot.relations
    families = families_of(snapshot.views[View.STRUCTURAL].counts)
    if any(family not in records or records[family].state in untried for family in families):
        return "relate", families
    if profiles is not None and any(_is_other(records[family], profiles.get(family)) for family in families):
        return "relate", families
    repaired = [family for family in families if _is_repaired(records[family])]
    if repaired:
        return "verify", repaired
    return ("look", []) if profiles is None and families else None


def _is_other(record: ViewRecord, profile: str | None) -> bool:
    """Whether relations can be had with what is installed now, and these are not those."""
    if profile is None:
        return False  # their server is gone, which makes them no less right
    return record.state is State.ABSENT or (record.state is State.READY and record.profile != profile)


def _is_repaired(record: ViewRecord) -> bool:
    """Whether verification may make more of it. What a server left unanswered is asked once more so."""
    if record.state is not State.READY:
        return False
    left = record.assurance is Assurance.PARTIAL and "verify_seconds" not in record.work
    return left or record.assurance is Assurance.REPAIRED
