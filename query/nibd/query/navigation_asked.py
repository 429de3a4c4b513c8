"""What stands at a place that is asked about: the site there, and the symbols that it is about."""

from __future__ import annotations

from dataclasses import dataclass

from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_places import Place, line_place, unit_place
from nibd.query.navigation_symbols import PROTOTYPE, referring
from nibd.query.navigation_view import FamilyView, FileRecords
from nibd.stores.relation_types import Relation, RelationKind, Target
from nibd.stores.types import Level


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


def asked_at(view: FamilyView, file: TreeFile, byte: int, *, itself: bool = False) -> Asked:
    """What stands at an offset, or ends there: a cursor behind a word means the word.

    A unit that is declared there is known from its file, though the server was not asked, or did not answer.
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
    if targets is None and relation.site.kind is RelationKind.DEFINITION:
        targets = declared_at(file, start)
    if itself and targets is not None and relation.site.kind is RelationKind.DEFINITION:
        own = Target("", file.path, *file.text.symbols.at(start))
        if targets or referring(view, [own]):
            targets = tuple(dict.fromkeys((*targets, own)))
    return Asked(file, start, relation.site.name, relation, targets)


def declared_at(file: TreeFile, byte: int) -> tuple[Target, ...] | None:
    """The unit whose own name stands at an offset, as its file tells: for sites that nothing is known of.

    `None` where none does, or where what is declared may be defined elsewhere.
    """
    target = Target("", file.path, *file.text.symbols.at(byte))
    index = file.text.indexes[target.qualified, target.ordinal]
    is_its = target.name and file.text.is_own_name(index, target.name, byte)
    return (target,) if is_its and file.text.units[index].kind != PROTOTYPE else None


def _asked_without_site(file: TreeFile, byte: int) -> Asked:
    """Of a word that is no site only a unit's own name can be told."""
    for at in (byte, byte - 1):
        qualified, ordinal, name, nth = file.text.symbols.at(max(at, 0))
        index = file.text.indexes[qualified, ordinal]
        if name and file.text.is_own_name(index, name, max(at, 0)):
            target = Target("", file.path, qualified, ordinal, name, nth)
            return Asked(file, byte, name, None, (target,))
    return Asked(file, byte, "", None, ())


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
        found.setdefault(meant, line_place(file, byte, relation.site.kind.value, relation.site.name))
    return list(found.values())
