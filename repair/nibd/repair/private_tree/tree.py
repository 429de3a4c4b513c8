"""The private tree: files of one Git tree on disk, moved from tree to tree.

A move
1. finds the paths that differ (from Git; after an interruption, those of the journal too);
2. journals them, and from here until the end the tree that is held is unknown;
3. removes, then writes what is not there as it should be, recording as it goes;
4. removes emptied folders, and says what happened to which file.

An exception, a kill or a full disk in between costs no more than the rest of the move: the next one,
to whatever tree, looks at the journal's paths and does what is left. Unchanged files are not touched.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Self

from nibd.repair.git.errors import MissingObject
from nibd.repair.git.types import SYMLINK, GitSource, TreeEntry
from nibd.repair.languages import CODE_LANGUAGES, language_of
from nibd.repair.private_tree.disk import Disk, folders_of
from nibd.repair.private_tree.errors import TreeGone, TreeInUse, TreeUnknown, translated
from nibd.repair.private_tree.names import is_safe
from nibd.repair.private_tree.placing import Placements
from nibd.repair.private_tree.state import Record, State
from nibd.repair.private_tree.strays import strays
from nibd.repair.private_tree.types import LeftOut, Limits, Moved, Placement
from nibd.repair.private_tree.writing import Writer, as_read, blob_id, is_as_recorded
from nibd.repair.progress import Progress, Reporter
from nibd.repair.text import is_utf8
from nibd.stores.errors import CorruptStore
from nibd.stores.types import EMPTY_TREE, RepoPath, TreeId

BATCH = 256
"""Files between two looks at whether the work is wanted for something else."""
FORM = 3
"""Of the files. Raise it when `as_read` gives something else, or other files are left out: what was written
before is then not trusted."""
SCRATCH = (RepoPath(b".cache"),)
"""Where clangd keeps its index, in the folder it serves."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
Plan = Mapping[RepoPath, TreeEntry | None]
"""Paths that a move may touch, each with what is to be there."""


def _silent(_: Progress) -> None:
    pass


