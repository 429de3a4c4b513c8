"""One navigation question to one snapshot: blocking, run in the query threads.

A question is about a place in a file, a name, or a file. What it means is told by the snapshot's own files;
then `nibd.query.navigation` answers it from the relations of the family that the file is of. A snapshot
that does not have them is `UnservedError`: another one may.

A line alone means the unit that is declared on it, else the only symbol there. Where that is none, or
several, they are candidates. For `callees`, which are a unit's, it means the unit around it at last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nibd.daemon import navigation_reasons as reasons
from nibd.daemon.answers import Blobs
from nibd.daemon.navigation_reasons import shown
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.ipc.messages import ErrorCode, Json, RpcError
from nibd.query import navigation, symbols
from nibd.query.defined_elsewhere import itself_at
from nibd.query.navigation import ALL, NOTHING, Answer, Asked, Found, Page, Place
from nibd.query.navigation_files import SourceText, TreeFile, TreeFiles
from nibd.query.navigation_symbols import targets_of_unit
from nibd.query.navigation_view import FamilyView
from nibd.repair.syntax.occurrences import FileSymbols
from nibd.repair.text import Text, decode
from nibd.repair.windows import SECTION
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.relation_types import FAMILIES, FAMILY_OF, Target
from nibd.stores.snapshot import Publication, ViewRecord
from nibd.stores.structure import StoredUnit
from nibd.stores.types import BlobId, FileVersion, Level, RepoPath, State, View

OPERATIONS = (
    "definition", "references", "callers", "callees", "implementations", "imports", "importers",
)  # fmt: skip
OF_FILES = ("imports", "importers")
OF_ALL_FILES = ("references", "callers", "implementations", "importers")
"""To these any file may belong, also one that no server was asked about yet."""
PROTOTYPE = "prototype"
MAX_CANDIDATES = 100
TEXT_CACHE_BYTES = 32 << 20
TEXT_FACTOR = 8
"""What a text takes with its units and the words that were looked for, in times of its bytes."""


@dataclass(frozen=True, slots=True)
class Question:
    """`path` with `line` and `col`, or `name`; a path alone for the operations on files.

    Without `col` the line is meant.
    """

    operation: str
    path: RepoPath
    line: int = 0
    col: int = 0
    name: str = ""
    include_declaration: bool = False
    page: Page = ALL


@dataclass(frozen=True, slots=True)
class Navigated:
    """`family` is that of the relations that answered, `None` where none were needed.

    `candidates` are what an ambiguous name or line can mean; then nothing is found. `reason` says why
    there is nothing.
    """

    answer: Answer = NOTHING
    family: str | None = None
    asked: Asked | None = None
    candidates: tuple[Place, ...] = ()
    reason: str | None = None

    @property
    def is_void(self) -> bool:
        """Whether the snapshot does not even have what was asked about."""
        return self.asked is None and self.family is None and not self.answer.found and not self.candidates


VOID = Navigated()


class UnservedError(Exception):
    """This snapshot has not the relations of `family` that are needed; another one may have."""

    def __init__(self, family: str, message: str) -> None:
        super().__init__(message)
        self.family = family


class Texts:
    """Opens the files of trees; what was made of a blob is kept. For any thread."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._kept: BoundedCache[tuple[BlobId, str], SourceText] = BoundedCache(TEXT_CACHE_BYTES)

    def of_tree(self, reading: Reading, checkout: Checkout) -> TreeFiles:
        opened: dict[RepoPath, TreeFile | None] = {}

        def open_file(path: RepoPath) -> TreeFile | None:
            if path not in opened:
                version = _version(reading, path)
                text = self._text(reading, checkout, version) if version else None
                opened[path] = TreeFile(version, text) if version and text else None
            return opened[path]

        return open_file

    def _text(self, reading: Reading, checkout: Checkout, version: FileVersion) -> SourceText | None:
        key = (version.blob, version.language)
        found = self._kept.get(key)
        if found is None and version.skip is None:
            data = self._blobs.read(checkout, version.blob)
            text = None if data is None else decode(data)
            if isinstance(text, Text):
                units = reading.facts.units(*key)
                found = SourceText(text.content, units, FileSymbols(text.content, units))
                self._kept.put(key, found, TEXT_FACTOR * len(text.content) + 10_000)
        return found


