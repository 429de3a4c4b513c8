"""Keeping a child process running while it is needed: started on demand, again after a crash.

A crash makes the next start wait, longer each time (back-off), so that a child that cannot run does
not burn the processor; a call that succeeds sets that back. An idle child is stopped.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.messages import JsonObject

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0

Notify = Callable[[str, Any], None]


class Supervisor:
    """One child, run as `python -m module`. All of it on one event loop."""

    def __init__(
        self,
        module: str,
        log: structlog.stdlib.BoundLogger,
        *,
        idle_s: float,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._module = module
        self._name = module.rsplit(".", 1)[-1]
        self._log = log.bind(child=self._name)
        self._idle_s = idle_s
        self._env = env
        self._child: ChildProcess | None = None
        self._starting = asyncio.Lock()
        self._pause_s = 0.0
        self._not_before = 0.0
        self._calls = 0
        self._idle: asyncio.TimerHandle | None = None
        self._resting: asyncio.Future[int] | None = None
        self._closed = False
        self.starts = 0
        self.crashes = 0

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child and self._child.returncode is None else None

    async def call(
        self,
        method: str,
        params: JsonObject,
        notify: Notify | None = None,
        unwanted: asyncio.Event | None = None,
    ) -> Any:
        """Ask the child, starting it when none runs. Raises `ChildDied`, the child's `RpcError`, or `OSError`
        when none can be started.

        `unwanted` as in `ChildProcess.call`.
        """
        self._busy(+1)
        try:
            child = await self._running()
            try:
                result = await child.call(method, params, notify, unwanted=unwanted)
            except ChildDied as died:
                self._crashed(child, died)
                raise
            self._pause_s = 0.0
            return result
        finally:
            self._busy(-1)

    async def stop(self) -> None:
        """End the child, after which none is started."""
        self._closed = True
        await self.rest()

    async def rest(self) -> None:
        """End the child; the next call starts another."""
        if self._idle:
            self._idle.cancel()
        child, self._child = self._child, None
        if child:
            await child.stop()

    async def rest_if_unused(self) -> None:
        """End the child unless it has a call to answer."""
        if self._calls == 0:
            await self.rest()

    async def _running(self) -> ChildProcess:
        async with self._starting:
            if self._child and self._child.returncode is None:
                return self._child
            if self._child and self._child.returncode:  # it died between two calls
                self._crashed(self._child, None)
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            if self._closed:
                raise ChildDied(0, "", "is not started: the daemon is stopping", self._name)
            self._child = await ChildProcess.spawn(
                [sys.executable, "-m", self._module],
                name=self._name,
                env={**os.environ, **(self._env or {})},
                on_stderr=self._said,
            )
            self.starts += 1
            self._log.info("child_started", pid=self._child.pid)
            return self._child

    def _crashed(self, child: ChildProcess, died: ChildDied | None) -> None:
        if self._child is not child:
            return
        self._child = None
        if self._closed:
            return
        self.crashes += 1
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
        self._not_before = time.monotonic() + self._pause_s
        self._log.error("child_died", reason=str(died or child.returncode), pause_s=self._pause_s)

    def _said(self, text: bytes) -> None:
        for line in text.decode("utf-8", "replace").splitlines():
            self._log.warning("child_said", text=line[:2000])

    def _busy(self, change: int) -> None:
        self._calls += change
        if self._idle:
            self._idle.cancel()
            self._idle = None
        if self._calls == 0 and not self._closed:
            self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._rest_if_idle)

    def _rest_if_idle(self) -> None:
        if self._calls == 0 and self._child:
            child, self._child = self._child, None  # now: a call from here on starts another
            self._resting = asyncio.ensure_future(child.stop())
