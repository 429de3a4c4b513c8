"""A snapshot: the immutable, complete description of one tree's views, and its record (manifest).

`(tree, generation)` names it; generations count up within a repository. Any change of a view's
state, coverage or assurance is a new generation that shares the unchanged artifacts. A publication
says that at some time a checkout, standing at a commit of that tree, showed the snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NewType

from nibd.stores.structure import ListingId
from nibd.stores.types import Assurance, CheckoutId, CommitId, RepoPath, State, TreeId, View

Generation = NewType("Generation", int)


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

    `artifact` is `None` unless something can be served; the structural view's is its listing.
    `work` holds what making it took (files parsed, texts embedded, seconds by stage).
    `capabilities` maps a capability to the reason of its absence, `None` when it is there.
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

    @property
    def serves(self) -> bool:
        """Whether queries can be answered from it, in whole or in part."""
        return self.artifact is not None and self.state in (State.READY, State.BUILDING)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`files` counts the tree's files (`total`, `indexed`), `skipped` the rest by reason.

    `missing_rules` are the rule files whose objects were missing when it was made.
    """

    tree: TreeId
    generation: Generation
    listing: ListingId
    files: Mapping[str, int]
    skipped: Mapping[str, int]
    views: Mapping[View, ViewRecord]
    notes: tuple[str, ...] = ()
    missing_rules: tuple[RepoPath, ...] = ()

    def with_view(self, view: View, record: ViewRecord) -> Snapshot:
        return replace(self, views={**self.views, view: record})

    def artifacts(self) -> list[Artifact]:
        return [record.artifact for record in self.views.values() if record.artifact]


@dataclass(frozen=True, slots=True)
class Publication:
    """At `published_at` (seconds since the epoch) `checkout`, standing at `commit`, showed `snapshot`."""

    checkout: CheckoutId
    commit: CommitId
    snapshot: Snapshot
    published_at: float


def encode(snapshot: Snapshot) -> str:
    """The manifest as JSON; tree and generation are columns beside it."""
    return json.dumps(
        {
            "listing": snapshot.listing,
            "files": dict(snapshot.files),
            "skipped": dict(snapshot.skipped),
            "notes": list(snapshot.notes),
            "missing_rules": [path.decode("latin-1") for path in snapshot.missing_rules],
            "views": {view.value: _encode_view(record) for view, record in snapshot.views.items()},
        },
        separators=(",", ":"),
    )


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
        views={View(name): _decode_view(record) for name, record in data["views"].items()},
    )


def _encode_view(record: ViewRecord) -> dict[str, Any]:
    artifact = record.artifact
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
    }


def _decode_view(data: dict[str, Any]) -> ViewRecord:
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
    )
