"""A running language server on one private tree: told of changes, settled, asked, watched, ended.

Steps of its life: `start` (process, `initialize`), `open_all` where the driver opens files, `settle`,
questions; then for each transition `changed`, `settle`, questions. Files are read from disk below `root`, so
the private tree must hold the new tree before `changed` is called, and only then.

A **settled** server has ended the work that it announced, is quiescent where it tells, and has given equal
answers to the same probes in two rounds. Answers read before may be empty or old. Later, for a change that
its driver says it `holds_at_once`, the work that it announces is all that is waited for.

Nothing is raised once it has started: a server that died, hangs or refuses gives `Unknown`, `is_alive` tells.
It never edits, never runs anything, and asks nothing of the repository.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from nibd.repair.servers.driver import UTF_8, UTF_16, Driver, Holds, Installed, Launch, Options
from nibd.repair.servers.errors import NOT_UTF8, ServerFailed, Unknown
from nibd.repair.servers.inbound import ClientSide, Json
from nibd.repair.servers.locations import Location, Uris
from nibd.repair.servers.open_groups import OpenGroups
from nibd.repair.servers.process import ServerProcess
from nibd.repair.servers.transport import PATIENCE_S, WINDOW, Answer, Connection
from nibd.repair.text import Text, decode, is_utf8
from nibd.stores.types import RepoPath

START_PATIENCE_S = 60.0
END_PATIENCE_S = 2.0
RESTART_FACTOR = 2
RESTART_FLOOR_BYTES = 512 << 20
"""Below this no memory is a reason to restart: the first questions alone double a small server's."""
PROBE_PAUSE_S = 0.05
PROBES = 32
_DRAIN_EVERY = 64
_DRAIN_STEP_S = 1.0
MOST_PLACES = 200
"""A name that leads to more is taken for unknown: each of the 40,000 sites of a name that is bound 20,000
times would be answered by 20,000 places, in megabytes."""
LOADED_FOLDERS = 8
"""Where so many folders are asked about, what a change had the server forget is loaded at once."""
_RETRIES = 2
_DEFINITION = "textDocument/definition"
_READ = "textDocument/semanticTokens/full"
_CREATED, _CHANGED, _DELETED = 1, 2, 3
"""`FileChangeType`."""

Request = tuple[RepoPath, int, int]
"""A place: path, line from 0, character from 0 in units of the server's position encoding."""
Locations = tuple[Location, ...] | Unknown
Interrupt = Callable[[], None]
"""Called now and then while something takes long; what it raises ends that."""


@dataclass(frozen=True, slots=True)
class Settled:
    """It has settled; how long that took, and how many rounds of probes."""

    seconds: float
    rounds: int


