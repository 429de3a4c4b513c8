"""From the relations of one tree to those of another: the one path for build and repair.

For one family on one server that holds the target tree:

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
from nibd.repair.relations.change import FileChange
from nibd.repair.relations.changed_files import changed_files, family_files
from nibd.repair.relations.configuration import UNTOUCHED, Touched
from nibd.repair.relations.families import FAMILIES
from nibd.repair.relations.includes import Includes, narrowed
from nibd.repair.relations.parts import NOTHING, Part, Parts, Totals
from nibd.repair.relations.plan import Plan, Planner, kept_relations
from nibd.repair.relations.resolve import Question, Resolver
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.registry import driver_of_family
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import Answer, FileRelations, Relation
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

    def plus(self, rows: Iterable[int], files: Iterable[FileRelations]) -> _Made:
        return replace(self, records=self.records.changed(add=rows), totals=self.totals.plus(files))


@dataclass(frozen=True, slots=True)
class Draft:
    """A file and the sites of it that are `asked`, by index, each for one of `rules`.

    `known` is what others refer to, and what these did before, as far as they were there. Of one that
    `is_stored` there is a record that holds while nothing changed.
    """

    file: SourceFile
    known: Mapping[int, Answer]
    asked: tuple[int, ...]
    rules: tuple[str, ...] = ()
    is_stored: bool = False

    def changed(self, answers: Sequence[Answer]) -> Counter[str]:
        """For how many sites each rule was right: they refer to something else than before."""
        found = zip(self.asked, self.rules, answers, strict=True)
        return Counter(rule for i, rule, answer in found if i in self.known and self.known[i] != answer)

    def answered(self, answers: Sequence[Answer]) -> FileRelations:
        known = {**self.known, **dict(zip(self.asked, answers, strict=True))}
        relations = tuple(Relation.of(site, known[i]) for i, site in enumerate(self.file.sites))
        return FileRelations(self.file.path, self.file.blob, self.file.language, relations)


def _ordered(why: Mapping[int, str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    indexes = tuple(sorted(why))
    return indexes, tuple(why[index] for index in indexes)


def _require_answers(files: Sequence[FileRelations], resolver: Resolver) -> None:
    """A server that knows nothing of a whole batch has not loaded the project: to go on is a waste."""
    asked = [each for file in files for each in file.relations if not each.unbuilt]
    sites = len(asked)
    if sites >= MIN_ANSWERED and all(each.targets is None for each in asked):
        name, why = resolver.server.driver.server, resolver.unanswered
        raise ServerFailed(f"{name} gave no answer for any of the first {sites} sites: {why}")


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
        again = [asked.file for path, asked in plan.elsewhere.items() if path in made.paths]
        totals = totals.plus(again, -1).together(made.totals)
        replaced = [row for row, _ in old.values()]
        replaced += [row for file in again if (row := self.store.record_at(base.records, file.path))]
        bits = base.records.changed(remove=replaced, add=made.records)
        resolution = self.store.add_resolution(self.family, target.tree, self.profile, bits)
        seconds = time.perf_counter() - started
        return Resolved(
            resolution,
            bits,
            totals,
            plan.counts(),
            made.changed,
            plan.cut,
            seconds,
            made.is_fresh,
            asking.unanswered,
        )

    def plan(
        self, base: Base, changes: Mapping[RepoPath, FileChange], old: Mapping[RepoPath, FileRelations]
    ) -> Plan:
        """What to ask. `old` are the relations of the changed files in `base`."""
        importers = self._importers(base.touched, base.side.listing)
        return Planner(
            self.store, base.records, changes, old, base.touched, importers, base.is_configured
        ).plan()

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
            files, changed = self._answered(drafts, asking)
            made = replace(
                made.plus(self.store.add(files), files),
                changed=made.changed + changed,
                paths=made.paths.union(file.path for file in files),
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
            files, _ = self._answered(drafts, asking)
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
            new = changes[path].new
            assert new is not None, "only files that are there are asked about"
            before = old.get(path)
            kept = {} if before is None else kept_relations(changes[path], before[1], new)
            yield Draft(new, {i: each.answer for i, each in kept.items()}, *_ordered(why))

    def _unchanged(self, plan: Plan) -> Iterator[Draft]:
        for asked in plan.elsewhere.values():
            record = asked.file
            sites = tuple(relation.site for relation in record.relations)
            file = self.sources.get(record.path, record.blob, record.language, sites)
            if file is None or file.sites != sites:
                raise CorruptRelations(f"the relations of {record.path!r} are not those of {record.blob}")
            known = {i: each.answer for i, each in enumerate(record.relations)}
            yield Draft(file, known, *_ordered(asked.why), is_stored=True)

    def _answered(self, drafts: list[Draft], asking: Asking) -> tuple[list[FileRelations], Counter[str]]:
        """The relations that are to be stored, and how many sites changed by rule."""
        answers = asking.ask([Question(draft.file, draft.asked) for draft in drafts])
        files, changed = [], Counter[str]()
        for draft, answer in zip(drafts, answers, strict=True):
            found = draft.changed(answer)
            changed.update(found)
            if found or not draft.is_stored:
                files.append(draft.answered(answer))
        return files, changed
