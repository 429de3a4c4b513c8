"""The static answer to one navigation question, from the relations that a snapshot has stored.

A question is about a place in a file, a name, or a file. What it means is told by the snapshot's own files;
then `nibd.query.navigation` answers it from the relations of the family that the file is of. A snapshot
that does not have them is `UnservedError`: another one may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nibd.daemon.navigation import reasons
from nibd.daemon.navigation.inquiry import Inquiry, unit_around
from nibd.daemon.navigation.question import OF_ALL_FILES, OF_FILES, Navigated
from nibd.query import navigation
from nibd.query.defined_elsewhere import itself_at
from nibd.query.navigation_asked import asked_at, declared_on_line, symbols_within
from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_places import Answer, Found
from nibd.query.navigation_symbols import targets_of_unit
from nibd.query.navigation_view import FamilyView
from nibd.stores.relation_types import Target


@dataclass(frozen=True, slots=True)
class StaticNavigation(Inquiry):
    def answer(self) -> Navigated:
        found = self._answered()
        record = self.reading.snapshot.relations.get(found.family or "")
        unasked = record.counts.get("unasked", 0) if record else 0
        if not unasked or self.question.operation not in OF_ALL_FILES:
            return found
        return replace(found, answer=replace(found.answer, unknown=found.answer.unknown + unasked))

    def _answered(self) -> Navigated:
        if self.question.operation in OF_FILES:
            return self._of_file()
        return self._named() if self.question.name else self._at_place()

    def _of_file(self) -> Navigated:
        path = self.question.path
        family = self._family_of(path)
        view, operation = self._view_of(family, path), self.question.operation
        answer = (navigation.imports if operation == "imports" else navigation.importers)(view, path)
        reason = None if answer.total else reasons.nothing_of_file(operation, view, path)
        return Navigated(answer.cut(self.question.page), family, reason=reason)

    def _at_place(self) -> Navigated:
        question = self.question
        family = self._family_of(question.path)
        view = self._view_of(family, question.path)
        file = self._opened(question.path)
        byte = self._offset(file)
        if question.col:
            return self._about_place(family, view, file, byte)
        return self._on_line(family, view, file, byte)

    def _about_place(self, family: str, view: FamilyView, file: TreeFile, byte: int) -> Navigated:
        itself = self.question.operation != "definition"
        asked = asked_at(view, file, byte, itself=itself)
        if self.question.operation == "callees":
            answer, reason = self._callees(view, self._units_of(asked))
            return Navigated(answer, family, asked, reason=reason)
        if asked.targets:
            at = itself_at(file, asked.byte)
            answer, reason = self._about(family, view, asked.targets, at)
            return Navigated(answer, family, asked, reason=reason)
        limits = self.reading.snapshot.relations[family].limits
        if asked.name:
            nowhere = reasons.leads_nowhere(asked, limits, view.record(file.path))
        else:
            nowhere = reasons.no_identifier(file, byte)
        return Navigated(family=family, asked=asked, reason=nowhere)

    def _on_line(self, family: str, view: FamilyView, file: TreeFile, start: int) -> Navigated:
        line = self.question.line
        end = start + len(file.text.line_text(line))
        meant = declared_on_line(view, file, line)
        if not meant and self.question.operation == "callees":
            answer, reason = self._callees(view, [(file, unit_around(file, start, end))])
            return Navigated(answer, family, reason=reason)
        meant = meant or symbols_within(view, file, start, end)
        if len(meant) == 1:
            byte = file.text.offset(meant[0].line, meant[0].col)
            assert byte is not None, "it was found there"
            return self._about_place(family, view, file, byte)
        return self._left_open(family, file, meant)

    def _named(self) -> Navigated:
        units, left_open = self._meant_by_name()
        if left_open:
            return left_open
        if self.question.operation == "definition":
            page = self.question.page
            places = map(self._place, units[page.offset : page.offset + page.k])
            return Navigated(Answer(tuple(places), len(units)))
        path = units[0].file.path
        family = self._family_of(path)
        view = self._view_of(family, path)
        opened = [(self._opened(unit.file.path), unit.ordinal) for unit in units]
        if self.question.operation == "callees":
            answer, reason = self._callees(view, opened)
            return Navigated(answer, family, reason=reason)
        targets = [t for file, index in opened for t in targets_of_unit(file, index)]
        answer, reason = self._about(family, view, targets)
        return Navigated(answer, family, reason=reason)

    def _about(
        self, family: str, view: FamilyView, targets: Sequence[Target], at: Target | None = None
    ) -> tuple[Answer, str | None]:
        """The page of the answer, and why there is none."""
        question = self.question
        match question.operation:
            case "definition":
                answer = navigation.definition(view, targets, at).cut(question.page)
            case "references":
                answer = navigation.references(
                    view, targets, include_declaration=question.include_declaration, page=question.page
                )
            case "callers":
                answer = navigation.callers(view, targets, question.page)
            case _:
                answer = navigation.implementations(view, targets).cut(question.page)
        if answer.total:
            return answer, None
        return answer, reasons.nothing_about(question.operation, family, view, targets)

    def _callees(self, view: FamilyView, units: Sequence[tuple[TreeFile, int]]) -> tuple[Answer, str | None]:
        """The page of the answer, and why there is none."""
        answers = [navigation.callees(view, file, index) for file, index in units]
        found: dict[tuple[object, ...], Found] = {each.key: each for a in answers for each in a.found}
        unknown, lost = sum(a.unknown for a in answers), sum(a.lost for a in answers)
        answer = Answer(tuple(found.values()), len(found), unknown, lost).cut(self.question.page)
        return answer, None if answer.total else reasons.no_callees(view, units, unknown)
