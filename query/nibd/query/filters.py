"""Filters: which files of a tree, and which of their units, a question is about.

What is asked for is `Filters`; `select` looks once through a listing for the files that pass, which are a
`Selection`. All that finds candidates takes one and looks for nothing else. It never changes what is counted:
the statistics by which ranking weighs words are those of the whole tree, so a hit has the same order among
hits of a narrower selection, but for what is measured against other candidates (see `ranking`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from nibd.query.ranking.path_classes import is_test
from nibd.stores.bitmap import Bitmap
from nibd.stores.structure import StructureStore
from nibd.stores.types import Address, Level, RepoPath


class PathFilter(Protocol):
    """Patterns of paths."""

    def accept(self, path: bytes, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Filters:
    """`tests` is whether only files of tests pass, or none of them; `changed` are the only paths that do.

    `kinds` are those of units, such as `function`; none means any.
    """

    globs: PathFilter | None = None
    language: str | None = None
    tests: bool | None = None
    changed: frozenset[RepoPath] | None = None
    kinds: frozenset[str] = frozenset()

    def of_changed(self, changed: frozenset[RepoPath]) -> Filters:
        return replace(self, changed=changed)

    def accept(self, path: RepoPath, language: str) -> bool:
        """Whether a file passes."""
        return (
            (self.changed is None or path in self.changed)
            and (self.language is None or language == self.language)
            and (self.globs is None or self.globs.accept(path))
            and (self.tests is None or is_test(path, language) is self.tests)
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """The files of a tree that pass, as rows and paths, and the kinds of their units (none: any kind), with
    the levels that units of these kinds have."""

    rows: Bitmap
    paths: frozenset[RepoPath]
    kinds: frozenset[str]
    levels: frozenset[Level]

    def has(self, address: Address) -> bool:
        return address.path in self.paths and self.has_kind(address.kind)

    def has_kind(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds

    @property
    def of_any_kind(self) -> Selection:
        """The same files with all their units."""
        return replace(self, kinds=frozenset(), levels=frozenset(Level))

    @property
    def only_level(self) -> Level | None:
        """That of all its units, where they have one."""
        return next(iter(self.levels)) if len(self.levels) == 1 else None


def select(structure: StructureStore, listing: Bitmap, filters: Filters) -> Selection | None:
    """The indexed files of a tree that pass; `None` when every unit of every file does.

    With kinds only files that have such a unit. Raises `StoreError`.
    """
    if filters == Filters():
        return None
    files = {row: path for row, path, language in structure.paths(listing) if filters.accept(path, language)}
    levels = frozenset(Level)
    if filters.kinds:
        units = structure.with_kinds(Bitmap.of(files), filters.kinds)
        files = {row: files[row] for row in units}
        levels = frozenset(level for held in units.values() for level in held)
    return Selection(Bitmap.of(files), frozenset(files.values()), filters.kinds, levels)
