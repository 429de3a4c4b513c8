"""The private tree of one repository, the language servers that run on it, and what is installed for them.

A server is started when it is first needed and kept warm. When the tree moves, each running server is told
of every file that changed; it settles before it is asked. A server that died, or holds twice its fresh
memory, is replaced at the next need; so is one that was started with other dependencies, or of another
version, than are found now.

`holding` tells other threads which server may be asked about which tree. Nothing here knows what answers are
for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nibd.repair.private_tree import Dependencies, Moved, Part, Placement, PrivateTree, stamp
from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.holding import Holding
from nibd.repair.servers.by_file import start_server
from nibd.repair.servers.driver import Installed, Missing, Options, Search
from nibd.repair.servers.errors import ServerFailed, Unknown
from nibd.repair.servers.registry import driver_of_family
from nibd.repair.servers.server import LanguageServer, Request
from nibd.stores.types import RepoPath, TreeId

COMPILE_COMMANDS = RepoPath(b"compile_commands.json")
SECOND = "-second"
"""Behind a family, the cache of a server beside its own."""
SETTLE_S = 300.0
"""A first start on a large repository takes minutes with some servers."""

Questions = Callable[[], tuple[list[RepoPath], list[Request]]]
"""Gives the family's files at the tree, and some sites to probe; asked only when a server is started."""


