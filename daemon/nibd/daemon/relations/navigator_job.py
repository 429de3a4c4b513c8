"""What a navigator is sent for a job, and what it answers: for both ends of the pipe.

The methods are in `nibd.daemon.navigator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nibd.daemon.relations.server_places import ServerPlaces
from nibd.ipc.messages import Json

RELATIONS_DAMAGED: Json = {"damaged": "relations"}
"""The data of an error that says that relations.db was not as it was written, and is removed, or lacks what a
snapshot names."""
SERVER_FAILED: Json = {"server": "failed"}
"""The data of an error that says that a language server ended, or did not start."""


@dataclass(frozen=True, slots=True)
class Job:
    """The snapshot of `generation`, and the families that the job is for."""

    folder: str
    work_tree: str
    generation: int
    tree: str
    places: ServerPlaces
    families: list[str]
    discard: bool = False
    """Begin with no relations, since those that are stored are damaged (`relate` alone)."""
    commit: str = ""
    """Of the snapshot, for what is said of it (`agree` alone)."""
    audit_transitions: int = 0
    """After so many, verified relations are due for an audit; 0: never."""

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Job:
        return cls(**{**params, "places": ServerPlaces.from_params(params["places"])})

    def as_params(self) -> dict[str, Any]:
        return {**asdict(self), "places": self.places.as_params()}


@dataclass(slots=True)
class Result:
    """What the daemon gets: `families` has records as `nibd.stores.snapshot.encode_view` makes them.

    `profiles` are those that the families' relations have, or would have, now; `None`: there is no server,
    and `missing` says why. `later` says why a family has to wait. When one of `watched` has another stamp
    (`private_tree.stamp`), it is time to look again.
    """

    tree: str
    families: dict[str, Json] = field(default_factory=dict)
    profiles: dict[str, str | None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    watched: dict[str, str] = field(default_factory=dict)
    servers: dict[str, int] = field(default_factory=dict)
    unmeasured: dict[str, str] = field(default_factory=dict)
    """Why the agreement of a family could not be measured."""
    audits: list[str] = field(default_factory=list)
    """Families whose relations, as they are now, are due for an audit."""
    put_off: dict[str, str] = field(default_factory=dict)
    """Why the audit of a family could not be made."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
