"""Navigation over the relations of one family at one tree: static, from what is stored.

A question is about *symbols*: the targets that a site refers to, or those that name a unit. An answer is a
list of places, ordered by path and offset:

definition       where the symbols stand
references       the sites that refer to them, by kind
callers          the units that hold a call of them, each with the lines of its calls
callees          what the calls in a unit refer to
implementations  the units that inherit from them, directly or not; of a method, those of its name in them;
                 of a type of Rust, its `impl` blocks
imports          the files and packages that a file's imports refer to
importers        the files whose imports refer to a file

`references` and `callers` find sites without opening their texts: `page` of them is then shown.
What the relations do not know (`None` for targets) is counted as *unknown* and never taken for nothing; a
target that the tree's text does not have is *lost*, which only relations that are not exact can have.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from nibd.query.defined_elsewhere import defined
from nibd.query.navigation_files import SourceText, TreeFile
from nibd.query.navigation_symbols import (
    Sited,
    implementing,
    is_self_of_trait,
    referring,
    used_as,
    whole,
)
from nibd.query.navigation_view import FamilyView, FileRecords
from nibd.stores.relation_types import Relation, RelationKind, Target
from nibd.stores.types import BlobId, Level, RepoPath

_ASIDE = re.compile(rb"\s*(//|/\*|\*|#|@)")
"""How a line of comment, or a decorator, begins."""
_CALLS = (RelationKind.CALL,)
_IMPORTS = (RelationKind.IMPORT,)
_INHERITS = (RelationKind.INHERIT,)
_ALL_KINDS = tuple(RelationKind)
END = sys.maxsize
"""Behind every text."""


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
class Answer:
    """`found` is a page of the `total`; `unknown` sites could belong to it, `lost` targets are nowhere."""

    found: tuple[Found, ...] = ()
    total: int = 0
    unknown: int = 0
    lost: int = 0


NOTHING = Answer()


@dataclass(frozen=True, slots=True)
class Asked:
    """A place in a file that is asked about. `relation` is that of the site there, if there is one.

    `targets` are the symbols that it is about; `None` when they are not known, empty when there is
    nothing there to ask about or the server knows of none.
    """

    file: TreeFile
    byte: int
    name: str
    relation: Relation | None
    targets: tuple[Target, ...] | None

    @property
    def kind(self) -> RelationKind | None:
        return self.relation.site.kind if self.relation else None


@dataclass(frozen=True, slots=True)
class Page:
    offset: int = 0
    k: int = 1_000_000


ALL = Page()


def asked_at(view: FamilyView, file: TreeFile, byte: int, *, itself: bool = False) -> Asked:
    """What stands at an offset, or ends there: a cursor behind a word means the word.

    Where the server has nothing to say there is nothing, also of a name that is declared there: it mostly
    stands in code that the server does not read. With `itself` it means itself too: then where the server
    has something to say, or some site refers to it.
    """
    record = view.record(file.path)
    relation = record.relation_at(byte) if record else None
    if relation is None and record and byte > 0:
        relation = record.relation_at(byte - 1)
    if relation is None:
        return _asked_without_site(file, byte)
    start, targets = relation.site.start_byte, relation.targets
    if itself and targets is not None and relation.site.kind is RelationKind.DEFINITION:
        own = Target("", file.path, *file.text.symbols.at(start))
        if targets or referring(view, [own]):
            targets = tuple(dict.fromkeys((*targets, own)))
    return Asked(file, start, relation.site.name, relation, targets)


def _asked_without_site(file: TreeFile, byte: int) -> Asked:
    """Of a word that is no site only a unit's own name can be told."""
    for at in (byte, byte - 1):
        qualified, ordinal, name, nth = file.text.symbols.at(max(at, 0))
        index = file.text.indexes[qualified, ordinal]
        if name and file.text.is_own_name(index, name, max(at, 0)):
            target = Target("", file.path, qualified, ordinal, name, nth)
            return Asked(file, byte, name, None, (target,))
    return Asked(file, byte, "", None, ())


