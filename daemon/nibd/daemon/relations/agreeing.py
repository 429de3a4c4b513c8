"""The compatibility audit of one family at one tree: asks what is stored and the running server the same.

Both answers are made by the code that answers users: static ones by `nibd.query.navigation`, live ones by
`nibd.repair.relations.live`. What comes of it is the `Agreement` that `status` shows. It reads only, repairs
nothing, and may be stopped between two places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from nibd.query import navigation
from nibd.query.navigation_asked import asked_at
from nibd.query.navigation_files import SourceText, TreeFile, TreeFiles
from nibd.query.navigation_places import External, Found
from nibd.query.navigation_view import CachedRelations, FamilyView
from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.agreement import (
    IMPLEMENTATIONS,
    REFERENCES,
    Lines,
    Sampled,
    Tally,
    sample,
)
from nibd.repair.relations.holding import NotHeld
from nibd.repair.relations.live import Live, LiveSite, NotOffered, Scope, Subject, Unanswered
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.source_file import SourceFile
from nibd.stores.agreement import Agreement
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import FAMILIES, RelationKind, Target
from nibd.stores.relations import ResolutionId
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import CommitId, FileVersion, RepoPath

PATIENCE_S = 30.0
LOOK_S = 0.2
OUTSIDE = -1
"""In place of a line, of what is outside the repository."""


class MovedAway(Exception):  # noqa: N818 - says what is
    """The servers do not hold the tree any more."""


@dataclass(slots=True)
class Agreeing:
    """For the thread that owns `relating`."""

    relating: Relating
    live: Live
    snapshot: Snapshot
    family: str
    report: Reporter

    def run(self, resolution: ResolutionId, commit: CommitId) -> Agreement:
        """Raises ServerMissing, ServerFailed, and MovedAway."""
        self.relating.bring(self.snapshot, self.family, self.report)
        listing = self.relating.structure.listing(self.snapshot.listing)
        view = FamilyView(CachedRelations(self.relating.store), resolution, self._files(listing))
        sampled = self._sampled(listing)
        tally, not_offered = Tally(), set[str]()
        threads = ThreadPoolExecutor(1, "agreement")
        try:
            for done, each in enumerate(sampled, 1):
                if each.operation not in not_offered:
                    asked = threads.submit(self._asked, each)
                    try:
                        tally.compare(each, self._static(view, each), self._awaited(asked, view))
                    except NotOffered:
                        not_offered.add(each.operation)
                    except NotHeld as moved:
                        raise MovedAway(str(moved)) from moved
                self.report(Progress("agreement", done, len(sampled)))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        return Agreement(self.snapshot.tree, commit, tally.rates())

    def _sampled(self, listing: Bitmap) -> list[Sampled]:
        languages = FAMILIES[self.family]
        files = (
            file
            for _, file in self.relating.structure.files(listing)
            if file.skip is None and file.language in languages
        )
        return sample(self.snapshot.tree, self.family, files, self._source)

    def _static(self, view: FamilyView, sampled: Sampled) -> Lines:
        file = view.files(sampled.file.path)
        assert file is not None, "a site of it was sampled"
        itself = sampled.operation in (REFERENCES, IMPLEMENTATIONS)
        asked = asked_at(view, file, sampled.site.start_byte, itself=itself)
        targets = asked.targets or ()
        if sampled.operation == REFERENCES:
            return _lines(navigation.references(view, targets, include_declaration=False).found)
        if sampled.operation == IMPLEMENTATIONS:
            return _lines(navigation.implementations(view, targets).found)
        return _lines(navigation.definition(view, targets).found)

    def _asked(self, sampled: Sampled) -> Sequence[Target] | Sequence[LiveSite]:
        """What the server says; in a thread of its own, and so of nothing that `relating` has."""
        scope = Scope(self.family, self.snapshot.tree, self.snapshot.listing, PATIENCE_S)
        spots = [(sampled.file.path, sampled.site.start_byte)]
        if sampled.operation == REFERENCES:
            subjects, sites = self.live.references(scope, spots)
            _require_built(subjects)
            return sites
        if sampled.operation == IMPLEMENTATIONS:
            subjects, targets = self.live.implementations(scope, spots)
            _require_built(subjects)
            return targets
        (found,) = self.live.definition(scope, spots)
        _require_built([found.subject])
        return found.targets

    def _awaited(
        self, asked: Future[Sequence[Target] | Sequence[LiveSite]], view: FamilyView
    ) -> Lines | None:
        """A server may take long for one answer, and whoever stops this waits for none."""
        while not wait([asked], LOOK_S).done:
            self.report(Progress("agreement", 0, 1))
        try:
            found = asked.result()
        except Unanswered:
            return None
        declared = RelationKind.DEFINITION
        sites = [each for each in found if isinstance(each, LiveSite)]
        targets = [each for each in found if isinstance(each, Target)]
        lines = {_line(view, each) for each in sites if each.kind is not declared}
        return frozenset(lines) | _lines(navigation.definition(view, targets).found)

    def _source(self, file: FileVersion) -> SourceFile | None:
        return self.relating.sources.get(file.path, file.blob, file.language)

    def _files(self, listing: Bitmap) -> TreeFiles:
        opened: dict[RepoPath, TreeFile | None] = {}

        def open_file(path: RepoPath) -> TreeFile | None:
            if path not in opened:
                found = self.relating.structure.at_path(listing, path)
                source = self._source(found[1]) if found else None
                opened[path] = _tree_file(found[1], source) if found and source else None
            return opened[path]

        return open_file


def _require_built(subjects: Sequence[Subject]) -> None:
    """Raises Unanswered: that of what is not built nothing is known either way says nothing of equality."""
    if any(subject.unbuilt for subject in subjects):
        raise Unanswered("the server does not build the file")


def _tree_file(version: FileVersion, source: SourceFile) -> TreeFile:
    return TreeFile(version, SourceText(source.content, source.units, source.symbols))


def _lines(found: Iterable[Found]) -> Lines:
    return frozenset(
        (f"{each.package}/".encode() + each.path, OUTSIDE)
        if isinstance(each, External)
        else (each.path, each.start_line)
        for each in found
    )


def _line(view: FamilyView, site: LiveSite) -> tuple[bytes, int]:
    file = view.files(site.path)
    return (site.path, file.text.line_of(site.start) if file else 0)
