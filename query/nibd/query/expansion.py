"""Structural expansion: what the best hits of a ranking are related to, ranked.

From each *seed* the stored relations are followed, in and out, over one or two hops:

contains    to the unit around it, and to the units in it
calls       to what it calls, and to what calls it
references  as types, bases, values: to what it refers to, and to what refers to it
imports     to what it imports, and to what imports it

A neighbour's score is the sum, over the edges that lead to it, of the score of where the edge starts, times
the weight of its kind, over the number of edges of that kind and direction there: what is related to
everything tells nothing. The seed of rank r has 1 / r. A symbol that more than `MOST_RECORDS` files refer to
is a *hub*, whose users are not followed at all. At L0 files take the place of units: what they refer to and
what refers to them.

Relations are of the sites in a unit's own text. What no language server has answered for is not there, and
of a family without relations only `contains` is known; whoever shows the answer says both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum

from nibd.query.filters import Selection
from nibd.query.hits import Hit
from nibd.query.navigation_view import CachedRelations
from nibd.query.planning import Widths
from nibd.stores.bitmap import Bitmap
from nibd.stores.facts import FactStore
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import FAMILY_OF, RelationKind, Target
from nibd.stores.relations import ResolutionId
from nibd.stores.structure import StructureStore
from nibd.stores.types import Address, FileVersion, Level, RepoPath, Unit

MOST_RECORDS = 100
WHOLE = -1
"""In the place of a unit's ordinal: the file with all its units."""
END = 1 << 62
"""Behind every text."""


class Edge(StrEnum):
    CONTAINS = "contains"
    CALLS = "calls"
    REFERENCES = "references"
    IMPORTS = "imports"


WEIGHTS: Mapping[Edge, float] = {
    Edge.CONTAINS: 0.5, Edge.CALLS: 1.0, Edge.REFERENCES: 0.5, Edge.IMPORTS: 0.5
}  # fmt: skip
_EDGES: Mapping[RelationKind, Edge] = {
    RelationKind.CALL: Edge.CALLS,
    RelationKind.IMPORT: Edge.IMPORTS,
    RelationKind.TYPE: Edge.REFERENCES,
    RelationKind.INHERIT: Edge.REFERENCES,
    RelationKind.READ: Edge.REFERENCES,
    RelationKind.WRITE: Edge.REFERENCES,
}
"""A definition refers to itself, or to its declaration: that is no edge."""

Node = tuple[RepoPath, int]
"""A unit by its file and its ordinal there, or a file (`WHOLE`)."""


@dataclass(frozen=True, slots=True)
class Related:
    """A snapshot's units, and the relations of those language families that have some."""

    structure: StructureStore
    listing: Bitmap
    facts: FactStore
    families: Mapping[str, tuple[CachedRelations, ResolutionId]]


@dataclass(frozen=True, slots=True)
class Expansion:
    """Neighbours, best first. `families` are those whose relations were followed, `lacking` those of the
    seeds that have none; `edges` counts what was followed by kind, `hubs` what was not."""

    hits: Sequence[Hit]
    families: Sequence[str]
    lacking: Sequence[str]
    edges: Mapping[str, int]
    hubs: int
    looked_at: int


def expand(
    related: Related, seeds: Sequence[Hit], level: Level | None, within: Selection | None, widths: Widths
) -> Expansion:
    """Raises `StoreError`, or its kinds for what is damaged."""
    walk = _Walk(related)
    nodes = [walk.node_of(hit, level) for hit in seeds]
    scores: dict[Node, list[float]] = {}
    frontier = [(node, 1 / rank) for rank, node in enumerate(nodes, 1) if node is not None]
    for _ in range(widths.hops):
        for node, score in frontier:
            for neighbour, share in walk.from_node(node):
                scores.setdefault(neighbour, []).append(score * share)
        found = _best({node: fsum(parts) for node, parts in scores.items()})
        frontier = [each for each in found if each[0] not in nodes][: widths.neighbours]
    ranked = _best({node: fsum(parts) for node, parts in scores.items() if node not in nodes})
    hits = (walk.hit(node, score, level) for node, score in ranked)
    kept = [hit for hit in hits if hit is not None and (within is None or within.has(_address(hit)))]
    kept.sort(key=lambda hit: (-hit.score, hit.address_key))
    return Expansion(
        kept[: widths.neighbours], sorted(walk.families), sorted(walk.lacking), dict(walk.edges), walk.hubs,
        len(scores),
    )  # fmt: skip


def _best(scores: Mapping[Node, float]) -> list[tuple[Node, float]]:
    return sorted(scores.items(), key=lambda each: (-each[1], each[0]))


def _address(hit: Hit) -> Address:
    return Address(hit.path, hit.start_line, hit.end_line, hit.kind)