class PrivateTree:
    """A private tree in the one process that has it open. For one thread at a time."""

    def __init__(
        self, folder: Path, source: GitSource, lock: int, limits: Limits, scratch: Sequence[RepoPath]
    ) -> None:
        self.root = folder / "work"
        self._folder = folder
        self._source = source
        self._lock = lock
        self._scratch = tuple(scratch)
        root_bytes = len(os.fsencode(self.root))
        self._root_bytes = root_bytes
        self._state = _open_state(folder)
        self._disk = Disk(self.root, folder / "aside")
        self._step_ns = self._disk.granularity_ns()
        self._writer = Writer(source, self._disk, root_bytes, limits)
        self._placements = Placements(self._state, self._disk, root_bytes)
        self._boot = f"{_BOOT.read_text().strip() if _BOOT.exists() else 'unknown'}/{FORM}"
        self._trusted = self._state.tree == EMPTY_TREE or self._state.boot == self._boot
        if not self._trusted:
            records = self._state.records()
            self._state.begin({path: record.is_there for path, record in records.items()})
        self._tree = None if self._state.journal() else self._state.tree

    @classmethod
    def open(
        cls,
        folder: Path,
        source: GitSource,
        *,
        limits: Limits | None = None,
        scratch: Sequence[RepoPath] = SCRATCH,
    ) -> PrivateTree:
        """Open the private tree in `folder`, or begin an empty one there.

        `scratch` names paths in which servers may keep files of their own. One process at a time:
        another one gets `TreeInUse`.
        """
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return cls(folder, source, lock, limits or Limits(), scratch)
            except BlockingIOError as error:
                os.close(lock)
                raise TreeInUse(f"{folder} is in use by another process") from error
            except BaseException:
                os.close(lock)
                raise

    @property
    def tree(self) -> TreeId | None:
        """The tree that is held; `None` while it isn't known: a move was cut off. Move it then."""
        return self._tree

    def holds(self, tree: TreeId) -> bool:
        """Whether exactly this tree is held, and the folder is still where it was."""
        return self._tree == tree and self._disk.is_at(self.root)

    def move(self, tree: TreeId, report: Reporter = _silent) -> Moved:
        """Have the files of `tree`. `report` is called between batches and may raise `Interrupted`."""
        with self._writing():
            return self._carry_out(tree, self._plan(tree), report)

    def check(self, report: Reporter = _silent) -> Moved:
        """Compare what is on disk with the record, and heal it; what was healed.

        Sizes and modification times are compared, not contents. What nobody recorded is removed,
        outside the scratch folders.
        """
        tree = self._tree
        if tree is None:
            raise TreeUnknown(f"{self._folder}: a move was cut off; what it holds is not known")
        with self._writing():
            records = self._state.records()
            placed = {path: each.placement for path, each in self._placements.recorded.items()}
            plan: dict[RepoPath, TreeEntry | None] = {
                path: record.entry for path, record in records.items() if not self._is_good(record)
            }
            on_disk = {path for path, record in records.items() if _is_on_disk(record)}
            for path in strays(self._disk.walk(), {*on_disk, *placed}, self._scratch):
                plan.setdefault(path, None)
            damaged = self._placements.damaged()
            moved = self._carry_out(tree, plan, report)
            if damaged:
                self._placements.bring(placed, self._stamp())
            return moved

    def place(self, placements: Mapping[RepoPath, Placement]) -> tuple[RepoPath, ...]:
        """Have exactly these beside the tree's own files; those for which there is no place.

        To be called again after each move: the tree comes first, and a file of its own displaces them.
        """
        with self._writing():
            return self._placements.bring(placements, self._stamp())

    def close(self) -> None:
        self._disk.close()
        self._state.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with translated(self._folder):
            if not self._disk.is_at(self.root):
                raise TreeGone(f"{self.root} was deleted or replaced")
            yield

    def _plan(self, tree: TreeId) -> Plan:
        journal = self._state.journal()
        plan: dict[RepoPath, TreeEntry | None]
        differing = None if journal else self._differing(tree)
        if differing is not None:
            plan = differing
        else:
            wanted = {entry.path: entry for entry in self._source.list_tree(tree)}
            held = {path: record.entry for path, record in self._state.records().items()}
            paths = {path for path in wanted.keys() | held.keys() if wanted.get(path) != held.get(path)}
            plan = {path: wanted.get(path) for path in paths | journal.keys()}
        for entry in self._state.missing():
            plan.setdefault(entry.path, entry)
        return plan

    def _differing(self, tree: TreeId) -> dict[RepoPath, TreeEntry | None] | None:
        """What Git says differs; `None` when the tree that is held is no longer in the repository."""
        try:
            changes = self._source.changes(self._state.tree, tree, renames=False)
        except MissingObject:
            return None
        gone: dict[RepoPath, TreeEntry | None] = {entry.path: None for entry in changes.gone}
        return gone | {entry.path: entry for entry in changes.come}

    def _carry_out(self, tree: TreeId, plan: Plan, report: Reporter) -> Moved:
        unfinished = self._state.journal()
        if not plan:
            self._settle(tree)
            return Moved(skipped=self._state.left_out())
        before = {path: self._state.record(path) for path in plan}
        self._tree = None
        self._state.begin({path: _was_there(path, before[path], plan) for path in plan})
        was_there = self._state.journal()
        stamp = self._stamp()
        self._placements.give_way(path for path, entry in plan.items() if entry is not None)
        self._remove([path for path, entry in plan.items() if entry is None])
        wanted = [entry for _, entry in sorted(plan.items()) if entry is not None]
        kept = {entry.path: record for entry in wanted if (record := self._kept(entry, before[entry.path]))}
        todo = [entry for entry in wanted if entry.path not in kept]
        now = kept | self._write(todo, stamp, report)
        self._prune(plan, now)
        self._settle(tree)
        return _moved(was_there, unfinished, now, {entry.path for entry in todo}, self._state.left_out())

    def _kept(self, entry: TreeEntry, record: Record | None) -> Record | None:
        """The record of an entry that needs no writing."""
        if record is None or record.entry != entry or record.left_out is LeftOut.MISSING_OBJECT:
            return None
        return record if self._is_good(record) else None

    def _is_good(self, record: Record) -> bool:
        if record.left_out is LeftOut.NAME:
            return True
        path = record.entry.path
        if not is_as_recorded(record, self._disk.stat(path)):
            return False
        if self._trusted or not record.is_there:
            return True
        data = self._disk.read(path) if is_utf8(path) else None
        return data is not None and self._is_written(record.entry, data)

    def _is_written(self, entry: TreeEntry, data: bytes) -> bool:
        """Whether these are the bytes that an entry is written with."""
        if blob_id(data, self._source.object_format) == entry.blob:
            return entry.mode == SYMLINK or as_read(entry.path, data) == data
        if entry.mode == SYMLINK or language_of(entry.path, data) not in CODE_LANGUAGES:
            return False
        content = self._source.read(entry.blob)
        return content is not None and as_read(entry.path, content) == data

    def _remove(self, paths: Sequence[RepoPath]) -> None:
        for path in sorted(paths, reverse=True):
            if is_safe(path, self._root_bytes):
                self._disk.remove(path)
        self._state.note((), paths)

    def _write(self, todo: Sequence[TreeEntry], stamp: int, report: Reporter) -> dict[RepoPath, Record]:
        done: dict[RepoPath, Record] = {}
        report(Progress("tree", 0, len(todo)))
        for batch in _batches(todo):
            records = list(self._writer.write(batch, stamp))
            self._state.note(records)
            done.update((record.entry.path, record) for record in records)
            report(Progress("tree", len(done), len(todo)))
        return done

    def _prune(self, plan: Plan, now: Mapping[RepoPath, Record]) -> None:
        gone = [path for path in plan if path not in now or not _is_on_disk(now[path])]
        submodules = {path for path, each in now.items() if each.left_out is LeftOut.SUBMODULE}
        safe = (path for path in gone if is_safe(path, self._root_bytes))
        self._disk.prune(folders_of(safe) - submodules)

    def _stamp(self) -> int:
        return self._state.next_stamp(time.time_ns(), self._step_ns)

    def _settle(self, tree: TreeId) -> None:
        self._state.finish(tree, self._boot)
        self._trusted = True
        self._tree = tree


