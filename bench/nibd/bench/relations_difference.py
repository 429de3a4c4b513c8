"""Comparing two sets of relations of one tree, file by file and site by site.

A difference has a kind:

unknown     one side got no answer
unresolved  one side refers to something, the other to nothing
external    both refer to the same within the repository, or to nothing there, but to other things outside
other       they refer to different things within the repository
file        only one side has the file
sites       the sides found different sites in the file
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from nibd.bench.relations_world import Records
from nibd.stores.relation_types import FileRelations, Target
from nibd.stores.types import RepoPath

LISTED = 20
Spot = tuple[RepoPath, int]
"""A site, by the index in its file; -1 for a file as a whole."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`ours` and `theirs` are what each side refers to, `None` where it is not known."""

    path: str
    name: str
    start_byte: int
    kind: str
    ours: list[str] | None
    theirs: list[str] | None

    def __str__(self) -> str:
        return f"{self.path}@{self.start_byte} {self.name} ({self.kind}): {self.ours} | {self.theirs}"


@dataclass(slots=True)
class Compared:
    """`listed` holds the first `LISTED` differences, `spots` all of them."""

    kinds: Counter[str] = field(default_factory=Counter)
    listed: list[Difference] = field(default_factory=list)
    spots: set[Spot] = field(default_factory=set)

    @property
    def count(self) -> int:
        return len(self.spots)

    @property
    def are_equal(self) -> bool:
        return not self.spots

    def differ(self, spot: Spot, difference: Difference) -> None:
        self.spots.add(spot)
        self.kinds[difference.kind] += 1
        if len(self.listed) < LISTED:
            self.listed.append(difference)


def compare(ours: Records, theirs: Records) -> Compared:
    """What is packed to the same bytes is equal."""
    result = Compared()
    for path in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(path), theirs.get(path)
        if one is None or other is None:
            _whole(result, path, "file", ["there"] if one else None, ["there"] if other else None)
        elif (one.blob, one.language, one.payload) != (other.blob, other.language, other.payload):
            _compare_file(result, one.file(), other.file())
    return result


def _compare_file(result: Compared, one: FileRelations, other: FileRelations) -> None:
    sites = [[relation.site for relation in file.relations] for file in (one, other)]
    if sites[0] != sites[1]:
        _whole(result, one.path, "sites", [str(len(sites[0]))], [str(len(sites[1]))])
        return
    for index, (ours, theirs) in enumerate(zip(one.relations, other.relations, strict=True)):
        if ours.targets != theirs.targets:
            site, kind = ours.site, kind_of(ours.targets, theirs.targets)
            shown = _shown(ours.targets), _shown(theirs.targets)
            difference = Difference(_text(one.path), site.name, site.start_byte, kind, *shown)
            result.differ((one.path, index), difference)


def kind_of(ours: tuple[Target, ...] | None, theirs: tuple[Target, ...] | None) -> str:
    if ours is None or theirs is None:
        return "unknown"
    if not ours or not theirs:
        return "unresolved"
    within = [{target for target in each if not target.is_external} for each in (ours, theirs)]
    return "external" if within[0] == within[1] else "other"


def _whole(
    result: Compared, path: RepoPath, kind: str, ours: list[str] | None, theirs: list[str] | None
) -> None:
    result.differ((path, -1), Difference(_text(path), "", 0, kind, ours, theirs))


def _shown(targets: tuple[Target, ...] | None) -> list[str] | None:
    return None if targets is None else [_target(target) for target in targets]


def _target(target: Target) -> str:
    where = f"[{target.package}] " if target.is_external else ""
    unit = f"::{target.qualified}#{target.ordinal}" if target.qualified else ""
    return f"{where}{_text(target.path)}{unit} {target.name}@{target.nth}"


def _text(path: RepoPath) -> str:
    return path.decode("utf-8", "backslashreplace")
