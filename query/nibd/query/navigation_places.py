"""Where a symbol or a site is in the files of a tree: the places that answers are lists of.

Places in the repository come first, by path and offset, then what is outside of it. A target that the tree's
text does not have is *lost*, which only relations that are not exact can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_view import FamilyView, FileRecords
from nibd.stores.relation_types import RelationKind, Target
from nibd.stores.types import BlobId, RepoPath

_ASIDE = re.compile(rb"\s*(//|/\*|\*|#|@)")
"""How a line of comment, or a decorator, begins."""


@dataclass(frozen=True, slots=True)
class Place:
    """Something in a file of the tree: a unit, or one line.

    `name` is the qualified name of a unit, else the identifier; `qualified` that of the unit itself, or of
    the one that holds the line. `line` and `col` are where the identifier begins. `calls` are the lines of
    the calls that led here.
    """

    path: RepoPath
    start_line: int
    end_line: int
    kind: str
    name: str
    qualified: str
    line: int
    col: int
    blob: BlobId
    language: str
    calls: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[bytes, int, int]:
        return (self.path, self.line, self.col)


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the repository. `path` is within the package."""

    package: str
    path: RepoPath
    name: str
    calls: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[str, bytes, str]:
        return (self.package, self.path, self.name)


Found = Place | External


@dataclass(frozen=True, slots=True)
class Page:
    offset: int = 0
    k: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """`found` is a page of the `total`; `unknown` sites could belong to it, `lost` targets are nowhere."""

    found: tuple[Found, ...] = ()
    total: int = 0
    unknown: int = 0
    lost: int = 0

    def cut(self, page: Page) -> Answer:
        """A page of what is found."""
        return replace(self, found=self.found[page.offset : page.offset + page.k])


NOTHING = Answer()


ALL = Page()


def located(view: FileRecords, targets: dict[Target, tuple[int, ...]]) -> Answer:
    """Where `targets` are, those in the repository first; each with its calls."""
    places: dict[tuple[bytes, int, int], Place] = {}
    outside: dict[tuple[str, bytes, str], External] = {}
    lost = 0
    for target, calls in targets.items():
        if target.is_external:
            external = External(target.package, target.path, target.name, calls)
            outside[external.key] = external
        elif place := _target_place(view, target):
            places[place.key] = replace(place, calls=calls)
        else:
            lost += 1
    found: list[Found] = [places[key] for key in sorted(places)]
    found += [outside[key] for key in sorted(outside)]
    return Answer(tuple(found), len(found), lost=lost)


def _target_place(view: FileRecords, target: Target) -> Place | None:
    file = view.files(target.path)
    if file is None:
        return None
    key = (target.qualified, target.ordinal)
    at = file.text.symbols.position(*key, target.name, target.nth)
    if at is None:
        return None
    index = file.text.indexes[key]
    if not target.name:
        return unit_place(view, file, index)
    if file.text.is_own_name(index, target.name, at[0]):
        return _unit_at(file, index, at[0])
    record = view.record(file.path)
    relation = record.relation_at(at[0]) if record else None
    kind = relation.site.kind if relation else RelationKind.DEFINITION
    return line_place(file, at[0], kind.value, target.name)


def declared_places(view: FamilyView, targets: Iterable[Target]) -> dict[tuple[bytes, int], Place]:
    """Where `targets` in the repository are, by path and offset; units as a whole are no identifier."""
    found: dict[tuple[bytes, int], Place] = {}
    for target in targets:
        file = None if target.is_external or not target.name else view.files(target.path)
        key = (target.qualified, target.ordinal)
        if file and (at := file.text.symbols.position(*key, target.name, target.nth)):
            index = file.text.indexes[key]
            # Of the several targets that mean a unit, its name is where its place says.
            if file.text.is_own_name(index, target.name, at[0]):
                place = unit_place(view, file, index)
                at = (file.text.offset(place.line, place.col) or at[0], 0)
            found[file.path, at[0]] = line_place(file, at[0], RelationKind.DEFINITION.value, target.name)
    return found


def unit_place(view: FileRecords | None, file: TreeFile, index: int) -> Place:
    """A unit, at its name: of several occurrences in its header the one that the relations say declares it.

    Without relations, the first that is in no comment or decorator.
    """
    names = [byte for _, _, byte in file.text.own_names(index)]
    record = view.record(file.path) if view and len(names) > 1 else None
    for byte in names if record else ():
        relation = record.relation_at(byte) if record else None
        if relation and relation.site.kind is RelationKind.DEFINITION:
            return _unit_at(file, index, byte)
    plain = (byte for byte in names if not _ASIDE.match(file.text.line_text(file.text.line_of(byte))))
    return _unit_at(file, index, next(plain, names[0] if names else file.text.units[index].start_byte))


def site_place(file: TreeFile, byte: int, kind: RelationKind, name: str) -> Place:
    """The line of a site."""
    return line_place(file, byte, kind.value, name)


def _unit_at(file: TreeFile, index: int, byte: int) -> Place:
    unit, version = file.text.units[index], file.version
    line, col = file.text.place(byte)
    return Place(
        version.path, unit.start_line, unit.end_line, unit.kind, unit.qualified, unit.qualified,
        line, col, version.blob, version.language,
    )  # fmt: skip


def line_place(file: TreeFile, byte: int, kind: str, name: str) -> Place:
    version, (line, col) = file.version, file.text.place(byte)
    qualified = file.text.units[file.text.unit_at(byte)].qualified
    return Place(version.path, line, line, kind, name, qualified, line, col, version.blob, version.language)
