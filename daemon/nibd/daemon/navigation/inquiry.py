"""A question to one snapshot, and what its place or name means there, whoever answers it then.

A line alone means the unit that is declared on it, else the only symbol there. Where that is none, or
several, they are candidates. For `callees`, which are a unit's, it means the unit around it at last. A name
means the symbols whose whole qualified name it is; if there are none, all whose end it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nibd.daemon.navigation import reasons
from nibd.daemon.navigation.question import Navigated, Question
from nibd.daemon.navigation.reasons import shown
from nibd.daemon.navigation.unserved import UnservedError
from nibd.daemon.reading import Reading
from nibd.ipc.messages import ErrorCode, Json, RpcError
from nibd.query import symbols
from nibd.query.navigation_asked import Asked
from nibd.query.navigation_files import TreeFile, TreeFiles
from nibd.query.navigation_places import Place, unit_place
from nibd.query.navigation_symbols import PROTOTYPE
from nibd.query.navigation_view import FamilyView
from nibd.repair.windows import SECTION
from nibd.stores.relation_types import FAMILY_OF
from nibd.stores.structure import StoredUnit
from nibd.stores.types import Level, RepoPath

MAX_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Blocking: for the query threads. Raises `UnservedError`, and `RpcError` for what the tree lacks."""

    reading: Reading
    files: TreeFiles
    question: Question

    def _offset(self, file: TreeFile) -> int:
        """Where the place is, or its line begins. Raises RpcError when the file has none such."""
        line, col = self.question.line, self.question.col
        byte = file.text.offset(line, col or 1)
        if byte is None:
            raise RpcError(ErrorCode.NOT_FOUND, reasons.no_place(file, line, col))
        return byte

    def _left_open(self, family: str, file: TreeFile, meant: Sequence[Place]) -> Navigated:
        """Of a line that means nothing, or several symbols."""
        line = self.question.line
        if not meant:
            return Navigated(family=family, reason=reasons.empty_line(file, line))
        why = reasons.several_on_line(file, line, len(meant))
        return Navigated(family=family, candidates=tuple(meant[:MAX_CANDIDATES]), reason=why)

    def _meant_by_name(self) -> tuple[list[StoredUnit], Navigated | None]:
        """The symbols that the name means; an answer, if it means none, or several where one is needed."""
        name = self.question.name
        found = symbols.find(self.reading.structure, self.reading.listing, name)
        units = meant_by(found, name)
        if not units:
            ending = symbols.find_end(self.reading.structure, self.reading.listing, name)
            return [], Navigated(reason=reasons.no_name(found, name, *ending))
        if self.question.operation == "definition" or are_one(units):
            return units, None
        candidates = tuple(map(self._place, units[:MAX_CANDIDATES]))
        return units, Navigated(
            candidates=candidates, reason=f"the name means {len(units)} symbols; name one"
        )

    def _units_of(self, asked: Asked) -> list[tuple[TreeFile, int]]:
        """The units that a place means: those referred to there, else the one around it."""
        found = []
        for target in asked.targets or ():
            file = None if target.is_external else self.files(target.path)
            index = file.text.indexes.get((target.qualified, target.ordinal)) if file else None
            if file is None or index is None:
                continue
            at = file.text.symbols.position(target.qualified, target.ordinal, target.name, target.nth)
            if at and (not target.name or file.text.is_own_name(index, target.name, at[0])):
                found.append((file, index))
        return found or [(asked.file, asked.file.text.unit_at(asked.byte))]

    def _place(self, unit: StoredUnit) -> Place:
        """A unit of the snapshot, whether or not there are relations."""
        file = self.files(unit.file.path)
        if file is None:
            return Place(
                unit.file.path, unit.start_line, unit.end_line, unit.kind, unit.qualified, unit.qualified,
                unit.start_line, 1, unit.file.blob, unit.file.language,
            )  # fmt: skip
        view = self._view(FAMILY_OF.get(unit.file.language, ""))
        return unit_place(view, file, unit.ordinal)

    def _family_of(self, path: RepoPath) -> str:
        version = self.reading.version(path)
        if version is None:
            folder = b"" if path in (b"", b".") else path + b"/"
            if next(iter(self.reading.structure.under(self.reading.listing, folder)), None):
                raise RpcError(ErrorCode.INVALID_PARAMS, f"{shown(path)} is a folder; a file is needed")
            raise RpcError(
                ErrorCode.NOT_FOUND,
                f"{shown(path)} is not in the snapshot: not committed yet, or not at that commit",
            )
        family = FAMILY_OF.get(version.language)
        if family is None or version.skip is not None:
            what = f"it is skipped: {version.skip}" if version.skip else f"it is {version.language}"
            data: Json = {"language": version.language}
            raise RpcError(ErrorCode.VIEW_ABSENT, f"{shown(path)} has no relations: {what}", data)
        return family

    def _view_of(self, family: str, path: RepoPath) -> FamilyView:
        """The relations of a family, which must have those of the file at `path`."""
        view = self._view(family)
        if view is None:
            raise UnservedError(family, f"the relations of {family} are not there for this commit")
        if view.record(path) is None:
            coverage = self.reading.snapshot.relations[family].coverage
            what = f"{coverage.done} of {coverage.of} files, and not {shown(path)}"
            raise UnservedError(family, f"the relations of {family} hold {what}")
        return view

    def _view(self, family: str) -> FamilyView | None:
        record = self.reading.snapshot.relations.get(family)
        cached = self.reading.relations if record and record.serves else None
        if record is None or record.resolution is None or cached is None:
            return None
        return FamilyView(cached, record.resolution, self.files, record.counts.get("unknown"))

    def _opened(self, path: RepoPath) -> TreeFile:
        file = self.files(path)
        if file is None:
            raise RpcError(ErrorCode.NOT_FOUND, f"the text of {shown(path)} can't be had any more")
        return file


def unit_around(file: TreeFile, start: int, end: int) -> int:
    """The innermost unit that holds the text of a line, as an index."""
    text = file.text.content[start:end]
    return file.text.unit_at(start + len(text) - len(text.lstrip()))


def meant_by(units: Sequence[StoredUnit], name: str) -> list[StoredUnit]:
    """The symbols whose whole qualified name it is; if there are none, all whose end it is."""
    parts = symbols.components(name)
    code = [unit for unit in units if unit.level is not Level.FILE and unit.kind != SECTION]
    return [unit for unit in code if len(symbols.components(unit.qualified)) == len(parts)] or code


def are_one(units: Sequence[StoredUnit]) -> bool:
    """Whether units are versions of one symbol: overloads in a file, a definition and its prototypes."""
    if len({unit.qualified for unit in units}) > 1:
        return False
    return len({unit.file.path for unit in units if unit.kind != PROTOTYPE} or {b""}) == 1
