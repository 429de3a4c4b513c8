"""What the indexer does next: pure, so that fairness can be tested without a process.

Each repository wants at most one thing of each kind at a time, and the newest wish replaces the
older one: a rebase of a hundred commits is one job. Two *lanes* run side by side, `repair` for
transitions from a published tree and `build` for first builds, so that a commit never waits for
the first build of another repository. One repository is worked on by one lane at a time, since its
stores have one writer. Within a lane the repository that was served longest ago comes first, then
the one that asked first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import count

from nibd.stores.types import CheckoutId, CommitId, RepositoryId, View


class Kind(StrEnum):
    """In the order of urgency within a repository."""

    REPAIR = "repair"
    RELATIONS = "relations"
    DENSE = "dense"
    FOLD = "fold"
    COLLECT = "collect"


class Lane(StrEnum):
    REPAIR = "repair"
    BUILD = "build"


@dataclass(frozen=True, slots=True)
class Job:
    """`checkout` and `commit` say what is repaired; a collection has neither.

    `discard` names views to build from nothing, since what is stored of them is damaged.
    """

    repository: RepositoryId
    kind: Kind
    lane: Lane
    checkout: CheckoutId | None = None
    commit: CommitId | None = None
    discard: frozenset[View] = frozenset()

    @property
    def key(self) -> tuple[RepositoryId, Kind, CheckoutId | None]:
        return (self.repository, self.kind, self.checkout)


@dataclass(slots=True)
class Scheduler:
    _wanted: dict[tuple[RepositoryId, Kind, CheckoutId | None], tuple[int, Job]] = field(default_factory=dict)
    _running: dict[Lane, Job] = field(default_factory=dict)
    _served: dict[RepositoryId, int] = field(default_factory=dict)
    _held: set[RepositoryId] = field(default_factory=set)
    _clock: count[int] = field(default_factory=count)

    def want(self, job: Job) -> Job | None:
        """Ask for a job; the same wish with an older commit is forgotten.

        Give the running job that this one supersedes, if any: it may stop at its next safe point.
        """
        at, replaced = self._wanted.get(job.key, (next(self._clock), None))
        if replaced and replaced.discard - job.discard:
            job = replace(job, discard=job.discard | replaced.discard)
        self._wanted[job.key] = (at, job)
        for running in self._running.values():
            if running.key == job.key and running.commit != job.commit:
                return running
        return None

    def take(self, lane: Lane) -> Job | None:
        """The next job of a lane that is idle; it runs until `finished`."""
        if lane in self._running:
            return None
        busy = {job.repository for job in self._running.values()} | self._held
        ready = [
            (self._served.get(job.repository, -1), list(Kind).index(job.kind), at, job)
            for at, job in self._wanted.values()
            if job.lane is lane and job.repository not in busy
        ]
        if not ready:
            return None
        job = min(ready, key=lambda entry: entry[:3])[3]
        del self._wanted[job.key]
        self._running[lane] = job
        self._served[job.repository] = next(self._clock)
        return job

    def finished(self, job: Job) -> None:
        self._running = {lane: running for lane, running in self._running.items() if running != job}

    def hold(self, repository: RepositoryId) -> None:
        """Begin nothing for a repository: its last job failed and its pause is not over."""
        self._held.add(repository)

    def release(self, repository: RepositoryId) -> None:
        self._held.discard(repository)

    def forget(self, repository: RepositoryId, checkout: CheckoutId | None = None) -> None:
        """Drop every wish of a repository that was removed, or of one of its checkouts."""
        self._wanted = {
            key: wish
            for key, wish in self._wanted.items()
            if key[0] != repository or checkout not in (None, key[2])
        }
        if checkout is not None:
            return
        self._served.pop(repository, None)
        self._held.discard(repository)

    def running(self) -> list[Job]:
        return list(self._running.values())

    def waiting(self) -> list[Job]:
        return [job for _, job in sorted(self._wanted.values(), key=lambda wish: wish[0])]

