"""The daemon's side of the reranker: whether there is one, when it is loaded, what it is asked.

It is named in the settings, and lives in the embedder process beside the model. A search doesn't wait for it
to load: until then hits come in the order of their plan, and the answer says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from nibd.daemon.settings import DenseSettings
from nibd.daemon.supervisor import Supervisor
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import RpcError
from nibd.repair.embedding_profile import missing_dense


class Reranking:
    """All of it on one event loop."""

    def __init__(self, settings: DenseSettings, child: Supervisor, log: structlog.stdlib.BoundLogger) -> None:
        self._settings = settings
        self._child = child
        self._log = log
        self._warm_pid: int | None = None
        self._loading: asyncio.Task[None] | None = None
        self._failure: str | None = None

    @property
    def model(self) -> str | None:
        """Which one the settings name; `None`: hits are not scored again."""
        return self._settings.reranker or None

    def missing(self) -> str | None:
        """Why it can't be asked at once; then it is being loaded, if it can be."""
        if not self._settings.enabled:
            return "switched off by the settings ([dense] enabled)"
        absent = missing_dense()
        if absent is not None:
            return absent
        if self._warm_pid is not None and self._warm_pid == self._child.pid:
            return None
        if self._loading is None or self._loading.done():
            self._loading = asyncio.ensure_future(self._load_quietly())
        return self._failure or "warming"

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Raises `RpcError` or `ChildDied`."""
        found = await self._child.call("rerank", {"query": query, "texts": [*texts]})
        return [float(score) for score in found["scores"]]

    async def load(self) -> None:
        """Raises `RpcError`, `ChildDied` or `OSError`."""
        settings = self._settings
        asked = {"model": settings.reranker, "allow_download": settings.allow_download}
        await self._child.call("load_reranker", asked)
        self._warm_pid, self._failure = self._child.pid, None

    async def _load_quietly(self) -> None:
        try:
            await self.load()
        except (RpcError, ChildDied, OSError) as error:
            self._failure = str(error)
            self._log.error("reranker_not_loaded", reason=self._failure)
