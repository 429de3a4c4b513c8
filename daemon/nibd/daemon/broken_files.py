"""Files that the parser can't make out wholly: how many an answer concerns, and the first of them.

A unit may be missing in such a file, or be part of another, so an answer that shows something there says so,
and so does one that has found nothing in the whole tree. Files of C and C++ are counted in `status` and not
named: macros break the grammar in a quarter to half of them, mostly within a body, where they hide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from nibd.daemon import wire
from nibd.daemon.reading import Reading
from nibd.ipc.messages import Json, JsonObject
from nibd.stores.relation_types import FAMILY_OF
from nibd.stores.types import FileVersion, RepoPath, View

UNNAMED = ("c", "cpp")
MAX_NAMED = 3
NONE: JsonObject = {"count": 0, "files": []}
_KEY = "broken:"


def of_hits(reading: Reading, hits: Sequence[Json], family: str | None = None) -> JsonObject:
    """Of the files of hits; where there are none of the whole tree, or of a language family in it."""
    if not hits:
        return _broken(reading, lambda file: family in (None, FAMILY_OF.get(file.language)))
    return of_files(reading, {wire.path_of(hit) for hit in hits if isinstance(hit, dict) and hit["path"]})


def of_files(reading: Reading, paths: Collection[RepoPath]) -> JsonObject:
    return _broken(reading, lambda file: file.path in paths)


def of_tree(reading: Reading) -> JsonObject:
    return _broken(reading, lambda _: True)


def _broken(reading: Reading, is_meant: Callable[[FileVersion], bool]) -> JsonObject:
    found: list[Json] = []
    if _is_any(reading.snapshot.views[View.STRUCTURAL].counts):
        for file, line in reading.structure.broken(reading.listing, UNNAMED):
            if is_meant(file):
                found.append(wire.path_fields(file.path) | {"line": line})
    return {"count": len(found), "files": found[:MAX_NAMED]}


def _is_any(counts: Mapping[str, int]) -> bool:
    """Else nothing is looked up, as nearly always."""
    return any(key.startswith(_KEY) and key.removeprefix(_KEY) not in UNNAMED for key in counts)
