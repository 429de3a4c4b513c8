"""What a private tree is told and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nibd.stores.types import RepoPath


class LeftOut(StrEnum):
    """Why a path of the tree is not in the private tree."""

    NAME = "name"
    """The name can't, or must not, be made: `.git`, `..`, too long, too deep."""
    NOT_UTF8 = "not_utf8"
    """The name could be made, but servers die of it, or lose what stands beside it."""
    TOO_LARGE = "too_large"
    SYMLINK = "symlink"
    """It leads, or could lead, out of the tree."""
    SUBMODULE = "submodule"
    """There is an empty folder in its place, as in a fresh clone."""
    MISSING_OBJECT = "missing_object"
    """Looked for again at each move."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be. Other files are data: servers read few of them, and none so large."""

    max_source_bytes: int = 32 << 20
    max_other_bytes: int = 2 << 20


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move, or a check, did to the files, each part in the order of paths.

    Relative to when the private tree last held a known tree: a path that an interrupted move wrote
    is named too, though it may be as it was. `skipped` counts what the whole tree now leaves out.
    """

    added: tuple[RepoPath, ...] = ()
    modified: tuple[RepoPath, ...] = ()
    deleted: tuple[RepoPath, ...] = ()
    skipped: Mapping[LeftOut, int] = field(default_factory=dict)
    written: int = 0

    def __len__(self) -> int:
        return len(self.added) + len(self.modified) + len(self.deleted)


class PlacementKind(StrEnum):
    LINK = "link"
    FILE = "file"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Placement:
    """Something that is not of the tree but put into it: a way to what is installed elsewhere.

    `content` is a link's target or a file's bytes; of a folder it is empty.
    """

    kind: PlacementKind
    content: bytes = b""
