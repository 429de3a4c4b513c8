"""The daemon's side of the reranker: whether there is one, when it is loaded, what it is asked.

It is named in the settings, and lives in the embedder process beside the model. A search doesn't wait for it
to load: until then hits come in the order of their plan, and the answer says so.

One that can't be loaded is not tried again at each search, but once the files of its folder are others (or it
is there), or after a pause. That is long where the embedder has refused what the folder holds; else (its
process died, the model is to be downloaded) short at first, and twice as long each time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from nibd.daemon.settings import DenseSettings
from nibd.daemon.supervisor import Supervisor
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import RpcError
from nibd.repair.embedding_profile import missing_dense
from nibd.repair.reranking import stamp

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why it could not be loaded from files of that stamp; `again_at` is on the monotonic clock."""

    reason: str
    stamp: tuple[tuple[str, int, int], ...]
    pause_s: float
    again_at: float


class Reranking:
    """All of it on one event loop."""

    def __init__(self, settings: DenseSettings, child: Supervisor, log: structlog.stdlib.BoundLogger) -> None:
        self._settings = settings
        self._child = child
        self._log = log
        self._warm_pid: int | None = None
        self._loading: asyncio.Task[None] | None = None
        self._failure: Failure | None = None
        self._next_pause_s = FIRST_PAUSE_S

    @property
    def model(self) -> str | None:
        """Which one the settings name; `None`: hits are not scored again."""
        return self._settings.reranker or None

    @property
    def failure(self) -> str | None:
        """Why it could not be loaded, and when that is tried again; `None` once its files are others."""
        failed = self._failure
        if failed is None or stamp(self._settings.reranker) != failed.stamp:
            return None
        sooner = ""
        if self._is_of_folder:
            sooner = f", or once {'the files of its folder are others' if failed.stamp else 'it is there'}"
        return f"{failed.reason}; it is tried again after {failed.pause_s:.0f} s{sooner}"

    def missing(self) -> str | None:
        """Why it can't be asked at once; then it is being loaded, if that may work."""
        if not self._settings.enabled:
            return "switched off by the settings ([dense] enabled)"
        absent = missing_dense()
        if absent is not None:
            return absent
        if self._warm_pid is not None and self._warm_pid == self._child.pid:
            return None
        is_loading = self._loading is not None and not self._loading.done()
        if not is_loading and self._may_be_loaded():
            self._loading = asyncio.ensure_future(self._load_quietly())
        return self.failure or "warming"

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Raises `RpcError`, `ChildDied` or `OSError`."""
        try:
            found = await self._child.call("rerank", {"query": query, "texts": [*texts]})
        except (ChildDied, OSError) as died:  # perhaps of what it was asked: it is not loaded for each search
            self._failed(died)
            raise
        self._next_pause_s = FIRST_PAUSE_S
        return [float(score) for score in found["scores"]]

    async def load(self) -> None:
        """Raises `RpcError`, `ChildDied` or `OSError`."""
        settings = self._settings
        asked = {"model": settings.reranker, "allow_download": settings.allow_download}
        await self._child.call("load_reranker", asked)
        self._warm_pid, self._failure = self._child.pid, None

    @property
    def _is_of_folder(self) -> bool:
        """Whether the settings name a folder, which is there or not, and no model to be fetched by name."""
        return Path(self._settings.reranker).expanduser().is_absolute()

    def _may_be_loaded(self) -> bool:
        failed = self._failure
        if failed is None or time.monotonic() >= failed.again_at:
            return True
        return stamp(self._settings.reranker) != failed.stamp

    async def _load_quietly(self) -> None:
        try:
            await self.load()
        except (RpcError, ChildDied, OSError) as error:
            self._failed(error)
            self._log.error("reranker_not_loaded", reason=str(error))

    def _failed(self, error: RpcError | ChildDied | OSError) -> None:
        files = stamp(self._settings.reranker)
        pause_s = self._next_pause_s
        if self._is_of_folder and isinstance(error, RpcError):
            pause_s = LONGEST_PAUSE_S
        else:
            self._next_pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
        self._failure = Failure(str(error), files, pause_s, time.monotonic() + pause_s)
