"""A language server that is asked about each file in a process of its own.

For servers whose answers depend on which files they have seen before (clangd's index of opened files only
grows, and which of two declarations it points at follows from that). In a fresh process that holds one file,
an answer follows from that file, from what it includes, and from its flags: it is the same in a build and in
a repair, whatever else was asked.

Definitions: for each file asked about, start a process, open the file, ask all of its sites pipelined, kill
the process; up to `JOBS` files at a time, as many as there is memory for. A file that takes more than its
time or memory, or that the server dies of, is *unknown* and takes no other file with it; until it changes, or
what it includes, it is not tried again.

References and implementations need an index of all files. They are asked of one process that makes it when
it is first needed, and keeps the files open that it was asked about last; after the next change that process
is started anew.

What the process that is `start`ed is good for besides: that it starts tells that the server works here.
"""

from __future__ import annotations

import os
import resource
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Self

from nibd.repair.servers.driver import Driver, Installed, Launch, Options
from nibd.repair.servers.errors import NOT_UTF8, ServerFailed, Unknown
from nibd.repair.servers.room import available_bytes
from nibd.repair.servers.server import Interrupt, LanguageServer, Locations, Request, Settled
from nibd.repair.servers.transport import WINDOW
from nibd.repair.text import is_utf8
from nibd.stores.types import RepoPath

FILE_PATIENCE_S = 60.0
"""How long a file's process may be silent: it says nothing while it parses."""
FILE_MEMORY_BYTES = 6 << 30
"""Of addresses, of which a process uses about half."""
JOBS = max(1, min(4, os.cpu_count() or 1))
OPEN_FILES = 16
"""So many stay open in the process that has the index: each holds all that it includes."""
_SAID_FAILED = 3


