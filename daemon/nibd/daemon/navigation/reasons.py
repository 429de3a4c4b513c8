"""Why a navigation question has no hits, in words: what stands there, what it is taken for, what is missing.

Nothing found may mean that nobody uses a symbol, that the language server knows of nothing, that it has not
answered, or that the place means no symbol at all. Each is said apart; what is unknown is never called
nothing. Only asked for where there are no hits, so a look at the relations more costs nobody anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from nibd.ipc.messages import JsonObject
from nibd.query import navigation
from nibd.query.navigation_asked import Asked
from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_open import USES, leading_nowhere
from nibd.query.navigation_places import Answer, External, Page, Place
from nibd.query.navigation_symbols import RUST, unit_named
from nibd.query.navigation_view import FamilyView
from nibd.repair.servers.registry import driver_of_family
from nibd.repair.text import is_utf8
from nibd.repair.windows import SECTION
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import RelationKind, Target
from nibd.stores.snapshot import ViewRecord
from nibd.stores.structure import StoredUnit
from nibd.stores.types import Level, RepoPath, State

_CALLS = (RelationKind.CALL,)
_NO_SITES = Page(0, 0)
_OTHER_LANGUAGES = {"go": "no type of Go names the interfaces that it implements; a live answer tells them"}
"""By family, what of implementations its source does not say."""

_LISTS_NOT = {
    "python": "ty lists no uses by another name (import … as), and no calls of a class for its __init__",
    "rust": "rust-analyzer lists no uses by another name (use … as)",
    "c": "clangd lists nothing in code behind an inactive #if",
}
"""By family, what its server leaves out when it is asked who refers to a symbol."""


def shown(path: RepoPath) -> str:
    return path.decode("utf-8", "backslashreplace")


def no_place(file: TreeFile, line: int, col: int) -> str:
    """Of a line and column that the file does not have; `col` is 0 where only the line was named."""
    place = f"line {line}, column {col}" if col else f"line {line}"
    if not 0 < line <= file.text.lines:
        has = f"{shown(file.path)} has {_counted(file.text.lines, 'lines')} in the snapshot"
        return f"{place} is not there: {has}"
    text = file.text.line_text(line).decode("utf-8", "replace").rstrip("\r\n")
    return f"{place} is not there: the line has {_counted(len(text), 'characters')}"


def no_name(units: Sequence[StoredUnit], name: str, end: str = "", ending: Sequence[StoredUnit] = ()) -> str:
    """Of a name that no symbol has; sections of Markdown may, and `ending` are called by the `end` of it."""
    sections = [f"{shown(unit.file.path)}:{unit.start_line}" for unit in units if unit.kind == SECTION]
    more = f"; a section of Markdown is ({sections[0]})" if sections else ""
    code = [f"{shown(unit.file.path)}:{unit.start_line}" for unit in ending if unit.kind != SECTION]
    if code:
        others = f" and {_counted(len(code) - 1, 'others')}" if len(code) > 1 else ""
        more += f"; modules and files are no part of a name: {end} alone is one ({code[0]}{others})"
    return f"nothing{' in code' if sections else ''} is called {name}{more}"


def no_identifier(file: TreeFile, byte: int) -> str:
    """Of a place where no site is."""
    word = file.text.symbols.at(byte)[2] or (file.text.symbols.at(byte - 1)[2] if byte else "")
    if not word:
        return f"{_where(file, byte)}: no identifier stands there"
    why = "it is a keyword, or part of a literal, a comment or the like"
    return f"{_where(file, byte)}: {word} refers to nothing there: {why}"


def several_on_line(file: TreeFile, line: int, count: int) -> str:
    return f"{shown(file.path)}:{line} has {count} symbols; name one by its column"


def empty_line(file: TreeFile, line: int) -> str:
    return f"{shown(file.path)}:{line}: no identifier that refers to something stands on this line"


def leads_nowhere(asked: Asked, limits: str | None, record: RelationRecord | None = None) -> str:
    """Of a site without targets. `limits` is what the relations say that their server works without, at this
    site as at any; `record` what they have of the file.

    Names that are declared refer to themselves in Rust: where not one site leads anywhere, it isn't read.
    """
    what = f"{_where(asked.file, asked.byte)}: {described(asked)}"
    if asked.relation and asked.relation.unbuilt:
        if not is_utf8(asked.file.path):
            return f"{what}: the file's name is not UTF-8: no language server is told of it"
        why = "the server does not build this file or names too many places"
        return f"{what}: {why}, so what it refers to is not known"
    if asked.targets is None:
        return f"{what}: the language server has not answered, so what it refers to is not known"
    if record and record.language == RUST and not record.places:
        return f"{what}: no crate has this file, or a cfg leaves it out, so nothing is known of it"
    lacking = f" ({limits})" if limits else ""
    return f"{what} refers to nothing that the language server knows of{lacking}"


def live_limits(operation: str, server: JsonObject, record: ViewRecord | None) -> list[str]:
    """What a live answer to `operation` lacks by what it is; `record` is that of the family's relations.

    Which files a server does not build is known from relations, since it lists nothing of them.
    """
    family, limits = server["family"], []
    if operation in ("references", "callers") and family in _LISTS_NOT:
        limits.append(_LISTS_NOT[family])
    is_told = record is not None and record.serves and record.state is State.READY
    leaves_out = driver_of_family(family).leaves_out
    if operation in ("references", "callers", "implementations") and leaves_out and not is_told:
        limits.append(f"what {server['name']} does not build ({leaves_out.why}) is not counted yet")
    return limits


def described(asked: Asked) -> str:
    return f"{asked.name} ({asked.kind.value})" if asked.kind else asked.name


def nothing_about(operation: str, family: str, view: FamilyView, targets: Sequence[Target]) -> str:
    """Why `operation` has no hits though it is known what is asked about."""
    located = navigation.definition(view, targets)
    if not located.found:
        return "what it refers to can't be found in the files any more"
    what = _symbol(located)
    match operation:
        case "references":
            return f"nothing refers to {what}{_open(view, targets, USES)}"
        case "callers":
            others = navigation.references(view, targets, include_declaration=False, page=_NO_SITES).total
            otherwise = f", to which {_verb(others, 'sites', 'refer')} otherwise" if others else ""
            return f"nothing calls {what}{otherwise}{_open(view, targets, _CALLS)}"
        case _:
            return _no_implementation(family, view, targets, what)


def no_callees(view: FamilyView, units: Sequence[tuple[TreeFile, int]], unknown: int) -> str:
    """Why nothing is called in `units`, which are one symbol's."""
    file, index = units[0]
    what = f"{_unit(file, index)} ({_where(file, file.text.units[index].start_byte)})"
    calls = sum(
        len(record.within(unit.start_byte, unit.end_byte, _CALLS))
        for each, at in units
        for unit in (each.text.units[at],)
        if (record := view.record(each.path))
    )
    if not calls:
        return f"there is no call in {what}"
    if unknown:
        return f"what {_verb(unknown, 'calls', 'refer', f' in {what}')} to is not known"
    return f"{_verb(calls, 'calls', 'refer', f' in {what}')} to nothing that the language server knows of"