@dataclass(frozen=True, slots=True)
class Navigation:
    """One question to one snapshot. Raises `UnservedError`, and `RpcError` for what the tree lacks."""

    reading: Reading
    files: TreeFiles
    question: Question

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

    # By file

    def _of_file(self) -> Navigated:
        path = self.question.path
        family = self._family_of(path)
        view, operation = self._view_of(family, path), self.question.operation
        answer = (navigation.imports if operation == "imports" else navigation.importers)(view, path)
        reason = None if answer.total else reasons.nothing_of_file(operation, view, path)
        return Navigated(_cut(answer, self.question.page), family, reason=reason)

    # By place

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
        asked = navigation.asked_at(view, file, byte, itself=itself)
        if self.question.operation == "callees":
            answer, reason = self._callees(view, self._units_of(asked))
            return Navigated(answer, family, asked, reason=reason)
        if asked.targets:
            at = itself_at(file, asked.byte)
            answer, reason = self._about(family, view, asked.targets, at)
            return Navigated(answer, family, asked, reason=reason)
        limits = self.reading.snapshot.relations[family].reason
        if asked.name:
            nowhere = reasons.leads_nowhere(asked, limits, view.record(file.path))
        else:
            nowhere = reasons.no_identifier(file, byte)
        return Navigated(family=family, asked=asked, reason=nowhere)

    def _offset(self, file: TreeFile) -> int:
        """Where the place is, or its line begins. Raises RpcError when the file has none such."""
        line, col = self.question.line, self.question.col
        byte = file.text.offset(line, col or 1)
        if byte is None:
            raise RpcError(ErrorCode.NOT_FOUND, reasons.no_place(file, line, col))
        return byte

    def _on_line(self, family: str, view: FamilyView, file: TreeFile, start: int) -> Navigated:
        line = self.question.line
        end = start + len(file.text.line_text(line))
        meant = navigation.declared_on_line(view, file, line)
        if not meant and self.question.operation == "callees":
            answer, reason = self._callees(view, [(file, unit_around(file, start, end))])
            return Navigated(answer, family, reason=reason)
        meant = meant or navigation.symbols_within(view, file, start, end)
        if len(meant) == 1:
            byte = file.text.offset(meant[0].line, meant[0].col)
            assert byte is not None, "it was found there"
            return self._about_place(family, view, file, byte)
        return self._left_open(family, file, meant)

    def _left_open(self, family: str, file: TreeFile, meant: Sequence[Place]) -> Navigated:
        """Of a line that means nothing, or several symbols."""
        line = self.question.line
        if not meant:
            return Navigated(family=family, reason=reasons.empty_line(file, line))
        why = reasons.several_on_line(file, line, len(meant))
        return Navigated(family=family, candidates=tuple(meant[:MAX_CANDIDATES]), reason=why)

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

    # By name

    def _named(self) -> Navigated:
        found = symbols.find(self.reading.structure, self.reading.listing, self.question.name)
        units = meant_by(found, self.question.name)
        if not units:
            ending = symbols.find_end(self.reading.structure, self.reading.listing, self.question.name)
            return Navigated(reason=reasons.no_name(found, self.question.name, *ending))
        if self.question.operation == "definition":
            page = self.question.page
            places = map(self._place, units[page.offset : page.offset + page.k])
            return Navigated(Answer(tuple(places), len(units)))
        if not are_one(units):
            candidates = tuple(map(self._place, units[:MAX_CANDIDATES]))
            return Navigated(candidates=candidates, reason=f"the name means {len(units)} symbols; name one")
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

    def _place(self, unit: StoredUnit) -> Place:
        """A unit of the snapshot, whether or not there are relations."""
        file = self.files(unit.file.path)
        if file is None:
            return Place(
                unit.file.path, unit.start_line, unit.end_line, unit.kind, unit.qualified, unit.qualified,
                unit.start_line, 1, unit.file.blob, unit.file.language,
            )  # fmt: skip
        view = self._view(FAMILY_OF.get(unit.file.language, ""))
        return navigation.unit_place(view, file, unit.ordinal)

    # What is asked for

    def _about(
        self, family: str, view: FamilyView, targets: Sequence[Target], at: Target | None = None
    ) -> tuple[Answer, str | None]:
        """The page of the answer, and why there is none."""
        question = self.question
        match question.operation:
            case "definition":
                answer = _cut(navigation.definition(view, targets, at), question.page)
            case "references":
                answer = navigation.references(
                    view, targets, include_declaration=question.include_declaration, page=question.page
                )
            case "callers":
                answer = navigation.callers(view, targets, question.page)
            case _:
                answer = _cut(navigation.implementations(view, targets), question.page)
        if answer.total:
            return answer, None
        return answer, reasons.nothing_about(question.operation, family, view, targets)

    def _callees(self, view: FamilyView, units: Sequence[tuple[TreeFile, int]]) -> tuple[Answer, str | None]:
        """The page of the answer, and why there is none."""
        answers = [navigation.callees(view, file, index) for file, index in units]
        found: dict[tuple[object, ...], Found] = {each.key: each for a in answers for each in a.found}
        unknown, lost = sum(a.unknown for a in answers), sum(a.lost for a in answers)
        answer = _cut(Answer(tuple(found.values()), len(found), unknown, lost), self.question.page)
        return answer, None if answer.total else reasons.no_callees(view, units, unknown)

    # What is there

    def _family_of(self, path: RepoPath) -> str:
        version = _version(self.reading, path)
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


