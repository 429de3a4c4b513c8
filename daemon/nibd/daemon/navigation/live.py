"""One navigation question to the language servers, in the words and shapes of static navigation.

What a name or place means is told by the snapshot's own files, as for static answers; what it refers to, by
a server that holds the snapshot's tree. A question is a row of *steps* (`LiveNavigation.steps`): each either
asks the navigator or makes the answer of what it said. Steps compute and read stores, so they run in the
query threads; nothing here waits.

Hits are made of targets and sites as static ones are. What only relations tell (of several places that a
unit's header has its name at, which declares it) comes from them where the snapshot has them.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nibd.daemon.navigation import reasons
from nibd.daemon.navigation.inquiry import Inquiry, unit_around
from nibd.daemon.navigation.question import OF_FILES, Navigated
from nibd.daemon.relations import live_wire
from nibd.daemon.relations.live_wire import Ask
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.query import navigation
from nibd.query.defined_elsewhere import itself_at
from nibd.query.navigation_asked import Asked, declared_at, declared_on_line
from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_open import USES, unbuilt
from nibd.query.navigation_places import Answer, Found, Place, located, site_place, unit_place
from nibd.query.navigation_view import FileRecords, NoRelations
from nibd.repair.relations.live import Defined, LiveSite, Scope, Spot, Subject
from nibd.stores.relation_types import FAMILY_OF, Relation, RelationKind, Site, Target
from nibd.stores.structure import StoredUnit
from nibd.stores.types import RepoPath

Steps = Generator[Ask, Any, Navigated]
"""Yields questions, is sent what `Navigation.ask` gives, and returns the answer."""


@dataclass(frozen=True, slots=True)
class LiveNavigation(Inquiry):
    """`patience_s`: how long one question to a server may take."""

    patience_s: float = 10.0

    def steps(self) -> Steps:
        """Raises RpcError for what the tree lacks, and what no server can be asked."""
        question = self.question
        if question.operation in OF_FILES:
            raise RpcError(
                ErrorCode.UNSUPPORTED,
                f"no language server says what {question.operation} a file has; ask for static or auto",
            )
        if question.name:
            return (yield from self._steps_named())
        family = self._family_of(question.path)
        file = self._opened(question.path)
        byte = self._offset(file)
        if question.col:
            return (yield from self._steps_at(family, file, byte))
        return (yield from self._steps_on_line(family, file, byte))

    # By place

    def _steps_at(self, family: str, file: TreeFile, byte: int) -> Steps:
        if self.question.operation == "callees":
            return (yield from self._callees_at(family, file, byte))
        return (yield from self._about_spots(family, file, [(file.path, byte)]))

    def _steps_on_line(self, family: str, file: TreeFile, start: int) -> Steps:
        """Of what a line alone means, as static answers have it."""
        line = self.question.line
        end = start + len(file.text.line_text(line))
        meant = declared_on_line(self._records(family), file, line)
        if not meant and self.question.operation == "callees":
            return (yield from self._callees_of(family, [(file, unit_around(file, start, end))]))
        if not meant:
            sites = live_wire.defined((yield self._ask(live_wire.SITES, family, [(file.path, start)], end)))
            meant = _symbols(file, sites)
        if len(meant) == 1:
            byte = file.text.offset(meant[0].line, meant[0].col)
            assert byte is not None, "it was found there"
            return (yield from self._steps_at(family, file, byte))
        return self._left_open(family, file, meant)

    def _callees_at(self, family: str, file: TreeFile, byte: int) -> Steps:
        """Of the units that the place refers to; else of the one around it."""
        found = live_wire.defined((yield self._ask(live_wire.DEFINITION, family, [(file.path, byte)])))[0]
        asked = _asked(file, found.subject, found.targets)
        answered = yield from self._callees_of(family, self._units_of(asked))
        return replace(answered, asked=asked)

    # By name

    def _steps_named(self) -> Steps:
        operation = self.question.operation
        units, left_open = self._meant_by_name()
        if left_open:
            return left_open
        if operation == "definition":
            return (yield from self._definitions_of(units))
        family = self._family_of(units[0].file.path)
        opened = [(self._opened(unit.file.path), unit.ordinal) for unit in units]
        if operation == "callees":
            return (yield from self._callees_of(family, opened))
        spots = [self._named_at(family, file, index) for file, index in opened]
        return (yield from self._about_spots(family, None, spots))

    def _definitions_of(self, units: Sequence[StoredUnit]) -> Steps:
        """Where servers say that each unit is; where none knows its file or language, the unit itself."""
        page = self.question.page
        shown = units[page.offset : page.offset + page.k]
        spots: dict[str, list[Spot]] = {}
        of_family: dict[str, list[StoredUnit]] = {}
        found: dict[tuple[object, ...], Found] = {}
        for unit in shown:
            family = FAMILY_OF.get(unit.file.language)
            if family is None:
                place = self._place(unit)
                found[place.key] = place
            else:
                file = self._opened(unit.file.path)
                spots.setdefault(family, []).append(self._named_at(family, file, unit.ordinal))
                of_family.setdefault(family, []).append(unit)
        for family, asked in spots.items():
            defined = live_wire.defined((yield self._ask(live_wire.DEFINITION, family, asked)))
            targets = {target for each in defined for target in each.targets}
            places = navigation.definition(self._records(family), sorted(targets)).found
            found |= {each.key: each for each in places}
            unbuilt = [
                unit for unit, each in zip(of_family[family], defined, strict=True) if each.subject.unbuilt
            ]
            found |= {each.key: each for each in map(self._place, unbuilt)}
        total = len(units) - len(shown) + len(found)
        return self._found(next(iter(spots), ""), None, Answer(tuple(found.values()), total))

    def _named_at(self, family: str, file: TreeFile, index: int) -> Spot:
        """Where a unit's name is declared."""
        place = unit_place(self._records(family), file, index)
        byte = file.text.offset(place.line, place.col)
        assert byte is not None, "it was found there"
        return file.path, byte

    # What is asked for

    def _about_spots(self, family: str, file: TreeFile | None, spots: Sequence[Spot]) -> Steps:
        """`file` is that of the place asked about, of which the answer says what stands there."""
        operation, page = self.question.operation, self.question.page
        records = self._records(family)
        if operation == "definition":
            defined = live_wire.defined((yield self._ask(live_wire.DEFINITION, family, spots)))
            targets = sorted({target for each in defined for target in each.targets})
            asked = _asked(file, defined[0].subject, tuple(targets)) if file else None
            at = itself_at(file, asked.byte) if file and asked else None
            known = asked.targets or () if asked else targets
            return self._found(family, asked, navigation.definition(records, known, at).cut(page))
        if operation == "implementations":
            subjects, found = live_wire.implementations(
                (yield self._ask(live_wire.IMPLEMENTATIONS, family, spots))
            )
            asked = _asked(file, subjects[0], found) if file else None
            answer = navigation.definition(records, found).cut(page)
            unbuilt = self._unbuilt(family, {each.name for each in subjects}, (RelationKind.INHERIT,))
            return self._found(family, asked, replace(answer, unknown=unbuilt))
        subjects, sites = live_wire.references((yield self._ask(live_wire.REFERENCES, family, spots)))
        asked = _asked(file, subjects[0], ()) if file else None
        answer = self._callers(family, sites) if operation == "callers" else self._references(sites)
        unbuilt = self._unbuilt(family, _names(subjects, sites))
        return self._found(family, asked, replace(answer, unknown=unbuilt))

    def _found(self, family: str, asked: Asked | None, answer: Answer) -> Navigated:
        name = (asked.name if asked else self.question.name) or "what stands there"
        what = f"{self.question.operation} of {name}"
        if asked and asked.targets is None and self.question.operation != "callees":
            at = asked.byte
            nowhere = (
                reasons.leads_nowhere(asked, None)
                if asked.relation
                else reasons.no_identifier(asked.file, at)
            )
            return Navigated(family=family, asked=asked, reason=nowhere)
        nothing = f"the language server knows of no {what}"
        if answer.unknown and self.question.operation != "callees":
            nothing += " in the files that it builds"
        elif answer.unknown:
            nothing = f"the language server has not answered about all that could be {what}"
        return Navigated(answer, family, asked, reason=None if answer.total else nothing)

    def _references(self, sites: Sequence[LiveSite]) -> Answer:
        declared = self.question.include_declaration
        wanted = [each for each in sites if declared or each.kind is not RelationKind.DEFINITION]
        page = self.question.page
        shown: list[Found] = []
        for each in wanted[page.offset : page.offset + page.k]:
            file = self.files(each.path)
            if file:
                shown.append(site_place(file, each.start, each.kind, each.name))
        return Answer(tuple(shown), len(wanted))

    def _callers(self, family: str, sites: Iterable[LiveSite]) -> Answer:
        calls: dict[tuple[RepoPath, int], set[int]] = {}
        for each in sites:
            file = self.files(each.path) if each.kind is RelationKind.CALL else None
            if file:
                line = file.text.line_of(each.start)
                calls.setdefault((each.path, file.text.unit_at(each.start)), set()).add(line)
        page = self.question.page
        shown: list[Found] = []
        for (path, index), lines in [*calls.items()][page.offset : page.offset + page.k]:
            file = self.files(path)
            assert file is not None, "it was opened above"
            place = unit_place(self._records(family), file, index)
            shown.append(replace(place, calls=tuple(sorted(lines))))
        return Answer(tuple(shown), len(calls))

    def _callees_of(self, family: str, units: Sequence[tuple[TreeFile, int]]) -> Steps:
        calls: dict[Target, tuple[int, ...]] = {}
        unknown = 0
        for file, index in units:
            unit = file.text.units[index]
            ask = self._ask(live_wire.CALLS, family, [(file.path, unit.start_byte)], unit.end_byte)
            for byte, targets in live_wire.calls((yield ask)):
                unknown += targets is None
                for target in targets or ():
                    calls[target] = tuple(sorted({*calls.get(target, ()), file.text.line_of(byte)}))
        answer = replace(located(self._records(family), calls), unknown=unknown)
        return self._found(family, None, answer.cut(self.question.page))

    # What is there

    def _unbuilt(self, family: str, names: Collection[str], kinds: Collection[RelationKind] = USES) -> int:
        """How many sites could belong to the answer, which the server can't list: it does not build them."""
        view = self._view(family)
        return unbuilt(view, {name for name in names if name}, kinds) if view else 0

    def _ask(self, operation: str, family: str, spots: Sequence[Spot], end: int = 0) -> Ask:
        snapshot = self.reading.snapshot
        scope = Scope(family, snapshot.tree, snapshot.listing, self.patience_s)
        return Ask(operation, scope, spots, end)

    def _records(self, family: str) -> FileRecords:
        return self._view(family) or NoRelations(self.files)


def _asked(file: TreeFile, subject: Subject, targets: tuple[Target, ...]) -> Asked:
    relation, known = None, None if subject.unbuilt else targets
    if known is None and subject.kind is RelationKind.DEFINITION:
        known = declared_at(file, subject.start)
    if subject.kind is not None:
        unit = file.text.unit_at(subject.start)
        site = Site(subject.start, subject.end, subject.name, subject.kind, unit)
        relation = Relation(site, known, subject.unbuilt)
    return Asked(file, subject.start, subject.name, relation, known)


def _names(subjects: Iterable[Subject], sites: Sequence[LiveSite]) -> set[str]:
    """What is asked about is called so where it is declared; else as where it was asked about."""
    declared = {each.name for each in sites if each.kind is RelationKind.DEFINITION}
    return declared or {each.name for each in subjects}


def _symbols(file: TreeFile, sites: Iterable[Defined]) -> list[Place]:
    """The sites as places; of those that refer to the same, the first."""
    found: dict[object, Place] = {}
    for each in sites:
        start, kind = each.subject.start, each.subject.kind
        assert kind is not None, "it is a site"
        place = site_place(file, start, kind, each.subject.name)
        found.setdefault(each.targets or start, place)
    return list(found.values())
