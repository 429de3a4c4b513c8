"""Single questions to the language servers about the tree that they hold, beside the job that is at work.

A *spot* is an offset into the text of a file of the tree. What is asked about is the site there, or the one
that ends there; where syntax knows of none, the spot itself. Answers are in the terms that relations are
stored in, so that live and static answers name a place alike:

definition       the targets of each spot
implementations  the targets that implement what stands at the spots, without that itself
references       the sites that refer to what stands at the spots, declarations among them, by path and offset
calls            of a range of a file: each call in it with its targets
sites            of a range of a file: each site in it with its targets

An answer is what a server said while it held the tree (`Holding`). What it left open is `Unanswered`, but
for single calls of a range, which have `None` for their targets. That it does not build a file is an answer:
its subjects are `unbuilt`, and have nothing. Nothing here moves a tree, starts a server
or writes. For any thread.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nibd.repair.git import GitSource
from nibd.repair.relations.holding import Holding
from nibd.repair.relations.resolve import ExternalsByServer, Resolver, Targets
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.servers.errors import ServerFailed, Unknown
from nibd.repair.servers.locations import Location
from nibd.repair.servers.server import LanguageServer, Locations, Request
from nibd.stores.bitmap import Bitmap
from nibd.stores.facts import FactStore
from nibd.stores.relation_types import RelationKind, Site, Target
from nibd.stores.structure import ListingId, StructureStore
from nibd.stores.types import RepoPath, Skip, TreeId

LISTINGS = 4
KEPT_BYTES = 32 << 20
REFERENCES = "referencesProvider"
IMPLEMENTATIONS = "implementationProvider"
_NO_TEXT = frozenset({Skip.SYMLINK, Skip.SUBMODULE, Skip.MISSING_OBJECT})

Spot = tuple[RepoPath, int]


class Unanswered(Exception):  # noqa: N818 - says what is
    """The server gave no answer in time, or died; the message says which. Never to be taken for nothing."""


class NotOffered(Exception):  # noqa: N818 - says what is
    """The server has no such operation."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The servers of a family at a tree, whose files `listing` has; answers may take `patience_s`."""

    family: str
    tree: TreeId
    listing: ListingId
    patience_s: float


@dataclass(frozen=True, slots=True)
class Subject:
    """What stands at a spot: `start` is where it begins, `kind` what the site there does, if one is there.

    `unbuilt`: the server says that it does not build the file, so nothing is known of it.
    """

    start: int
    end: int
    name: str
    kind: RelationKind | None
    unbuilt: bool = False


@dataclass(frozen=True, slots=True)
class Defined:
    """A subject and what it refers to."""

    subject: Subject
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class LiveSite:
    """A site that refers to what was asked about; `kind` is `read` where syntax tells nothing."""

    path: RepoPath
    start: int
    name: str
    kind: RelationKind


@dataclass(frozen=True, slots=True)
class Answering:
    """The server that gave an answer. `limits` say what its answers lack, in words."""

    family: str
    name: str
    version: str
    limits: tuple[str, ...]


class LiveFiles:
    """The files of trees, by path, for several threads: each reads in turn, through stores of their own."""

    def __init__(self, source: GitSource, structure: StructureStore, facts: FactStore) -> None:
        """`close` closes what is given."""
        self._closing = (source, structure, facts)
        self._structure = structure
        self._sources = SourceFiles(source, facts, KEPT_BYTES)
        self._closed = False
        self._listings: OrderedDict[ListingId, Bitmap] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, listing: ListingId, path: RepoPath) -> SourceFile | None:
        with self._lock:
            if self._closed:
                raise Unanswered("what nibd has stored is being opened anew")
            found = self._structure.at_path(self._bits(listing), path)
            if found is None or found[1].skip in _NO_TEXT:
                return None
            return self._sources.get(path, found[1].blob, found[1].language)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for each in self._closing:
                each.close()

    def _bits(self, listing: ListingId) -> Bitmap:
        bits = self._listings.get(listing)
        if bits is None:
            bits = self._listings[listing] = self._structure.listing(listing)
            while len(self._listings) > LISTINGS:
                self._listings.popitem(last=False)
        return bits


