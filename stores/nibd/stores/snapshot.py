"""A snapshot: the immutable, complete description of one tree's views, and its record (manifest).

`(tree, generation)` names it; generations count up within a repository. Any change of a view's
state, coverage or assurance is a new generation that shares the unchanged artifacts. A publication
says that at some time a checkout, standing at a commit of that tree, showed the snapshot.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NewType

from nibd.stores.agreement import Agreement, decode_agreement, encode_agreement
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import ResolutionId
from nibd.stores.structure import ListingId
from nibd.stores.types import Assurance, CheckoutId, CommitId, RepoPath, State, TreeId, View

Generation = NewType("Generation", int)

RELATIONS = "relations.db#"
"""Before the number of the resolution, in the location of a family's relations."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A finished, fsynced file or folder of a view; `location` is relative to the repository's folder."""

    location: str
    checksum: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """`done` of the `of` things (files, or texts for the dense view) that the view should have."""

    done: int
    of: int


@dataclass(frozen=True, slots=True)
class ViewRecord:
    """What a snapshot says of one view.

    `artifact` is `None` unless something can be served; the structural view's is its listing, that of
    a family's relations their resolution.
    `work` holds what making it took (files parsed, texts embedded, seconds by stage).
    `capabilities` maps a capability to the reason of its absence, `None` when it is there. `agreement` is
    how far static answers equalled live ones, of relations where that was measured. `limits` is the part of
    their `reason` that any site may be concerned by: what their server works without.
    """

    state: State
    assurance: Assurance | None = None
    profile: str = ""
    artifact: Artifact | None = None
    coverage: Coverage = Coverage(0, 0)
    reason: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    work: Mapping[str, float] = field(default_factory=dict)
    capabilities: Mapping[str, str | None] = field(default_factory=dict)
    agreement: Agreement | None = None
    limits: str | None = None

    @property
    def serves(self) -> bool:
        """Whether queries can be answered from it, in whole or in part."""
        return self.artifact is not None and self.state in (State.READY, State.BUILDING)

    @property
    def lacks_answers(self) -> bool:
        """Of a family's relations: a server gave no answer for some sites. Unbuilt ones are answered for."""
        return self.counts.get("unknown", 0) > self.counts.get("unbuilt", 0)

    @property
    def resolution(self) -> ResolutionId | None:
        """Of a family's relations, where there are some."""
        if self.artifact is None or not self.artifact.location.startswith(RELATIONS):
            return None
        return ResolutionId(int(self.artifact.location.removeprefix(RELATIONS)))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`files` counts the tree's files (`total`, `indexed`), `skipped` the rest by reason.

    `missing_rules` are the rule files whose objects were missing when it was made. `relations` says of
    each language family what is known of its relations, in the words of a view; they are made by another
    process than the views, and each family's is ready in its own time.
    """

    tree: TreeId
    generation: Generation
    listing: ListingId
    files: Mapping[str, int]
    skipped: Mapping[str, int]
    views: Mapping[View, ViewRecord]
    notes: tuple[str, ...] = ()
    missing_rules: tuple[RepoPath, ...] = ()
    relations: Mapping[str, ViewRecord] = field(default_factory=dict)

    def with_view(self, view: View, record: ViewRecord) -> Snapshot:
        return replace(self, views={**self.views, view: record})

    def with_relations(self, family: str, record: ViewRecord) -> Snapshot:
        return replace(self, relations={**self.relations, family: record})

    def resolutions(self) -> dict[str, ResolutionId]:
        """By family, those that it names."""
        named = {family: record.resolution for family, record in self.relations.items()}
        return {family: number for family, number in named.items() if number is not None}

    def artifacts(self) -> list[Artifact]:
        """Those of the views."""
        return [record.artifact for record in self.views.values() if record.artifact]


@dataclass(frozen=True, slots=True)
class Publication:
    """At `published_at` (seconds since the epoch) `checkout`, standing at `commit`, showed `snapshot`."""

    checkout: CheckoutId
    commit: CommitId
    snapshot: Snapshot
    published_at: float


def resolution_artifact(resolution: ResolutionId, bits: Bitmap) -> Artifact:
    """What the record of a family's relations names."""
    return Artifact(f"{RELATIONS}{resolution}", f"{zlib.crc32(bits.data):08x}", len(bits.data))


def encode(snapshot: Snapshot) -> str:
    """The manifest as JSON; tree and generation are columns beside it."""
    manifest: dict[str, Any] = {
        "listing": snapshot.listing,
        "files": dict(snapshot.files),
        "skipped": dict(snapshot.skipped),
        "notes": list(snapshot.notes),
        "missing_rules": [path.decode("latin-1") for path in snapshot.missing_rules],
        "views": {view.value: encode_view(record) for view, record in snapshot.views.items()},
    }
    if snapshot.relations:
        manifest["relations"] = {family: encode_view(record) for family, record in snapshot.relations.items()}
    return json.dumps(manifest, separators=(",", ":"))


def decode(tree: TreeId, generation: Generation, manifest: str) -> Snapshot:
    data = json.loads(manifest)
    return Snapshot(
        tree=tree,
        generation=generation,
        listing=ListingId(data["listing"]),
        files=data["files"],
        skipped=data["skipped"],
        notes=tuple(data["notes"]),
        missing_rules=tuple(RepoPath(path.encode("latin-1")) for path in data.get("missing_rules", ())),
        views={View(name): decode_view(record) for name, record in data["views"].items()},
        relations={family: decode_view(record) for family, record in data.get("relations", {}).items()},
    )


def encode_view(record: ViewRecord) -> dict[str, Any]:
    artifact = record.artifact
    measured = {"agreement": encode_agreement(record.agreement)} if record.agreement else {}
    limited = {"limits": record.limits} if record.limits else {}
    return {
        "state": record.state.value,
        "assurance": record.assurance.value if record.assurance else None,
        "profile": record.profile,
        "artifact": [artifact.location, artifact.checksum, artifact.size_bytes] if artifact else None,
        "coverage": [record.coverage.done, record.coverage.of],
        "reason": record.reason,
        "counts": dict(record.counts),
        "work": dict(record.work),
        "capabilities": dict(record.capabilities),
        **measured,
        **limited,
    }


def decode_view(data: dict[str, Any]) -> ViewRecord:
    return ViewRecord(
        state=State(data["state"]),
        assurance=Assurance(data["assurance"]) if data["assurance"] else None,
        profile=data["profile"],
        artifact=Artifact(*data["artifact"]) if data["artifact"] else None,
        coverage=Coverage(*data["coverage"]),
        reason=data["reason"],
        counts=data["counts"],
        work=data["work"],
        capabilities=data["capabilities"],
        agreement=decode_agreement(data["agreement"]) if "agreement" in data else None,
        limits=data.get("limits"),
    )