def nothing_of_file(operation: str, view: FamilyView, path: RepoPath) -> str:
    """Of `imports` and `importers`."""
    if operation == "importers":
        return f"no file imports {shown(path)}"
    record = view.record(path)
    sites = len(record.within(0, navigation.END, (RelationKind.IMPORT,))) if record else 0
    if not sites:
        return f"{shown(path)} imports nothing"
    return f"the imports of {shown(path)} refer to nothing that the language server knows of"


def _no_implementation(family: str, view: FamilyView, targets: Sequence[Target], what: str) -> str:
    units = [found for target in targets if (found := unit_named(view, target))]
    callables = [(file, index) for file, index in units if file.text.units[index].level is Level.CALLABLE]
    more = f"; {_OTHER_LANGUAGES[family]}" if family in _OTHER_LANGUAGES else ""
    if any(file.text.units[index].level is Level.SCOPE for file, index in units):
        return f"nothing in the repository says that it inherits from {what}{more}"
    if any(file.text.units[index].parent for file, index in callables):
        return f"nothing that inherits from what holds {what} has a method of this name{more}"
    if all(target.is_external for target in targets):
        return f"nothing in the repository says that it inherits from {what}"
    return f"{what} is nothing that could be inherited from or overridden{more}"


def _open(view: FamilyView, targets: Sequence[Target], kinds: Sequence[RelationKind]) -> str:
    """How many sites of the name may belong here after all, since it is not known where they lead."""
    count = leading_nowhere(view, targets, kinds)
    names = list(dict.fromkeys(target.name for target in targets if target.name))
    if not count:
        return ""
    return f"; {_counted(count, 'places')} with this name could not be resolved (nibd grep -w {names[0]})"


def _symbol(located: Answer) -> str:
    """The first of the places of a symbol."""
    first = located.found[0]
    if isinstance(first, External):
        return f"{first.name or first.path.decode('utf-8', 'backslashreplace')} of {first.package}"
    assert isinstance(first, Place), "nothing else is found"
    name = first.name or shown(first.path)
    return f"{first.kind} {name} ({shown(first.path)}:{first.line}:{first.col})"


def _unit(file: TreeFile, index: int) -> str:
    unit = file.text.units[index]
    return f"{unit.kind} {unit.qualified or shown(file.path)}"


def _where(file: TreeFile, byte: int) -> str:
    line, col = file.text.place(byte)
    return f"{shown(file.path)}:{line}:{col}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what.removesuffix('s') if count == 1 else what}"


def _verb(count: int, what: str, verb: str, where: str = "") -> str:
    return f"{_counted(count, what)}{where} {verb}{'s' if count == 1 else ''}"
