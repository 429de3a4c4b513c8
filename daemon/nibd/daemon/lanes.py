"""Doing what the scheduler chooses: one job at a time in each lane, by an indexer of the lane's own.

Who wants a job wants it done; a newer wish of the same kind makes what is at work *unwanted*, which then ends
at its next safe point. What a job needs, and what follows from its end, is its worker's to know.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from nibd.daemon.scheduler import Job, Kind, Lane, Scheduler
from nibd.daemon.supervisor import Supervisor
from nibd.daemon.tasks import Tasks
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import JsonObject, RpcError
from nibd.stores.types import CheckoutId, RepositoryId

INDEXER_IDLE_S = 600.0


@dataclass(slots=True)
class Running:
    """A job at work: what it reported last, and how to tell it that it is no longer wanted."""

    job: Job
    unwanted: asyncio.Event = field(default_factory=asyncio.Event)
    progress: JsonObject | None = None
    relations: JsonObject = field(default_factory=dict)
    """What of relations it publishes."""
    since: float = field(default_factory=time.monotonic)


class Worker(Protocol):
    """Does jobs, and acts on their ends."""

    async def perform(self, running: Running, child: Supervisor) -> JsonObject | None:
        """Have a job done; `None` if it is not wanted any more. Raises RpcError, ChildDied, OSError."""
        ...

    async def succeeded(self, running: Running, result: JsonObject) -> None:
        """After the lane was given free."""
        ...

    def failed(self, job: Job, error: RpcError | ChildDied | OSError) -> None:
        """After the lane was given free."""
        ...

    def notify(self) -> None:
        """What runs, or how far it is, has changed."""
        ...


class Lanes:
    """All of it on one event loop."""

    def __init__(self, worker: Worker, tasks: Tasks, log: structlog.stdlib.BoundLogger) -> None:
        self.scheduler = Scheduler()
        self.running: dict[Lane, Running] = {}
        self.children = {
            lane: Supervisor("nibd.daemon.indexer", log.bind(lane=lane.value), idle_s=INDEXER_IDLE_S)
            for lane in Lane
        }
        self._worker = worker
        self._tasks = tasks

    def want(self, job: Job) -> None:
        for running in self.running.values():
            if running.job == job:
                return  # it is at work on just that
        superseded = self.scheduler.want(job)
        for running in self.running.values():
            if running.job == superseded:
                running.unwanted.set()
        self._pump()

    def hold(self, repository: RepositoryId, seconds: float) -> None:
        """Begin nothing for a repository for so long, or until it is released."""
        self.scheduler.hold(repository)
        asyncio.get_running_loop().call_later(seconds, self.release, repository)

    def release(self, repository: RepositoryId) -> None:
        self.scheduler.release(repository)
        self._pump()

    def abandon(self, repository: RepositoryId) -> None:
        """The repository was removed: nothing of it is wanted any more."""
        self.scheduler.forget(repository)
        for running in self.of_repository(repository):
            running.unwanted.set()

    def of_repository(self, repository: RepositoryId) -> list[Running]:
        return [running for running in self.running.values() if running.job.repository == repository]

    def is_repairing(self, checkout: CheckoutId) -> bool:
        """Whether a repair of the checkout is at work or waits for its turn."""
        jobs = [running.job for running in self.running.values()] + self.scheduler.waiting()
        return any(job.kind is Kind.REPAIR and job.checkout == checkout for job in jobs)

    async def stop(self) -> None:
        """End the children; an unfinished job is begun again by the next daemon."""
        for running in self.running.values():
            running.unwanted.set()
        await asyncio.gather(*(child.stop() for child in self.children.values()))

    def _pump(self) -> None:
        """Give idle lanes their next job."""
        for lane in Lane:
            job = self.scheduler.take(lane)
            if job:
                running = self.running[lane] = Running(job)
                self._tasks.spawn(self._run(lane, running))

    async def _run(self, lane: Lane, running: Running) -> None:
        job = running.job
        try:
            result = await self._worker.perform(running, self.children[lane])
        except (RpcError, ChildDied, OSError) as error:
            self._free(lane, job)
            self._worker.failed(job, error)
        else:
            self._free(lane, job)
            if result is not None:
                await self._worker.succeeded(running, result)
        self._worker.notify()
        self._pump()

    def _free(self, lane: Lane, job: Job) -> None:
        del self.running[lane]
        self.scheduler.finished(job)