class ServerMissing(Exception):  # noqa: N818 - says what is
    """No server of the family can be had on this machine; the message says how to get one."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(f"{missing.reason}; {missing.advice}")


@dataclass(slots=True)
class _Running:
    server: LanguageServer
    started_with: tuple[str, str]
    watched: Mapping[str, str]
    """Of what was installed when it was started."""
    settled: bool = False
    asked_everything: bool = False
    moves: int = 0
    """How often the tree moved under it. None: what it says is what a fresh server says."""


class Workspace:
    """For one thread, but for `holding` and `is_uncommitted`. `cache` holds what servers keep, by family."""

    def __init__(
        self,
        tree: PrivateTree,
        cache: Path,
        search: Search,
        options: Options,
        holding: Holding | None = None,
    ) -> None:
        self.tree = tree
        self.holding = holding or Holding()
        self._found: Dependencies | None = None
        self._placed: Mapping[RepoPath, Placement] | None = None
        self._cache = cache
        self._search = search
        self._options = options
        self._running: dict[str, _Running] = {}
        self._untold: set[str] = set()
        """Families whose server was not told of a move that was made: something failed in between."""
        self._installed: dict[str, Installed] = {}
        self._report: Reporter = lambda _: None
        """Of the work that is being done: what takes long asks it whether to go on."""
        self.starts = 0

    def know(self, found: Dependencies) -> None:
        """Take what is installed now; a server that was started with something else ends."""
        self._found = found
        self._search = replace(self._search, forbidden=tuple({*self._search.forbidden, found.checkout}))
        self._installed.clear()
        for family, running in list(self._running.items()):
            if running.started_with != self._identity(family):
                self.end(family)

    def installed(self, family: str) -> Installed:
        """The family's server on this machine. Raises ServerMissing."""
        found = self._installed.get(family)
        if found is None:
            looked = driver_of_family(family).find(self._search)
            if isinstance(looked, Missing):
                raise ServerMissing(looked)
            found = self._installed[family] = looked
        return found

    def move(self, tree: TreeId, report: Reporter) -> None:
        """Have the private tree hold `tree` with what is installed beside it, and tell every server.

        Raises what `report` raises; so does what is done at this tree until the next move.
        """
        self._report = report
        self._end_untold()
        wanted = self._found.placements if self._found else {}
        if not self.tree.holds(tree) or self._placed != wanted:
            self.holding.close_all()
        moved = Moved()
        if not self.tree.holds(tree):
            placed, self._placed = self._placed, None
            moved = self.tree.move(tree, report)
            self._untold = set(self._running) if len(moved) else set()
            if not moved.added and not moved.deleted:  # else one may be in a placement's way, or out of it
                self._placed = placed
        if self._placed != wanted:
            self.tree.place(wanted)
            self._placed = wanted
        # A server that looked for a folder in vain looks there again only when it is told of the folder.
        added = [*_new_folders(self.tree.root, moved.added), *moved.added]
        for family, running in list(self._running.items()):
            if not running.server.is_alive:
                self.end(family)
            elif len(moved):
                running.server.changed(added, moved.modified, moved.deleted)
                running.settled = False
                running.moves += running.server.driver.by_file is None  # else each answer is a fresh server's
            self._untold.discard(family)

    def _end_untold(self) -> None:
        """A server that missed a change would answer from old text, and nothing would tell."""
        for family in list(self._untold):
            self.end(family)

    def server(self, family: str, tree: TreeId, questions: Questions) -> LanguageServer:
        """The family's server, at `tree` and settled. Raises ServerMissing, ServerFailed, Interrupted."""
        if not self.tree.holds(tree):
            raise ServerFailed(f"the private tree holds {self.tree.tree or 'an unknown tree'}, not {tree}")
        self._end_untold()
        running = self._running.get(family)
        if running is None or running.server.must_restart():
            self.end(family)
            paths, probes = questions()
            running = self._running[family] = self._started(family, paths, self._cache / family)
            settled = running.server.settle(SETTLE_S, probes, self._interrupt)
        elif not running.settled:
            settled = running.server.settle(SETTLE_S, interrupt=self._interrupt)
        else:
            self.holding.open(family, tree, running.server)
            return running.server
        if isinstance(settled, Unknown):
            self.end(family)
            raise ServerFailed(f"{running.server.driver.server}: {settled.reason}")
        running.settled = True
        self.holding.open(family, tree, running.server)
        return running.server

    @contextmanager
    def second(self, family: str, questions: Questions) -> Iterator[LanguageServer]:
        """A new server beside the family's, on the tree that is held now, settled; it ends with the context.

        It keeps to the same cache, unless such servers empty theirs when they start.
        Raises ServerMissing, ServerFailed, Interrupted.
        """
        driver, (paths, probes) = driver_of_family(family), questions()
        cache = self._cache / (family if driver.keeps_cache else f"{family}{SECOND}")
        server = self._started(family, paths, cache).server
        try:
            settled = server.settle(SETTLE_S, probes, self._interrupt)
            if isinstance(settled, Unknown):
                raise ServerFailed(f"{driver.server}: {settled.reason}")
            yield server
        finally:
            server.close()

    def running(self, family: str) -> LanguageServer | None:
        """The family's server as it is, whatever it holds; `server` would start one where there is none."""
        running = self._running.get(family)
        return running.server if running else None

    def memory_bytes(self, family: str) -> int:
        """What the family's server holds; 0 when none runs."""
        running = self._running.get(family)
        return running.server.memory_bytes() if running else 0

    def dependencies(self, family: str) -> Part:
        """What is installed for the family, as far as it is known."""
        found = self._found.parts.get(family) if self._found else None
        return found or Part()

    def is_uncommitted(self, path: Path) -> bool:
        """Whether a file that a server names is in the checkout, where nobody committed it.

        What nibd and the module caches have there is not of it: a checkout may be the user's home.
        """
        found = self._found
        if found is None or not found.is_uncommitted(path):
            return False
        real = path.resolve()
        apart = (self._cache, self.tree.root, found.go_modules, found.cargo_home)
        return not any(real.is_relative_to(each.resolve()) for each in apart if each)

    def remarks(self, family: str) -> list[str]:
        """What the family's answers lack, in sentences: what was left out, and what its server says."""
        running = self._running.get(family)
        return [*self.dependencies(family).notes, *(running.server.limits if running else ())]

    def is_fresh(self, family: str) -> bool:
        """Whether the running server has seen no other tree, and nothing was installed since its start."""
        running = self._running.get(family)
        return running is not None and running.moves == 0 and _are_as_found(running.watched)

    def is_as_found(self, family: str) -> bool:
        """Whether nothing was installed for the family since it was looked up (`know`)."""
        return _are_as_found(self.dependencies(family).watched)

    def was_asked_everything(self, family: str) -> None:
        """Take the memory that the running server holds now as that of a fresh one, the first time.

        Answering everything once is what fills it: many hold twice what they held when they had settled.
        """
        running = self._running.get(family)
        if running is not None and not running.asked_everything:
            running.server.note_fresh_memory()
            running.asked_everything = True

    def end(self, family: str) -> None:
        self.holding.close(family)
        self._untold.discard(family)
        running = self._running.pop(family, None)
        if running is not None:
            running.server.close()

    def close(self) -> None:
        for family in list(self._running):
            self.end(family)
        self.tree.close()

    def pids(self) -> dict[str, int]:
        return {family: running.server.pid for family, running in self._running.items()}

    def _started(self, family: str, paths: Iterable[RepoPath], cache: Path) -> _Running:
        driver = driver_of_family(family)
        options = replace(self._told(), cache=cache, interrupt=self._interrupt)
        server = start_server(driver, self.installed(family), self.tree.root, options)
        self.starts += 1
        try:
            server.open_all(paths, self._interrupt)
        except BaseException:
            server.kill()
            raise
        found = self.dependencies(family)
        return _Running(server, (self.installed(family).identity, found.identity), found.watched)

    def _interrupt(self) -> None:
        self._report(Progress("settle", 0, 0))

    def has_package(self, family: str, package: str, version: str) -> bool:
        """Whether it can make a difference which version of a package outside the tree is required."""
        has_package = driver_of_family(family).has_package
        if has_package is None:
            return True
        options = replace(self._told(), cache=self._cache / family)
        return has_package(self.installed(family), self.tree.root, options, package, version)

    def _told(self) -> Options:
        """The options, with what is installed."""
        found = self._found
        if found is None:
            return self._options
        return replace(
            self._options,
            python=found.python.folder if found.python else None,
            search_paths=found.search_paths,
            go_modules=found.go_modules,
            cargo_home=found.cargo_home,
            compile_commands=self.tree.root if COMPILE_COMMANDS in found.placements else None,
        )

    def _identity(self, family: str) -> tuple[str, str] | None:
        """What a server of the family would be started with; `None` when there is none any more."""
        try:
            return self.installed(family).identity, self.dependencies(family).identity
        except ServerMissing:
            return None


def _are_as_found(watched: Mapping[str, str]) -> bool:
    return all(stamp(path) == found for path, found in watched.items())


def _new_folders(root: Path, added: Iterable[RepoPath]) -> list[RepoPath]:
    """Those that hold nothing but added files, outer ones first."""
    new: set[bytes] = set(added)
    folders = {folder for path in new for folder in _above(path)}
    found = []
    for folder in sorted(folders, key=lambda each: (-each.count(b"/"), each)):
        inside = (root / os.fsdecode(folder)).iterdir()
        if all(folder + b"/" + os.fsencode(entry.name) in new for entry in inside):
            new.add(folder)
            found.append(RepoPath(folder))
    return found[::-1]


def _above(path: bytes) -> Iterable[bytes]:
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path
