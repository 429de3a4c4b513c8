"""Watching each checkout's Git directory, for what hooks miss; any event is only a hint.

Folders are watched, not files: Git replaces HEAD and packed-refs by renaming, so a watch on the
file itself misses the second change. Nothing is watched recursively. What slips through (a watch
limit reached, a network file system, the moment of a restart) is found by the timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch

from nibd.stores.file_identity import FileIdentity, file_identity

ACTIVE_STEP_MS = 20
IDLE_STEP_MS = 400
"""How often the watching thread looks for new events, and how long it waits for more of a burst. Each look
costs 40 to 100 us, also when nothing happens: at 20 ms that is 0.2% of a core, so it is only done so
often while somebody works. The first event after a quiet time is seen that much later, which concerns
`reset --hard` and the like alone: hooks wake the loop by their markers."""
ACTIVE_MS = 10_000
"""For how long after an event somebody counts as working."""


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
        self._folders: frozenset[tuple[Path, FileIdentity | None]] = frozenset()
        self._restart = asyncio.Event()
        self._closed = False

    def watch(self, folders: Iterable[Path]) -> None:
        """Watch these folders instead of those before. Takes effect at the loop's next turn.

        A folder that was deleted and made again, or is there now, is another folder.
        """
        wanted = frozenset((folder, file_identity(folder)) for folder in folders)
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
            folders = [folder for folder, identity in self._folders if identity]
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
        active = False
        while not self._restart.is_set():
            watching = awatch(
                *folders,
                watch_filter=None,
                debounce=self._debounce_ms,
                step=ACTIVE_STEP_MS if active else IDLE_STEP_MS,
                stop_event=self._restart,
                rust_timeout=ACTIVE_MS,
                yield_on_timeout=True,
                recursive=False,
                ignore_permission_denied=True,
            )
            # Between two watches nothing is seen: whoever restarts one compares every HEAD once.
            self._changed(set(folders))
            async with aclosing(watching):
                async for changes in watching:
                    paths = {Path(path) for _, path in changes}
                    if paths:
                        self._changed(paths | {path.parent for path in paths})
                    if bool(paths) != active:
                        active = bool(paths)
                        break