def unit_place(view: FileRecords | None, file: TreeFile, index: int) -> Place:
    """A unit, at its name: of several occurrences in its header the one that the relations say declares it.

    Without relations, the first that is in no comment or decorator.
    """
    names = [byte for _, _, byte in file.text.own_names(index)]
    record = view.record(file.path) if view and len(names) > 1 else None
    for byte in names if record else ():
        relation = record.relation_at(byte) if record else None
        if relation and relation.site.kind is RelationKind.DEFINITION:
            return _unit(file, index, byte)
    plain = (byte for byte in names if not _ASIDE.match(file.text.line_text(file.text.line_of(byte))))
    return _unit(file, index, next(plain, names[0] if names else file.text.units[index].start_byte))


def declared_on_line(view: FileRecords, file: TreeFile, line: int) -> list[Place]:
    """The units whose name stands on a line, in the order of the text."""
    near = [
        index
        for index, unit in enumerate(file.text.units)
        if unit.level is not Level.FILE and unit.start_line <= line <= unit.header_end_line
    ]
    places = (unit_place(view, file, index) for index in near)
    return sorted((place for place in places if place.line == line), key=lambda place: place.key)


def symbols_within(view: FamilyView, file: TreeFile, start: int, end: int) -> list[Place]:
    """The sites in a range of the text; of those that refer to the same, the first."""
    record = view.record(file.path)
    found: dict[object, Place] = {}
    for relation in record.within(start, end) if record else ():
        byte = relation.site.start_byte
        meant = asked_at(view, file, byte).targets or byte
        found.setdefault(meant, _line(file, byte, relation.site.kind.value, relation.site.name))
    return list(found.values())


# The operations


def definition(view: FileRecords, targets: Iterable[Target], at: Target | None = None) -> Answer:
    """Where `targets` are defined; `at` is what stands at the place that is asked about."""
    found = defined(view, targets, at) if isinstance(view, FamilyView) else targets
    return located(view, dict.fromkeys(found, ()))


def references(
    view: FamilyView, targets: Collection[Target], *, include_declaration: bool, page: Page = ALL
) -> Answer:
    """Sites that refer to any of `targets`. What is declared is left out unless it is asked for."""
    targets = used_as(view, targets)
    sited = {
        each.key: each
        for each in referring(view, targets)
        if (include_declaration or each.relation.site.kind is not RelationKind.DEFINITION)
        and not is_self_of_trait(view, each)
    }
    places = _declared(view, targets) if include_declaration else {}
    declared = {key: place for key, place in places.items() if key not in sited}
    keys = sorted([*sited, *declared])
    shown: list[Found] = []
    for key in keys[page.offset : page.offset + page.k]:
        place = declared[key] if key in declared else _site_place(view, sited[key])
        if place:
            shown.append(place)
    return Answer(tuple(shown), len(keys), _unknown(view, targets))


def callers(view: FamilyView, targets: Collection[Target], page: Page = ALL) -> Answer:
    """The innermost units that call any of `targets`; a file for calls outside any other unit."""
    targets = used_as(view, targets)
    units: dict[tuple[RepoPath, int], list[Sited]] = {}
    calls = referring(view, targets, _CALLS)
    for each in sorted(calls, key=lambda each: each.key):
        units.setdefault((each.record.path, each.relation.site.unit), []).append(each)
    found: list[Found] = []
    for (path, index), sited in list(units.items())[page.offset : page.offset + page.k]:
        file = view.files(path)
        if file:
            found.append(replace(unit_place(view, file, index), calls=_lines(file.text, sited)))
    return Answer(tuple(found), len(units), _unknown(view, targets))


def callees(view: FamilyView, file: TreeFile, index: int) -> Answer:
    """What the calls in a unit, and in those inside it, refer to."""
    record = view.record(file.path)
    unit = file.text.units[index]
    calls: dict[Target, tuple[int, ...]] = {}
    unknown = 0
    for relation in record.within(unit.start_byte, unit.end_byte, _CALLS) if record else ():
        unknown += relation.targets is None
        line = file.text.line_of(relation.site.start_byte)
        for target in defined(view, relation.targets or ()):
            calls[target] = tuple(sorted({*calls.get(target, ()), line}))
    return replace(located(view, calls), unknown=unknown)


def implementations(view: FamilyView, targets: Collection[Target]) -> Answer:
    """Units that inherit from what `targets` name; of a callable in a scope, its namesakes in those."""
    found: dict[tuple[bytes, int, int], Place] = {}
    for target in whole(view, targets):
        for file, index in implementing(view, target):
            place = unit_place(view, file, index)
            found[place.key] = place
    names = {target.name for target in targets if target.name}
    unknown = sum(relation.targets is None for relation in _open(view, names, _INHERITS))
    return Answer(tuple(found[key] for key in sorted(found)), len(found), unknown)


