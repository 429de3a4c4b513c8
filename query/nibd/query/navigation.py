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

import sys
from collections.abc import Collection, Iterable
from dataclasses import replace

from nibd.query.defined_elsewhere import defined
from nibd.query.navigation_files import SourceText, TreeFile
from nibd.query.navigation_open import open_relations, unknown_sites
from nibd.query.navigation_places import (
    ALL,
    Answer,
    Found,
    Page,
    Place,
    declared_places,
    line_place,
    located,
    unit_place,
)
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
from nibd.stores.types import RepoPath

_CALLS = (RelationKind.CALL,)
_IMPORTS = (RelationKind.IMPORT,)
_INHERITS = (RelationKind.INHERIT,)
END = sys.maxsize
"""Behind every text."""


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
    places = declared_places(view, targets) if include_declaration else {}
    declared = {key: place for key, place in places.items() if key not in sited}
    keys = sorted([*sited, *declared])
    shown: list[Found] = []
    for key in keys[page.offset : page.offset + page.k]:
        place = declared[key] if key in declared else _site_place(view, sited[key])
        if place:
            shown.append(place)
    return Answer(tuple(shown), len(keys), unknown_sites(view, targets))


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
    return Answer(tuple(found), len(units), unknown_sites(view, targets))


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
    unknown = sum(relation.targets is None for relation in open_relations(view, names, _INHERITS))
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


def _is_in(relation: Relation, path: RepoPath) -> bool:
    return any(target.path == path and not target.is_external for target in relation.targets or ())


def _site_place(view: FamilyView, sited: Sited) -> Place | None:
    file, site = view.files(sited.record.path), sited.relation.site
    return line_place(file, site.start_byte, site.kind.value, site.name) if file else None


def _lines(text: SourceText, sited: Iterable[Sited]) -> tuple[int, ...]:
    return tuple(sorted({text.line_of(each.relation.site.start_byte) for each in sited}))
