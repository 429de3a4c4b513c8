"""What is declared in one file and defined in another, in C and C++.

There a file sees a declaration, mostly in a header, and refers to that; the definition elsewhere is the
linker's business. But the file with the definition sees both, and the name of what is defined there refers to
the declaration. So relations have both ends, each of them right for its file whatever other files hold, and
who asks for a definition is led from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from nibd.query.navigation_files import TreeFile
from nibd.query.navigation_symbols import referring
from nibd.query.navigation_view import FamilyView
from nibd.stores.relation_types import FAMILIES, RelationKind, Target

_DEFINES = (RelationKind.DEFINITION,)
_DECLARED = "prototype"


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
    """The names of what is defined in other files and refers to `target` for its declaration."""
    if not _is_declaration(view, target):
        return []
    defining = [each for each in referring(view, [target], _DEFINES) if each.record.path != target.path]
    found = []
    for each in defining:
        file = view.files(each.record.path)
        if file:
            found.append(itself_at(file, each.relation.site.start_byte))
    return found


def _is_declaration(view: FamilyView, target: Target) -> bool:
    """Whether a target of these languages can be a declaration without what it declares."""
    file = None if target.is_external or not target.name else view.files(target.path)
    if file is None or file.version.language not in FAMILIES["c"]:
        return False
    at = file.text.symbols.position(target.qualified, target.ordinal, target.name, target.nth)
    if at is None or file.text.line_text(file.text.line_of(at[0])).lstrip().startswith(b"#"):
        return False  # a macro is all that it is
    index = file.text.indexes[target.qualified, target.ordinal]
    is_unit = file.text.is_own_name(index, target.name, at[0])
    return not is_unit or file.text.units[index].kind == _DECLARED
