"""Part `inverse`: static navigation against the live server's own answers, at the same tree.

Definitions are asked at sites, references of units, both spread over all files. Answers are compared as sets
of (path, line of the identifier); outside the repository only that something is referred to counts.
References leave declarations out. A reference that only one side has is counted by kind: of static ones,
that of the site; of live ones, that of the site and what its own definition is, or that there is no site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from nibd.bench.relations_cases import Chain, evenly_spread
from nibd.bench.relations_follow import How
from nibd.bench.relations_world import Published, Side, published, side
from nibd.bench.report import Report
from nibd.query import navigation
from nibd.query.navigation import Answer, Place
from nibd.query.navigation_files import SourceText, TreeFile, TreeFiles
from nibd.query.navigation_view import CachedRelations, FamilyView
from nibd.repair.relations.source_file import SourceFile
from nibd.repair.servers.errors import Unknown
from nibd.repair.servers.locations import Location
from nibd.repair.servers.server import LanguageServer, Locations, Request
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import RelationKind, Target
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import FileVersion, Level, RepoPath

DEFINITION_BAR = 0.99
WINDOW = 8
"""A reference request is heavy: few at a time."""
LISTED = 20
MOST_CAUSES = 4
OUTSIDE = (RepoPath(b""), 0)


@dataclass(slots=True)
class Matches:
    """How many of the asked gave equal sets; `unanswered` ones count for neither side."""

    equal: int = 0
    of: int = 0
    unanswered: int = 0
    static_only: Counter[str] = field(default_factory=Counter)
    live_only: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    """Of the requests that differ: all the kinds by which each does."""
    listed: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.equal / self.of if self.of else 0.0

    def __str__(self) -> str:
        kinds = [
            f"{whose} {', '.join(f'{kind} {count}' for kind, count in counts.most_common())}"
            for whose, counts in (("static only:", self.static_only), ("live only:", self.live_only))
            if counts
        ]
        unanswered = [f"{self.unanswered} unanswered"] if self.unanswered else []
        causes = [f"{count} by {cause}" for cause, count in self.causes.most_common(MOST_CAUSES)]
        return "; ".join([f"{self.share:.1%} ({self.equal} of {self.of})", *unanswered, *causes, *kinds])


def measure(chain: Chain, how: How, count: int, report: Report) -> None:
    with published(chain.repository) as views, side(views, chain.family, how.servers) as warm:
        commit = chain.cases[-1].child if chain.cases else views.source.resolve("HEAD")
        snapshot = views.publish(commit)
        opened = _opened(views, warm, warm.keep(snapshot, warm.relate(snapshot)))
        definitions, references = opened.definitions(count), opened.references(count)
    name = f"{chain.family}: {chain.name}: static definitions equal live ones"
    met = definitions.share >= DEFINITION_BAR
    report.add(name, str(definitions), f">= {DEFINITION_BAR:.0%}", met)
    report.details[name] = definitions.listed
    name = f"{chain.family}: {chain.name}: static references equal live ones"
    report.add(name, str(references))
    report.details[name] = references.listed


@dataclass(frozen=True, slots=True)
class _Opened:
    """One tree's relations, its texts, and the server that holds it."""

    view: FamilyView
    server: LanguageServer
    source: Callable[[RepoPath], SourceFile | None]
    records: Bitmap

    def definitions(self, count: int) -> Matches:
        asked: list[tuple[RepoPath, int, tuple[Target, ...]]] = [
            (record.path, relation.site.start_byte, relation.targets)
            for _, record in self.view.relations.store.records(self.records)
            for relation in record.relations
            if relation.targets is not None
        ]
        chosen = evenly_spread(asked, count)
        live = self.server.definitions([self._request(path, at) for path, at, _ in chosen])
        result = Matches()
        for (path, at, targets), answer in zip(chosen, live, strict=True):
            found = navigation.definition(self.view, targets)
            self._count(result, f"{path!r}@{at}", found, answer, lambda place: place.kind)
        return result

    def references(self, count: int) -> Matches:
        chosen = evenly_spread(self._units(), count)
        live = self.server.references(
            [self._request(file.path, at) for file, _, at in chosen], include_declaration=False, window=WINDOW
        )
        result = Matches()
        for (file, index, at), answer in zip(chosen, live, strict=True):
            targets = navigation.targets_of_unit(file, index)
            found = navigation.references(self.view, targets, include_declaration=False)
            what = f"{file.path!r} {file.text.units[index].qualified}@{at}"
            self._count(result, what, found, answer, lambda place: place.kind)
        return result

    def _units(self) -> list[tuple[TreeFile, int, int]]:
        """Every unit that has a name in its header, with the offset of that."""
        found = []
        for _, packed in self.view.relations.store.packed(self.records):
            file = self.view.files(packed.path)
            for index, unit in enumerate(file.text.units if file else ()):
                assert file is not None, "it has units"
                if unit.level is not Level.FILE and file.text.own_names(index):
                    place = navigation.unit_place(self.view, file, index)
                    at = file.text.offset(place.line, place.col)
                    if at is not None:
                        found.append((file, index, at))
        return found

    def _request(self, path: RepoPath, byte: int) -> Request:
        source = self.source(path)
        assert source is not None, "its relations are stored"
        return (path, *source.positions.to_lsp(byte, self.server.encoding))

    def _count(
        self, result: Matches, what: str, found: Answer, live: Locations, kind: Callable[[Place], str]
    ) -> None:
        if isinstance(live, Unknown):
            result.unanswered += 1
            return
        static = {
            _key(place): kind(place) if isinstance(place, Place) else "outside" for place in found.found
        }
        told = {self._live_key(location): location for location in live}
        result.of += 1
        result.equal += static.keys() == told.keys()
        ours = {key: kind for key, kind in static.items() if key not in told}
        theirs = {key: self._what(location) for key, location in told.items() if key not in static}
        result.static_only.update(ours.values())
        result.live_only.update(theirs.values())
        if not ours and not theirs:
            return
        kinds = {f"static {each}" for each in ours.values()} | {f"live {each}" for each in theirs.values()}
        result.causes[" and ".join(sorted(kinds))] += 1
        if len(result.listed) < LISTED:
            result.listed.append(f"{what}: static only {_text(ours)}; live only {_text(theirs)}")

    def _live_key(self, location: Location) -> tuple[RepoPath, int]:
        if location.path is None or self.view.files(location.path) is None:
            return OUTSIDE
        return (location.path, location.start_line + 1)

    def _what(self, location: Location) -> str:
        """Why static navigation can have left a live reference out."""
        file = self.view.files(location.path) if location.path is not None else None
        source = self.source(location.path) if location.path is not None and file else None
        if file is None or source is None:
            return "outside"
        encoding = self.server.encoding
        byte = source.positions.to_byte(location.start_line, location.start_character, encoding)
        record = self.view.record(file.path)
        relation = record.relation_at(byte) if record else None
        if relation is None:
            return "no site"
        if relation.site.kind is RelationKind.DEFINITION:
            return "a definition"
        if relation.targets is None:
            return f"{relation.site.kind} unknown"
        return f"{relation.site.kind} {'refers elsewhere' if relation.targets else 'unresolved'}"


