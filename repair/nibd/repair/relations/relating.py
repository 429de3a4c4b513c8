"""The relations of a snapshot's families: which are to be made, from what, and what is said of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from nibd.repair.git import GitSource, MissingObject, TreeEntry
from nibd.repair.private_tree import LOCK_FILES, Dependencies, ModuleCaches, find_dependencies, stamp
from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.configuration import is_configuration, what_counts
from nibd.repair.relations.families import FAMILIES, families_of
from nibd.repair.relations.repair import Base, RelationRepair, Resolved, Side, Totals
from nibd.repair.relations.resolve import Externals, Resolver
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.repair.relations.verify import Verification, Verified
from nibd.repair.relations.workspace import ServerMissing, Workspace
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.server import LanguageServer, Request
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import RecordId, RelationStore
from nibd.stores.snapshot import Coverage, Snapshot, ViewRecord, resolution_artifact
from nibd.stores.structure import StructureStore
from nibd.stores.types import Assurance, FileVersion, ProfileId, RepoPath, Skip, State, TreeId, View

RELATIONS_VERSION = "relations-1"
"""Raise it with any change of what a site is or how a target is named: relations are kept under it."""
SAID_REMARKS = 5
PROBED_FILES = 8
PROBES_A_FILE = 4
_NO_TEXT = frozenset({Skip.SYMLINK, Skip.SUBMODULE, Skip.MISSING_OBJECT})


@dataclass(slots=True)
class Relating:
    """Makes and verifies the relations of one repository's snapshots. For one thread."""

    source: GitSource
    structure: StructureStore
    store: RelationStore
    sources: SourceFiles
    workspace: Workspace
    externals: Externals = field(default_factory=Externals)
    _looked: tuple[TreeId, Path, Dependencies] | None = None

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
        self, snapshot: Snapshot, family: str, kept: Sequence[Snapshot], report: Reporter
    ) -> ViewRecord:
        """The record of the family's relations at the snapshot's tree.

        Repaired from the first of `kept` that has them under the same profile. Raises what `report` raises.
        """
        try:
            profile = self.profile(family)
            made = _made_before(snapshot.tree, family, profile, kept)
            if made is not None:
                return made
            return self._related(snapshot, family, profile, kept, report)
        except ServerMissing as missing:
            return ViewRecord(State.ABSENT, reason=str(missing))
        except ServerFailed as failed:
            return ViewRecord(State.FAILED, reason=str(failed))

    def verify(self, snapshot: Snapshot, family: str, report: Reporter) -> tuple[ViewRecord, Verified]:
        """Ask every site of the snapshot's relations again; the record after that. Raises ServerFailed."""
        started = time.perf_counter()
        before = snapshot.relations[family]
        assert before.resolution is not None, "what is verified is there"
        records = self.store.resolution(before.resolution)
        side = self._side(snapshot)
        resolver = self._resolver(family, side, report)
        verification = Verification(self.store, self.sources, resolver, report)
        verified = verification.run(records, [RecordId(record) for record in records])
        if not resolver.server.is_alive:  # what it left unanswered says nothing of what is stored
            raise ServerFailed(f"{resolver.server.driver.server} died while relations were verified")
        if not resolver.server.is_alive:  # what it left unanswered says nothing of what is stored
            raise ServerFailed(f"{resolver.server.driver.server} died while relations were verified")
        self.workspace.was_asked_everything(family)
        resolution = self.store.add_resolution(
            family, snapshot.tree, ProfileId(before.profile), verified.records
        )
        assurance = Assurance.EXACT if self.workspace.is_fresh(family) else Assurance.VERIFIED
        left = verified.unanswered
        record = replace(
            before,
            assurance=Assurance.PARTIAL if left else assurance,
            artifact=resolution_artifact(resolution, verified.records),
            reason=self._reason(family, left),
            counts={**before.counts, "unknown": left},
            work={
                **before.work,
                "verify_seconds": time.perf_counter() - started,
                "verify_asked": verified.asked,
                "differences": len(verified.differences),
                "dropped": len(resolver.dropped),
            },
        )
        return record, verified

    def profile(self, family: str) -> ProfileId:
        """What the family's relations depend on outside the tree. Raises ServerMissing."""
        server = self.workspace.installed(family).identity
        parts = (RELATIONS_VERSION, server, self.workspace.dependencies(family).identity)
        return ProfileId(hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest())

    def _related(
        self,
        snapshot: Snapshot,
        family: str,
        profile: ProfileId,
        kept: Sequence[Snapshot],
        report: Reporter,
    ) -> ViewRecord:
        side = self._side(snapshot)
        base = self._base(family, profile, kept, side)
        used: list[Resolver] = []

        def resolver(target: Side) -> Resolver:
            used.append(self._resolver(family, target, report))
            return used[-1]

        repair = RelationRepair(
            family,
            profile,
            self.store,
            self.structure,
            self.sources,
            resolver,
            report,
        )
        resolved = repair.run(base, side)
        if base is None:
            self.workspace.was_asked_everything(family)
        fresh = base is None and self.workspace.is_fresh(family)
        record = _record(profile, resolved, Assurance.EXACT if fresh else Assurance.REPAIRED)
        dropped = sum(len(each.dropped) for each in used)
        reason = self._reason(family, resolved.totals.unknown)
        return replace(record, reason=reason, work={**record.work, "dropped": dropped})

    def _reason(self, family: str, unknown: int) -> str | None:
        """What the answers lack, in words."""
        said = [f"the language server gave no answer for {unknown} sites"] if unknown else []
        remarks = self.workspace.remarks(family)
        said += remarks[:SAID_REMARKS]
        if len(remarks) > SAID_REMARKS:
            said.append(f"and {len(remarks) - SAID_REMARKS} more of this kind")
        return "; ".join(said) or None

    def _base(self, family: str, profile: ProfileId, kept: Sequence[Snapshot], target: Side) -> Base | None:
        for snapshot in kept:
            record = snapshot.relations.get(family)
            if record is None or record.resolution is None or record.profile != profile:
                continue
            if record.state is not State.READY:
                continue
            if self._is_configured_anew(family, snapshot.tree, target.tree):
                self.workspace.end(family)  # some servers read their configuration at the start alone
                continue
            counts = record.counts
            return Base(
                self._side(snapshot),
                self.store.resolution(record.resolution),
                Totals(counts["files"], counts["sites"], counts["unknown"]),
            )
        return None

    def _is_configured_anew(self, family: str, old: TreeId, new: TreeId) -> bool:
        """Whether a file that configures the server differs, so that any relation may."""
        try:
            changes = self.source.changes(old, new, renames=False)
        except MissingObject:
            return True
        if any(is_configuration(family, entry.path) for entry in (*changes.added, *changes.deleted)):
            return True
        return any(
            is_configuration(family, after.path)
            and what_counts(before.path, self._bytes(before)) != what_counts(after.path, self._bytes(after))
            for before, after in changes.modified
        )

    def _bytes(self, entry: TreeEntry) -> bytes:
        return self.source.read(entry.blob) or b""

    def _side(self, snapshot: Snapshot) -> Side:
        return Side(snapshot.tree, self.structure.listing(snapshot.listing))

    def _resolver(self, family: str, side: Side, report: Reporter) -> Resolver:
        """Of the family's server, at `side`'s tree and settled."""
        self.workspace.move(side.tree, report)
        server = self.workspace.server(family, side.tree, lambda: self._questions(family, side.listing))
        if self.workspace.is_cold(family):
            self._unpack(family, server, side.listing, report)
        return Resolver(
            server,
            lambda path: self._file(side.listing, path),
            self.externals,
            self.workspace.is_uncommitted,
        )

    def _unpack(self, family: str, server: LanguageServer, listing: Bitmap, report: Reporter) -> None:
        """Ask the server about each name once, one at a time: that leads to every file of its library that
        anything here refers to. The answers don't matter."""
        names: set[str] = set()
        paths = [file.path for file in self._files(family, listing)]
        for done, path in enumerate(paths, 1):
            source = self._file(listing, path)
            if source is not None:
                first = {site.name: site for site in reversed(source.sites) if site.name not in names}
                names.update(first)
                server.definitions(
                    ((path, *source.positions.to_lsp(s.start_byte, server.encoding)) for s in first.values()),
                    window=1,
                )
            report(Progress(f"{family} library", done, len(paths)))
        self.workspace.unpacked(family)

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
            for site in islice(file.sites if file else (), PROBES_A_FILE):
                assert file is not None, "it has sites"
                probes.append((path, *file.positions.to_lsp(site.start_byte, "utf-8")))
        return paths, probes


def _made_before(
    tree: TreeId, family: str, profile: ProfileId, kept: Sequence[Snapshot]
) -> ViewRecord | None:
    """What was made of just this tree with just these tools: there is nothing to ask."""
    for snapshot in kept:
        record = snapshot.relations.get(family)
        if snapshot.tree == tree and record is not None and record.profile == profile:
            is_whole = record.state is State.READY and record.assurance is not Assurance.PARTIAL
            return record if is_whole else None
    return None


def _record(profile: ProfileId, resolved: Resolved, assurance: Assurance) -> ViewRecord:
    totals = resolved.totals
    return ViewRecord(
        State.READY,
        Assurance.PARTIAL if totals.unknown else assurance,
        profile=profile,
        artifact=resolution_artifact(resolved.resolution, resolved.records),
        coverage=Coverage(totals.files, totals.files),
        counts={"files": totals.files, "sites": totals.sites, "unknown": totals.unknown},
        work={
            "seconds": resolved.seconds,
            "cut": resolved.cut,
            "asked": sum(resolved.asked.values()),
            **{f"asked_{rule}": count for rule, count in resolved.asked.items()},
        },
    )
