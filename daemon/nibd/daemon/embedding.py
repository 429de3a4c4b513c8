"""The daemon's side of the embedder: when it runs, what it is asked, and why there is none."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog

from nibd.daemon.reranking import Reranking
from nibd.daemon.settings import DenseSettings
from nibd.daemon.supervisor import Supervisor
from nibd.ipc.children import ChildDied
from nibd.ipc.messages import JsonObject, RpcError
from nibd.repair.embedding_profile import EmbeddingError, missing_dense, runtime_profile
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.types import ProfileId

PUBLISH_EVERY_S = 10.0
PUBLISHED_PARTS = 20
"""How often an unfinished first build publishes what it has: after so long, and no more often in all. Each
publication goes through the whole tree: every 10 s, that took 40% of what embedding sympy took."""

RETRY_S = 30.0


class Embedding:
    """All of it on one event loop. `advanced(finished)` is called when more texts have vectors."""

    def __init__(
        self,
        settings: DenseSettings,
        database: Path,
        log: structlog.stdlib.BoundLogger,
        advanced: Callable[[bool], None],
    ) -> None:
        self._settings = settings
        self._database = database
        self._log = log
        self._advanced = advanced
        self._child = Supervisor("nibd.daemon.embedder", log, idle_s=settings.idle_seconds)
        self.reranking = Reranking(settings, self._child, log)
        self._draining: asyncio.Task[None] | None = None
        self._again = False
        self.profile = ProfileId("")
        self.absent: str | None = "its model is being looked at"
        self.failure: str | None = None
        self.progress: JsonObject | None = None
        self._warm_pid: int | None = None
        self._warming: asyncio.Future[None] | None = None

    async def prepare(self) -> None:
        """Find the model's profile, without loading it."""
        self.absent = self._settings.absent or missing_dense()
        if self.absent:
            return
        try:
            self.profile = await asyncio.to_thread(
                runtime_profile, self._settings.model, self._settings.allow_download
            )
        except EmbeddingError as error:
            self.absent = str(error)

    @property
    def is_warm(self) -> bool:
        """Whether a query is embedded without waiting for the model to load."""
        return self._warm_pid is not None and self._warm_pid == self._child.pid

    @property
    def pid(self) -> int | None:
        return self._child.pid

    def drain(self) -> None:
        """Embed what is on the spool, and what comes on it meanwhile."""
        if self.absent:
            return
        if self._draining and not self._draining.done():
            self._again = True
            return
        self._draining = asyncio.ensure_future(self._drain())

    def warm_up(self) -> None:
        """Load the model without waiting for it: the next query will need it."""
        if not self.absent:
            self._warming = asyncio.ensure_future(self._load_quietly())

    async def query(self, text: str) -> bytes:
        """The vector of a query: little-endian float32. Raises `RpcError`, `ChildDied` or `OSError`."""
        await self.load()
        found = await self._child.call("embed_query", {"texts": [text]})
        return base64.b64decode(found["vectors"][0])

    async def abandon(self) -> None:
        """Forget what waits on the spool: nobody wants it any more."""
        if self.absent:
            return
        if self._draining and not self._draining.done() and self._child.pid:
            try:
                await self._child.call("stop", {})
            except ChildDied as died:
                self._log.info("embedder_ended", reason=str(died))
        await asyncio.to_thread(self._forget)

    def _forget(self) -> None:
        store = EmbeddingStore.open(self._database)
        try:
            store.spool.forget(self.profile)
        finally:
            store.close()

    async def stop(self) -> None:
        if self._draining:
            self._draining.cancel()
        await self._child.stop()

    async def _drain(self) -> None:
        published, published_done = time.monotonic(), 0

        def reported(_: str, value: Any) -> None:
            nonlocal published, published_done
            self.progress = {"stage": "dense", "done": value["done"], "total": value["total"]}
            enough = value["done"] - published_done >= value["total"] / PUBLISHED_PARTS
            if enough and time.monotonic() - published >= PUBLISH_EVERY_S:
                published, published_done = time.monotonic(), value["done"]
                self._advanced(False)

        while True:
            self._again = False
            try:
                await self.load()
                request: JsonObject = {"embeddings_db": str(self._database), "profile": self.profile}
                done = await self._child.call("run", request, reported)
            except (RpcError, ChildDied, OSError) as error:  # OSError: no child could be started
                self.failure = str(error)
                self._log.error("embedding_failed", reason=self.failure)
                self._advanced(False)
                # A child that died is started again after a pause of its supervisor's.
                await asyncio.sleep(0.0 if isinstance(error, ChildDied) else RETRY_S)
                continue
            finally:
                self.progress = None
            self.failure = None
            self._log.info("embedded", texts=done["done"], seconds=round(done["seconds"], 3))
            self._advanced(True)
            if not self._again:
                return

    async def load(self) -> None:
        """Load the model, or find it loaded. Raises `RpcError`, `ChildDied` or `OSError`."""
        settings = asdict(self._settings)
        asked: JsonObject = {
            "model": settings["model"],
            "allow_download": settings["allow_download"],
            "threads": settings["threads"] or len(os.sched_getaffinity(0)),
        }
        loaded = await self._child.call("load", asked)
        if loaded["profile"] != self.profile:
            raise RpcError(
                -32603,
                f"the loaded model has profile {loaded['profile']}, {self.profile} was expected: "
                "restart the daemon after a change of libraries",
            )
        self._warm_pid = self._child.pid
        self.failure = None

    async def _load_quietly(self) -> None:
        try:
            await self.load()
        except (RpcError, ChildDied, OSError) as error:
            self.failure = str(error)
            self._log.error("model_not_loaded", reason=self.failure)