def _opened(views: Published, warm: Side, related: Snapshot) -> _Opened:
    record = related.relations[warm.family]
    assert record.resolution is not None, "it is ready"
    structure, sources = warm.relating.structure, warm.relating.sources
    listing = structure.listing(related.listing)

    def version(path: RepoPath) -> FileVersion | None:
        found = structure.at_path(listing, path)
        return found[1] if found and found[1].skip is None else None

    def source(path: RepoPath) -> SourceFile | None:
        found = version(path)
        return sources.get(path, found.blob, found.language) if found else None

    view = FamilyView(CachedRelations(warm.store), record.resolution, _tree_files(version, source))
    return _Opened(view, warm.server, source, warm.store.resolution(record.resolution))


def _tree_files(
    version: Callable[[RepoPath], FileVersion | None], source: Callable[[RepoPath], SourceFile | None]
) -> TreeFiles:
    opened: dict[RepoPath, TreeFile | None] = {}

    def open_file(path: RepoPath) -> TreeFile | None:
        if path not in opened:
            of, file = version(path), source(path)
            text = SourceText(file.content, file.units, file.symbols) if file else None
            opened[path] = TreeFile(of, text) if of and text else None
        return opened[path]

    return open_file


def _key(found: Place | navigation.External) -> tuple[RepoPath, int]:
    return (found.path, found.line) if isinstance(found, Place) else OUTSIDE


def _text(found: dict[tuple[RepoPath, int], str]) -> str:
    return ", ".join(f"{path!r}:{line} ({kind})" for (path, line), kind in sorted(found.items())) or "nothing"