@dataclass(slots=True)
class _Walk:
    """One expansion; remembers the files that it met."""

    related: Related
    families: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)
    edges: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    hubs: int = 0
    _files: dict[RepoPath, FileVersion | None] = field(default_factory=dict)
    _keys: dict[RepoPath, dict[tuple[str, int], int]] = field(default_factory=dict)

    def node_of(self, hit: Hit, level: Level | None) -> Node | None:
        if level is Level.FILE:
            return (hit.path, WHOLE)
        for ordinal, unit in enumerate(self._units(hit.path)):
            if (unit.start_line, unit.end_line, unit.kind) == (hit.start_line, hit.end_line, hit.kind):
                return (hit.path, ordinal)
        return None

    def from_node(self, node: Node) -> Iterator[tuple[Node, float]]:
        """The neighbours, each with the share of the node's score that goes there by one kind of edge."""
        for edge, neighbours in self._neighbours(node):
            others = neighbours - {node}
            self.edges[edge.value] += len(others)
            for other in sorted(others):
                yield other, WEIGHTS[edge] / len(others)

    def hit(self, node: Node, score: float, level: Level | None) -> Hit | None:
        """`None` for what is not of the level, or not in the tree."""
        path, ordinal = node
        file, units = self._file(path), self._units(path)
        at = 0 if ordinal == WHOLE else ordinal
        if file is None or at >= len(units) or (level is not None and units[at].level is not level):
            return None
        unit = units[at]
        return Hit(
            path, unit.start_line, unit.end_line, unit.kind, unit.qualified, unit.level, file.language,
            file.blob, score,
        )  # fmt: skip

    # Edges

    def _neighbours(self, node: Node) -> Iterator[tuple[Edge, set[Node]]]:
        """By kind and direction."""
        path, ordinal = node
        if ordinal != WHOLE:
            units = self._units(path)
            yield Edge.CONTAINS, {(path, at) for at, each in enumerate(units) if each.parent == ordinal}
            parent = units[ordinal].parent
            yield Edge.CONTAINS, set() if parent is None else {(path, parent)}
        relations = self._relations(path)
        if relations is not None:
            cached, bits, record = relations
            yield from self._out(node, record).items()
            yield from self._into(node, cached, bits).items()

    def _out(self, node: Node, record: RelationRecord) -> Mapping[Edge, set[Node]]:
        path, ordinal = node
        unit = None if ordinal == WHOLE else self._units(path)[ordinal]
        found: dict[Edge, set[Node]] = {}
        sites = record.within(0, END) if unit is None else record.within(unit.start_byte, unit.end_byte)
        for relation in sites:
            edge = _EDGES.get(relation.site.kind)
            if edge is None or (unit is not None and relation.site.unit != ordinal):
                continue
            for target in relation.targets or ():
                other = self._node_of_target(target, whole=unit is None)
                if other is not None:
                    found.setdefault(edge, set()).add(other)
        return dict(sorted(found.items()))

    def _into(self, node: Node, cached: CachedRelations, bits: Bitmap) -> Mapping[Edge, set[Node]]:
        path, ordinal = node
        found: dict[Edge, set[Node]] = {}
        if ordinal == WHOLE:
            users = cached.store.mentioning_file(path, bits)
            if self._is_hub(users):
                return {}
            paths = {(record.path, WHOLE) for record in cached.records(users)}
            return {Edge.REFERENCES: paths} if paths else {}
        key = self._key(node)
        users = cached.store.mentioning_symbol(path, *key, bits)
        if self._is_hub(users):
            return {}
        for record in cached.records(users):
            for relation in record.referring_symbol(path, *key):
                edge = _EDGES.get(relation.site.kind)
                if edge is not None:
                    found.setdefault(edge, set()).add((record.path, relation.site.unit))
        return dict(sorted(found.items()))

    def _is_hub(self, users: Sequence[int]) -> bool:
        if len(users) <= MOST_RECORDS:
            return False
        self.hubs += 1
        return True

    def _node_of_target(self, target: Target, *, whole: bool) -> Node | None:
        if target.is_external:
            return None
        if whole:
            return (target.path, WHOLE)
        ordinal = self._ordinals(target.path).get((target.qualified, target.ordinal))
        return None if ordinal is None else (target.path, ordinal)

    # Files

    def _relations(self, path: RepoPath) -> tuple[CachedRelations, Bitmap, RelationRecord] | None:
        file = self._file(path)
        family = FAMILY_OF.get(file.language) if file else None
        if family is None:
            return None
        held = self.related.families.get(family)
        if held is None:
            self.lacking.add(family)
            return None
        self.families.add(family)
        cached, resolution = held
        record = cached.record_at(resolution, path)
        return None if record is None else (cached, cached.resolution(resolution), record)

    def _file(self, path: RepoPath) -> FileVersion | None:
        if path not in self._files:
            at = self.related.structure.at_path(self.related.listing, path)
            self._files[path] = at[1] if at and at[1].skip is None else None
        return self._files[path]

    def _units(self, path: RepoPath) -> Sequence[Unit]:
        file = self._file(path)
        return self.related.facts.recent_units(file.blob, file.language) if file else ()

    def _ordinals(self, path: RepoPath) -> Mapping[tuple[str, int], int]:
        """By a unit's qualified name and its number among those of that name, its ordinal."""
        if path not in self._keys:
            self._keys[path] = {key: at for at, key in enumerate(_keys(self._units(path)))}
        return self._keys[path]

    def _key(self, node: Node) -> tuple[str, int]:
        path, ordinal = node
        return next(key for key, at in self._ordinals(path).items() if at == ordinal)


def _keys(units: Iterable[Unit]) -> Iterator[tuple[str, int]]:
    seen: defaultdict[str, int] = defaultdict(int)
    for unit in units:
        yield unit.qualified, seen[unit.qualified]
        seen[unit.qualified] += 1
