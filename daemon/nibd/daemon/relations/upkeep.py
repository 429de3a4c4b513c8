"""Seeing that what each checkout shows gets its relations: when a navigator works, and what came of it.

A repository's navigator is started when its checkout shows a tree whose relations are not made. First the
relations of that tree are made, then verified; each result, and each part of a first build, waits in
`unpublished` until the indexer has published it. A newer tree makes what is asked unwanted: what was verified
by then is asked again later. (The navigator goes on with a build from nothing, whose end is the newer tree's
base.) Questions go to the same navigator, which answers them beside its work.

What failed is tried again after a pause. When relations.db was damaged, or what a snapshot names is gone from
it, relations are *lost* and made anew.

What a checkout has installed is looked up by the navigator before each of its works, and once when it has
nothing else to do. When something was installed the navigator looks again, and relations that were made with
other dependencies, or by another server, are made anew. An install that seems to run is waited for.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from nibd.daemon.child_jobs import DAMAGED
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout
from nibd.daemon.relations.failures import WORKS, Failures
from nibd.daemon.relations.idle import COLLECT_RUNNING, COLLECT_STARTING, IDLE, QUIET_S, IdleWork
from nibd.daemon.relations.installed import Installed, Seen, have_changed, stamps
from nibd.daemon.relations.losses import Losses, Lost
from nibd.daemon.relations.navigator_job import RELATIONS_DAMAGED, SERVER_FAILED
from nibd.daemon.relations.navigators import Navigators
from nibd.daemon.relations.pauses import Pause, Pauses
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.daemon.relations.steps import as_of_now, failing, lacks_answers, next_step
from nibd.daemon.relations.unpublished import Unpublished
from nibd.daemon.settings import RelationsSettings
from nibd.daemon.tasks import Tasks
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Publication, Snapshot, ViewRecord, decode_view
from nibd.stores.types import CheckoutId, RepositoryId, State, TreeId

MOVING_S = 1.0
LATER_S = 6.0
"""After this an install that was at work may have ended: what changed is quiet then."""
MOST_TRIES = 3
"""So often a server that ends, or leaves sites unanswered, is tried at one tree."""
LACKING = "lacking"
"""The kind of failure of relations that were made and lack answers, or could not be made."""
LASTING_TRIES = 3
"""After so many failures in a row something need not come soon by itself."""

STAGES = {"relate": "relations", "verify": "relations again", "audit": "audit", "agree": "agreement"}

Publish = Callable[[Checkout], None]
Damaged = Callable[[Checkout, str], None]


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


class Upkeep:
    """All of it on one event loop.

    `publish(checkout)` is called when something was done for a checkout, which may have given a result;
    `damaged(checkout, reason)` when stores were found damaged that are not the navigator's own.
    """

    def __init__(
        self,
        settings: RelationsSettings,
        places: ServerPlaces,
        paths: Paths,
        log: structlog.stdlib.BoundLogger,
        publish: Publish,
        damaged: Damaged,
        compare_s: float,
    ) -> None:
        """What is installed is compared every `compare_s` seconds, if `follow` is called as often."""
        self.navigators = Navigators(settings, places, paths, log)
        self.unpublished = Unpublished()
        self.losses = Losses()
        self.failures = Failures()
        self._settings = settings
        self._places = places
        self._paths = paths
        self._log = log
        self._publish = publish
        self._damaged = damaged
        self._working: dict[RepositoryId, _Work] = {}
        self._tasks = Tasks(log)
        self._pauses = Pauses()
        self._installed = Installed(compare_s)
        self._idle = IdleWork()
        self.waiting: dict[CheckoutId, Mapping[str, str]] = {}
        """By family, why the relations of a checkout's tree are not made yet."""

    # What is to be done

    def follow(self, checkout: Checkout, published: Publication, again: bool) -> None:
        """See that the tree that the checkout shows gets its relations, and that they are verified.

        `again`: also try what failed, or had no server, when it was tried last.
        """
        snapshot, tree = published.snapshot, published.snapshot.tree
        if self._settings.absent:
            return
        if self.unpublished.has(checkout.id, tree):
            # Again: what came while the one before it was being published was not wanted then.
            self._publish(checkout)
            return
        known = self._installed.at(checkout.id, tree)
        pause = self._pauses.of(checkout.id, tree)
        again = again or (pause is not None and pause.is_over)
        lost = self._has_lost(checkout, snapshot)
        step = next_step(snapshot, again, known.profiles if known else None, lost)
        if step is None and known:
            self._compare(checkout, known)
            if checkout.repository not in self._working:
                step = self._idle.step(checkout.repository, checkout.id, snapshot, known, self._now())
        if step is None:
            self._collect_when_due(checkout, snapshot)
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
            self._begin(_Work(checkout, step[0], tree), snapshot, step[1], published.commit)

    def resume(self, checkout: CheckoutId) -> None:
        """What failed is to be tried as for the first time."""
        self._pauses.end(checkout)

    def retired(self, checkout: Checkout, snapshot: Snapshot, snapshots: int, *, all_rows: bool) -> None:
        """So many snapshots were dropped: what only they held is to be collected when it is worth it.

        `all_rows`: it is worth it now. `snapshot` is what the checkout shows.
        """
        self._idle.dropped(checkout.repository, COLLECT_STARTING if all_rows else snapshots)
        self._collect_when_due(checkout, snapshot)

    def forget(self, checkout: Checkout) -> None:
        """A checkout was removed: nothing is done for it any more, and nothing known of it."""
        self.unpublished.forget(checkout.id)
        self._installed.forget(checkout.id)
        self._idle.forget(checkout.id)
        self.failures.forget(checkout.id)
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
        self._idle.remove(repository)
        self.losses.remove(repository)
        await self.navigators.remove(repository)

    async def stop(self) -> None:
        await asyncio.gather(self._tasks.stop(), self.navigators.stop())

    # What is told

    def is_settled(self, checkout: Checkout, snapshot: Snapshot) -> bool:
        """Whether nothing more will come soon of the relations of the snapshot, which the checkout shows."""
        work = self._working.get(checkout.repository)
        if work is not None and work.checkout.id == checkout.id and work.method in WORKS:
            return False
        if self.unpublished.has(checkout.id, snapshot.tree) or self.waiting.get(checkout.id):
            return False
        times = self._pauses.times(checkout.id, snapshot.tree)
        if times:
            return times >= LASTING_TRIES
        seen = self._installed.at(checkout.id, snapshot.tree)
        return next_step(snapshot, profiles=seen.profiles if seen else None) in (None, ("look", []))

    def is_making(self, checkout: Checkout, tree: TreeId) -> bool:
        """Whether the relations of a tree that the checkout shows are being made right now."""
        work = self._working.get(checkout.repository)
        if work is None or work.method != "relate":
            return False
        return work.checkout.id == checkout.id and work.tree == tree

    def is_outdated(self, checkout: Checkout, snapshot: Snapshot) -> bool:
        """Whether the relations that the snapshot names are lost, or made anew and not published yet."""
        is_lost = self.losses.of(checkout.repository) is not None
        return is_lost or self.unpublished.has(checkout.id, snapshot.tree)

    def remade(self, checkout: Checkout, snapshot: Snapshot) -> int | None:
        """For `Losses`, before the snapshot's relations are read; `None` when they are outdated."""
        return None if self.is_outdated(checkout, snapshot) else self.losses.remade(checkout.repository)

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
        if self._settings.absent:
            return replace(record, reason=self._settings.absent) if record.state is State.ABSENT else record
        seen = self._installed.newest(checkout)
        looked = seen is not None and family in seen.profiles
        return as_of_now(record, looked=looked, missing=seen.missing.get(family) if seen else None)

    # Work, and what came of it

    def _begin(self, work: _Work, snapshot: Snapshot, families: list[str], commit: str = "") -> None:
        self._working[work.checkout.repository] = work
        self._tasks.spawn(self._work(work, snapshot, families, commit))

    async def _work(self, work: _Work, snapshot: Snapshot, families: list[str], commit: str) -> None:
        repository = work.checkout.repository
        log = self._log.bind(job=work.method, repository=repository, tree=work.tree)

        def reported(what: str, value: Any) -> None:
            if what == "part" and self._is_wanted(work):
                self.unpublished.add(work.checkout.id, work.tree, {value["family"]: value["record"]})
                self._publish(work.checkout)
            elif what != "part":
                work.progress = value

        try:
            lost = self.losses.of(repository)
            discard = work.method == "relate" and lost is not None and lost.discard
            job = self.navigators.job(work.checkout, snapshot, families, commit, discard=discard)
            result = await self.navigators.work(repository, work.method, job, reported, work.unwanted)
        except (RpcError, ChildDied, OSError) as error:
            if self._is_wanted(work):
                self._failed(work, error, log)
        else:
            if self._is_wanted(work):
                self._succeeded(work, result, lost, log)
            if work.method in ("look", "collect") and not result["servers"]:
                await self.navigators.rest_if_unused(repository)  # else it would stay for nothing
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
                self._idle.dropped(checkout.repository, COLLECT_RUNNING)
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
            self.losses.lose(checkout.repository, str(error), discard=False)  # the navigator has done that
        elif data == DAMAGED:
            self._damaged(checkout, str(error))
        elif work.method in IDLE:  # of no consequence to the relations themselves
            self._idle.tried(checkout.id, work.method, work.tree)
            return
        self.failures.failed(checkout.id, work.method, work.tree, str(error))
        most = MOST_TRIES if data == SERVER_FAILED else math.inf
        watched = stamps(self._places.watched())
        kind = f"{type(error).__name__} {code} {data}"
        self._look_again(checkout, self._pauses.failed(checkout.id, work.tree, kind, watched, most))

    def _succeeded(
        self, work: _Work, result: JsonObject, lost: Lost | None, log: structlog.stdlib.BoundLogger
    ) -> None:
        """`lost`: what was when it began."""
        checkout = work.checkout
        if work.method == "collect":
            log.info("relations_collected", **result["rows"])
            return
        self.failures.succeeded(checkout.id, work.method)
        self._idle.tried(checkout.id, work.method, work.tree)
        if result["put_off"]:
            log.info("audit_put_off", reasons=result["put_off"])
        if result["unmeasured"]:
            log.info("agreement_put_off", reasons=result["unmeasured"])
        remade = lost if work.method == "relate" else None
        self.losses.made(checkout.repository, remade)
        self._note(checkout, result, remade)
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

    def _note(self, checkout: Checkout, result: JsonObject, lost: Lost | None = None) -> None:
        """Keep what a navigator answered, which was made since what is published was `lost`."""
        tree = TreeId(result["tree"])
        if result["families"]:
            self.unpublished.put(checkout.id, tree, result["families"], lost)
        self.waiting[checkout.id] = result["later"]
        if result["later"]:
            self._installed.drop(checkout.id)
            self._pauses.wait(checkout.id, tree, LATER_S)
            self._look_again(checkout, LATER_S)
        else:
            self._installed.keep(checkout.id, Seen.of(result), self._now())
            if result["servers"]:
                self._be_quiet(checkout)

    def _look_again(self, checkout: Checkout, seconds: float) -> None:
        if seconds < math.inf:
            asyncio.get_running_loop().call_later(seconds + 0.1, self._publish, checkout)

    def _be_quiet(self, checkout: Checkout) -> None:
        """No idle work for some seconds; then look whether there is some."""
        self._idle.be_quiet(checkout.repository, self._now())
        self._look_again(checkout, QUIET_S)

    def _collect_when_due(self, checkout: Checkout, snapshot: Snapshot) -> None:
        """Collect, if there is something worth it and nothing else to do."""
        repository = checkout.repository
        if repository in self._working:
            return
        is_running = self.navigators.is_running(repository)
        if self._idle.is_collection_due(repository, is_running=is_running) and self._is_stored(checkout):
            self._begin(_Work(checkout, "collect", snapshot.tree), snapshot, [])

    # What is there

    def _has_lost(self, checkout: Checkout, snapshot: Snapshot) -> bool:
        """Whether what the snapshot says of relations is not there any more, as far as it is known."""
        if self.losses.of(checkout.repository):
            return True
        if not snapshot.resolutions() or self._is_stored(checkout):
            return False
        self.losses.lose(checkout.repository, "relations.db was removed", discard=False)
        return True

    def _is_stored(self, checkout: Checkout) -> bool:
        folder: Path = self._paths.repository_dir(checkout.repository)
        return RepositoryFolder(folder).relations.exists()

    def _compare(self, checkout: Checkout, known: Seen | Pause) -> None:
        """See whether something was installed, unless that was done a moment ago."""
        if self._installed.is_comparison_due(checkout.id, self._now()):
            self._tasks.spawn(self._compared_with(checkout, known))

    async def _compared_with(self, checkout: Checkout, known: Seen | Pause) -> None:
        if not await asyncio.to_thread(have_changed, known.watched):
            return
        if self._installed.newest(checkout.id) is known:
            self._installed.drop(checkout.id)
        elif self._pauses.of(checkout.id, known.tree) is known:
            self._pauses.end(checkout.id)
        self._publish(checkout)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
