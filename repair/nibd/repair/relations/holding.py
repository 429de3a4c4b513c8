"""Which tree the language servers hold, and which of them may be asked, for threads that do not move them.

One thread owns the servers: it moves the tree, starts and ends them (`Workspace`). Others ask single
questions meanwhile. A server is **open** for questions about one tree from when it has settled there until
the owner `close`s it, which it does before each move and each end. Closing lets no question begin, and waits
a bounded time for those that are out. One that is still out then is told afterwards that its answer belongs
to no tree (`NotHeld`): so what is answered is what a server said while it held the tree in question.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from nibd.repair.servers.server import LanguageServer
from nibd.stores.types import TreeId

CLOSE_S = 1.0
"""How long a move waits for questions that are out: most take milliseconds."""


class NotHeld(Exception):  # noqa: N818 - says what is
    """The servers do not hold the tree, or did not while they were asked; the message says which."""


class Holding:
    """For any thread; `open` and `close` are the owner's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[str, tuple[TreeId, LanguageServer]] = {}
        self._closing: set[str] = set()
        self._asking: Counter[str] = Counter()
        self.version = 0
        """Counts what changed; see `wait`."""

    def open(self, family: str, tree: TreeId, server: LanguageServer) -> None:
        """The family's server holds the tree and has settled."""
        with self._changed:
            if self._open.get(family) != (tree, server):  # else questions that are out would be of no tree
                self._open[family] = (tree, server)
            self._notify()

    def close(self, family: str, wait_s: float = CLOSE_S) -> None:
        """Before the server is told of another tree, or ended. Waits for questions that are out."""
        deadline = time.monotonic() + wait_s
        with self._changed:
            self._closing.add(family)
            while self._asking[family] and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            self._open.pop(family, None)
            self._closing.discard(family)
            self._notify()

    def close_all(self, wait_s: float = CLOSE_S) -> None:
        with self._changed:
            families = [*self._open]
        deadline = time.monotonic() + wait_s
        for family in families:
            self.close(family, deadline - time.monotonic())

    @contextmanager
    def asking(self, family: str, tree: TreeId) -> Iterator[LanguageServer]:
        """The family's server, which holds `tree` until the context ends. Raises NotHeld, also at its end."""
        with self._changed:
            if not self._holds(family, tree):
                raise NotHeld(self._why(family, tree))
            held = self._open[family]
            self._asking[family] += 1
        try:
            yield held[1]
        finally:
            with self._changed:
                self._asking[family] -= 1
                self._changed.notify_all()
                still = self._open.get(family)
        if still is not held:  # also where the same server was moved, and has settled again
            raise NotHeld(f"the {family} language server was moved to another tree while it was asked")

    def wait(self, seen: int, timeout_s: float) -> None:
        """Until `version` is no more what it was `seen` to be, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self.version != seen, timeout_s)

    def notify(self) -> None:
        """Wake who waits: something else that counts has changed."""
        with self._changed:
            self._notify()

    def _notify(self) -> None:
        self.version += 1
        self._changed.notify_all()

    def _holds(self, family: str, tree: TreeId) -> bool:
        held = self._open.get(family)
        return held is not None and held[0] == tree and family not in self._closing and held[1].is_alive

    def _why(self, family: str, tree: TreeId) -> str:
        held = self._open.get(family)
        if held is None:
            return f"no {family} language server has settled"
        if held[0] != tree:
            return f"the {family} language server holds the tree {held[0][:10]}, not {tree[:10]}"
        return f"the {family} language server is being replaced"