class Live:
    """See the module."""

    def __init__(
        self, holding: Holding, files: LiveFiles, is_uncommitted: Callable[[Path], bool] = lambda _: False
    ) -> None:
        self._holding = holding
        self._files = files
        self._is_uncommitted = is_uncommitted
        self.close = files.close
        self._naming = threading.Lock()
        self._externals = ExternalsByServer()

    def definition(self, scope: Scope, spots: Sequence[Spot]) -> list[Defined]:
        with self._holding.asking(scope.family, scope.tree) as server:
            return self._definition(server, scope, spots)

    def _definition(self, server: LanguageServer, scope: Scope, spots: Sequence[Spot]) -> list[Defined]:
        asked = [self._asked(scope, spot) for spot in spots]
        answers = server.definitions(
            [_request(server, file, subject.start) for file, subject in asked],
            timeout_s=scope.patience_s,
            urgent=True,
        )
        named = self._named(server, scope, answers)
        return list(map(Defined, _judged(asked, answers), named))

    def implementations(
        self, scope: Scope, spots: Sequence[Spot]
    ) -> tuple[list[Subject], tuple[Target, ...]]:
        with self._holding.asking(scope.family, scope.tree) as server:
            _require(server, IMPLEMENTATIONS, "implementations")
            asked = [self._asked(scope, spot) for spot in spots]
            requests = [_request(server, file, subject.start) for file, subject in asked]
            answers = server.implementations(requests, timeout_s=scope.patience_s, urgent=True)
            targets = {each for found in self._named(server, scope, answers) for each in found}
            itself = {each for found in self._definition(server, scope, spots) for each in found.targets}
            itself |= {Target("", file.path, *file.symbols.at(subject.start)) for file, subject in asked}
        return _judged(asked, answers), tuple(sorted(targets - itself))

    def references(self, scope: Scope, spots: Sequence[Spot]) -> tuple[list[Subject], list[LiveSite]]:
        """What lies outside the repository is left out."""
        with self._holding.asking(scope.family, scope.tree) as server:
            _require(server, REFERENCES, "references")
            asked = [self._asked(scope, spot) for spot in spots]
            requests = [_request(server, file, subject.start) for file, subject in asked]
            answers = server.references(requests, timeout_s=scope.patience_s, urgent=True)
            places = {
                (each.path, each.start_line, each.start_character)
                for answer in answers
                for each in _answered(answer)
                if each.path is not None
            }
            found = self._sites(server, scope, places)
        return _judged(asked, answers), found

    def calls(self, scope: Scope, path: RepoPath, start: int, end: int) -> list[tuple[int, Targets]]:
        """The calls in a range of a file by their offsets, each with what it refers to."""
        file = self._file(scope, path)
        sites = [
            each for each in file.sites if each.kind is RelationKind.CALL and start <= each.start_byte < end
        ]
        with self._holding.asking(scope.family, scope.tree) as server:
            requests = [_request(server, file, site.start_byte) for site in sites]
            answers = server.definitions(requests, timeout_s=scope.patience_s, urgent=True)
            resolver = self._resolver(server, scope)
            with self._naming:
                return [
                    (site.start_byte, resolver.targets(answer))
                    for site, answer in zip(sites, answers, strict=True)
                ]

    def sites(self, scope: Scope, path: RepoPath, start: int, end: int) -> list[Defined]:
        """The sites in a range of a file, each with what it refers to."""
        try:
            sites = self._file(scope, path).sites
        except ServerFailed as failed:
            raise Unanswered(failed.reason) from failed
        return self.definition(
            scope, [(path, site.start_byte) for site in sites if start <= site.start_byte < end]
        )

    def asked(self, scope: Scope) -> Answering:
        """Which server answers."""
        with self._holding.asking(scope.family, scope.tree) as server:
            return Answering(scope.family, server.driver.server, server.version, tuple(server.limits))

    # How

    def _asked(self, scope: Scope, spot: Spot) -> tuple[SourceFile, Subject]:
        file = self._file(scope, spot[0])
        return file, subject_at(file, spot[1])

    def _file(self, scope: Scope, path: RepoPath) -> SourceFile:
        file = self._files.get(scope.listing, path)
        if file is None:
            raise Unanswered(f"the text of {path.decode('utf-8', 'backslashreplace')} can't be had")
        return file

    def _named(
        self, server: LanguageServer, scope: Scope, answers: Iterable[Locations]
    ) -> list[tuple[Target, ...]]:
        """Raises Unanswered when one is not known."""
        resolver = self._resolver(server, scope)
        with self._naming:
            return [resolver.targets(_answered(answer)) or () for answer in answers]

    def _resolver(self, server: LanguageServer, scope: Scope) -> Resolver:
        return Resolver(
            server,
            lambda path: self._files.get(scope.listing, path),
            self._externals.of(server),
            self._is_uncommitted,
        )

    def _sites(
        self, server: LanguageServer, scope: Scope, places: Iterable[tuple[RepoPath, int, int]]
    ) -> list[LiveSite]:
        found = {}
        for path, line, character in places:
            file = self._files.get(scope.listing, path)
            if file is not None:  # else a dependency that was put into the private tree
                subject = subject_at(file, file.positions.to_byte(line, character, server.encoding), False)
                kind = subject.kind or RelationKind.READ
                found[path, subject.start] = LiveSite(path, subject.start, subject.name, kind)
        return [found[key] for key in sorted(found)]


def subject_at(file: SourceFile, byte: int, or_before: bool = True) -> Subject:
    """The site at an offset, or (`or_before`) the one that ends there; else what stands there."""
    site = site_at(file, byte) or (site_at(file, byte - 1) if or_before and byte else None)
    if site is not None:
        return Subject(site.start_byte, site.end_byte, site.name, site.kind)
    name = file.symbols.at(byte)[2]
    return Subject(byte, byte + len(name.encode()), name, None)


def site_at(file: SourceFile, byte: int) -> Site | None:
    """Raises Unanswered when the file could not be parsed in time."""
    try:
        return file.site_at(byte)
    except ServerFailed as failed:
        raise Unanswered(failed.reason) from failed


def _request(server: LanguageServer, file: SourceFile, byte: int) -> Request:
    return (file.path, *file.positions.to_lsp(byte, server.encoding))


def _answered(answer: Locations) -> tuple[Location, ...]:
    """Nothing of a file that is not built. Raises Unanswered."""
    if not isinstance(answer, Unknown):
        return answer
    if answer.unbuilt:
        return ()
    raise Unanswered(answer.reason)


def _judged(asked: Sequence[tuple[SourceFile, Subject]], answers: Sequence[Locations]) -> list[Subject]:
    """The subjects, with which of them are in files that are not built."""
    return [
        replace(subject, unbuilt=isinstance(answer, Unknown) and answer.unbuilt)
        for (_, subject), answer in zip(asked, answers, strict=True)
    ]


def _require(server: LanguageServer, capability: str, what: str) -> None:
    if not server.offers(capability):
        raise NotOffered(f"{server.driver.server} answers no questions about {what}")