def may_serve(publication: Publication) -> bool:
    """Whether a snapshot has relations of any family."""
    return any(record.serves for record in publication.snapshot.relations.values())


def refusal(
    family: str,
    where: str,
    newest: Publication | None,
    message: str,
    record: ViewRecord | None,
    progress: str,
) -> RpcError:
    """Why no snapshot has what is asked for, as the newest one has it. `record` is the family's as of now,
    `progress` what is being done of relations there, empty if nothing is."""
    if record is None and newest:
        reason = newest.snapshot.views[View.STRUCTURAL].capabilities.get("relations")
        if reason:
            return RpcError(ErrorCode.VIEW_ABSENT, f"{where} has no relations of {family}: {reason}")
        languages = " or ".join(FAMILIES[family])
        why = f"it has no files in {languages} at {newest.commit[:10]}"
        return RpcError(ErrorCode.VIEW_ABSENT, f"{where} has no relations of {family}: {why}")
    if record and record.state in (State.ABSENT, State.FAILED) and not record.serves:
        code = ErrorCode.VIEW_ABSENT if record.state is State.ABSENT else ErrorCode.VIEW_NOT_READY
        return RpcError(code, f"{where} has no relations of {family}: {record.reason}")
    why = progress or (record.reason if record else None) or "they are being built"
    wait = "`nibd wait --view relations` comes back when they are there"
    return RpcError(ErrorCode.VIEW_NOT_READY, f"{where}: {message}: {why}; {wait}")


def _version(reading: Reading, path: RepoPath) -> FileVersion | None:
    found = reading.structure.at_path(reading.listing, path)
    return found[1] if found else None


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


def _cut(answer: Answer, page: Page) -> Answer:
    found = answer.found[page.offset : page.offset + page.k]
    return Answer(found, answer.total, answer.unknown, answer.lost)
