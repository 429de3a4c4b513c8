"""What is declared in one file and defined in another, in C and C++.

There a file sees a declaration, mostly in a header, and refers to that; the definition elsewhere is the
linker's business. But the file with the definition sees both, and the name of what is defined there refers to
the declaration. So relations have both ends, each of them right for its file whatever other files hold, and
who asks for a definition is led from one to the other. Where a file of C does not see the declaration of what
it defines, they are told by the name, as the linker tells them.
"""

from __future__ import annotations

from collections.abc import Iterable

from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_symbols import PROTOTYPE, referring
from nibd.query.navigation_view import FamilyView
from nibd.stores.relation_types import FAMILIES, RelationKind, Target
from nibd.stores.types import Level, Unit

_DEFINES = (RelationKind.DEFINITION,)


def defined(view: FamilyView, targets: Iterable[Target], at: Target | None = None) -> tuple[Target, ...]:
    """`targets`, with definitions in other files in the place of what is only declared.

    `at` is what is asked about: the name of a definition leads to its declaration, and not back to itself.
    """
    found: dict[Target, None] = {}
    for target in targets:
        elsewhere = _elsewhere(view, target)
        found.update(dict.fromkeys([target] if at in elsewhere else elsewhere or [target]))
    return tuple(found)


def itself_at(file: TreeFile, byte: int) -> Target:
    """What names the word at an offset."""
    return Target("", file.path, *file.text.symbols.at(byte))


def _elsewhere(view: FamilyView, target: Target) -> list[Target]:
    """The names of what is defined in other files and is what `target` declares."""
    file = _declaring(view, target)
    if file is None:
        return []
    found = [
        itself_at(other, each.relation.site.start_byte)
        for each in referring(view, [target], _DEFINES)
        if each.record.path != target.path and (other := view.files(each.record.path))
        if _defines(other, each.relation.site.start_byte)
    ]
    return found or (_called_so(view, target) if file.version.language == "c" else [])


def _declaring(view: FamilyView, target: Target) -> TreeFile | None:
    """The file of a target of these languages that can be a declaration without what it declares."""
    file = None if target.is_external or not target.name else view.files(target.path)
    if file is None or file.version.language not in FAMILIES["c"]:
        return None
    at = file.text.symbols.position(target.qualified, target.ordinal, target.name, target.nth)
    line = b"" if at is None else file.text.line_text(file.text.line_of(at[0])).lstrip()
    if at is None or line.startswith(b"#"):  # a macro is all that it is
        return None
    unit = file.text.units[file.text.indexes[target.qualified, target.ordinal]]
    if file.text.is_own_name(file.text.unit_at(at[0]), target.name, at[0]):
        return file if unit.kind == PROTOTYPE else None
    return file if _is_open(unit) or (unit.level is Level.SCOPE and line.startswith(b"static")) else None


def _defines(file: TreeFile, byte: int) -> bool:
    """Whether the name at an offset is that of a unit with a body, or of a variable outside of functions.

    Others only share a name: in code that is not compiled, clangd goes by the word.
    """
    index = file.text.unit_at(byte)
    unit = file.text.units[index]
    if file.text.is_own_name(index, itself_at(file, byte).name, byte):
        return unit.kind != PROTOTYPE
    return _is_open(unit)


def _called_so(view: FamilyView, target: Target) -> list[Target]:
    """The functions of C that are called as a prototype is, in files that don't see it."""
    file = view.files(target.path)
    index = file.text.indexes[target.qualified, target.ordinal] if file else 0
    if file is None or file.text.units[index].kind != PROTOTYPE or target.qualified != target.name:
        return []
    found = []
    for record in view.naming([target.name]):
        other = view.files(record.path) if record.path != target.path and record.language == "c" else None
        at = other.text.indexes.get((target.qualified, 0)) if other else None
        if other and at is not None and other.text.units[at].kind == "function":
            name, nth, byte = other.text.own_names(at)[0]
            header = other.text.line_text(other.text.units[at].start_line)
            if not header.lstrip().startswith(b"static") and _defines(other, byte):
                found.append(Target("", record.path, target.qualified, 0, name, nth))
    return found


def _is_open(unit: Unit) -> bool:
    return unit.level is Level.FILE or unit.kind == "namespace"
