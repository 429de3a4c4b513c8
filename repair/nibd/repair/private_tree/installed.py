"""What the finders of dependencies share: where things are, what they say, whether they are at rest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from nibd.repair.private_tree.disk import folders_of
from nibd.stores.types import RepoPath

QUIET_S = 5.0
"""What changed more recently may still be changing."""
STALE_S = 300.0
"""Signs of an install that are older were left behind by one that failed: they are not waited for."""
MAX_TEXT_BYTES = 1 << 20

Listing = Callable[[], Iterable[RepoPath]]
"""Every path of the tree that the private tree holds."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout as dependencies are looked for in it, and the private tree that stands in for it."""

    path: Path
    real: Path
    root: Path
    tracked: frozenset[bytes]
    folders: frozenset[bytes]

    @classmethod
    def of(cls, path: Path, root: Path, listing: Listing) -> Checkout:
        tracked = frozenset(listing())
        return cls(path.absolute(), path.resolve(), root, tracked, frozenset(folders_of(tracked)))

    def holds(self, path: Path) -> bool:
        """Whether `path`, whose symlinks are resolved, is in the checkout."""
        return path.is_relative_to(self.real)

    def rewritten(self, path: Path) -> Path | None:
        """Where the private tree has what the checkout has at this resolved path, if it has it."""
        relative = path.relative_to(self.real)
        name = bytes(relative)
        is_in_tree = name == b"." or name in self.folders or name in self.tracked
        return self.root / relative if is_in_tree else None

    def is_tracked(self, name: str) -> bool:
        """Whether the tree itself has something at, or below, a path: then that is what counts."""
        return os.fsencode(name) in self.folders or os.fsencode(name) in self.tracked


@dataclass(slots=True)
class Findings:
    """What is noted on the way: sentences for people, signs of an install, and what identifies it all.

    `watched` are the few files and folders of which one changes with every ordinary install, as they were
    just before they were read.
    """

    now_s: float
    notes: list[str] = field(default_factory=list)
    in_progress: str | None = None
    watched: dict[str, str] = field(default_factory=dict)
    digest: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))

    def identify(self, *parts: object) -> None:
        """Make `parts` count for the identity."""
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape")
            self.digest.update(b"%d:" % len(data) + data)

    def identify_file(self, path: Path) -> None:
        """Make a file's content count; that it is absent counts too."""
        self.identify(path.name, read_text(path) or b"")

    def watch(self, path: Path) -> None:
        """Have a look at `path`, which may not be there, count among the signs of a change."""
        self.watched.setdefault(str(path), stamp(path))

    def wait(self, reason: str, changed_s: float, lasting: float = QUIET_S) -> None:
        """Say that an install seems to run, when what shows it changed less than `lasting` ago."""
        if abs(self.now_s - changed_s) < lasting and self.in_progress is None:
            self.in_progress = reason


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> bytes | None:
    """A small file's bytes; `None` when it can't be read, is no file or is larger."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def stamp(path: str | Path) -> str:
    """What differs when a file or folder does; empty when there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - of many paths, which are strings
    except (OSError, ValueError):
        return ""
    return f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"


def mtime_s(path: Path) -> float | None:
    """When a file or folder changed last; `None` when there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing when it can't be listed."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []
