"""Where units of a (partly qualified) name are defined."""

from __future__ import annotations

import re

from nibd.stores.bitmap import Bitmap
from nibd.stores.structure import StoredUnit, StructureStore

SEPARATORS = re.compile(r"::|[.#/\\\s<>]|->")
_OPERATOR = re.compile(
    r"""(?P<path>|.*?(?:::|[.#\s]))
        (?P<name>operator\s*[^\w\s].*          # C++, C#
        | operator\s+\w.*                      # C++: a conversion
        | [^\w\s.:#`"'(\[{][^\w\s]* | \[\]=?  # Ruby, Scala, Swift
        | (?:^|(?<=[.#])):[^\w\s]*)            # Scala
    """,
    re.VERBOSE,
)
"""A path, and the name of an operator after it, which is made of what else separates: `Foo#<=>`."""


def components(name: str) -> list[str]:
    """`a::B.c` has the components a, B and c, whatever its language writes between them.

    The name of an operator is one component: `ns::Foo::operator<=>`, `Foo#<=>`, `Foo./`.
    """
    name = name.strip()
    if operator := _OPERATOR.fullmatch(name):
        return [*_parts(operator["path"]), _written(operator["name"])]
    return _parts(name)


def _written(operator: str) -> str:
    """Without spaces, but for the one in `operator bool`."""
    return re.sub(r"\s+(?!\w)|(?<!\w)\s+", "", " ".join(operator.split()))


def _parts(path: str) -> list[str]:
    return [part for part in SEPARATORS.split(path) if part]


def find(structure: StructureStore, listing: Bitmap, name: str) -> list[StoredUnit]:
    """The tree's units whose qualified name ends in `name`, by address.

    Exact case first: only when no unit is written so are others given. Case folds for ASCII letters.
    """
    wanted = components(name)
    if not wanted:
        return []
    named = structure.named(listing, wanted[-1])
    exact = [unit for unit in named if _ends_with(unit.qualified, wanted)]
    if exact:
        return exact
    folded = [part.lower() for part in wanted]
    return [unit for unit in named if _ends_with(unit.qualified.lower(), folded)]


def find_end(structure: StructureStore, listing: Bitmap, name: str) -> tuple[str, list[StoredUnit]]:
    """The longest part of `name` after some components by which units are found, and these.

    For a name by which none is: it may begin with a module or a file, which are no part of qualified names.
    """
    left = components(name)[1:]
    while left:
        end = ".".join(left)
        found = find(structure, listing, end)
        if found:
            return end, found
        left = left[1:]
    return "", []


def _ends_with(qualified: str, wanted: list[str]) -> bool:
    return components(qualified)[-len(wanted) :] == wanted