def _open_state(folder: Path) -> State:
    """The record; an empty one, and nothing on disk, where one of the two is missing or damaged."""
    path, root = folder / "state.db", folder / "work"
    if path.exists() and root.is_dir() and not root.is_symlink():
        try:
            state = State.open(path)
            if state.check() is None:
                return state
            state.close()
        except CorruptStore:
            pass  # all that it recorded can be made again
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (folder / name).unlink(missing_ok=True)
    if root.is_symlink():
        root.unlink()
    elif root.exists():
        shutil.rmtree(root)
    return State.open(path)


def _batches(entries: Sequence[TreeEntry]) -> Iterator[list[TreeEntry]]:
    remaining = iter(entries)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _is_on_disk(record: Record) -> bool:
    return record.is_there or record.left_out is LeftOut.SUBMODULE


def _was_there(path: RepoPath, record: Record | None, plan: Plan) -> bool:
    """What has no record and is to go is a stray: someone put it there."""
    return plan[path] is None if record is None else record.is_there


def _moved(
    was_there: Mapping[RepoPath, bool],
    unfinished: Mapping[RepoPath, bool],
    now: Mapping[RepoPath, Record],
    written: set[RepoPath],
    left_out: Mapping[LeftOut, int],
) -> Moved:
    there = {path for path, record in now.items() if record.is_there}
    paths = sorted(was_there)
    touched = written | unfinished.keys()
    return Moved(
        added=tuple(path for path in paths if path in there and not was_there[path]),
        modified=tuple(path for path in paths if path in there and was_there[path] and path in touched),
        deleted=tuple(path for path in paths if path not in there and was_there[path]),
        skipped=left_out,
        written=len(written & there),
    )
