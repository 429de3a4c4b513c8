"""Part `inverse`: static navigation against the live server's own answers, at the same tree.

Definitions are asked at sites, references of what is declared (units, and the names of parameters, variables
and fields), implementations of scopes and of what is callable in one; each spread over all files, so that one
tree is always asked the same. Answers are compared as sets of (path, line of the identifier); outside the
repository only that something is referred to counts. References are asked with their declarations, since
servers differ in what they take for one when they leave them out; those outside the repository, and what is
asked about itself among its implementations, are left out.

A place that only one side has is counted by kind: of static ones, that of the site; of live ones, that of the
site and what its own definition is, or that there is no site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from nibd.bench.relations_cases import Chain, evenly_spread
from nibd.bench.relations_follow import How
from nibd.bench.relations_world import Published, Side, published, side
from nibd.bench.report import Report
from nibd.query import navigation
from nibd.query.defined_elsewhere import itself_at
from nibd.query.navigation_asked import asked_at
from nibd.query.navigation_files import SourceText, TreeFile, TreeFiles
from nibd.query.navigation_places import Answer, Found, Place, unit_place
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
WINDOW = 4
PATIENCE_S = 60.0
"""A reference request is heavy: few at a time, and some take long."""
BATCH = 20
"""Where one is never answered, those that were to follow it are not asked: so many at most."""
LISTED = 100
MOST_CAUSES = 6
OUTSIDE = (RepoPath(b""), 0)
Key = tuple[RepoPath, int]


@dataclass(slots=True)
class Matches:
    """How many of the asked gave equal sets. `found` are those of which either side found anything."""

    equal: int = 0
    of: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    """By why, which counts for neither side."""
    found: int = 0
    static_only: Counter[str] = field(default_factory=Counter)
    live_only: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    """Of the requests that differ: all the kinds by which each does."""
    listed: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    """How many of each kind of thing were asked about."""
    differing: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        return self.equal / self.of if self.of else 0.0

    def __str__(self) -> str:
        kinds = [
            f"{whose} {', '.join(f'{kind} {count}' for kind, count in counts.most_common())}"
            for whose, counts in (("static only:", self.static_only), ("live only:", self.live_only))
            if counts
        ]
        unanswered = [f"{count} unanswered: {why}" for why, count in self.unanswered.most_common(1)]
        empty = [f"{self.of - self.found} of them empty on both sides"] if self.found < self.of else []
        differing = (f"{count} of {self.asked[kind]} {kind}" for kind, count in _sorted(self.differing))
        by_kind = ["differing: " + ", ".join(differing)]
        causes = [f"{count} by {cause}" for cause, count in self.causes.most_common(MOST_CAUSES)]
        whole = f"{self.share:.1%} ({self.equal} of {self.of})"
        return "; ".join([whole, *empty, *unanswered, *(by_kind if self.differing else ()), *causes, *kinds])


def _sorted(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def measure(chain: Chain, how: How, count: int, report: Report) -> None:
    with published(chain.repository) as views, side(views, chain.family, how.servers) as warm:
        commit = chain.cases[-1].child if chain.cases else views.source.resolve("HEAD")
        snapshot = views.publish(commit)
        opened = _opened(views, warm, warm.keep(snapshot, warm.relate(snapshot)))
        for what, ask in (
            ("definitions", opened.definitions),
            ("references", opened.references),
            ("implementations", opened.implementations),
        ):
            found = ask(count)
            name = f"{chain.family}: {chain.name}: static {what} equal live ones"
            if what == "definitions":
                report.add(name, str(found), f">= {DEFINITION_BAR:.0%}", found.share >= DEFINITION_BAR)
            else:
                report.add(name, str(found))
            report.details[name] = found.listed


@dataclass(frozen=True, slots=True)
class _Named:
    """Something that is asked about: what it is, and where its name stands."""

    file: TreeFile
    kind: str
    byte: int

    def __str__(self) -> str:
        qualified, _, name, _ = self.file.text.symbols.at(self.byte)
        line, col = self.file.text.place(self.byte)
        return f"{self.kind} {name} in {qualified or 'the file'} at {_shown(self.file.path)}:{line}:{col}"


@dataclass(frozen=True, slots=True)
class _Opened:
    """One tree's relations, its texts, and the server that holds it."""

    view: FamilyView
    server: LanguageServer
    source: Callable[[RepoPath], SourceFile | None]
    records: Bitmap

    def definitions(self, count: int) -> Matches:
        chosen = evenly_spread(self._sites(), count)
        live = self.server.live_definitions(map(self._request, chosen), timeout_s=PATIENCE_S)
        return self._compared(chosen, live, self._definition)

    def _definition(self, named: _Named, targets: Sequence[Target]) -> Answer:
        return navigation.definition(self.view, targets, itself_at(named.file, named.byte))

    def references(self, count: int) -> Matches:
        chosen = evenly_spread(self._declared(), count)
        live = [
            answer
            for batch in _batched(map(self._request, chosen))
            for answer in self.server.references(
                batch, include_declaration=True, window=WINDOW, timeout_s=PATIENCE_S
            )
        ]

        def ask(_: _Named, targets: Sequence[Target]) -> Answer:
            return navigation.references(self.view, targets, include_declaration=True)

        return self._compared(chosen, live, ask, lambda _: {OUTSIDE})

    def implementations(self, count: int) -> Matches:
        chosen = evenly_spread([named for named, level in self._units() if level], count)
        live = [
            answer
            for batch in _batched(map(self._request, chosen))
            for answer in self.server.implementations(batch, window=WINDOW, timeout_s=PATIENCE_S)
        ]

        def ask(_: _Named, targets: Sequence[Target]) -> Answer:
            return navigation.implementations(self.view, targets)

        return self._compared(chosen, live, ask, _itself)

    def _compared(
        self,
        asked: Sequence[_Named],
        live: Sequence[Locations],
        ask: Callable[[_Named, Sequence[Target]], Answer],
        left_out: Callable[[_Named], set[Key]] | None = None,
    ) -> Matches:
        """`left_out`: what is not compared; of definitions that is nothing."""
        result = Matches()
        itself = left_out is not None
        for named, answer in zip(asked, live, strict=True):
            targets = asked_at(self.view, named.file, named.byte, itself=itself).targets or ()
            if isinstance(answer, Unknown):
                result.unanswered[answer.reason] += 1
            else:
                out = left_out(named) if left_out else set()
                self._count(result, named, ask(named, targets).found, answer, out)
        return result

    # What is asked about

    def _sites(self) -> list[_Named]:
        """Every site of which something is known."""
        found = []
        for _, record in self.view.relations.store.records(self.records):
            file = self.view.files(record.path)
            for relation in record.relations if file else ():
                assert file is not None, "it has relations"
                if relation.targets is not None:
                    found.append(_Named(file, relation.site.kind.value, relation.site.start_byte))
        return found

    def _declared(self) -> list[_Named]:
        """Where names are declared, each with what it names: a unit of a kind, else a variable."""
        found = {(named.file.path, named.byte): named for named, _ in self._units()}
        for named in self._sites():
            if named.kind == RelationKind.DEFINITION:
                found.setdefault((named.file.path, named.byte), _Named(named.file, "variable", named.byte))
        return [found[key] for key in sorted(found)]

    def _units(self) -> list[tuple[_Named, bool]]:
        """Every unit that has a name in its header, and whether it can have implementations."""
        found = []
        for _, packed in self.view.relations.store.packed(self.records):
            file = self.view.files(packed.path)
            for index, unit in enumerate(file.text.units if file else ()):
                assert file is not None, "it has units"
                if unit.level is not Level.FILE and file.text.own_names(index):
                    place = unit_place(self.view, file, index)
                    byte = file.text.offset(place.line, place.col)
                    assert byte is not None, "it is in the text"
                    holder = file.text.units[unit.parent or 0].level
                    found.append((_Named(file, unit.kind, byte), Level.SCOPE in (unit.level, holder)))
        return found

    def _request(self, named: _Named) -> Request:
        source = self.source(named.file.path)
        assert source is not None, "its relations are stored"
        return (named.file.path, *source.positions.to_lsp(named.byte, self.server.encoding))

    # How answers are compared

    def _count(
        self,
        result: Matches,
        named: _Named,
        found: Iterable[Found],
        live: Sequence[Location],
        left_out: set[Key],
    ) -> None:
        static = {_key(place): place.kind if isinstance(place, Place) else "outside" for place in found}
        told = {self._live_key(location): location for location in live}
        for key in left_out:
            static.pop(key, None)
            told.pop(key, None)
        result.of += 1
        result.equal += static.keys() == told.keys()
        result.found += bool(static or told)
        result.asked[named.kind] += 1
        ours = {key: kind for key, kind in static.items() if key not in told}
        theirs = {key: self._what(location) for key, location in told.items() if key not in static}
        result.static_only.update(ours.values())
        result.live_only.update(theirs.values())
        if not ours and not theirs:
            return
        result.differing[named.kind] += 1
        kinds = {f"static {each}" for each in ours.values()} | {f"live {each}" for each in theirs.values()}
        result.causes[" and ".join(sorted(kinds))] += 1
        if len(result.listed) < LISTED:
            result.listed.append(f"{named}: static only {_text(ours)}; live only {_text(theirs)}")

    def _live_key(self, location: Location) -> Key:
        if location.path is None or self.view.files(location.path) is None:
            return OUTSIDE
        return (location.path, location.start_line + 1)

    def _what(self, location: Location) -> str:
        """Why static navigation can have left a live place out."""
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


def _batched(requests: Iterable[Request]) -> Iterator[list[Request]]:
    source = iter(requests)
    while batch := list(islice(source, BATCH)):
        yield batch


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


def _key(found: Found) -> Key:
    return (found.path, found.line) if isinstance(found, Place) else OUTSIDE


def _itself(named: _Named) -> set[Key]:
    return {(named.file.path, named.file.text.line_of(named.byte))}


def _shown(path: RepoPath) -> str:
    return path.decode("utf-8", "backslashreplace")


def _text(found: dict[Key, str]) -> str:
    places = (f"{_shown(path)}:{line} ({kind})" for (path, line), kind in sorted(found.items()))
    return ", ".join(places) or "nothing"
