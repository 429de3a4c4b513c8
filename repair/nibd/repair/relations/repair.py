"""From the relations of one tree to those of another: the one path for build and repair.

For one family on one server, which is told of the target tree first:

1. Compare the two listings: which files of the family came, went or changed.
2. Of each changed file, find what its sites keep (`change`); of all others, what may have changed (`plan`).
3. Ask the server about the rest (`resolve`), a batch of files at a time.
4. Store the records that are new. The resolution of the target is that of the base with their bits turned.

A build is a repair from no files, and a changed configuration is one from no relations. What it asked is
stored batch by batch under the target's tree, so that a build that was stopped or killed goes on where it
was; what it has so far can be published in parts. Files come in any order and give the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.asking import Asking
from nibd.repair.relations.changed_files import changed_files, family_files
from nibd.repair.relations.configuration import UNTOUCHED, Touched
from nibd.repair.relations.drafts import Draft
from nibd.repair.relations.families import FAMILIES
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.includes import Includes, narrowed
from nibd.repair.relations.old_tree import OldTree
from nibd.repair.relations.parts import NOTHING, Part, Parts, Totals
from nibd.repair.relations.plan import Planner
from nibd.repair.relations.planned import Plan
from nibd.repair.relations.resolve import Resolver
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.registry import driver_of_family
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Answer, FileRelations
from nibd.stores.relations import CorruptRelations, RecordId, RelationStore, ResolutionId
from nibd.stores.structure import StructureStore
from nibd.stores.types import EMPTY_TREE, ProfileId, RepoPath, TreeId

MIN_ANSWERED = 500
BATCH_SITES = 2_000
"""Asked between two safe points: under half a second of a server."""


@dataclass(frozen=True, slots=True)
class Side:
    """A tree with its listing."""

    tree: TreeId
    listing: Bitmap


@dataclass(frozen=True, slots=True)
class Base:
    """What a repair starts from: a tree, and the records that are its relations.

    `is_configured`: the configuration of the target differs, and `touched` is how far that reaches.
    """

    side: Side
    records: Bitmap
    totals: Totals
    touched: Touched = UNTOUCHED
    is_configured: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """The relations of a family at a tree. `asked` counts sites by the rule that had them asked.

    `changed` counts those that were kept otherwise, and refer to something else than before. `cut` sites
    that a wide rule wanted were left to verification.
    """

    resolution: ResolutionId
    records: Bitmap
    totals: Totals
    asked: Mapping[str, int]
    changed: Mapping[str, int]
    cut: int
    seconds: float
    is_fresh: bool
    """Whether every site was asked of a server that was started at this tree."""
    unanswered: str | None
    """Why a site got no answer, if one got none."""


@dataclass(frozen=True, slots=True)
class _Made:
    """What was asked so far. `changed` as in `Resolved`; `paths` have the records of a repair."""

    records: Bitmap = field(default_factory=Bitmap)
    totals: Totals = NOTHING
    is_fresh: bool = False
    changed: Counter[str] = field(default_factory=Counter)
    paths: frozenset[RepoPath] = frozenset()
    later: Counter[str] = field(default_factory=Counter)
    """Sites that were asked after an answer, by rule; `cut` were left for want of room."""
    cut: int = 0

    def plus(self, rows: Iterable[int], files: Iterable[FileRelations]) -> _Made:
        return replace(self, records=self.records.changed(add=rows), totals=self.totals.plus(files))


def _require_answers(files: Sequence[FileRelations], resolver: Resolver) -> None:
    """A server that knows nothing of a whole batch has not loaded the project: to go on is a waste."""
    asked = [each for file in files for each in file.relations if not each.unbuilt]
    sites = len(asked)
    if sites >= MIN_ANSWERED and all(each.targets is None for each in asked):
        name, why = resolver.server.driver.server, resolver.unanswered
        raise ServerFailed(f"{name} gave no answer for any of the first {sites} sites: {why}")


@dataclass(slots=True)
class _Answered:
    """Of a batch: the relations that are to be stored, and how many sites changed by rule."""

    files: list[FileRelations] = field(default_factory=list)
    changed: Counter[str] = field(default_factory=Counter)
    later: Counter[str] = field(default_factory=Counter)
    cut: int = 0


@dataclass(slots=True)
class RelationRepair:
    """Repairs of one family of one repository. For one thread, the only one that writes the store."""

    family: str
    profile: ProfileId
    store: RelationStore
    structure: StructureStore
    sources: SourceFiles
    includes: Includes
    resolver: Callable[[Side], Resolver]
    """Gives the resolver of a server that holds this tree and has settled."""
    report: Reporter
    tell: Callable[[Side], None] = lambda _: None
    """Has the private tree hold this one, and tells servers of it: they read it while it is planned."""
    is_fresh: Callable[[], bool] = lambda: False
    """Whether the server that is running has seen no other tree."""
    first: Sequence[RepoPath] = ()
    """Files that a build asks about before others."""
    publish: Callable[[Part], None] | None = None
    """Takes the parts of a build."""

    def run(self, base: Base | None, target: Side) -> Resolved:
        """The relations of `target`, from those of `base`; without one, every site is asked."""
        started = time.perf_counter()
        base = base or Base(Side(EMPTY_TREE, Bitmap()), Bitmap(), NOTHING)
        self.tell(target)
        come = family_files(self.structure, self.family, target.listing.minus(base.side.listing))
        gone = family_files(self.structure, self.family, base.side.listing.minus(target.listing))
        old = self._old(base.records, {*come, *gone})
        sites = {
            path: tuple(each.site for each in file.relations)
            for path, (_, file) in old.items()
            if path in gone and gone[path].blob == file.blob
        }
        changes = changed_files(self.sources, self.structure, target.listing, gone, come, sites)
        old |= self._old(base.records, changes.keys() - old.keys())
        before = {path: file for path, (_, file) in old.items()}
        plan = self.plan(base, changes, before)
        reached: set[RepoPath] = set()
        if self.family == "c" and base.records:
            reached = self.includes.reached_between(base.side.listing, target.listing)
            plan = narrowed(plan, changes, reached)
        asking = Asking(lambda: self.resolver(target))
        asking.resolver.server.try_again(reached)
        if base.records:
            made = self._repaired(self._batches(plan, changes, old, ()), asking, plan)
        else:
            made = self._built(plan, changes, asking, target.tree)
        totals = base.totals.plus([file for _, file in old.values()], -1)
        again = [asked.record for path, asked in plan.elsewhere.items() if path in made.paths]
        totals = totals.plus_packed(again, -1).together(made.totals)
        replaced = [row for row, _ in old.values()]
        replaced += [row for record in again if (row := self.store.record_at(base.records, record.path))]
        bits = base.records.changed(remove=replaced, add=made.records)
        resolution = self.store.add_resolution(self.family, target.tree, self.profile, bits)
        seconds = time.perf_counter() - started
        return Resolved(
            resolution,
            bits,
            totals,
            plan.counts() + made.later,
            made.changed,
            plan.cut + made.cut,
            seconds,
            made.is_fresh,
            asking.unanswered,
        )

    def plan(
        self, base: Base, changes: Mapping[RepoPath, FileChange], old: Mapping[RepoPath, FileRelations]
    ) -> Plan:
        """What to ask. `old` are the relations of the changed files in `base`."""
        importers = self._importers(base.touched, base.side.listing)
        tree = OldTree(self.store, base.records, self._file, lambda: self._modules(base.side.listing))
        planner = Planner(tree, changes, old, base.touched, importers, base.is_configured)
        try:
            return planner.plan()
        except ValueError as error:
            raise CorruptRelations(str(error)) from error

    def _file(self, record: RelationRecord) -> SourceFile | None:
        return self.sources.get(record.path, record.blob, record.language)

    def _modules(self, listing: Bitmap) -> Iterator[tuple[RepoPath, str]]:
        """What each file of the family imports, as it is written."""
        paths = {
            row: path
            for row, path, language in self.structure.paths(listing)
            if language in FAMILIES[self.family]
        }
        return ((paths[row], module) for row, module in self.structure.modules(paths))

    def _importers(self, touched: Touched, listing: Bitmap) -> set[RepoPath]:
        """The files that import a package which is touched."""
        if not touched.packages:
            return set()
        return {
            file.path
            for row, file in self.structure.files(listing)
            if file.language in FAMILIES[self.family]
            and any(touched.imports(each.module) for each in self.structure.imports(row))
        }

    def _repaired(self, batches: Iterable[list[Draft]], asking: Asking, plan: Plan) -> _Made:
        made, done = _Made(), 0
        for drafts in batches:
            room = plan.room - made.later.total()
            answered = self._answered(drafts, asking, room)
            files = answered.files
            made = replace(
                made.plus(self.store.add(files), files),
                changed=made.changed + answered.changed,
                paths=made.paths.union(file.path for file in files),
                later=made.later + answered.later,
                cut=made.cut + answered.cut,
            )
            done += len(drafts)
            self.report(Progress(self.family, done, len(plan.within) + len(plan.elsewhere)))
        return made

    def _built(
        self, plan: Plan, changes: Mapping[RepoPath, FileChange], asking: Asking, tree: TreeId
    ) -> _Made:
        """All relations; what a build of this tree that did not come to its end had is not asked again."""
        stage = self.store.staged(self.family, tree, self.profile)
        staged = [record for _, record in self.store.packed(stage.records)]
        made = _Made(stage.records, NOTHING.plus_packed(staged), stage.is_fresh)
        parts, sites = Parts(), sum(map(len, plan.within.values()))
        begun, done = False, {record.path for record in staged}
        for drafts in self._batches(self._ordered(plan), changes, {}, done):
            was_fresh = self.is_fresh()
            files = self._answered(drafts, asking).files
            if asking.is_over:  # what it left open is not kept: the next build asks it
                raise ServerFailed(asking.why_over)
            if not begun:
                _require_answers(files, asking.resolver)
            begun, fresh = True, was_fresh and self.is_fresh()  # one that ended may have been replaced
            rows = self.store.stage(self.family, tree, self.profile, files, is_fresh=fresh)
            made = replace(made.plus(rows, files), is_fresh=made.is_fresh and fresh)
            self.report(Progress(self.family, made.totals.files, len(plan.within)))
            if self.publish and parts.is_due():
                self.publish(self._part(made, tree, len(plan.within), sites))
        return made

    def _ordered(self, plan: Plan) -> Plan:
        order = {path: place for place, path in enumerate(self.first)}
        paths = sorted(plan.within, key=lambda path: (order.get(path, len(order)), path))
        return replace(plan, within={path: plan.within[path] for path in paths})

    def _part(self, made: _Made, tree: TreeId, files: int, sites: int) -> Part:
        resolution = self.store.add_resolution(self.family, tree, self.profile, made.records, finished=False)
        return Part(resolution, made.records, made.totals, files, sites)

    def _old(
        self, records: Bitmap, paths: Iterable[RepoPath]
    ) -> dict[RepoPath, tuple[RecordId, FileRelations]]:
        rows = (self.store.record_at(records, path) for path in paths)
        return {
            file.path: (row, file) for row, file in self.store.records(sorted(row for row in rows if row))
        }

    def _batches(
        self,
        plan: Plan,
        changes: Mapping[RepoPath, FileChange],
        old: Mapping[RepoPath, tuple[RecordId, FileRelations]],
        done: Container[RepoPath],
    ) -> Iterator[list[Draft]]:
        """What has to be asked, some `BATCH_SITES` at a time; changed files first."""
        driver = driver_of_family(self.family)
        batch: list[Draft] = []
        size = 0
        for draft in chain(self._changed(plan, changes, old), self._unchanged(plan)):
            if draft.file.path in done:
                continue
            batch.append(draft)
            size += len(draft.asked) + driver.file_sites
            if size >= max(BATCH_SITES, driver.batch_sites):
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _changed(
        self,
        plan: Plan,
        changes: Mapping[RepoPath, FileChange],
        old: Mapping[RepoPath, tuple[RecordId, FileRelations]],
    ) -> Iterator[Draft]:
        for path, why in plan.within.items():
            yield Draft.of_changed(changes[path], old[path][1] if path in old else None, why)

    def _unchanged(self, plan: Plan) -> Iterator[Draft]:
        for asked in plan.elsewhere.values():
            try:
                draft = Draft.of_unchanged(asked, self.sources)
            except ValueError as error:
                raise CorruptRelations(str(error)) from error
            yield draft

    def _answered(self, drafts: list[Draft], asking: Asking, room: int = 0) -> _Answered:
        """What the server says of these, and of up to `room` sites that are asked for what it says."""
        answers = asking.ask([draft.question for draft in drafts])
        rests: dict[RepoPath, Draft] = {}
        result = _Answered()
        for draft, answer in zip(drafts, answers, strict=True):
            rest = draft.rest(answer)
            if rest is not None and len(rest.asked) <= room:
                room -= len(rest.asked)
                rests[draft.file.path] = rest
            elif rest is not None:
                result.cut += len(rest.asked)
        more = asking.ask([rest.question for rest in rests.values()]) if rests else []
        told = dict(zip(rests, more, strict=True))
        for draft, answer in zip(drafts, answers, strict=True):
            self._take(draft, answer, rests.get(draft.file.path), told.get(draft.file.path, ()), result)
        return result

    @staticmethod
    def _take(
        draft: Draft, answer: Sequence[Answer], rest: Draft | None, more: Sequence[Answer], into: _Answered
    ) -> None:
        found, said = draft.changed(answer), dict(zip(draft.asked, answer, strict=True))
        if rest is not None:
            found += rest.changed(more)
            said |= zip(rest.asked, more, strict=True)
            into.later.update(rest.rules)
        into.changed.update(found)
        if found or draft.record is None:
            into.files.append(draft.answered(said))
