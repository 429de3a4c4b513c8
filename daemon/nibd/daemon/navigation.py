"""The daemon's side of the navigators: when each runs, what it is asked, and what came of it.

A repository has one navigator at most, started when its checkout shows a tree whose relations are not made.
First the relations of that tree are made, then verified; each result, and each part of a first build, waits
here until the indexer has published it. A newer tree makes what is asked unwanted: what was verified by then
is asked again later. (The navigator goes on with a build from nothing, whose end is the newer tree's base.)

What failed is tried again after a pause, as `pauses` has it. When relations.db was damaged, or what a
snapshot names is gone from it, relations are *lost* and made anew. What only dropped snapshots held is
collected when a navigator has nothing else to do; one is started for that when there is much of it.

Questions (`ask`) go to the same navigator, which answers them beside its work. When it has had nothing else
to do for some seconds, and its servers are still there, verified relations that are due for it are audited by
a fresh server (`audit`), and then it measures how far static answers equal live ones (`agree`), once for each
tree; anything else ends that.

What a checkout has installed is looked up by the navigator before each of its works, and once when it has
nothing else to do. After that the daemon compares the stamps of a few files now and then, since a navigator
that is asked would never be idle. When one differs the navigator looks again, and relations that were made
with other dependencies, or by another server, are made anew. An install that seems to run is waited for.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from nibd.daemon.indexer import DAMAGED
from nibd.daemon.live_wire import Ask
from nibd.daemon.navigation_steps import Step, as_of_now, failing, is_unmeasured, lacks_answers, next_step
from nibd.daemon.navigator import RELATIONS_DAMAGED, SERVER_FAILED, Job
from nibd.daemon.paths import Paths
from nibd.daemon.pauses import Pause, Pauses
from nibd.daemon.registry import Checkout
from nibd.daemon.settings import RelationsSettings
from nibd.daemon.supervisor import Supervisor
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.repair.private_tree import stamp
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Publication, Snapshot, ViewRecord, decode_view
from nibd.stores.types import CheckoutId, RepositoryId, State, TreeId

MOVING_S = 1.0
LATER_S = 6.0
"""After this an install that was at work may have ended: what changed is quiet then."""
ANSWER_S = 0.5
"""What an answer may take beyond its asker's patience: the navigator says best what kept it."""
MOST_TRIES = 3
"""So often a server that ends, or leaves sites unanswered, is tried at one tree."""
LACKING = "lacking"
"""The kind of failure of relations that were made and lack answers, or could not be made."""
LASTING_TRIES = 3
"""After so many failures in a row something need not come soon by itself."""
COLLECT_RUNNING, COLLECT_STARTING = 8, 64
"""So many dropped snapshots make a collection worth a navigator's time, or worth starting one."""
SWITCHED_OFF = "switched off by the settings ([relations] enabled)"

AGREE_AFTER_S = 3.0
"""Of quiet, before an audit, or before agreement is measured: a series of commits is not to be in its way."""

STAGES = {"relate": "relations", "verify": "relations again", "audit": "audit", "agree": "agreement"}

WORKS = frozenset({"relate", "verify"})
"""What a snapshot's relations come from."""
IDLE = frozenset({"audit", "agree", "collect"})
"""What is done when there is nothing else to do, and given up for anything else."""

Publish = Callable[[Checkout], None]
Damaged = Callable[[Checkout, str], None]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a navigator found installed for a tree, as its `Result` has it."""

    tree: TreeId
    profiles: Mapping[str, str | None]
    missing: Mapping[str, str]
    """By family, why it has no server."""
    watched: Mapping[str, str]
    servers: frozenset[str]
    """The families whose servers ran then."""
    audits: tuple[str, ...]
    """Those that are due for an audit."""

    def is_outdated(self) -> bool:
        """Whether some of it has changed on disk."""
        return any(stamp(path) != found for path, found in self.watched.items())


@dataclass(frozen=True, slots=True)
class Lost:
    """Why relations can't be read, and whether what is stored of them is to be discarded."""

    reason: str
    discard: bool


class _Work:
    """What a navigator is doing for a checkout."""

    def __init__(self, checkout: Checkout, method: str, tree: TreeId) -> None:
        self.checkout = checkout
        self.method = method
        self.tree = tree
        self.unwanted = asyncio.Event()
        self.others: dict[CheckoutId, Checkout] = {}
        """Those that wanted the navigator meanwhile."""
        self.is_forgotten = False
        """Whether its checkout was removed meanwhile."""
        self.progress: JsonObject | None = None


