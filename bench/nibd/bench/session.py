"""A clone that a daemon of its own follows, and how long it takes from a move of HEAD to a publication.

Two clocks are read. A move begins when Git writes the new HEAD: the modification time of `.git/HEAD`,
which Git replaces by a file it has just written (the kernel rounds it down, by 4 ms at most). It ends
when a reader of the catalog, which looks every 2 ms, sees the publication: it is durable then, and
every request is answered from it. Nothing is asked of the daemon meanwhile, since any request would
make it compare HEAD and so hide the time that hook, marker and watch take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from nibd import hooks
from nibd.bench.world import BenchError, World
from nibd.stores.catalog import Catalog
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Publication, Snapshot
from nibd.stores.types import CheckoutId, State, View

POLL_S = 0.002
LONGEST_S = 3600.0
COLD_AFTER_S = 300.0
"""A daemon ends an indexer that had nothing to do for 600 s."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moved:
    """One move of HEAD: `seconds` until its lexical view and units were seen published."""

    commit: str
    moved_at: float
    seen_at: float
    publication: Publication

    @property
    def seconds(self) -> float:
        return self.seen_at - self.moved_at

    @property
    def snapshot(self) -> Snapshot:
        return self.publication.snapshot


@dataclass(slots=True)
class Session:
    """Made by `session`; `built_s` is from `repository.add` to the first publication, at `built_at`."""

    world: World
    name: str
    work_tree: Path
    checkout: CheckoutId
    folder: RepositoryFolder
    catalog: Catalog
    built_s: float
    built_at: float
    _worked_at: float = field(default_factory=time.monotonic)

    def head(self) -> str:
        return self.world.git(self.work_tree, "rev-parse", "HEAD").strip()

    def move(self, commit: str) -> Moved:
        """Check `commit` out, detached, and wait for its publication."""
        self.world.git(self.work_tree, "checkout", "--quiet", "--detach", commit)
        return self._seen(commit)

    def commit_edit(self, path: str, text: str) -> Moved:
        """Append `text` to one file, commit it, and wait for the publication."""
        with (self.work_tree / path).open("a", encoding="utf-8") as file:
            file.write(text)
        self.world.git(self.work_tree, "commit", "--quiet", "--message", "Edit", "--", path)
        return self._seen(self.head())

    def dense_ready(self, moved: Moved) -> tuple[float, Publication]:
        """When the dense view of the same commit was seen ready, and by which publication."""
        if moved.snapshot.views[View.DENSE].state is State.READY:
            return moved.seen_at, moved.publication
        publication = self.dense_of(moved.commit, moved.moved_at)
        return time.time(), publication

    def dense_of(self, commit: str, since: float = 0.0) -> Publication:
        """Wait for the dense view of `commit`; the first publication since then that has it ready."""

        def ready() -> Publication | None:
            record = self.current().snapshot.views[View.DENSE]
            if record.state in (State.ABSENT, State.FAILED):
                raise BenchError(f"there is no dense view: {record.reason}")
            found = self._publications(commit, since) if record.state is State.READY else ()
            return next((p for p in found if p.snapshot.views[View.DENSE].state is State.READY), None)

        return _until(ready, f"the dense view of {commit[:10]}")

    def settle(self) -> None:
        """Wait until the daemon has nothing to do, such as collecting, so that it can't blur what follows."""

        def idle() -> bool | None:
            work = self.status()["work"]
            return None if work["running"] or work["waiting"] else True

        _until(idle, "the daemon to have nothing to do", 0.05)
        self._worked_at = time.monotonic()

    def keep_warm(self, before: str) -> None:
        """After a long pause, go to `before` and back, so that the next move finds the indexer running."""
        here = self.head()
        if before != here and time.monotonic() - self._worked_at > COLD_AFTER_S:
            self.move(before)
            self.move(here)
            self.settle()

    def status(self) -> Any:
        return self.world.call("status", path=str(self.work_tree))

    def current(self) -> Publication:
        found = self.catalog.current(self.checkout)
        assert found is not None, "a session begins with a publication"
        return found

    def changed_files(self, old: str, new: str) -> int:
        names = self.world.git(self.work_tree, "diff-tree", "-r", "-z", "--name-only", old, new)
        return names.count("\0")

    def _seen(self, commit: str) -> Moved:
        moved_at = (self.work_tree / ".git" / "HEAD").stat().st_mtime

        def first() -> Publication | None:
            return next(iter(self._publications(commit, moved_at)), None)

        publication = _until(first, f"the publication of {commit[:10]}")
        return Moved(commit, moved_at, time.time(), publication)

    def _publications(self, commit: str, since: float) -> Sequence[Publication]:
        """Of this move, oldest first. Looks at little while there is none, as it is asked all the time."""
        newest = self.current()
        if newest.commit != commit or newest.published_at < since:
            return ()
        found = self.catalog.publications(self.checkout, 8)
        return [p for p in reversed(found) if p.commit == commit and p.published_at >= since]


@contextmanager
def session(world: World, name: str, repository: Path, commit: str) -> Iterator[Session]:
    """Clone `repository` at `commit`, install the hooks, have a daemon build its lexical view and units."""
    work_tree = world.clone(repository, name, commit)
    with world.daemon():
        started = time.perf_counter()
        added = world.call("repository.add", path=str(work_tree))
        answer = world.call("wait", path=str(work_tree), timeout_s=LONGEST_S)
        built_s, built_at = time.perf_counter() - started, time.time()
        if not answer["published"]:
            raise BenchError(f"{name} is not published: {answer['status']['error']}")
        hooks.install(work_tree, Path(added["marker"]), world.hook_records)
        folder = RepositoryFolder(world.cache / "repositories" / added["repository"])
        catalog = Catalog.open_reader(folder.catalog)
        try:
            checkout = CheckoutId(added["checkout"])
            made = Session(world, name, work_tree, checkout, folder, catalog, built_s, built_at)
            made.settle()
            yield made
        finally:
            catalog.close()


def _until(look: Callable[[], T | None], what: str, pause: float = POLL_S) -> T:
    """The first thing that `look` gives. Raises `BenchError`, naming `what`, after `LONGEST_S`."""
    deadline = time.monotonic() + LONGEST_S
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise BenchError(f"waited {LONGEST_S:.0f} s for {what}")
        time.sleep(pause)
    return found
