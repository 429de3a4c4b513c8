"""Files that are open for others: of a server that needs one open file of a package, not all of them.

A *group* is what the driver says that a file belongs to. One file of each is open, one that *stands* for the
others where there is such (`stands`); when that one is gone, or belongs elsewhere now, another of its folder
takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nibd.repair.servers.driver import Driver
from nibd.stores.types import RepoPath


@dataclass(slots=True)
class OpenGroups:
    """`read` gives the text of a file below `root`; `None` when it has none."""

    driver: Driver
    root: Path
    read: Callable[[RepoPath], str | None]
    _open: dict[Hashable, RepoPath] = field(default_factory=dict)

    def needs(self, path: RepoPath) -> bool:
        """Whether a file has to be open, since no other of its group is that stands for it."""
        group = self._group(path)
        if group is None:
            return True
        held = self._open.setdefault(group, path)
        if self.driver.stands(path) and not self.driver.stands(held):
            held = self._open[group] = path
        return held == path

    def instead(self, changed: Collection[RepoPath]) -> Iterator[RepoPath]:
        """The files to open for groups whose open file is among those that changed, and no more in it."""
        for group, path in list(self._open.items()):
            if path in changed and self._group(path) != group:
                del self._open[group]
                others = [other for other in self._beside(path) if self._group(other) == group]
                if others:
                    self._open[group] = min(others, key=lambda other: not self.driver.stands(other))
                    yield self._open[group]

    def _group(self, path: RepoPath) -> Hashable | None:
        if self.driver.group_of is None:
            return None
        text = self.read(path)
        return None if text is None else self.driver.group_of(path, text)

    def _beside(self, path: RepoPath) -> Iterator[RepoPath]:
        folder = self.root / os.fsdecode(os.path.dirname(path))  # noqa: PTH120 - bytes
        if folder.is_dir():
            for entry in sorted(folder.iterdir()):
                other = RepoPath(os.fsencode(entry.relative_to(self.root)))
                if self.driver.owns(other):
                    yield other
