"""What the daemon did since it started: jobs, durations, work. Shown by `status --json`."""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from nibd.ipc.messages import JsonObject
from nibd.stores.types import RepositoryId

KEPT_DURATIONS = 200
DEEP_COLLECTION_S = 24 * 3600.0
FIRST_COLLECTION_S = 600.0


@dataclass(slots=True)
class JobStatistics:
    """Of one kind of job; durations in seconds, the newest `KEPT_DURATIONS` of them."""

    done: int = 0
    failed: int = 0
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT_DURATIONS))
    work: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> JsonObject:
        durations = sorted(self.durations)
        return {
            "done": self.done,
            "failed": self.failed,
            "seconds_median": round(statistics.median(durations), 4) if durations else None,
            "seconds_max": round(durations[-1], 4) if durations else None,
            "work": {key: round(value, 3) for key, value in sorted(self.work.items())},
        }


@dataclass(slots=True)
class Statistics:
    started_at: float = field(default_factory=time.time)
    heads_moved: int = 0
    jobs: dict[str, JobStatistics] = field(default_factory=dict)
    _collected: dict[RepositoryId, float] = field(default_factory=dict)

    def head_moved(self) -> None:
        self.heads_moved += 1

    def job_done(self, kind: str, seconds: float, result: JsonObject) -> None:
        job = self.jobs.setdefault(kind, JobStatistics())
        job.done += 1
        job.durations.append(seconds)
        for view, work in result.get("work", {}).items():
            for key, value in work.items():
                job.work[f"{view}.{key}"] += value

    def job_failed(self, kind: str) -> None:
        self.jobs.setdefault(kind, JobStatistics()).failed += 1

    def is_deep_collection_due(self, repository: RepositoryId) -> bool:
        """Whether a collection should go over all rows too: some minutes after the start, then daily."""
        now = time.monotonic()
        last = self._collected.setdefault(repository, now - DEEP_COLLECTION_S + FIRST_COLLECTION_S)
        if now - last < DEEP_COLLECTION_S:
            return False
        self._collected[repository] = now
        return True

    def as_json(self) -> JsonObject:
        return {
            "started_at": self.started_at,
            "heads_moved": self.heads_moved,
            "jobs": {kind: job.as_json() for kind, job in sorted(self.jobs.items())},
        }