class Navigation:
    """All of it on one event loop.

    `publish(checkout)` is called when something was done for a checkout, which may have given a result;
    `damaged(checkout, reason)` when stores were found damaged that are not the navigator's own.
    """

    def __init__(
        self,
        settings: RelationsSettings,
        paths: Paths,
        log: structlog.stdlib.BoundLogger,
        publish: Publish,
        damaged: Damaged,
        compare_s: float,
    ) -> None:
        """What is installed is compared every `compare_s` seconds, if `follow` is called as often."""
        self._settings = settings
        self._compare_s = compare_s
        self._paths = paths
        self._log = log
        self._publish = publish
        self._damaged = damaged
        self._children: dict[RepositoryId, Supervisor] = {}
        self._working: dict[RepositoryId, _Work] = {}
        self._tasks: set[asyncio.Future[None]] = set()
        self._asking: set[asyncio.Future[Any]] = set()
        self._results: dict[CheckoutId, tuple[TreeId, JsonObject]] = {}
        self._pauses = Pauses()
        self._garbage: Counter[RepositoryId] = Counter()
        self._seen: dict[CheckoutId, _Seen] = {}
        self._quiet_at: dict[RepositoryId, float] = {}
        self._measured: dict[CheckoutId, TreeId] = {}
        """The trees whose agreement was measured, or could not be."""
        self._audited: dict[CheckoutId, TreeId] = {}
        """The trees that were audited, or could not be."""
        self._compared: dict[CheckoutId, float] = {}
        self.lost: dict[RepositoryId, Lost] = {}
        self.failures: dict[CheckoutId, str] = {}
        """Why the last work for a checkout failed."""
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
        pause = self._pauses.of(checkout.id, tree)
        again = again or (pause is not None and pause.is_over)
        lost = self._has_lost(checkout, published.snapshot)
        step = next_step(published.snapshot, again, known.profiles if known else None, lost)
        if step is None:
            self._compare(checkout, known)
            step = self._in_quiet(checkout, published, known) if known else None
        if step is None:
            self._collect_when_due(checkout, published.snapshot)
            return
        work = self._working.get(checkout.repository)
        if work is not None:
            if work.method in IDLE or (work.checkout.id == checkout.id and work.tree != tree):
                work.unwanted.set()
            if work.checkout.id != checkout.id:
                work.others[checkout.id] = checkout
        elif pause is not None and not again:
            self._compare(checkout, pause)
        else:
            self._pauses.begun(checkout.id)
            self._begin(_Work(checkout, step[0], tree), published.snapshot, step[1], published.commit)

    def resume(self, checkout: CheckoutId) -> None:
        """What failed is to be tried as for the first time."""
        self._pauses.end(checkout)

    def lose(self, repository: RepositoryId, reason: str, *, discard: bool) -> None:
        """Relations can't be read: have them made anew, from nothing stored if it is to be discarded."""
        before = self.lost.get(repository)
        self.lost[repository] = Lost(reason, discard or (before is not None and before.discard))

    def is_settled(self, checkout: Checkout, snapshot: Snapshot) -> bool:
        """Whether nothing more will come soon of the relations of the snapshot, which the checkout shows."""
        work = self._working.get(checkout.repository)
        if work is not None and work.checkout.id == checkout.id and work.method in WORKS:
            return False
        if self.has_result(checkout.id, snapshot.tree) or self.waiting.get(checkout.id):
            return False
        times = self._pauses.times(checkout.id, snapshot.tree)
        if times:
            return times >= LASTING_TRIES
        seen = self._seen.get(checkout.id)
        profiles = seen.profiles if seen and seen.tree == snapshot.tree else None
        return next_step(snapshot, profiles=profiles) in (None, ("look", []))

    def retired(self, checkout: Checkout, snapshot: Snapshot, snapshots: int, *, all_rows: bool) -> None:
        """So many snapshots were dropped: what only they held is to be collected when it is worth it.

        `all_rows`: it is worth it now. `snapshot` is what the checkout shows.
        """
        self._garbage[checkout.repository] += COLLECT_STARTING if all_rows else snapshots
        self._collect_when_due(checkout, snapshot)

    def _in_quiet(self, checkout: Checkout, published: Publication, seen: _Seen) -> Step | None:
        """Whether to audit, or to measure agreement, now: see the module."""
        is_quiet = asyncio.get_running_loop().time() >= self._quiet_at.get(checkout.repository, 0.0)
        if checkout.repository in self._working or not is_quiet:
            return None
        if seen.audits and self._audited.get(checkout.id) != seen.tree:
            return "audit", list(seen.audits)
        if self._measured.get(checkout.id) == seen.tree:
            return None
        relations = published.snapshot.relations
        families = [family for family in seen.servers if is_unmeasured(relations.get(family), seen.tree)]
        return ("agree", sorted(families)) if families else None

    def has_result(self, checkout: CheckoutId, tree: TreeId) -> bool:
        held = self._results.get(checkout)
        return held is not None and held[0] == tree

    def result(self, checkout: CheckoutId, tree: TreeId) -> JsonObject:
        """Records by family to be published for this tree. They stay until `taken`: a job may fail."""
        held = self._results.get(checkout)
        return dict(held[1]) if held and held[0] == tree else {}

    def taken(self, checkout: CheckoutId, records: JsonObject) -> None:
        """These were published, or came too late for that; what came after them stays."""
        tree, held = self._results.get(checkout, (None, {}))
        left = {family: record for family, record in held.items() if records.get(family) != record}
        if tree is not None and left:
            self._results[checkout] = (tree, left)
        else:
            self._results.pop(checkout, None)

    def progress(self) -> dict[RepositoryId, JsonObject]:
        """Of the navigators that are at work."""
        begun: JsonObject = {"done": 0, "total": None}
        return {
            repository: begun | (work.progress or {}) | {"stage": STAGES[work.method]}
            for repository, work in self._working.items()
            if work.method in STAGES
        }

    def now(self, checkout: CheckoutId, family: str, record: ViewRecord) -> ViewRecord:
        """The record of a family's relations, which may be of another day, with what is installed now."""
        if self.absent:
            return replace(record, reason=self.absent) if record.state is State.ABSENT else record
        seen = self._seen.get(checkout)
        looked = seen is not None and family in seen.profiles
        return as_of_now(record, looked=looked, missing=seen.missing.get(family) if seen else None)

    def pids(self) -> dict[RepositoryId, int | None]:
        return {repository: child.pid for repository, child in self._children.items()}

    async def ask(self, checkout: Checkout, snapshot: Snapshot, ask: Ask) -> Any:
        """What a language server says now of the snapshot's tree (`found`, see `live_wire`), and which does.

        Starts the navigator, and the server, where none runs; what was begun goes on when the patience of
        `ask` is at its end. Raises RpcError.
        """
        patience_s = ask.scope.patience_s
        if self.absent:
            raise RpcError(ErrorCode.VIEW_ABSENT, f"there are no live answers: {self.absent}")
        job = self._parameters(checkout, snapshot, [])
        call = self._child(checkout.repository).call("ask", {"job": job, "ask": ask.as_params()})
        task = asyncio.ensure_future(call)
        self._asking.add(task)
        task.add_done_callback(self._asked)
        done, _ = await asyncio.wait([task], timeout=patience_s + ANSWER_S)
        if not done:
            raise RpcError(ErrorCode.TIMEOUT, f"the navigator did not answer in {patience_s:g} s")
        try:
            answer = task.result()
        except (ChildDied, OSError) as error:
            raise RpcError(ErrorCode.VIEW_NOT_READY, f"the navigator ended; ask again: {error}") from error
        if answer["tree"] != snapshot.tree:
            raise RpcError(ErrorCode.MOVING, "the language servers hold another tree; ask again")
        return answer

    def _asked(self, task: asyncio.Future[Any]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # who asked has it, or has lost patience

    def job(self, checkout: Checkout, snapshot: Snapshot) -> JsonObject:
        """What a navigator of the checkout would be sent, for who does its work aside."""
        return self._parameters(checkout, snapshot, [])

    def forget(self, checkout: Checkout) -> None:
        """A checkout was removed: nothing is done for it any more, and nothing known of it."""
        for known in (self._results, self._seen, self._compared, self._measured, self._audited):
            known.pop(checkout.id, None)
        self.failures.pop(checkout.id, None)
        self.waiting.pop(checkout.id, None)
        self._pauses.end(checkout.id)
        work = self._working.get(checkout.repository)
        if work is not None and work.checkout.id == checkout.id:
            work.is_forgotten = True
            work.unwanted.set()

    async def remove(self, repository: RepositoryId) -> None:
        """Before the repository's folder is deleted, and after its checkouts were forgotten."""
        # All before the first await: the repository may be added again meanwhile.
        self._working.pop(repository, None)
        self._garbage.pop(repository, None)
        self._quiet_at.pop(repository, None)
        self.lost.pop(repository, None)
        child = self._children.pop(repository, None)
        if child:
            await child.stop()

    async def stop(self) -> None:
        for task in (*self._tasks, *self._asking):
            task.cancel()
        await asyncio.gather(*(child.stop() for child in self._children.values()))

    def _begin(self, work: _Work, snapshot: Snapshot, families: list[str], commit: str = "") -> None:
        self._working[work.checkout.repository] = work
        self._spawn(self._work(work, snapshot, families, commit))

    async def _work(self, work: _Work, snapshot: Snapshot, families: list[str], commit: str) -> None:
        repository = work.checkout.repository
        log = self._log.bind(job=work.method, repository=repository, tree=work.tree)

        def reported(what: str, value: Any) -> None:
            if what == "part" and self._is_wanted(work):
                waiting = self.result(work.checkout.id, work.tree)
                self._results[work.checkout.id] = (work.tree, waiting | {value["family"]: value["record"]})
                self._publish(work.checkout)
            elif what != "part":
                work.progress = value

        try:
            child = self._child(repository)
            lost = self.lost.get(repository)
            discard = work.method == "relate" and lost is not None and lost.discard
            parameters = self._parameters(work.checkout, snapshot, families, commit, discard=discard)
            result = await child.call(work.method, parameters, reported, work.unwanted)
        except (RpcError, ChildDied, OSError) as error:
            if self._is_wanted(work):
                self._failed(work, error, log)
        else:
            if self._is_wanted(work):
                self._succeeded(work, result, log)
            if work.method in ("look", "collect") and not result["servers"]:
                await child.rest_if_unused()  # else it would stay for nothing
        finally:
            if self._working.get(repository) is work:
                del self._working[repository]
        for checkout in (work.checkout, *work.others.values()):
            self._publish(checkout)

    def _is_wanted(self, work: _Work) -> bool:
        """Whether its checkout was not removed meanwhile, and perhaps added again."""
        return self._working.get(work.checkout.repository) is work and not work.is_forgotten

    def _failed(
        self, work: _Work, error: RpcError | ChildDied | OSError, log: structlog.stdlib.BoundLogger
    ) -> None:
        checkout = work.checkout
        code, data = (error.code, error.data) if isinstance(error, RpcError) else (None, None)
        if code == ErrorCode.CANCELLED:
            if work.method == "collect":
                self._garbage[checkout.repository] += COLLECT_RUNNING
            if work.method in IDLE:  # what ended it comes first
                self._be_quiet(checkout)
            return
        if code == ErrorCode.MOVING:
            # Another tree is being published; the next look asks again, but not at once.
            self._pauses.wait(checkout.id, work.tree, MOVING_S)
            self._look_again(checkout, MOVING_S)
            return
        log.error("relations_failed", reason=str(error))
        if data == RELATIONS_DAMAGED:
            self.lose(checkout.repository, str(error), discard=False)  # the navigator has done that
        elif data == DAMAGED:
            self._damaged(checkout, str(error))
        elif work.method in IDLE:  # of no consequence to the relations themselves
            done = {"audit": self._audited, "agree": self._measured}.get(work.method)
            if done is not None:  # it is not tried again at this tree
                done[checkout.id] = work.tree
            return
        self.failures[checkout.id] = str(error)
        most = MOST_TRIES if data == SERVER_FAILED else math.inf
        watched = {str(folder): stamp(folder) for folder in self._program_folders()}
        kind = f"{type(error).__name__} {code} {data}"
        self._look_again(checkout, self._pauses.failed(checkout.id, work.tree, kind, watched, most))

    def _succeeded(self, work: _Work, result: JsonObject, log: structlog.stdlib.BoundLogger) -> None:
        checkout = work.checkout
        if work.method == "collect":
            log.info("relations_collected", **result["rows"])
            return
        self.failures.pop(checkout.id, None)
        if work.method == "agree":
            self._measured[checkout.id] = work.tree
        if work.method == "audit":
            self._audited[checkout.id] = work.tree
        if result["put_off"]:
            log.info("audit_put_off", reasons=result["put_off"])
        if result["unmeasured"]:
            log.info("agreement_put_off", reasons=result["unmeasured"])
        if work.method == "relate":
            self.lost.pop(checkout.repository, None)
        self._note(checkout, result)
        if result["later"]:
            log.info("relations_later", reasons=result["later"])
        records = {family: decode_view(record) for family, record in result["families"].items()}
        log.info(
            "relations",
            **{
                family: {**record.counts, **record.work, "assurance": record.assurance}
                for family, record in records.items()
            },
        )
        why = failing(records.values())
        if why:
            seconds = self._pauses.failed(checkout.id, work.tree, LACKING, {}, MOST_TRIES)
            log.warning("relations_lack", reason=why, tried_again_after_s=seconds)
            self._look_again(checkout, seconds)
        elif work.method in WORKS and not result["later"] and not any(map(lacks_answers, records.values())):
            self._pauses.end(checkout.id)

    def _look_again(self, checkout: Checkout, seconds: float) -> None:
        if seconds < math.inf:
            asyncio.get_running_loop().call_later(seconds + 0.1, self._publish, checkout)

    def _be_quiet(self, checkout: Checkout) -> None:
        """Neither audit nor measure agreement for some seconds; then look whether to."""
        self._quiet_at[checkout.repository] = asyncio.get_running_loop().time() + AGREE_AFTER_S
        self._look_again(checkout, AGREE_AFTER_S)

    def _note(self, checkout: Checkout, result: JsonObject) -> None:
        """Keep what a navigator answered."""
        tree = TreeId(result["tree"])
        if result["families"]:
            self._results[checkout.id] = (tree, result["families"])
        self.waiting[checkout.id] = result["later"]
        if result["later"]:
            self._seen.pop(checkout.id, None)
            self._pauses.wait(checkout.id, tree, LATER_S)
            self._look_again(checkout, LATER_S)
        else:
            servers = frozenset(result["servers"])
            audits = tuple(result["audits"])
            profiles, missing, watched = (result[key] for key in ("profiles", "missing", "watched"))
            self._seen[checkout.id] = _Seen(tree, profiles, missing, watched, servers, audits)
            self._compared[checkout.id] = asyncio.get_running_loop().time()
            if servers:
                self._be_quiet(checkout)

    def _has_lost(self, checkout: Checkout, snapshot: Snapshot) -> bool:
        """Whether what the snapshot says of relations is not there any more, as far as it is known."""
        if checkout.repository in self.lost:
            return True
        if not snapshot.resolutions() or self._relations(checkout).exists():
            return False
        self.lose(checkout.repository, "relations.db was removed", discard=False)
        return True

    def _relations(self, checkout: Checkout) -> Path:
        return RepositoryFolder(self._paths.repository_dir(checkout.repository)).relations

    def _collect_when_due(self, checkout: Checkout, snapshot: Snapshot) -> None:
        """Collect, if there is something worth it and nothing else to do."""
        repository = checkout.repository
        child = self._children.get(repository)
        due = COLLECT_RUNNING if child is not None and child.pid is not None else COLLECT_STARTING
        if repository in self._working or self._garbage[repository] < due:
            return
        del self._garbage[repository]
        if self._relations(checkout).exists():
            self._begin(_Work(checkout, "collect", snapshot.tree), snapshot, [])

    def _compare(self, checkout: Checkout, known: _Seen | Pause | None) -> None:
        """See whether something was installed, unless that was done a moment ago."""
        now = asyncio.get_running_loop().time()
        if known and now >= self._compared.get(checkout.id, 0.0) + self._compare_s:
            self._compared[checkout.id] = now
            self._spawn(self._compared_with(checkout, known))

    async def _compared_with(self, checkout: Checkout, known: _Seen | Pause) -> None:
        if not await asyncio.to_thread(known.is_outdated):
            return
        if self._seen.get(checkout.id) is known:
            del self._seen[checkout.id]
        elif self._pauses.of(checkout.id, known.tree) is known:
            self._pauses.end(checkout.id)
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

    def _program_folders(self) -> list[Path]:
        """Where a server may appear, or another version of one."""
        path = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder[:1] == "/"]
        return [*server_folders(self._settings), *path]

    def _parameters(
        self,
        checkout: Checkout,
        snapshot: Snapshot,
        families: list[str],
        commit: str = "",
        *,
        discard: bool = False,
    ) -> JsonObject:
        return Job(
            folder=str(self._paths.repository_dir(checkout.repository)),
            work_tree=str(checkout.work_tree),
            generation=snapshot.generation,
            tree=snapshot.tree,
            path=os.environ.get("PATH", ""),
            folders=[str(folder) for folder in server_folders(self._settings)],
            home=str(Path.home()),
            go_modules=str(_go_modules(os.environ)),
            cargo_home=os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo"),
            rustup_home=os.environ.get("RUSTUP_HOME", ""),
            families=families,
            commit=commit,
            discard=discard,
            audit_transitions=self._settings.audit_transitions,
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
