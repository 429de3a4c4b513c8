"""Where units of a (partly qualified) name are defined."""

from __future__ import annotations

import re

from nibd.stores.bitmap import Bitmap
from nibd.stores.structure import StoredUnit, StructureStore

SEPARATORS = re.compile(r"::|[.#/\\\s<>]|->")


def components(name: str) -> list[str]:
    """`a::B.c` has the components a, B and c, whatever its language writes between them."""
    return [part for part in SEPARATORS.split(name.strip()) if part]


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


def _ends_with(qualified: str, wanted: list[str]) -> bool:
    return components(qualified)[-len(wanted) :] == wanted
