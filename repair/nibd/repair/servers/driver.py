"""What has to be known of a language server to run it: the types. `registry` has the five drivers.

A **driver** describes one server: how it is found, with which arguments, environment and settings it is
started, how it learns of files, how it has settled, and its **guards**: each way in which a repository could
make it run code of the repository's own (invariant 10), with what shuts that way. An **installation** is
that server as found on this machine. **Options** are what the caller decides for one private tree.

Nothing here reads this process's environment: folders to look in are parameters, and a server's environment
is built from nothing. It names no program of the repository: a search passes over whatever lies inside
the folders that are forbidden to it, links resolved.

`trusted` in the options is the owner's word that code of this repository may run (off by default).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from nibd.repair.servers.inbound import Json
from nibd.stores.types import RepoPath

UTF_8 = "utf-8"
UTF_16 = "utf-16"


@dataclass(frozen=True, slots=True)
class Search:
    """Where programs are looked for: `folders` first, then those of `path` (as in `$PATH`).

    Relative folders and what lies inside `forbidden` (the checkout, the private tree) are passed over.
    `home` is the user's, and `rustup_home` where rustup keeps toolchains if not there. Only programs that are
    found are told of them, when they are asked for their version or their real place.
    """

    path: str
    folders: tuple[Path, ...] = ()
    forbidden: tuple[Path, ...] = ()
    home: Path | None = None
    rustup_home: Path | None = None


@dataclass(frozen=True, slots=True)
class Installed:
    """A server that can be started. `tools` are other programs that it needs, by name."""

    program: Path
    version: str
    tools: Mapping[str, Path] = field(default_factory=dict)
    tool_versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def programs(self) -> list[Path]:
        """What another version may take the place of."""
        return [self.program, *self.tools.values()]

    @property
    def identity(self) -> str:
        """One line for a profile: every version that answers depend on."""
        tools = (f"{name} {version}" for name, version in sorted(self.tool_versions.items()))
        return "; ".join((self.version, *tools))


@dataclass(frozen=True, slots=True)
class Missing:
    """The server can't be had: `reason`, and the `install` command that brings it, or a page that does."""

    reason: str
    install: str

    @property
    def advice(self) -> str:
        is_place = self.install.startswith("https://")
        return f"see {self.install}" if is_place else f"install it with: {self.install}"


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller decides for a server on one private tree.

    `cache` is a folder of the caller's for this server and tree alone: home, caches and index of the server
    live there, and deleting it loses only time. The others name what the user's dependencies are found by:
    `python` an interpreter or its environment's folder (read, never run), `search_paths` folders of the
    private tree that come before those that the environment leads to, `go_modules` a module cache,
    `cargo_home` (registry, sources, the user's own configuration), `compile_commands` the folder of a
    compile_commands.json whose paths lead into the private tree. `interrupt` is called now and then while a
    launch takes long, by the thread that wants it; what it raises ends that.
    """

    cache: Path
    python: Path | None = None
    search_paths: tuple[Path, ...] = ()
    go_modules: Path | None = None
    cargo_home: Path | None = None
    compile_commands: Path | None = None
    trusted: bool = False
    interrupt: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started for one tree. `env` is its whole environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    initialization: Json
    settings: Mapping[str, Json]
    """Answers to `workspace/configuration`, by section; sent by `didChangeConfiguration` when they change."""
    limits: tuple[str, ...] = ()
    """What answers will lack, in words for `status`: coverage is reduced, and why."""
    delimited: bool = False
    """It reads messages that end in a line `---` instead of such with a header."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One way to make the server run a repository's code, and what shuts it."""

    threat: str
    shut_by: str


class Holds(Enum):
    """Changes that a server holds as soon as it was told of them."""

    NOTHING = "nothing"
    OPENED = "opened"
    """Another text of files that are open."""
    ALL = "all"


class Guesses(Protocol):
    """What hears the log of a file's process, and then tells whether an answer is a guess that is none.

    `number` is that of the request, which count from 1 in each process; `targets` how many it leads to.
    """

    def hear(self, log: bytes) -> None: ...

    def is_void(self, number: int, targets: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class LeavesOut:
    """Files that are in the tree and that the server does not build.

    It says so of them by an error that begins with `message`. That may be an accident too: it counts where
    the file, given by path and text, `may_be` left out for what stands in it. `why` says that in words.
    """

    message: str
    may_be: Callable[[RepoPath, str], bool]
    why: str


@dataclass(frozen=True, slots=True)
class Driver:
    """One language server. See the module.

    `launch(installed, root, options)` writes what the server needs into `options.cache`. It is called again
    when its `configuration` changed: new settings are sent, a new environment needs a restart.
    """

    family: str
    """`python`, `javascript`, `go`, `rust` or `c`."""
    server: str
    languages: frozenset[str]
    """Ids of `nibd.repair.languages`."""
    suffixes: tuple[bytes, ...]
    """Endings of the source files that it is asked about."""
    install: str
    find: Callable[[Search], Installed | Missing]
    launch: Callable[[Installed, Path, Options], Launch]
    guards: tuple[Guard, ...]
    prepare: Callable[[Installed, Options], None] | None = None
    """Called once before each start, not on changes: what has to be cleared, or be there."""
    keeps_cache: bool = True
    """Another server can start on the same cache while one runs."""
    configuration: tuple[bytes, ...] = ()
    """Names of files that `launch` reads: when one of them changes, in any folder, it is called again."""
    opens_files: bool = False
    """Every source file has to be opened (`didOpen`), for right answers or for fast ones."""
    group_of: Callable[[RepoPath, str], Hashable | None] | None = None
    """Then one of each group will do. Given a path and its text; `None`: it has to be open itself."""
    stands: Callable[[RepoPath], bool] = lambda _: True
    """Whether it will do for every file of its group."""
    audit_after: int = 0
    """An audit follows a transition that changes more files than this (0: none does for that): after such the
    server was seen to answer otherwise than a fresh one."""
    by_file: Callable[[Installed, Path, Options], Callable[[RepoPath], Launch]] | None = None
    """It is asked about each file in a process of its own (`by_file`). Gives what starts a file's process;
    called again when files came or went."""
    guesses: Callable[[RepoPath, str], Guesses] | None = None
    """Makes what tells, for the process of a file with a text, which of its answers are guesses."""
    batch_sites: int = 0
    """How many sites have to be asked at a time to keep it busy; 0: few."""
    file_sites: int = 0
    """What it costs to be asked about one more file, in sites."""
    reports_status: bool = False
    """It says by `experimental/serverStatus` whether it is quiescent; until it has, its answers are empty."""
    settle_wait_s: float = 0.0
    """How long after a change it may still answer from old text without saying that it works."""
    holds_at_once: Holds = Holds.NOTHING
    """What changes it holds in every answer that is asked for after it was told of them: for these there is
    no waiting and no probing, once it has settled after its start."""
    nothing_found: tuple[str, ...] = ()
    """Beginnings of error messages that mean an answer: there is nothing at that place."""
    doubts_nothing: bool = False
    """It was seen to know of nothing in a whole file, by accident: what has no answer is asked once more."""
    leaves_out: LeavesOut | None = None
    has_package: Callable[[Installed, Path, Options, str, str], bool] | None = None
    """Whether this version of a package is on this machine, where one that is not is left out of what the
    server loads, whatever version of it is required."""
    loads_by: tuple[str, Json] | None = None
    """A request (method, parameters) for which it loads at once all that a change had it forget. Else it does
    so package by package, as each is asked about."""
    reads_first: tuple[bytes, ...] = ()
    """Endings of files in which an answer depends on what was asked before: such a file is read as a whole
    (by semantic tokens, which name everything in it in order), then asked."""
    site_after_site: tuple[bytes, ...] = ()
    """Those of them in which that isn't enough: their sites are asked one after the other."""
    language_ids: Mapping[bytes, str] = field(default_factory=dict)
    """LSP's language id by ending, for files that are opened."""
    line_ends: tuple[str, ...] = ("\n",)
    """What it takes for the end of a line, apart from `\\r\\n` (see `positions`)."""

    def owns(self, path: RepoPath) -> bool:
        return path.endswith(self.suffixes)

    def language_id(self, path: RepoPath) -> str:
        ending = path[path.rfind(b".") :]
        return self.language_ids.get(ending) or self.language_ids.get(ending.lower(), "plaintext")
