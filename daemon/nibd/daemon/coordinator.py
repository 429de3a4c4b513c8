"""The daemon's core: from hints to publications. All of it runs on one event loop.

Events are few and all mean the same question, "does the checkout show what its HEAD is?":

hint            a marker or Git directory changed (`hinted`)
timer           nobody hinted for a while (`compare_all`)
request         somebody asks and wants the truth (`look`)
registration    a checkout was added or removed (`add`, `remove`)
job's end       a repair, dense view, fold or collection succeeded, was superseded, or failed
embeddings      more texts have vectors (`embedded`)
damage          a reader found a view that is not as it was written, or gone (`damaged`)

`look` compares HEAD with what is published and asks `lanes` for what is missing. A job that fails is tried
again after a pause that grows; the reason stands in every answer until it succeeds. Nothing here computes or
reads a view: children and threads do.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import structlog

from nibd.daemon.checkout_state import CheckoutState, lacks_objects
from nibd.daemon.child_jobs import DAMAGED
from nibd.daemon.collecting import Collecting
from nibd.daemon.embedding import Embedding
from nibd.daemon.heads import HeadReader, HeadState
from nibd.daemon.indexer import VERIFY_PREFIX
from nibd.daemon.indexer import Job as IndexerJob
from nibd.daemon.lanes import Lanes, Running
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout, Registry
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.daemon.relations.upkeep import Upkeep
from nibd.daemon.scheduler import Job, Kind, Lane
from nibd.daemon.settings import Settings
from nibd.daemon.statistics import Statistics
from nibd.daemon.supervisor import Supervisor
from nibd.daemon.tasks import Tasks
from nibd.daemon.views import RepositoryViews
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.stores.relations import CorruptRelations, MissingResolution
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import CheckoutId, CommitId, RepositoryId, View

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
SETTLE_S = 0.3
"""For how long HEAD stands still before a rebase or a series of picks counts as having stopped there."""

T = TypeVar("T")


class Coordinator:
    def __init__(
        self, paths: Paths, settings: Settings, registry: Registry, log: structlog.stdlib.BoundLogger
    ) -> None:
        self.paths = paths
        self.settings = settings
        self.registry = registry
        self.statistics = Statistics()
        self.states: dict[CheckoutId, CheckoutState] = {}
        self._tasks = Tasks(log)
        self.lanes = Lanes(self, self._tasks, log)
        self.embedding = Embedding(settings.dense, paths.embeddings_db, log, self.embedded)
        self.relations = Upkeep(
            settings.relations,
            ServerPlaces.of(settings.relations, os.environ),
            paths,
            log,
            self.related,
            self._damaged_below,
            0.9 * settings.daemon.compare_interval_s,
        )
        self._views: dict[RepositoryId, RepositoryViews] = {}
        self._heads = HeadReader()
        # Git is read by one thread, since open repositories must not be shared.
        self._git = ThreadPoolExecutor(1, "nibd-git")
        self._log = log
        self._changed = asyncio.Event()
        self.on_registered: Callable[[], None] = lambda: None
        self.watch_failure: str | None = None

    # Life

    async def start(self) -> None:
        """Know the model, then every registered checkout."""
        await self.embedding.prepare()
        await asyncio.to_thread(_sweep_scratch, self.paths.repositories_dir)
        for checkout in self.registry.checkouts:
            self.states[checkout.id] = CheckoutState(checkout)
        self.compare_all()

    async def stop(self) -> None:
        """End the children; an unfinished job is begun again by the next daemon."""
        self._tasks.close()
        await asyncio.gather(self.embedding.stop(), self.relations.stop(), self.lanes.stop())
        await self._tasks.stop()
        await self.in_git(self._heads.close)
        self._git.shutdown()
        for views in self._views.values():
            views.close()

    async def in_git(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._git, function, *arguments)

    async def changed(self) -> None:
        """Wait until something that a status shows has changed."""
        await self._changed.wait()

    # Events

    def hinted(self, folders: Iterable[Path]) -> None:
        """Something happened in these folders: markers, or Git directories."""
        touched = set(folders)
        for state in list(self.states.values()):
            marker = self.paths.marker(state.checkout.repository)
            if touched & {state.checkout.git_dir, state.checkout.common_dir, marker}:
                self._tasks.spawn(self.look(state))

    def compare_all(self) -> None:
        for state in list(self.states.values()):
            self._tasks.spawn(self.look(state))

    async def add(self, checkout: Checkout) -> bool:
        """Register a checkout; whether it is new. Of a known one, what failed is tried again at once."""
        added = self.registry.add(checkout)
        if checkout.id not in self.states or added:
            self.states[checkout.id] = CheckoutState(checkout)
        self.on_registered()
        state = self.states[checkout.id]
        state.failures, state.related = 0, False
        self.relations.resume(checkout.id)
        self.lanes.release(checkout.repository)
        await self.look(state)
        return added

    async def remove(self, checkout: Checkout) -> None:
        """Forget a checkout, and with its last one the repository's views."""
        self.registry.remove(checkout.id)
        del self.states[checkout.id]
        await self.in_git(self._heads.forget, checkout.id)
        repository = checkout.repository
        self.relations.forget(checkout)
        self.lanes.scheduler.forget(repository, checkout.id)
        if self.registry.of_repository(repository):
            self.lanes.want(Job(repository, Kind.COLLECT, Lane.REPAIR))
        else:
            self.lanes.abandon(repository)
            views = self._views.get(repository)  # it stays: a collection may be at work under it
            if views:
                views.close()
            await self.relations.remove(repository)
            await self._delete_views(repository)
            await asyncio.to_thread(self.paths.marker(repository).unlink, missing_ok=True)
            if not any(other.awaits_vectors for other in self.states.values()):
                await self.embedding.abandon()
        self.on_registered()
        self.notify()

    def embedded(self, finished: bool) -> None:
        """More texts have vectors: publish what waited for them."""
        for state in self.states.values():
            if state.published and state.awaits_vectors:
                self.lanes.want(self._job(state, Kind.DENSE, state.published.commit))

    def related(self, checkout: Checkout) -> None:
        """A navigator ended its work: publish what came of it, or give it the next."""
        state = self.states.get(checkout.id)
        if state is None:
            return
        if state.published and self.relations.unpublished.has(checkout.id, state.published.snapshot.tree):
            self.lanes.want(self._job(state, Kind.RELATIONS, state.published.commit))
        else:
            self._tasks.spawn(self.look(state))
        self.notify()

    def remade(self, state: CheckoutState) -> int | None:
        """To be noted by who is about to read relations, for `relations_damaged`."""
        return self.relations.remade(state.checkout, state.published.snapshot) if state.published else None

    def relations_damaged(
        self, state: CheckoutState, error: CorruptRelations, remade: int | None, *, shown: bool = True
    ) -> None:
        """A reader found that relations can't be read: have them made anew, unless they are lost anyway.

        Those that a snapshot names which is not `shown` may just have been made anew since, for another one.
        """
        if not shown and isinstance(error, MissingResolution):
            return
        if self.relations.losses.of(state.checkout.repository) is None:
            discard = not isinstance(error, MissingResolution)
            self._lose_relations(state, str(error), remade, discard=discard)

    def relations_wrong(self, state: CheckoutState, reason: str, remade: int | None) -> None:
        """Relations that were read differ from a rebuild: have them made anew from nothing."""
        self._lose_relations(state, reason, remade, discard=True)

    def _lose_relations(
        self, state: CheckoutState, reason: str, remade: int | None, *, discard: bool
    ) -> None:
        repository = state.checkout.repository
        losses = self.relations.losses
        if remade == losses.remade(repository) and losses.lose(repository, reason, discard=discard):
            self._log.error("relations_damaged", repository=repository, reason=reason)
            self.related(state.checkout)

    def cover(self, state: CheckoutState, reason: str | None) -> None:
        """Have the trigrams that are damaged (with the reason) or lacking made; searches do without."""
        if reason:
            self._log.error("trigrams_damaged", repository=state.checkout.repository, reason=reason)
        if state.published:
            self.lanes.want(self._job(state, Kind.FOLD, state.published.commit))

    def damaged(self, state: CheckoutState, view: View, reason: str) -> None:
        """A reader found a view that is not as it was written: build it again from nothing."""
        self._log.error("view_damaged", view=view.value, repository=state.checkout.repository, reason=reason)
        state.failure = f"the {view.value} view was damaged and is being built again: {reason}"
        head = state.head
        if head and head.commit:
            self.lanes.want(self._job(state, Kind.REPAIR, head.commit, frozenset({view})))

    # What is asked

    def views(self, repository: RepositoryId) -> RepositoryViews:
        views = self._views.get(repository)
        if views is None:
            folder = RepositoryFolder(self.paths.repository_dir(repository))
            views = self._views[repository] = RepositoryViews(folder)
        return views

    def rest(self) -> None:
        """Let go of what only a busy daemon needs; called now and then."""
        for views in self._views.values():
            views.rest()

    def watched(self) -> list[Path]:
        """The Git directories in which a change is a hint."""
        checkouts = [state.checkout for state in self.states.values()]
        return sorted({folder for each in checkouts for folder in (each.git_dir, each.common_dir)})

    async def look(self, state: CheckoutState) -> HeadState:
        """Compare what the checkout stands at with what it shows, and see that the two meet."""
        checkout = state.checkout
        head, published, stamp = await self.in_git(self._read, checkout)
        if self.states.get(checkout.id) is not state:
            return head  # it was removed meanwhile
        state.published = published
        moved = state.history.observe(
            head,
            published.commit if published else None,
            published.published_at if published else None,
        )
        if moved:
            state.failures, state.failure = 0, None
            self.lanes.scheduler.release(checkout.repository)
            self.statistics.head_moved()
            self.notify()
        if moved and _in_sequence(checkout):
            # A rebase moves HEAD for each commit: what counts is where it stops.
            asyncio.get_running_loop().call_later(SETTLE_S, lambda: self._tasks.spawn(self.look(state)))
        elif head.commit and not (state.is_current and state.checked and not state.may_have_more(stamp)):
            state.checked, state.objects_stamp = True, stamp
            self.lanes.want(self._job(state, Kind.REPAIR, head.commit))
        elif published and state.is_current:
            self.relations.follow(checkout, published, again=not state.related)
            state.related = True
        return head

    async def distance(self, checkout: Checkout, old: CommitId, new: CommitId) -> int | None:
        return await self.in_git(self._heads.distance, checkout, old, new)

    def job_parameters(
        self, state: CheckoutState, commit: CommitId, discard: frozenset[View] = frozenset()
    ) -> JsonObject:
        """What a child needs to know to repair, or to verify, a checkout's views."""
        checkout = state.checkout
        return IndexerJob(
            folder=str(self.paths.repository_dir(checkout.repository)),
            work_tree=str(checkout.work_tree),
            checkout=checkout.id,
            commit=commit,
            index=asdict(self.settings.index),
            dense=asdict(self.settings.dense),
            embeddings=str(self.paths.embeddings_db),
            dense_profile=self.embedding.profile,
            dense_absent=self.embedding.absent,
            discard=[view.value for view in discard],
            relations_absent=self.settings.relations.absent,
        ).as_params()

    def _read(self, checkout: Checkout) -> tuple[HeadState, Publication | None, tuple[int, ...]]:
        """In the Git thread: HEAD, and what is published (nothing when the views cannot be read)."""
        if checkout.id not in self.states:
            return HeadState(None, None, None, "removed"), None, ()  # nothing is opened for it any more
        views = self.views(checkout.repository)
        published = next(iter(views.publications(checkout.id, 1)), None)
        if views.unreadable:
            self._log.error("catalog_unreadable", reason=views.unreadable)
        head = self._heads.read(checkout)
        # Also before a repair, which may be the first to miss an object.
        stamped = published is None or published.commit != head.commit or lacks_objects(published)
        return head, published, self._heads.objects_stamp(checkout) if stamped else ()

    # Jobs

    def _job(
        self, state: CheckoutState, kind: Kind, commit: CommitId, discard: frozenset[View] = frozenset()
    ) -> Job:
        lane = Lane.REPAIR if state.published and not discard else Lane.BUILD
        return Job(state.checkout.repository, kind, lane, state.checkout.id, commit, discard)

    def _job_log(self, job: Job) -> structlog.stdlib.BoundLogger:
        return self._log.bind(job=job.kind.value, repository=job.repository, commit=job.commit)

    async def perform(self, running: Running, child: Supervisor) -> JsonObject | None:
        job = running.job
        if job.kind is Kind.COLLECT:
            return await self._collect(job, child)
        parameters = self._parameters(job)
        if parameters is None:
            return None  # its checkout was removed since the job was taken
        running.relations = parameters["relations"]

        def reported(_: str, value: Any) -> None:
            running.progress = value
            self.notify()

        result: JsonObject = await child.call(job.kind.value, parameters, reported, running.unwanted)
        return result

    async def succeeded(self, running: Running, result: JsonObject) -> None:
        job = running.job
        if job.checkout:
            self.relations.unpublished.taken(job.checkout, running.relations)
        told = {key: value for key, value in result.items() if key != "commit"}
        self._job_log(job).info("job_done", **told)
        self.statistics.job_done(job.kind.value, time.monotonic() - running.since, result)
        state = self.states.get(job.checkout) if job.checkout else None
        if state is None:
            return
        if not result.get("published"):
            self._tasks.spawn(self.look(state))  # it shows another tree by now, or what it showed was lost
            return
        state.failure, state.failures = None, 0
        await self.look(state)
        if result["dense_missing"] and not self.embedding.absent:
            self.embedding.drain()
        if result["fold"]:
            assert job.commit is not None, "what publishes has a commit"
            self.lanes.want(self._job(state, Kind.FOLD, job.commit))
        self.lanes.want(Job(job.repository, Kind.COLLECT, Lane.REPAIR))

    def _dropped(self, job: Job, damaged: Mapping[Generation, str]) -> None:
        """These snapshots were damaged and are gone: repair every checkout that showed one."""
        for generation, reason in damaged.items():
            self._log.error(
                "snapshot_damaged", repository=job.repository, generation=generation, reason=reason
            )
        for state in self.states.values():
            published, head = state.published, state.head
            if state.checkout.repository != job.repository or not (published and head and head.commit):
                continue
            found = damaged.get(published.snapshot.generation)
            if found:
                state.failure = f"the published snapshot was damaged and is being made again: {found}"
                self.lanes.want(self._job(state, Kind.REPAIR, head.commit))

    def failed(self, job: Job, error: RpcError | ChildDied | OSError) -> None:
        log = self._job_log(job)
        if isinstance(error, RpcError) and error.code == ErrorCode.CANCELLED:
            log.info("job_superseded")
            return
        self.statistics.job_failed(job.kind.value)
        log.error("job_failed", reason=str(error))
        state = self.states.get(job.checkout) if job.checkout else None
        if state is None:
            if isinstance(error, RpcError) and error.data == DAMAGED:
                self._heal(job.repository, str(error))
            return
        state.failures += 1
        state.failure = str(error)
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(state.failures - 1, 10))
        self.lanes.hold(job.repository, pause)
        if job.kind is not Kind.REPAIR or (state.head and state.head.commit == job.commit):
            self.lanes.want(job)  # else a newer wish is there already

    def _heal(self, repository: RepositoryId, reason: str) -> None:
        """Stores of the repository are damaged: one repair makes all anew, and the others follow it."""
        states = [state for state in self.states.values() if state.checkout.repository == repository]
        shown = next((state for state in states if state.head and state.head.commit), None)
        if shown:
            self.damaged(shown, View.STRUCTURAL, reason)

    def _damaged_below(self, checkout: Checkout, reason: str) -> None:
        self._heal(checkout.repository, reason)

    def _parameters(self, job: Job) -> JsonObject | None:
        """What a repair's child needs to know; `None` when its checkout is not there any more."""
        assert job.checkout is not None, "a repair is of a checkout"
        assert job.commit is not None, "a repair is of a commit"
        state = self.states.get(job.checkout)
        if state is None:
            return None
        parameters = self.job_parameters(state, job.commit, job.discard)
        if job.kind is Kind.RELATIONS and state.published:
            shown = state.published.snapshot
            parameters["relations"] = self.relations.unpublished.of(job.checkout, shown.tree)
        return parameters

    async def _collect(self, job: Job, child: Supervisor) -> JsonObject:
        repository = job.repository
        collecting = Collecting(
            self.paths.repository_dir(repository),
            self.paths.embeddings_db,
            self.settings.daemon.keep_snapshots,
            [checkout.id for checkout in self.registry.of_repository(repository)],
            lambda: self.statistics.is_deep_collection_due(repository),
        )
        collected = await collecting.run(child, self.views(repository))
        self._retired(repository, collected.removed, collected.deep)
        self._dropped(job, collected.damaged)
        return collected.result

    def _retired(self, repository: RepositoryId, snapshots: int, deep: bool) -> None:
        """Snapshots were dropped, and with them what names relations, which have a writer of their own."""
        for state in self.states.values():
            if state.checkout.repository == repository and state.published:
                shown = state.published.snapshot
                self.relations.retired(state.checkout, shown, snapshots, all_rows=deep)
                return

    async def _delete_views(self, repository: RepositoryId) -> None:
        """Once no job writes there any more."""
        while self.lanes.of_repository(repository):
            await self.changed()
        if self.registry.of_repository(repository):
            return  # it was added again meanwhile
        await asyncio.to_thread(self.views(repository).delete)
        self._views.pop(repository, None)

    def notify(self) -> None:
        """Something that a status shows has changed."""
        self._changed.set()
        self._changed = asyncio.Event()


def _in_sequence(checkout: Checkout) -> bool:
    """Whether Git is in the middle of a rebase, an am or several picks."""
    return any((checkout.git_dir / name).exists() for name in ("rebase-merge", "rebase-apply", "sequencer"))


def _sweep_scratch(repositories: Path) -> None:
    """Remove what a verification that was killed left."""
    for scratch in repositories.glob(f"{VERIFY_PREFIX}*"):
        shutil.rmtree(scratch)
