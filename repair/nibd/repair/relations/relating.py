"""The relations of a snapshot's families: which are to be made, from what, and what is said of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from nibd.repair.git import GitSource, MissingObject, TreeEntry
from nibd.repair.private_tree import LOCK_FILES, Dependencies, ModuleCaches, find_dependencies, stamp
from nibd.repair.progress import Reporter
from nibd.repair.relations.configuration import EVERYTHING, UNTOUCHED, Touched, is_configuration, touched
from nibd.repair.relations.families import FAMILIES, families_of
from nibd.repair.relations.includes import Includes
from nibd.repair.relations.parts import NOTHING, Part, Totals
from nibd.repair.relations.recent import recently_committed
from nibd.repair.relations.repair import Base, RelationRepair, Resolved, Side
from nibd.repair.relations.resolve import ExternalsByServer, Resolver
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.relations.view_records import Lacking, limits_of, record_of, record_of_part, what_lacks
from nibd.repair.relations.workspace import ServerMissing, Workspace
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.registry import driver_of_family
from nibd.repair.servers.server import LanguageServer, Request
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import RelationStore
from nibd.stores.snapshot import Snapshot, ViewRecord, resolution_artifact
from nibd.stores.structure import ListingId, StructureStore
from nibd.stores.types import Assurance, FileVersion, ProfileId, RepoPath, Skip, State, TreeId, View
from nibd.stores.verifications import VerificationStore

RELATIONS_VERSION = "relations-7"
"""Raise it with any change of what a site is, how a target is named, or which files and texts servers read:
relations are kept under it."""
CERTAIN = frozenset({Assurance.VERIFIED, Assurance.EXACT})
PROBED_FILES = 8
PROBES_A_FILE = 4
_Versions = tuple[RepoPath, TreeEntry | None, TreeEntry | None]
"""A file before and after."""
_NO_TEXT = frozenset({Skip.SYMLINK, Skip.SUBMODULE, Skip.MISSING_OBJECT})


def profile_of(server: str, dependencies: str = "") -> ProfileId:
    """The profile of relations by a server of this identity, with what is installed of this one."""
    parts = (RELATIONS_VERSION, server, dependencies)
    return ProfileId(hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest())


@dataclass(frozen=True, slots=True)
class Building:
    """How relations are made that there were none of: what is told of it, and who takes its parts."""

    report: Reporter
    publish: Callable[[ViewRecord], None] | None = None

    def taker(self, profile: ProfileId) -> Callable[[Part], None] | None:
        publish = self.publish
        return None if publish is None else lambda part: publish(record_of_part(profile, part))


@dataclass(slots=True)
class Relating:
    """Makes the relations of one repository's snapshots. For one thread. `memory` tells what was verified."""

    source: GitSource
    structure: StructureStore
    store: RelationStore
    sources: SourceFiles
    workspace: Workspace
    memory: VerificationStore
    externals: ExternalsByServer = field(default_factory=ExternalsByServer)
    _looked: tuple[TreeId, Path, Dependencies] | None = None
    _included: tuple[ListingId, Includes] | None = None
    """Who includes whom in C and C++, at the listing that was looked at last."""

    def look(self, tree: TreeId, checkout: Path, caches: ModuleCaches) -> Dependencies:
        """Find what is installed in `checkout` for `tree`, and have it count from here on."""
        found = self._found_before(tree, checkout)
        if found is None:
            found = find_dependencies(
                checkout,
                lambda: (entry.path for entry in self.source.list_tree(tree)),
                self.workspace.tree.root,
                caches=caches,
                read=lambda path: self._read(tree, path),
            )
        self._looked = (tree, checkout, found)
        self.workspace.know(found)
        return found

    def _found_before(self, tree: TreeId, checkout: Path) -> Dependencies | None:
        """What was found last, when neither the tree nor what is watched has a reason to say otherwise."""
        if self._looked is None or self._looked[1] != checkout:
            return None
        before, _, found = self._looked
        watched = (each for part in found.parts.values() for each in part.watched.items())
        if found.in_progress or any(stamp(path) != was for path, was in watched):
            return None
        try:
            changes = self.source.changes(before, tree, renames=False)
        except MissingObject:
            return None
        names = {after.path.rpartition(b"/")[2] for _, after in changes.modified}
        is_alike = not changes.added and not changes.deleted and names.isdisjoint(LOCK_FILES)
        return found if is_alike else None

    def families(self, snapshot: Snapshot) -> list[str]:
        """Those that the snapshot's tree has files of."""
        return families_of(snapshot.views[View.STRUCTURAL].counts)

    def relate(
        self,
        snapshot: Snapshot,
        family: str,
        kept: Sequence[Snapshot],
        report: Reporter,
        building: Building | None = None,
    ) -> ViewRecord:
        """The record of the family's relations at the snapshot's tree.

        Repaired from the first of `kept` that has them under the same profile; without one they are built, as
        `building` says. Raises what reporters raise.
        """
        try:
            profile = self.profile(family)
        except ServerMissing as missing:
            return ViewRecord(State.ABSENT, reason=str(missing))
        try:
            made = self._made_before(snapshot.tree, family, profile, kept)
            if made is not None:
                return made
            return self._related(snapshot, family, profile, kept, report, building or Building(report))
        except ServerFailed as failed:
            return ViewRecord(State.FAILED, profile=profile, reason=str(failed))

    def holds(self, record: ViewRecord | None) -> bool:
        """Whether what a record names is there: relations.db may have been made anew since."""
        resolution = record.resolution if record else None
        return resolution is not None and self.store.has_resolution(resolution)

    def bring(self, snapshot: Snapshot, family: str, report: Reporter) -> None:
        """Have the family's server hold the snapshot's tree, settled. Raises ServerMissing, ServerFailed."""
        self.resolver(family, self.side(snapshot), report)

    def known(self, snapshot: Snapshot, family: str) -> Bitmap:
        """The records of the snapshot's relations, with what was corrected since they were published."""
        record = snapshot.relations[family]
        assert record.resolution is not None, "there are some"
        newest = self.store.find_resolution(family, snapshot.tree, ProfileId(record.profile))
        return self.store.resolution(max(record.resolution, newest or record.resolution))

    def corrected(self, snapshot: Snapshot, family: str) -> ViewRecord | None:
        """The record of what was corrected since the snapshot was published; `None` when nothing was.

        A commit, or the end of this process, may have come between a correction and its publication.
        """
        record = snapshot.relations.get(family)
        if record is None or record.state is not State.READY or not self.holds(record):
            return None
        assert record.resolution is not None, "it is held"
        records = self.known(snapshot, family)
        if records == self.store.resolution(record.resolution):
            return None
        after = self.with_records(snapshot, family, records)
        assurance = Assurance.PARTIAL if after.lacks_answers else Assurance.REPAIRED
        return replace(after, assurance=assurance, counts={**after.counts, "verified": 0})

    def as_installed(self, family: str, tree: TreeId, record: ViewRecord) -> ViewRecord:
        """A record that was just made: only repaired where something was installed since that was looked up.

        The server may have seen one thing before and another after; the profile names the first.
        """
        if record.assurance not in CERTAIN or self.workspace.is_as_found(family):
            return record
        self.memory.forget(family, tree)
        return replace(record, assurance=Assurance.REPAIRED, counts={**record.counts, "verified": 0})

    def with_records(self, snapshot: Snapshot, family: str, records: Bitmap) -> ViewRecord:
        """The snapshot's record with `records` as its relations, which are the newest of its tree then."""
        record = snapshot.relations[family]
        made = self.store.add_resolution(family, snapshot.tree, ProfileId(record.profile), records)
        if made == record.resolution:
            return record
        counts = {**record.counts, **self.unknown(records).counts}
        return replace(record, artifact=resolution_artifact(made, records), counts=counts)

    def unknown(self, records: Bitmap) -> Lacking:
        return Lacking.of(self.store.unknown(records))

    @contextmanager
    def fresh(self, family: str, side: Side, report: Reporter) -> Iterator[Resolver]:
        """Of a new server beside the family's, at the same tree and settled; it ends with the context."""
        self.workspace.move(side.tree, report)
        with self.workspace.second(family, lambda: self._questions(family, side.listing)) as server:
            yield self._resolver_of(server, side)

    def repaired_as(
        self,
        kind: type[RelationRepair],
        snapshot: Snapshot,
        family: str,
        kept: Sequence[Snapshot],
        report: Reporter,
    ) -> Resolved:
        """What `relate` does, by a repair with another plan, to compare with."""
        side, profile, includes = self.side(snapshot), self.profile(family), Includes(self.structure)

        def resolver(target: Side) -> Resolver:
            return self.resolver(family, target, report)

        repair = self._repair(family, profile, includes, resolver, report, kind)
        return repair.run(self._base(family, profile, kept, side, includes), side)

    def profile(self, family: str) -> ProfileId:
        """What the family's relations depend on outside the tree. Raises ServerMissing."""
        server = self.workspace.installed(family).identity
        return profile_of(server, self.workspace.dependencies(family).identity)

    def _related(
        self,
        snapshot: Snapshot,
        family: str,
        profile: ProfileId,
        kept: Sequence[Snapshot],
        report: Reporter,
        building: Building,
    ) -> ViewRecord:
        side = self.side(snapshot)
        includes = self._taken_includes(kept) if family == "c" else Includes(self.structure)
        base = self._base(family, profile, kept, side, includes)
        report = building.report if base is None else report
        used: list[Resolver] = []

        def resolver(target: Side) -> Resolver:
            used.append(self.resolver(family, target, report))
            return used[-1]

        repair = self._repair(family, profile, includes, resolver, report)
        if base is None:
            repair.first = recently_committed(self.source)
            repair.publish = building.taker(profile)
        resolved = repair.run(base, side)
        if family == "c":
            includes.look_at(side.listing)
            self._included = (snapshot.listing, includes)
        if base is None:
            self.workspace.was_asked_everything(family)
        elif base.side.tree != side.tree:  # else it is tried again, and was counted
            self._begin(family, base.side, side)
        assurance = Assurance.EXACT if base is None and resolved.is_fresh else Assurance.REPAIRED
        lacking = self.unknown(resolved.records)
        record = record_of(profile, resolved, lacking, assurance, base is None)
        dropped = sum(len(each.dropped) for each in used)
        reason, limits = self.reason(family, lacking, why=resolved.unanswered), self.limits(family)
        return replace(record, reason=reason, limits=limits, work={**record.work, "dropped": dropped})

    def _repair(
        self,
        family: str,
        profile: ProfileId,
        includes: Includes,
        resolver: Callable[[Side], Resolver],
        report: Reporter,
        kind: type[RelationRepair] = RelationRepair,
    ) -> RelationRepair:
        return kind(
            family,
            profile,
            self.store,
            self.structure,
            self.sources,
            includes,
            resolver,
            report,
            tell=lambda side: self.workspace.move(side.tree, report),
            is_fresh=lambda: self.workspace.is_fresh(family),
        )

    def _begin(self, family: str, old: Side, new: Side) -> None:
        """Count a transition, which is to be verified."""
        self.memory.begin(family, new.tree)
        many = driver_of_family(family).audit_after
        changed = islice(self._files(family, new.listing.minus(old.listing)), many + 1)
        if many and sum(1 for _ in changed) > many:
            self.memory.ask_audit(family)

    def reason(
        self, family: str, lacking: Lacking, unanswered: int = 0, why: str | None = None
    ) -> str | None:
        """See `what_lacks`."""
        remarks = self.workspace.remarks(family)
        return what_lacks(driver_of_family(family), lacking, remarks, unanswered=unanswered, why=why)

    def limits(self, family: str) -> str | None:
        """See `limits_of`."""
        return limits_of(self.workspace.remarks(family))

    def _taken_includes(self, kept: Sequence[Snapshot]) -> Includes:
        """What is known of who includes whom. It is known no more until somebody puts it back."""
        known, self._included = self._included, None
        is_usable = known is not None and any(each.listing == known[0] for each in kept)
        return known[1] if known is not None and is_usable else Includes(self.structure)

    def _base(
        self,
        family: str,
        profile: ProfileId,
        kept: Sequence[Snapshot],
        target: Side,
        includes: Includes,
    ) -> Base | None:
        for snapshot in kept:
            record = snapshot.relations.get(family)
            if record is None:
                continue
            found = self._finished(snapshot, family, record, profile)
            if found is None:
                continue
            configured = self._configured(family, snapshot.tree, target.tree)
            reach = self._touched(family, configured)
            old = self.side(snapshot)
            if reach.everything or (
                family == "c" and includes.guesses(old.listing) != includes.guesses(target.listing)
            ):
                self.workspace.end(family)  # some servers read their configuration at the start alone
                continue
            return Base(old, *found, reach, is_configured=bool(configured))
        return None

    def _finished(
        self, snapshot: Snapshot, family: str, record: ViewRecord, profile: ProfileId
    ) -> tuple[Bitmap, Totals] | None:
        """The records of a kept tree's relations, also where a newer tree came before they were published."""
        if record.state is State.READY and record.profile == profile and self.holds(record):
            counts, records = record.counts, self.known(snapshot, family)
            unknown = self.unknown(records).counts["unknown"]
            return records, Totals(counts["files"], counts["sites"], unknown)
        made = self.store.find_resolution(family, snapshot.tree, profile)
        if made is None:
            return None
        records = self.store.resolution(made)
        return records, NOTHING.plus_packed(packed for _, packed in self.store.packed(records))

    def _made_before(
        self, tree: TreeId, family: str, profile: ProfileId, kept: Sequence[Snapshot]
    ) -> ViewRecord | None:
        """What was made of just this tree with just these tools: there is nothing to ask."""
        for snapshot in kept:
            record = snapshot.relations.get(family)
            if snapshot.tree == tree and record is not None and record.profile == profile:
                is_whole = record.state is State.READY and record.assurance is not Assurance.PARTIAL
                if not is_whole or not self.holds(record):
                    return None
                return self.corrected(snapshot, family) or record
        return None

    def _configured(self, family: str, old: TreeId, new: TreeId) -> list[_Versions] | None:
        """The files that configure the server, where they differ; `None` when that can't be told."""
        try:
            changes = self.source.changes(old, new, renames=False)
        except MissingObject:
            return None
        pairs: list[_Versions] = [(entry.path, entry, after) for entry, after in changes.modified]
        pairs += [(entry.path, entry, None) for entry in changes.deleted]
        pairs += [(entry.path, None, entry) for entry in changes.added]
        return [each for each in pairs if is_configuration(family, each[0])]

    def _touched(self, family: str, configured: Sequence[_Versions] | None) -> Touched:
        """How far these reach."""
        if configured is None:
            return EVERYTHING
        is_there = partial(self.workspace.has_package, family)
        found = UNTOUCHED
        for path, before, after in configured:
            found = found.plus(touched(path, self._bytes(before), self._bytes(after), is_there))
        return found

    def _bytes(self, entry: TreeEntry | None) -> bytes | None:
        return None if entry is None else self.source.read(entry.blob) or b""

    def side(self, snapshot: Snapshot) -> Side:
        return Side(snapshot.tree, self.structure.listing(snapshot.listing))

    def resolver(self, family: str, side: Side, report: Reporter) -> Resolver:
        """Of the family's server, at `side`'s tree and settled."""
        self.workspace.move(side.tree, report)
        server = self.workspace.server(family, side.tree, lambda: self._questions(family, side.listing))
        return self._resolver_of(server, side)

    def _resolver_of(self, server: LanguageServer, side: Side) -> Resolver:
        return Resolver(
            server,
            lambda path: self._file(side.listing, path),
            self.externals.of(server),
            self.workspace.is_uncommitted,
        )

    def _read(self, tree: TreeId, path: RepoPath) -> bytes | None:
        entry = self.source.entry(tree, path)
        return None if entry is None else self.source.read(entry.blob)

    def _files(self, family: str, listing: Bitmap) -> Iterator[FileVersion]:
        for _, file in self.structure.files(listing):
            if file.skip is None and file.language in FAMILIES[family]:
                yield file

    def _file(self, listing: Bitmap, path: RepoPath) -> SourceFile | None:
        found = self.structure.at_path(listing, path)
        if found is None or found[1].skip in _NO_TEXT:
            return None
        return self.sources.get(path, found[1].blob, found[1].language)

    def _questions(self, family: str, listing: Bitmap) -> tuple[list[RepoPath], list[Request]]:
        """The family's files, and a few sites of a few of them, as `Workspace.server` wants them."""
        paths = [file.path for file in self._files(family, listing)]
        probes = []
        for path in paths[:: max(1, len(paths) // PROBED_FILES)]:
            file = self._file(listing, path)
            if file is not None:
                sites = (site for n, site in enumerate(file.sites) if n not in file.crowded)
                places = (file.positions.to_lsp(site.start_byte, "utf-8") for site in sites)
                probes += [(path, *place) for place in islice(places, PROBES_A_FILE)]
        return paths, probes
