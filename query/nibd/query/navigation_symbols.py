"""What one symbol is: all its declarations, what implements it, and the sites that refer to it.

What is declared in several places is one symbol, where the definition of one declaration is another: a
prototype and its function, a declaration that repeats another, a parameter that a server knows to be what a
function gives. Servers say so by the definition that they have for the name of a declaration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_view import FamilyView, FileRecords
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Relation, RelationKind, Target
from nibd.stores.types import Level, RepoPath

_INHERITS = (RelationKind.INHERIT,)
_DECLARES = (RelationKind.DEFINITION,)
_TYPES = (RelationKind.TYPE,)
_DECLARED_AGAIN = frozenset({"python", "c", "cpp"})
RUST = "rust"
_SELF = "Self"
IMPL, TRAIT = "impl", "trait"
"""Kinds of units of Rust."""
PROTOTYPE = "prototype"
"""The kind of a unit of C and C++ that is only declared."""
_POINTS = re.compile(rb"(?:&\s*(?:'\w+\s+)?(?:mut\s+)?|\*\s*(?:const|mut)\s+)\Z")
"""What stands before a type that is pointed to."""
MAX_INHERITED = 10_000
"""Units that `implementations` follows at most."""
MAX_DECLARED = 1_000
"""Declarations of one symbol that are looked for at most."""


@dataclass(frozen=True, slots=True)
class Sited:
    """A relation with the file that its site is in."""

    record: RelationRecord
    relation: Relation

    @property
    def key(self) -> tuple[bytes, int]:
        return (self.record.path, self.relation.site.start_byte)


def targets_of_unit(file: TreeFile, index: int) -> tuple[Target, ...]:
    """All targets that mean a unit: its own name in its header, and the unit as a whole."""
    key = file.text.keys[index]
    named = [Target("", file.path, *key, word, nth) for word, nth, _ in file.text.own_names(index)]
    return (*named, Target("", file.path, *key, "", 0))


def whole(view: FamilyView, targets: Iterable[Target]) -> tuple[Target, ...]:
    """`targets` with the other declarations of the same symbols, as their definitions tell."""
    found = dict.fromkeys(targets)
    waiting = list(found)
    while waiting and len(found) < MAX_DECLARED:
        target = waiting.pop()
        same = [*_defined_by(view, target), *_declaring(view, target)]
        waiting += [each for each in same if each not in found]
        found.update(dict.fromkeys(same))
    return tuple(found)


def used_as(view: FamilyView, targets: Iterable[Target]) -> tuple[Target, ...]:
    """The whole of `targets`, and in Rust for a method of a trait those that implement it, and for a type the
    `impl` blocks in which `Self` stands for it: who uses one of these uses it."""
    found = dict.fromkeys(whole(view, targets))
    for target in list(found):
        at = unit_named(view, target)
        if at is None:
            continue
        file, index = at
        if file.text.units[index].kind == IMPL:
            found.update(dict.fromkeys(whole(view, _implementers(view, file, index))))
        elif _parent_kind(file, index) == TRAIT:
            for each in implementing(view, target):
                found.update(dict.fromkeys(targets_of_unit(*each)))
    for target in list(found):
        for each in _selves(view, target):
            found.update(dict.fromkeys(targets_of_unit(*each)))
    return tuple(found)


def _parent_kind(file: TreeFile, index: int) -> str:
    return file.text.units[file.text.units[index].parent or 0].kind


def unit_named(view: FileRecords, target: Target) -> tuple[TreeFile, int] | None:
    """The unit that a target means, by its own name or as a whole; `None` for what is no unit."""
    file = None if target.is_external else view.files(target.path)
    index = file.text.indexes.get((target.qualified, target.ordinal)) if file else None
    if file is None or index is None:
        return None
    at = file.text.symbols.position(target.qualified, target.ordinal, target.name, target.nth)
    is_unit = at is not None and (not target.name or file.text.is_own_name(index, target.name, at[0]))
    return (file, index) if is_unit else None


def _defined_by(view: FamilyView, target: Target) -> tuple[Target, ...]:
    """What the declaration that a target is has for its definition."""
    file = None if target.is_external or not target.name else view.files(target.path)
    if file is None:
        return ()
    record = view.record(target.path)
    at = file.text.symbols.position(target.qualified, target.ordinal, target.name, target.nth)
    relation = record.relation_at(at[0]) if record and at else None
    if relation is None or relation.site.kind is not RelationKind.DEFINITION:
        return ()
    return relation.targets or ()


def _declaring(view: FamilyView, target: Target) -> list[Target]:
    """The declarations that have a target for their definition, where they have its uses too.

    In other languages they are names of their own: a variable that is taken out of an object of JavaScript is
    not its property.
    """
    found = []
    for each in referring(view, [target], _DECLARES) if target.name else ():
        file = view.files(each.record.path)
        if file and each.record.language in _DECLARED_AGAIN:
            found.append(Target("", file.path, *file.text.symbols.at(each.relation.site.start_byte)))
    return found


def referring(
    view: FamilyView, targets: Collection[Target], kinds: Collection[RelationKind] = tuple(RelationKind)
) -> list[Sited]:
    return [
        Sited(record, relation)
        for record in view.mentioning(targets)
        for relation in record.referring(*targets, kinds=kinds)
    ]


def is_self_of_trait(view: FamilyView, each: Sited) -> bool:
    """Whether it is a `Self` in a trait of Rust: that stands for what implements it, and is no use of it."""
    if each.record.language != RUST or each.relation.site.name != _SELF:
        return False
    found = (unit_named(view, t) for t in each.relation.targets or () if not t.qualified.startswith(IMPL))
    return any(at is not None and at[0].text.units[at[1]].kind == TRAIT for at in found)


def implementing(view: FamilyView, target: Target) -> Iterable[tuple[TreeFile, int]]:
    at = unit_named(view, target)
    if at is None:
        return _heirs(view, [target]) if target.is_external else []
    file, index = at
    unit = file.text.units[index]
    if unit.level is Level.SCOPE:
        return [*_heirs(view, [target]), *_impls(view, target)]
    if unit.level is Level.FILE or unit.parent is None:
        return []
    scope = targets_of_unit(file, unit.parent)
    if _parent_kind(file, index) == IMPL:
        scope = _inherited(view, file, unit.parent)
    return [
        (heir, at)
        for heir, parent in _heirs(view, scope)
        for at, other in enumerate(heir.text.units)
        if other.parent == parent and other.level is Level.CALLABLE and other.name == unit.name
    ]


def _heirs(view: FamilyView, targets: Sequence[Target]) -> list[tuple[TreeFile, int]]:
    """The units with a site that inherits from `targets`, and those that inherit from them in turn."""
    found: dict[tuple[RepoPath, int], TreeFile] = {}
    waiting = [tuple(targets)]
    while waiting and len(found) < MAX_INHERITED:
        for each in referring(view, waiting.pop(), _INHERITS):
            path, index = each.record.path, each.relation.site.unit
            file = None if (path, index) in found else view.files(path)
            if file:
                found[path, index] = file
                waiting.append(targets_of_unit(file, index))
    return [(file, index) for (_, index), file in found.items()]


def _impls(view: FamilyView, target: Target) -> list[tuple[TreeFile, int]]:
    """The `impl` blocks of a type of Rust, which name it in their header."""
    found = {}
    for each in referring(view, [target], _TYPES):
        path, index, byte = each.record.path, each.relation.site.unit, each.relation.site.start_byte
        file = view.files(path)
        if file and file.text.units[index].kind == IMPL and file.text.is_own_name(index, target.name, byte):
            found[path, index] = (file, index)
    return list(found.values())


def _selves(view: FamilyView, target: Target) -> Iterator[tuple[TreeFile, int]]:
    """Of a type of Rust, the `impl` blocks that some `Self` refers to; other files are not opened."""
    for record in view.mentioning([target]) if target.name and not target.is_external else ():
        places = {
            (qualified, ordinal)
            for package, path, qualified, ordinal in record.places
            if record.language == RUST and not package and path == record.path and target.name in qualified
        }
        file = view.files(record.path) if any(qualified.startswith(IMPL) for qualified, _ in places) else None
        for key in places if file else ():
            assert file is not None, "there are places in it"
            index = file.text.indexes.get(key)
            if index is not None and target in _implementers(view, file, index):
                yield file, index


def _implementers(view: FamilyView, file: TreeFile, index: int) -> tuple[Target, ...]:
    """The type that an `impl` block of Rust is of; of a reference to one, and of any other unit, nothing."""
    record = view.record(file.path)
    if record is None or file.text.units[index].kind != IMPL:
        return ()
    start = file.text.units[index].start_byte
    names = [byte for _, _, byte in file.text.own_names(index)]
    named = (record.relation_at(at) for at in names if not _POINTS.search(file.text.content, start, at))
    return tuple(target for each in named if each for target in each.targets or ())


def _inherited(view: FamilyView, file: TreeFile, index: int) -> tuple[Target, ...]:
    """What a unit itself says that it inherits from or implements."""
    record, unit = view.record(file.path), file.text.units[index]
    relations = record.within(unit.start_byte, unit.end_byte, _INHERITS) if record else ()
    own = (relation.targets or () for relation in relations if relation.site.unit == index)
    return tuple(target for targets in own for target in targets)
