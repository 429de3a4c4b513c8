"""Comparing two sets of relations of one tree, file by file and site by site.

A difference has a kind:

unknown     one side got no answer
unresolved  one side refers to something, the other to nothing
external    both refer to the same within the repository, or to nothing there, but to other things outside
other       they refer to different things within the repository
file        only one side has the file
sites       the sides found different sites in the file
request     the records are equal, but a definition or references read from them are not
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import FileRelations, Target
from nibd.stores.relations import RelationStore
from nibd.stores.types import RepoPath

LISTED = 100
REQUESTS = 400
Records = Mapping[RepoPath, RelationRecord]
"""The relations of each file, packed."""
Spot = tuple[RepoPath, int]
"""A site, by the index in its file; -1 for a file as a whole."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`ours` and `theirs` are what each side refers to, `None` where it is not known."""

    path: str
    name: str
    start_byte: int
    kind: str
    ours: tuple[str, ...] | None
    theirs: tuple[str, ...] | None

    def __str__(self) -> str:
        return f"{self.path}@{self.start_byte} {self.name} ({self.kind}): {self.ours} | {self.theirs}"


@dataclass(slots=True)
class Compared:
    """`listed` holds the first `LISTED` differences, `spots` all of them."""

    files: int = 0
    sites: int = 0
    requests: int = 0
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


def compare(ours: Records, theirs: Records, leave: Iterable[Spot] = ()) -> Compared:
    """What is packed to the same bytes is equal. What is in `leave` counts as equal."""
    result, left = Compared(), frozenset(leave)
    for path in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(path), theirs.get(path)
        result.files += 1
        result.sites += one.sites if one else 0
        if one is None or other is None:
            if (path, -1) not in left:
                _whole(result, path, "file", ("there",) if one else None, ("there",) if other else None)
        elif (one.blob, one.language, one.payload) != (other.blob, other.language, other.payload):
            _compare_file(result, one.file(), other.file(), left)
    return result


def _compare_file(result: Compared, one: FileRelations, other: FileRelations, left: frozenset[Spot]) -> None:
    sites = [[relation.site for relation in file.relations] for file in (one, other)]
    if sites[0] != sites[1]:
        _whole(result, one.path, "sites", (str(len(sites[0])),), (str(len(sites[1])),))
        return
    for index, (ours, theirs) in enumerate(zip(one.relations, other.relations, strict=True)):
        if ours.answer != theirs.answer and (one.path, index) not in left:
            site, kind = ours.site, kind_of(ours.targets, theirs.targets)
            shown = _shown(ours.targets), _shown(theirs.targets)
            difference = Difference(text(one.path), site.name, site.start_byte, kind, *shown)
            result.differ((one.path, index), difference)


@dataclass(frozen=True, slots=True)
class Told:
    """One side's relations with the store that has them."""

    store: RelationStore
    rows: Bitmap

    def records(self) -> dict[RepoPath, RelationRecord]:
        return {record.path: record for _, record in self.store.packed(self.rows)}

    def definition(self, path: RepoPath, byte: int) -> tuple[str, ...] | None:
        record = self.store.packed_at(self.rows, path)
        relation = record.relation_at(byte) if record else None
        return _shown(relation.targets) if relation else ()

    def references(self, target: Target) -> set[Spot]:
        """Here by offset: where in which file."""
        found = self.store.packed(self.store.mentioning(target, self.rows))
        return {
            (record.path, each.site.start_byte) for _, record in found for each in record.referring(target)
        }


def replay(ours: Told, theirs: Told, seed: str, result: Compared, requests: int = REQUESTS) -> None:
    """Ask both sides for the definition of some sites, and for the references of what these refer to.

    Definitions are read from records, but references are found by the inversion, which may have been damaged
    where the records are equal. Sites that differ already are not named again.
    """
    records = ours.records()
    differing = {
        (path, records[path].file().relations[index].site.start_byte)
        for path, index in result.spots
        if index >= 0 and path in records
    }
    chance = random.Random(seed)
    for path in chance.sample(sorted(records), min(requests, len(records))):
        relations = records[path].file().relations
        if not relations:
            continue
        relation = chance.choice(relations)
        site, result.requests = relation.site, result.requests + 1
        answers = [side.definition(path, site.start_byte) for side in (ours, theirs)]
        if answers[0] != answers[1] and (path, site.start_byte) not in differing:
            result.differ((path, -1), Difference(text(path), site.name, site.start_byte, "request", *answers))
        for target in relation.targets or ():
            result.requests += 1
            one, other = ours.references(target), theirs.references(target)
            for at, byte in sorted((one ^ other) - differing):
                sides = (("there",) if (at, byte) in each else () for each in (one, other))
                result.differ((at, -1), Difference(text(at), target.name, byte, "request", *sides))


def kind_of(ours: tuple[Target, ...] | None, theirs: tuple[Target, ...] | None) -> str:
    if ours is None or theirs is None:
        return "unknown"
    if not ours or not theirs:
        return "unresolved"
    within = [{target for target in each if not target.is_external} for each in (ours, theirs)]
    return "external" if within[0] == within[1] else "other"


def _whole(
    result: Compared,
    path: RepoPath,
    kind: str,
    ours: tuple[str, ...] | None,
    theirs: tuple[str, ...] | None,
) -> None:
    result.differ((path, -1), Difference(text(path), "", 0, kind, ours, theirs))


def _shown(targets: tuple[Target, ...] | None) -> tuple[str, ...] | None:
    return None if targets is None else tuple(_target(target) for target in targets)


def _target(target: Target) -> str:
    where = f"[{target.package}] " if target.is_external else ""
    unit = f"::{target.qualified}#{target.ordinal}" if target.qualified else ""
    return f"{where}{text(target.path)}{unit} {target.name}@{target.nth}"


def text(path: RepoPath) -> str:
    return path.decode("utf-8", "backslashreplace")
