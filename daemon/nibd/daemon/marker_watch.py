"""Watching the marker folder: the way a hook's touch reaches the event loop without a look in between.

inotify makes a descriptor readable and the loop wakes, so a quiet folder costs nothing and a touch is
seen at once; a watch that looks every so often (`nibd.daemon.watch`, for what hooks miss) has to give
up one of the two. Markers have no content: which of them was touched is all an event says.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from asyncinotify import Inotify, Mask

from nibd.stores.file_identity import FileIdentity, file_identity

# A hook opens its marker for writing and closes it; whoever copies one into place moves it.
TOUCHED = Mask.CLOSE_WRITE | Mask.MOVED_TO | Mask.ATTRIB
LOST = Mask.Q_OVERFLOW | Mask.IGNORED
"""Events were dropped, or the folder is gone: something may have happened to every marker."""


class MarkerWatch:
    """Calls `changed` on the event loop with the markers that were touched.

    `failed` is called with the reason when the system refuses to watch; the timer remains.
    """

    def __init__(
        self, folder: Path, changed: Callable[[set[Path]], None], failed: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._changed = changed
        self._failed = failed
        self._watched: FileIdentity | None = None
        self._reading: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Watch the folder, unless it is watched: one that was deleted and made again is another folder."""
        identity = file_identity(self._folder)
        if identity is None or (identity == self._watched and self._reading and not self._reading.done()):
            return
        self.close()
        try:
            inotify = Inotify()
            inotify.add_watch(self._folder, TOUCHED | Mask.ONLYDIR)
        except OSError as error:  # inotify's limits: too many watches or instances
            self._failed(f"cannot watch {self._folder}: {error}")
            return
        self._watched = identity
        self._reading = asyncio.get_running_loop().create_task(self._read(inotify))
        self._changed(self._markers())  # before, nothing was seen

    def close(self) -> None:
        if self._reading:
            self._reading.cancel()
        self._reading = self._watched = None

    async def _read(self, inotify: Inotify) -> None:
        with contextlib.closing(inotify):
            while True:
                event = await inotify.get()
                if event.mask & LOST:
                    self._changed(self._markers())
                if event.mask & Mask.IGNORED:
                    return
                if event.name:
                    self._changed({self._folder / event.name})

    def _markers(self) -> set[Path]:
        return set(self._folder.glob("*"))