def imports(view: FamilyView, path: RepoPath) -> Answer:
    """The files, then the packages, that a file's imports refer to; where several names do, once."""
    record = view.record(path)
    found: set[Target] = set()
    unknown = 0
    for relation in record.within(0, END, _IMPORTS) if record else ():
        unknown += relation.targets is None
        found |= {replace(t, qualified="", ordinal=0, name="", nth=0) for t in relation.targets or ()}
    found.discard(Target("", path, "", 0, "", 0))
    return replace(located(view, dict.fromkeys(found, ())), unknown=unknown)


def importers(view: FamilyView, path: RepoPath) -> Answer:
    """The files with an import that refers to anything in the file at `path`."""
    found = []
    for record in view.mentioning_file(path):
        relations = record.within(0, END, _IMPORTS) if record.path != path else ()
        if any(_is_in(each, path) for each in relations):
            found.append(Target("", record.path, "", 0, "", 0))
    return located(view, dict.fromkeys(found, ()))


# How


def _unknown(view: FamilyView, targets: Collection[Target]) -> int:
    """How many sites that are called like one of `targets` nothing is known of."""
    names = {target.name for target in targets if target.name}
    return sum(relation.targets is None for relation in _open(view, names))


def unbuilt(view: FamilyView, names: Collection[str], kinds: Collection[RelationKind] = _ALL_KINDS) -> int:
    """How many sites that are called so are in files that the server does not build."""
    return sum(relation.unbuilt for relation in _open(view, names, kinds))


def _open(
    view: FamilyView, names: Collection[str], kinds: Collection[RelationKind] = _ALL_KINDS
) -> Iterator[Relation]:
    """The relations of sites that are called so, in files with sites that nothing is known of."""
    for record in view.naming(names) if names and view.unknown != 0 else ():
        if record.unknown:
            relations = record.file().relations
            yield from (r for r in relations if r.site.name in names and r.site.kind in kinds)


def leading_nowhere(
    view: FamilyView, targets: Iterable[Target], kinds: Collection[RelationKind] = _ALL_KINDS
) -> int:
    """How many sites that are called like one of `targets` lead nowhere: nothing was found, or is known."""
    names = {target.name for target in targets if target.name}
    return sum(
        not relation.targets
        for record in view.naming(names)
        for relation in record.file().relations
        if relation.site.name in names
        and relation.site.kind in kinds
        and relation.site.kind is not RelationKind.DEFINITION
    )


def _is_in(relation: Relation, path: RepoPath) -> bool:
    return any(target.path == path and not target.is_external for target in relation.targets or ())


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


def _declared(view: FamilyView, targets: Iterable[Target]) -> dict[tuple[bytes, int], Place]:
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
            found[file.path, at[0]] = _line(file, at[0], RelationKind.DEFINITION.value, target.name)
    return found


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
        return _unit(file, index, at[0])
    record = view.record(file.path)
    relation = record.relation_at(at[0]) if record else None
    kind = relation.site.kind if relation else RelationKind.DEFINITION
    return _line(file, at[0], kind.value, target.name)


def site_place(file: TreeFile, byte: int, kind: RelationKind, name: str) -> Place:
    """The line of a site."""
    return _line(file, byte, kind.value, name)


def _site_place(view: FamilyView, sited: Sited) -> Place | None:
    file, site = view.files(sited.record.path), sited.relation.site
    return _line(file, site.start_byte, site.kind.value, site.name) if file else None


def _lines(text: SourceText, sited: Iterable[Sited]) -> tuple[int, ...]:
    return tuple(sorted({text.line_of(each.relation.site.start_byte) for each in sited}))


def _unit(file: TreeFile, index: int, byte: int) -> Place:
    unit, version = file.text.units[index], file.version
    line, col = file.text.place(byte)
    return Place(
        version.path, unit.start_line, unit.end_line, unit.kind, unit.qualified, unit.qualified,
        line, col, version.blob, version.language,
    )  # fmt: skip


def _line(file: TreeFile, byte: int, kind: str, name: str) -> Place:
    version, (line, col) = file.version, file.text.place(byte)
    qualified = file.text.units[file.text.unit_at(byte)].qualified
    return Place(version.path, line, line, kind, name, qualified, line, col, version.blob, version.language)
