"""The words of the design as types: ids, source units, facts, states.

Paths are `bytes`, as Git keeps them: a repository may hold names that are not UTF-8, and an
ordering of bytes is the same on every machine. Lines count from 1 and both ends are included.
Everything here is immutable; what is stored is exactly what was computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NewType

RepositoryId = NewType("RepositoryId", str)
"""Names a Git common directory; linked work trees share it, two clones do not."""
CheckoutId = NewType("CheckoutId", str)
"""Names one work tree (main or linked) of a repository."""
CommitId = NewType("CommitId", str)
TreeId = NewType("TreeId", str)
BlobId = NewType("BlobId", str)
"""Commit, tree and blob ids are lower-case hexadecimal, 40 digits (SHA-1) or 64 (SHA-256)."""
RepoPath = NewType("RepoPath", bytes)
"""Relative to the top of the repository, `/` between parts, never empty."""
ProfileId = NewType("ProfileId", str)
"""Digest of what a view's content depends on outside Git. A new profile is a new view."""
TextId = NewType("TextId", bytes)
"""16-byte BLAKE2b digest of a text that is embedded (see `embedding_text_id`)."""

EMPTY_TREE = TreeId("")
"""The tree before anything was built. A build is a repair from it."""


class Level(IntEnum):
    """How much of a file a source unit covers."""

    FILE = 0
    SCOPE = 1
    CALLABLE = 2


class View(StrEnum):
    """The views of a snapshot, in the order in which they are published."""

    LEXICAL = "lexical"
    STRUCTURAL = "structural"
    DENSE = "dense"


class State(StrEnum):
    """What can be had of a view."""

    READY = "ready"
    BUILDING = "building"
    FAILED = "failed"
    ABSENT = "absent"


class Assurance(StrEnum):
    """How certain a view's content is, from weak to strong (docs/consistency.md)."""

    APPROXIMATE = "approximate"
    PARTIAL = "partial"
    REPAIRED = "repaired"
    VERIFIED = "verified"
    EXACT = "exact"


class Skip(StrEnum):
    """Why a path of the tree has no units. Each is counted in `status`."""

    BINARY = "binary"
    TOO_LARGE = "too_large"
    MINIFIED = "minified"
    GENERATED = "generated"
    VENDORED = "vendored"
    IGNORED = "ignored"
    SUBMODULE = "submodule"
    SYMLINK = "symlink"
    MISSING_OBJECT = "missing_object"
    PARSE_TIMEOUT = "parse_timeout"
    TOO_DEEP = "too_deep"
    PARSER_FAILED = "parser_failed"


@dataclass(frozen=True, slots=True)
class Unit:
    """A source unit: a range of one file.

    `name` is the last component (`run`), `qualified` the name as people of that language write it
    (`Job.run`, `ns::Job::run`, `impl Display for Job`, `(*Job).Run` is written `Job.Run`).
    `parent` is the ordinal of the innermost enclosing unit in the same file, `None` for the file.
    `start_byte` and `end_byte` are offsets into the file's *text* (its bytes after decoding to
    UTF-8, see `nibd.repair.text`); decorators and doc comments that belong to the unit are inside.
    `header_end_line` is the last line of its header: doc comment, decorators, signature.
    """

    level: Level
    kind: str
    name: str
    qualified: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    header_end_line: int
    parent: int | None


@dataclass(frozen=True, slots=True)
class Import:
    """An import as it is written: the module, path or header, and the lines it stands on."""

    module: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class UnitTerms:
    """Terms of one text with how often each occurs. `length` is the sum of the counts."""

    counts: dict[str, int]

    @property
    def length(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Facts:
    """What follows from one blob's bytes and its language alone. Kept by blob for ever.

    `units[0]` is the file itself (level 0); the others follow in document order, an enclosing unit
    before those inside it. `terms[i]` counts the *own text* of `units[i]` (its text without that of
    nested units), `file_terms` the whole text. `text_ids[i]` names the text that is embedded for
    `units[i]`, `None` when its own text holds nothing to embed. `broken_line` is the first line that the
    parser can't make out, 0 where there is none: units may be missing from there on.
    """

    units: tuple[Unit, ...]
    imports: tuple[Import, ...]
    terms: tuple[UnitTerms, ...]
    file_terms: UnitTerms
    text_ids: tuple[TextId | None, ...]
    lines: int
    broken_line: int = 0


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One path of a tree with what nibd made of it: facts in a language, or a skip."""

    path: RepoPath
    blob: BlobId
    mode: int
    language: str
    skip: Skip | None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a source unit is. The order of addresses breaks every tie."""

    path: RepoPath
    start_line: int
    end_line: int
    kind: str

    @property
    def key(self) -> tuple[bytes, int, int, str]:
        return (self.path, self.start_line, self.end_line, self.kind)
