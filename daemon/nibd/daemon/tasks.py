"""Tasks of the event loop that nobody awaits: kept until they end, and what went wrong in them is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog


class Tasks:
    """All of it on one event loop."""

    def __init__(self, log: structlog.stdlib.BoundLogger) -> None:
        self._log = log
        self._tasks: set[asyncio.Future[Any]] = set()
        self._stopped = False

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Not once they are stopped: then it is closed unrun."""
        if self._stopped:
            coroutine.close()
            return
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def close(self) -> None:
        """Spawn none any more."""
        self._stopped = True

    async def stop(self) -> None:
        """Cancel those there are, and wait for their end."""
        self.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            self._log.error("task_failed", exc_info=task.exception())
