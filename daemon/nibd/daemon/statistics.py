"""What the daemon did since it started: jobs, durations, work. Shown by `status --json`.

How often the repair of relations alone was right is counted by the navigators, on disk, and read from there.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nibd.ipc.messages import JsonObject
from nibd.stores.errors import StoreError
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import RepositoryId
from nibd.stores.verifications import VerificationStore

Repairs = Mapping[RepositoryId, Mapping[str, JsonObject]]
"""Of each repository and family, the account of its transitions as JSON."""
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


def repairs_of(folders: Mapping[RepositoryId, RepositoryFolder]) -> Repairs:
    """Read what was counted; what can't be read is begun anew by its navigator, and left out."""
    return {repository: _repairs(folder.verifications) for repository, folder in folders.items()}


def _repairs(path: Path) -> dict[str, JsonObject]:
    try:
        if not VerificationStore.is_made(path):
            return {}
        store = VerificationStore.open_reader(path)
    except StoreError:
        return {}
    try:
        return {family: dict(account.as_json()) for family, account in store.accounts().items()}
    except StoreError:
        return {}
    finally:
        store.close()


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
