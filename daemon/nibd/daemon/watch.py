"""Watching the marker folder and each checkout's Git directory; any event is only a hint.

Folders are watched, not files: Git replaces HEAD and packed-refs by renaming, so a watch on the
file itself misses the second change. Nothing is watched recursively. What slips through (a watch
limit reached, a network file system, the moment of a restart) is found by the timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from watchfiles import awatch

STEP_MS = 50
"""How often the watching thread looks for new events, and how long it waits for more of a burst. Each
look costs 40 us, also when nothing happens: at 25 ms an idle daemon spent 0.16% of a core on them."""


class Watcher:
    """Calls `changed` on the event loop with the watched folders in which something happened.

    `failed` is called with the reason when the system refuses to watch; the timer remains.
    """

    def __init__(
        self,
        changed: Callable[[set[Path]], None],
        failed: Callable[[str], None],
        debounce_ms: int,
    ) -> None:
        self._changed = changed
        self._failed = failed
        self._debounce_ms = debounce_ms
        self._folders: frozenset[Path] = frozenset()
        self._restart = asyncio.Event()
        self._closed = False

    def watch(self, folders: Iterable[Path]) -> None:
        """Watch these folders instead of those before. Takes effect at the loop's next turn."""
        wanted = frozenset(folders)
        if wanted != self._folders:
            self._folders = wanted
            self._restart.set()

    def close(self) -> None:
        self._closed = True
        self._restart.set()

    async def run(self) -> None:
        """Until `close`. Folders that do not exist (yet, or any more) are left out."""
        while not self._closed:
            self._restart.clear()
            folders = [folder for folder in self._folders if folder.is_dir()]
            try:
                await self._watch(folders)
            except (OSError, RuntimeError) as error:
                # inotify's limits: too many watches or instances. Retried at the next change of folders.
                self._failed(f"cannot watch {len(folders)} folders: {error}")
                await self._restart.wait()

    async def _watch(self, folders: list[Path]) -> None:
        if not folders:
            await self._restart.wait()
            return
        watching = awatch(
            *folders,
            watch_filter=None,
            debounce=self._debounce_ms,
            step=STEP_MS,
            stop_event=self._restart,
            recursive=False,
            ignore_permission_denied=True,
        )
        # Between two watches nothing is seen: whoever restarts one compares every HEAD once.
        self._changed(set(folders))
        async for changes in watching:
            self._changed({Path(path).parent for _, path in changes} | {Path(path) for _, path in changes})
