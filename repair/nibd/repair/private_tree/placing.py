"""What is put into a private tree beside the tree: ways to what is installed elsewhere.

The tree comes first: where it has a file, a placement that would be in the way, above it, or below it
is refused. Placements are on record with their content, so that a check can make them again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

from nibd.repair.private_tree.disk import Disk, folders_of
from nibd.repair.private_tree.names import above, is_safe
from nibd.repair.private_tree.state import Placed, State
from nibd.repair.private_tree.types import Placement, PlacementKind
from nibd.repair.text import is_utf8
from nibd.stores.types import RepoPath


class Placements:
    """The placements of one private tree, as recorded."""

    def __init__(self, state: State, disk: Disk, root_bytes: int) -> None:
        self._state = state
        self._disk = disk
        self._root_bytes = root_bytes
        self.recorded = state.placed()

    def bring(self, wanted: Mapping[RepoPath, Placement], stamp_ns: int) -> tuple[RepoPath, ...]:
        """Have exactly these, writing what is not there as it should be; those refused."""
        refused = {path for path in wanted if self._is_refused(path)}
        kept = {path: each for path, each in wanted.items() if path not in refused}
        self.drop(path for path in self.recorded if path not in kept)
        changed = {path: Placed(each) for path, each in kept.items() if not self._is_made(path, each)}
        self._state.note_placed(changed)  # before they are made: nothing unrecorded is left by a crash
        made = {path: self._make(path, each.placement, stamp_ns) for path, each in changed.items()}
        self._state.note_placed(made)
        self.recorded.update(made)
        return tuple(sorted(refused))

    def drop(self, paths: Iterable[RepoPath]) -> None:
        gone = list(paths)
        if not gone:
            return
        for path in gone:
            if self.recorded[path].placement.kind is not PlacementKind.FOLDER:
                self._disk.remove(path)
        self._disk.prune({*gone, *folders_of(gone)})
        self._state.note_placed({}, gone)
        for path in gone:
            del self.recorded[path]

    def give_way(self, paths: Iterable[RepoPath]) -> None:
        """Drop what stands where these paths of the tree are about to be."""
        if not self.recorded:
            return
        holding = folders_of(self.recorded)
        links = {
            path for path, each in self.recorded.items() if each.placement.kind is not PlacementKind.FOLDER
        }
        dropped: set[RepoPath] = set()
        for path in paths:
            dropped.update(RepoPath(each) for each in (path, *above(path)) if each in links)
            if path in holding or path in self.recorded:
                below = path + b"/"
                dropped.update(each for each in self.recorded if each == path or each.startswith(below))
        self.drop(dropped)

    def damaged(self) -> list[RepoPath]:
        """Placements that are not as they were made."""
        return [path for path, each in self.recorded.items() if not self._is_made(path, each.placement)]

    def _is_refused(self, path: RepoPath) -> bool:
        if not is_safe(path, self._root_bytes) or not is_utf8(path):
            return True
        taken = (self._state.record(RepoPath(each)) for each in (path, *above(path)))
        return any(record is not None for record in taken) or self._state.holds_below(path)

    def _is_made(self, path: RepoPath, wanted: Placement) -> bool:
        recorded = self.recorded.get(path)
        if recorded is None or recorded.placement != wanted:
            return False
        found = self._disk.stat(path)
        if found is None:
            return False
        if wanted.kind is PlacementKind.FOLDER:
            return stat.S_ISDIR(found.st_mode)
        is_kind = stat.S_ISLNK if wanted.kind is PlacementKind.LINK else stat.S_ISREG
        recorded_as = (recorded.size_bytes, recorded.mtime_ns)
        return is_kind(found.st_mode) and (found.st_size, found.st_mtime_ns) == recorded_as

    def _make(self, path: RepoPath, wanted: Placement, stamp_ns: int) -> Placed:
        made: os.stat_result
        match wanted.kind:
            case PlacementKind.FOLDER:
                self._disk.have_folder(path)
                return Placed(wanted, 0, 0)
            case PlacementKind.LINK:
                made = self._disk.link(path, wanted.content, stamp_ns)
            case PlacementKind.FILE:
                made = self._disk.write(path, wanted.content, False, stamp_ns)
        return Placed(wanted, made.st_size, made.st_mtime_ns)