class ByFileServer(LanguageServer):
    """See the module. One thread calls, but for questions; the files' processes belong to threads of its own.

    No question waits for another's window, so none is urgent; those that need the index take turns for it.
    """

    @classmethod
    def start(cls, driver: Driver, installed: Installed, root: Path, options: Options) -> Self:
        server = super().start(driver, installed, root, options)
        assert driver.by_file is not None, f"{driver.server} is asked about all files in one process"
        server._prepare = partial(driver.by_file, installed, server.root, options)
        server._launch_of = server._prepare()
        return server

    _prepare: Callable[[], Callable[[RepoPath], Launch]]
    _launch_of: Callable[[RepoPath], Launch]

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._failed: dict[RepoPath, Unknown] = {}
        self._sent: Counter[str] = Counter()
        self._is_indexed = False
        self._indexing = threading.Lock()
        self._asked_last: dict[RepoPath, None] = {}
        """The files that are open for the index's process, those asked about last at the end."""

    @property
    def requests(self) -> Mapping[str, int]:
        return self._sent + Counter(super().requests)

    def open_all(self, paths: Iterable[RepoPath], interrupt: Interrupt = lambda: None) -> int:
        """Nothing is open but what is being asked about."""
        return 0

    def changed(
        self, added: Iterable[RepoPath], modified: Iterable[RepoPath], deleted: Iterable[RepoPath]
    ) -> None:
        """Processes that start from here on read the new files; only the index has to be made anew."""
        paths = {*added, *modified, *deleted}
        self.try_again(paths)
        if any(path.endswith(self.driver.configuration) for path in paths):
            self._launch = self._relaunch()
        self._outdated = self._outdated or self._is_indexed
        self._launch_of = self._prepare()
        self._say_limits()

    def try_again(self, paths: Iterable[RepoPath]) -> None:
        for path in paths:
            self._failed.pop(path, None)
        self._say_limits()

    def settle(
        self, timeout_s: float, probes: Sequence[Request] = (), interrupt: Interrupt = lambda: None
    ) -> Settled | Unknown:
        """There is nothing to wait for, as each process parses its file before it answers."""
        if self._connection.dead is not None:
            return self._connection.dead
        if self.fresh_memory is None:
            self.note_fresh_memory()
        return Settled(0.0, 0)

    def definitions(
        self,
        requests: Iterable[Request],
        *,
        window: int = WINDOW,
        timeout_s: float = FILE_PATIENCE_S,
        urgent: bool = False,
    ) -> list[Locations]:
        asked = list(requests)
        by_file: dict[RepoPath, list[int]] = defaultdict(list)
        for index, (path, _, _) in enumerate(asked):
            by_file[path].append(index)
        answers: list[Locations] = [Unknown("not asked")] * len(asked)

        def ask(path: RepoPath) -> list[Locations]:
            return self._ask_file(path, [asked[index] for index in by_file[path]], window, timeout_s)

        with ThreadPoolExecutor(_jobs(), thread_name_prefix=self.driver.server) as pool:
            for path, found in zip(by_file, pool.map(ask, by_file), strict=True):
                for index, answer in zip(by_file[path], found, strict=True):
                    answers[index] = answer
        self._say_limits()
        return answers if self.is_alive else super().definitions(asked)  # which say how it ended

    def _ask_file(
        self, path: RepoPath, requests: Sequence[Request], window: int, timeout_s: float
    ) -> list[Locations]:
        failed = self._failed.get(path) if is_utf8(path) else NOT_UTF8
        if failed is not None:
            return [failed] * len(requests)
        launch = self._launch_of(path)
        guesses = self.driver.guesses(path, self._text(path) or "") if self.driver.guesses else None
        try:
            one = LanguageServer.launched(self.driver, self.root, launch, lambda: launch)
        except ServerFailed as error:
            return [Unknown(error.reason)] * len(requests)
        first = sum(one.requests.values()) + 1
        try:
            resource.prlimit(one.pid, resource.RLIMIT_AS, (FILE_MEMORY_BYTES, FILE_MEMORY_BYTES))
            if guesses:
                one.listen(guesses.hear)
            one.open(path)
            answers = one.definitions(requests, window=window, timeout_s=timeout_s)
            self._sent.update(one.requests)
            died = not one.is_alive
        except ProcessLookupError:
            answers, died = [Unknown("it ended as it was started")] * len(requests), True
        finally:
            one.kill()
        lacking = next((each for each in answers if isinstance(each, Unknown)), None)
        was_patient = died or timeout_s >= FILE_PATIENCE_S
        if lacking is not None and not lacking.message and was_patient:  # an error is about one site
            self._failed[path] = Unknown(lacking.reason)
        if guesses is None:
            return answers
        return [
            () if not isinstance(each, Unknown) and guesses.is_void(first + n, len(each)) else each
            for n, each in enumerate(answers)
        ]

    def _know_all(self, asked: Sequence[Request], timeout_s: float) -> Unknown | None:
        """Have the index of all files, and the files that are asked about open; None when there they are.

        An index that takes longer is made all the same, for who asks later.
        """
        with self._indexing:
            if not self._is_indexed:
                self._is_indexed = True  # first: what changes while it is made makes it outdated
                self._relaunch()
            self._have_open({path for path, _, _ in asked})
            settled = super().settle(timeout_s, asked)
        return settled if isinstance(settled, Unknown) else None

    def _have_open(self, paths: Set[RepoPath]) -> None:
        """Open these where they are not, and close those that were asked about longest ago."""
        for path in sorted(paths):
            if path not in self._versions:
                self.open(path)
            self._asked_last.pop(path, None)
            self._asked_last[path] = None
        for path in [*self._asked_last][: max(0, len(self._asked_last) - max(OPEN_FILES, len(paths)))]:
            del self._asked_last[path]
            self._close(path)

    def _say_limits(self) -> None:
        failed = [
            f"{self.driver.server} gave up {path.decode('utf-8', 'backslashreplace')}: {unknown.reason}"
            for path, unknown in sorted(self._failed.items())
        ]
        more = [f"and {len(failed) - _SAID_FAILED} more files"] if len(failed) > _SAID_FAILED else []
        self.limits = (*self._launch.limits, *failed[:_SAID_FAILED], *more)


def _jobs() -> int:
    """How many files there is room for now, should each need all that it may take; one in any case."""
    return max(1, min(JOBS, available_bytes() // (FILE_MEMORY_BYTES // 2)))


def start_server(driver: Driver, installed: Installed, root: Path, options: Options) -> LanguageServer:
    """A server as its driver wants to be asked. Raises ServerFailed; see `LanguageServer.start`."""
    kind = LanguageServer if driver.by_file is None else ByFileServer
    return kind.start(driver, installed, root, options)