class LanguageServer:
    """See the module. Called by one thread at a time, but for questions, which any thread may ask."""

    def __init__(
        self,
        driver: Driver,
        root: Path,
        process: ServerProcess,
        launch: Launch,
        relaunch: Callable[[], Launch],
    ) -> None:
        self.driver = driver
        self.root = root
        self.encoding = UTF_16
        """`utf-8` or `utf-16`: what a character counts."""
        self.fresh_memory: int | None = None
        """Bytes when it had first settled, or at `note_fresh_memory`; None before."""
        self.version = ""
        """What its program says; empty of one that was only launched."""
        self.limits = launch.limits
        self._capabilities: Mapping[str, Json] = {}
        self._process = process
        self._client = ClientSide(root, launch.settings)
        self._connection = Connection(process, self._client, launch.delimited)
        self._launch, self._relaunch = launch, relaunch
        self._outdated = False
        self._uris = Uris(root)
        self._versions: dict[RepoPath, int] = {}
        self._groups = OpenGroups(driver, root, self._text)
        self._probes: tuple[Request, ...] = ()
        self._changed_at = time.monotonic()
        self._holds_all = False
        """Whether there is nothing to wait for but work that it announces."""
        self._was_told = False
        """Of a change, since it was looked at last."""
        self._has_loaded = False
        """All that it forgot, since the last change (`loads_by`)."""

    @classmethod
    def start(cls, driver: Driver, installed: Installed, root: Path, options: Options) -> Self:
        """Start and initialise it. Raises ServerFailed. `root` is resolved; call from a lasting thread."""
        root = root.resolve()
        options.cache.mkdir(parents=True, exist_ok=True)

        def relaunch() -> Launch:
            return driver.launch(installed, root, options)

        if driver.prepare is not None:
            driver.prepare(installed, options)
        server = cls.launched(driver, root, relaunch(), relaunch, options.interrupt)
        server.version = installed.version
        return server

    @classmethod
    def launched(
        cls,
        driver: Driver,
        root: Path,
        launch: Launch,
        relaunch: Callable[[], Launch],
        interrupt: Interrupt = lambda: None,
    ) -> Self:
        """Start and initialise what `launch` says, and nothing else. Raises ServerFailed."""
        process = ServerProcess.start(launch.argv, launch.env, root)
        server = cls(driver, root, process, launch, relaunch)
        try:
            server._initialize(launch, interrupt)
        except BaseException:
            server.kill()
            raise
        return server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        return self._connection.dead is None and self._process.is_running

    @property
    def pid(self) -> int:
        return self._process.pid

    def offers(self, capability: str) -> bool:
        """Whether it has said so of a capability of the protocol, such as `implementationProvider`."""
        return bool(self._capabilities.get(capability))

    @property
    def requests(self) -> Mapping[str, int]:
        """How many requests were sent, by method."""
        return self._connection.requests

    @property
    def complaints(self) -> tuple[str, ...]:
        """Warnings and errors that it showed, and rust-analyzer's state of health."""
        return self._client.complaints

    @property
    def log(self) -> tuple[str, ...]:
        """The last lines that it logged, by message and on stderr."""
        return (*self._client.log, *self._process.stderr_tail().splitlines())

    def listen(self, listener: Callable[[bytes], None]) -> None:
        """Have `listener` hear what the server writes on stderr, until `kill` has returned."""
        self._process.listener = listener

    def memory_bytes(self) -> int:
        """Resident memory of it and of what it runs."""
        return self._process.memory_bytes()

    def must_restart(self) -> bool:
        """Whether it is dead, was started for other configuration, or holds twice its fresh memory.

        To be asked after each `changed` and now and then: memory below the floor never counts.
        """
        if self._outdated or not self.is_alive:
            return True
        allowed = max(RESTART_FACTOR * (self.fresh_memory or 0), RESTART_FLOOR_BYTES)
        return self.fresh_memory is not None and self.memory_bytes() >= allowed

    def note_fresh_memory(self) -> int:
        """Take what it holds now for its fresh memory: call when all sites were asked for the first time."""
        self.fresh_memory = self.memory_bytes()
        return self.fresh_memory

    def open_all(self, paths: Iterable[RepoPath], interrupt: Interrupt = lambda: None) -> int:
        """Open the driver's files among `paths` where it opens files; give how many are open.

        One that `interrupt` ends has some of them open: the server is to be ended then.
        """
        if self.driver.opens_files:
            owned = sorted(filter(self.driver.owns, paths), key=lambda path: not self.driver.stands(path))
            needed = filter(self._groups.needs, owned)
            for done, path in enumerate(needed, 1):
                self.open(path)
                interrupt()
                if done % _DRAIN_EVERY == 0:  # else all texts would be held at once
                    self._drain(interrupt)
            self._drain(interrupt)
            self._changed_at = time.monotonic()
        return len(self._versions)

    def _drain(self, interrupt: Interrupt) -> None:
        deadline = time.monotonic() + START_PATIENCE_S
        while not self._connection.drain(_DRAIN_STEP_S) and self.is_alive and time.monotonic() < deadline:
            interrupt()

    def changed(
        self, added: Iterable[RepoPath], modified: Iterable[RepoPath], deleted: Iterable[RepoPath]
    ) -> None:
        """Tell of everything that changed on disk, of whatever language; a rename is a delete and an add.

        Configuration among it may have made the server outdated: ask `must_restart`.
        """
        groups = ((_DELETED, tuple(deleted)), (_CHANGED, tuple(modified)), (_CREATED, tuple(added)))
        for kind, paths in groups:
            if self.driver.opens_files:
                for path in filter(self.driver.owns, paths):
                    if kind == _DELETED:
                        self._close(path)
                    elif path in self._versions or self._groups.needs(path):
                        self.open(path)
        for path in self._groups.instead({path for _, paths in groups for path in paths}):
            self.open(path)
        events = [{"uri": self._uris.of(path), "type": kind} for kind, paths in groups for path in paths]
        if events:
            self._connection.notify("workspace/didChangeWatchedFiles", {"changes": events})
        names = {path.rpartition(b"/")[2] for _, paths in groups for path in paths}
        if not names.isdisjoint(self.driver.configuration):
            self._configure()
        self._connection.drain()
        self._changed_at = time.monotonic()
        self._holds_all = self._holds_all and self._holds_at_once(dict(groups))
        self._was_told = True
        self._has_loaded = False

    def try_again(self, paths: Iterable[RepoPath]) -> None:
        """Forget that it gave these files up, if it did: what they include has changed."""

    def _holds_at_once(self, groups: Mapping[int, Sequence[RepoPath]]) -> bool:
        if self.driver.holds_at_once is Holds.OPENED:
            return (
                not groups[_CREATED]
                and not groups[_DELETED]
                and set(groups[_CHANGED]) <= self._versions.keys()
            )
        return self.driver.holds_at_once is Holds.ALL

    def settle(
        self, timeout_s: float, probes: Sequence[Request] = (), interrupt: Interrupt = lambda: None
    ) -> Settled | Unknown:
        """Wait until it has settled. `probes` are places of sites in several files; kept for later calls.

        Unknown when it did not settle in time or died. The first time it notes the fresh memory. `interrupt`
        is called at least once a second; after what it raises, this is to be called again.
        """
        self._probes = tuple(probes[:PROBES]) or self._probes
        begun = time.monotonic()
        deadline = begun + timeout_s
        rounds, last = 0, None
        while True:
            idle = self._await_idle(deadline, interrupt)
            if isinstance(idle, Unknown):
                return idle
            if self._holds_all and self._was_told:
                self._was_told = False
                return Settled(time.monotonic() - begun, rounds)
            work_begun = self._client.work_begun
            left_s = max(0.1, deadline - time.monotonic())
            answers = self._definitions(self._probes, WINDOW, left_s, interrupt=interrupt)
            rounds += 1
            known = not any(map(_is_transient, answers))
            if known and answers == last and work_begun == self._client.work_begun and not self._client.work:
                break
            last = answers
            if time.monotonic() >= deadline:
                return Unknown(f"not settled in {timeout_s:g} s")
            self._connection.wait_for_news(PROBE_PAUSE_S)
        if self.fresh_memory is None:
            self.note_fresh_memory()
        self._holds_all, self._was_told = True, False
        return Settled(time.monotonic() - begun, rounds)

    def definitions(
        self,
        requests: Iterable[Request],
        *,
        window: int = WINDOW,
        timeout_s: float = PATIENCE_S,
        urgent: bool = False,
    ) -> list[Locations]:
        """What each place refers to, in the order of `requests`; `()`: the server knows of nothing.

        `urgent`: before what others ask, as far as that can be had.
        """
        return self._definitions(list(requests), window, timeout_s, urgent)

    def _definitions(
        self,
        asked: Sequence[Request],
        window: int,
        timeout_s: float,
        urgent: bool = False,
        interrupt: Interrupt = lambda: None,
    ) -> list[Locations]:
        """Files that are read first come after the others, each by itself, some site after site."""
        if not urgent:
            self._load(asked, interrupt)
        together: list[int] = []
        alone: dict[RepoPath, list[int]] = {}
        for n, (path, _, _) in enumerate(asked):
            is_read = self.driver.reads_first and path.endswith(self.driver.reads_first)
            (alone.setdefault(path, []) if is_read else together).append(n)
        places = [asked[n] for n in together]
        answers = self._places(_DEFINITION, places, window, timeout_s, urgent=urgent, interrupt=interrupt)
        found = dict(zip(together, answers, strict=True))
        for path, indexes in alone.items():
            document = {"textDocument": {"uri": self._uris.of(path)}}
            self._connection.ask(_READ, document, timeout_s, interrupt)
            places = [asked[n] for n in indexes]
            width = 1 if path.endswith(self.driver.site_after_site) else window
            answers = self._places(_DEFINITION, places, width, timeout_s, urgent=urgent, interrupt=interrupt)
            found.update(zip(indexes, answers, strict=True))
        return [found[n] for n in range(len(asked))]

    def _load(self, asked: Sequence[Request], interrupt: Interrupt) -> None:
        """Have it load all at once what many questions would have it load one by one."""
        if self.driver.loads_by is None or self._has_loaded:
            return
        if len({path.rpartition(b"/")[0] for path, _, _ in asked}) >= LOADED_FOLDERS:
            self._has_loaded = True
            method, params = self.driver.loads_by
            self._connection.ask(method, params, START_PATIENCE_S, interrupt)  # no answer: one by one then

    def live_definitions(
        self, requests: Iterable[Request], *, window: int = WINDOW, timeout_s: float = PATIENCE_S
    ) -> list[Locations]:
        """As `definitions`, by whatever the server knows of other files too."""
        asked = list(requests)
        missing = self._know_all(asked, timeout_s)
        return [missing] * len(asked) if missing else self._definitions(asked, window, timeout_s)

    def implementations(
        self,
        requests: Iterable[Request],
        *,
        window: int = WINDOW,
        timeout_s: float = PATIENCE_S,
        urgent: bool = False,
    ) -> list[Locations]:
        return self._of_all("textDocument/implementation", requests, window, timeout_s, {}, urgent)

    def references(
        self,
        requests: Iterable[Request],
        *,
        include_declaration: bool = True,
        window: int = WINDOW,
        timeout_s: float = PATIENCE_S,
        urgent: bool = False,
    ) -> list[Locations]:
        context = {"context": {"includeDeclaration": include_declaration}}
        return self._of_all("textDocument/references", requests, window, timeout_s, context, urgent)

    def _of_all(
        self,
        method: str,
        requests: Iterable[Request],
        window: int,
        timeout_s: float,
        more: Json,
        urgent: bool,
    ) -> list[Locations]:
        """What is answered from all files."""
        asked = list(requests)
        missing = self._know_all(asked, timeout_s)
        return (
            [missing] * len(asked)
            if missing
            else self._places(method, asked, window, timeout_s, more, urgent)
        )

    def _know_all(self, asked: Sequence[Request], timeout_s: float) -> Unknown | None:
        """Have it know all files; `None` when it does, as a server that has settled."""
        return None

    def close(self) -> None:
        """Ask it to end, then end it and all that it started."""
        if self.is_alive and self._connection.ask("shutdown", timeout_s=END_PATIENCE_S) is None:
            self._connection.notify("exit")
            if self._connection.drain(END_PATIENCE_S):
                self._process.wait(END_PATIENCE_S)
        self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._connection.join()

    def _initialize(self, launch: Launch, interrupt: Interrupt) -> None:
        params = _initialize_params(self.root, launch)
        answer = self._connection.ask("initialize", params, START_PATIENCE_S, interrupt)
        if isinstance(answer, Unknown):
            raise ServerFailed(f"{self.driver.server}: {answer.reason}")
        capabilities = answer.get("capabilities", {})
        # clangd's older name for it stands at the top
        self._capabilities = capabilities
        self.encoding = capabilities.get("positionEncoding") or answer.get("offsetEncoding") or UTF_16
        if self.encoding not in (UTF_8, UTF_16):
            raise ServerFailed(f"{self.driver.server} counts characters in {self.encoding}")
        self._connection.notify("initialized", {})
        self._connection.drain()

    def _configure(self) -> None:
        launch = self._relaunch()
        self.limits = launch.limits
        self._outdated = (launch.argv, launch.env) != (self._launch.argv, self._launch.env)
        if launch.settings != self._client.settings:
            self._client.settings = launch.settings
            self._connection.notify("workspace/didChangeConfiguration", {"settings": launch.settings})

    def _await_idle(self, deadline: float, interrupt: Interrupt) -> Unknown | None:
        """Wait for the end of announced work, for quiescence, and for the driver's time after a change."""
        client = self._client
        while True:
            if self._connection.dead is not None:
                return self._connection.dead
            now = time.monotonic()
            early = 0.0 if self._holds_all else self._changed_at + self.driver.settle_wait_s - now
            busy = bool(client.work) or (self.driver.reports_status and not client.quiescent)
            if not busy and early <= 0:
                return None
            if now >= deadline:
                what = ", ".join(client.work) or "not quiescent"
                return Unknown(f"not settled in time: {what}")
            interrupt()
            self._connection.wait_for_news(min(early if early > 0 else 0.5, deadline - now, 0.5))

    def _places(
        self,
        method: str,
        requests: Iterable[Request],
        window: int,
        timeout_s: float,
        more: Json = None,
        urgent: bool = False,
        interrupt: Interrupt = lambda: None,
    ) -> list[Locations]:
        extra = more or {}
        wanted = list(requests)
        asked = [place for place in wanted if is_utf8(place[0])]

        def ask(places: Iterable[Request]) -> list[Answer]:
            params = (self._params(place) | extra for place in places)
            return self._connection.ask_many(
                method, params, window=window, timeout_s=timeout_s, urgent=urgent, interrupt=interrupt,
                most=MOST_PLACES if method == _DEFINITION else None,
            )  # fmt: skip

        answers = ask(asked)
        for _ in range(_RETRIES):
            again = [n for n, answer in enumerate(answers) if _is_transient(answer)]
            if not again:
                break
            for n, answer in zip(again, ask(asked[n] for n in again), strict=True):
                answers[n] = answer
        if self.driver.doubts_nothing and method == _DEFINITION:
            again = [n for n, answer in enumerate(answers) if self._is_nothing(answer)]
            for n, answer in zip(again, ask(asked[n] for n in again), strict=True):
                answers[n] = answer
        unbuilt = dict[RepoPath, bool]()
        told = zip(asked, answers, strict=True)
        found = (self._uris.locations(self._judged(path, answer, unbuilt)) for (path, *_), answer in told)
        return [next(found) if is_utf8(path) else NOT_UTF8 for (path, *_) in wanted]

    def _judged(self, path: RepoPath, answer: Answer, unbuilt: dict[RepoPath, bool]) -> Answer:
        """Some servers say by an error that nothing is at a place, or that they don't build its file."""
        if self._is_nothing(answer):
            return None
        if not isinstance(answer, Unknown):
            return answer
        leaves = self.driver.leaves_out
        if leaves is None or not answer.message.startswith(leaves.message):
            return answer
        if path not in unbuilt:
            text = self._text(path)
            unbuilt[path] = text is not None and leaves.may_be(path, text)
        return replace(answer, unbuilt=unbuilt[path])

    def _is_nothing(self, answer: Answer) -> bool:
        if isinstance(answer, Unknown):
            return answer.message.startswith(self.driver.nothing_found or ("\0",))
        return not answer

    def _params(self, request: Request) -> dict[str, Json]:
        path, line, character = request
        return {
            "textDocument": {"uri": self._uris.of(path)},
            "position": {"line": line, "character": character},
        }

    def open(self, path: RepoPath) -> None:
        """Open a file, or tell of its new text when it is open. One that is binary or gone is closed."""
        text = self._text(path)
        if text is None:
            self._close(path)
            return
        uri, version = self._uris.of(path), self._versions.get(path, 0) + 1
        if version == 1:
            self._holds_all = self._holds_all and self.driver.holds_at_once is Holds.ALL
            document = {"uri": uri, "languageId": self.driver.language_id(path), "version": 1, "text": text}
            self._connection.notify("textDocument/didOpen", {"textDocument": document})
        else:
            self._connection.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]},
            )
        self._versions[path] = version

    def _close(self, path: RepoPath) -> None:
        if self._versions.pop(path, None) is not None:
            self._connection.notify("textDocument/didClose", {"textDocument": {"uri": self._uris.of(path)}})

    def _text(self, path: RepoPath) -> str | None:
        try:
            data = (self.root / os.fsdecode(path)).read_bytes()
        except OSError:
            return None  # deleted since: the caller tells of it next
        decoded = decode(data)
        return decoded.content.decode("utf-8") if isinstance(decoded, Text) else None


def _is_transient(answer: Answer) -> bool:
    return isinstance(answer, Unknown) and answer.transient


def _initialize_params(root: Path, launch: Launch) -> dict[str, Json]:
    links = {"dynamicRegistration": False, "linkSupport": True}
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "nibd"},
        "rootUri": root.as_uri(),
        "rootPath": str(root),
        "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
        "initializationOptions": launch.initialization,
        "capabilities": {
            "general": {"positionEncodings": [UTF_8, UTF_16]},
            "offsetEncoding": [UTF_8, UTF_16],
            "workspace": {
                "configuration": True,
                "didChangeConfiguration": {"dynamicRegistration": True},
                "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
                "workspaceFolders": True,
            },
            "textDocument": {
                "synchronization": {"dynamicRegistration": False},
                "definition": links,
                "implementation": links,
                "references": {"dynamicRegistration": False},
            },
            "window": {"workDoneProgress": True},
            "experimental": {"serverStatusNotification": True},
        },
    }
