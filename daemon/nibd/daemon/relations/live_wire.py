"""A question to the navigator's language servers, and its answer, as both ends of the pipe read them.

Paths are text by the bytes' own numbers (latin-1); offsets are into the text of a file, as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nibd.ipc.messages import JsonObject
from nibd.repair.relations.live import Defined, LiveSite, Scope, Spot, Subject
from nibd.stores.relation_types import RelationKind, Target
from nibd.stores.structure import ListingId
from nibd.stores.types import RepoPath, TreeId

DEFINITION = "definition"
REFERENCES = "references"
IMPLEMENTATIONS = "implementations"
CALLS = "calls"
SITES = "sites"

Calls = list[tuple[int, tuple[Target, ...] | None]]
References = tuple[list[Subject], list[LiveSite]]
Implementations = tuple[list[Subject], tuple[Target, ...]]


@dataclass(frozen=True, slots=True)
class Ask:
    """`spots` are what is asked about; of `calls` and `sites` the one range (`end` is not included)."""

    operation: str
    scope: Scope
    spots: Sequence[Spot]
    end: int = 0

    def as_params(self) -> JsonObject:
        scope = self.scope
        return {
            "operation": self.operation,
            "scope": [scope.family, scope.tree, scope.listing, scope.patience_s],
            "spots": [[_text(path), byte] for path, byte in self.spots],
            "end": self.end,
        }

    @classmethod
    def from_params(cls, data: Any) -> Ask:
        family, tree, listing, patience_s = data["scope"]
        return cls(
            data["operation"],
            Scope(family, TreeId(tree), ListingId(listing), patience_s),
            [(_path(path), byte) for path, byte in data["spots"]],
            data["end"],
        )


# Each operation's answer, there and back


def defined_as_json(found: Sequence[Defined]) -> Any:
    return [[_subject_json(each.subject), [_target_json(t) for t in each.targets]] for each in found]


def defined(data: Any) -> list[Defined]:
    return [Defined(_subject(subject), tuple(map(_target, targets))) for subject, targets in data]


def references_as_json(found: References) -> Any:
    subjects, sites = found
    return [
        [_subject_json(each) for each in subjects],
        [[_text(each.path), each.start, each.name, each.kind.value] for each in sites],
    ]


def references(data: Any) -> References:
    subjects, sites = data
    return (
        [_subject(each) for each in subjects],
        [LiveSite(_path(path), start, name, RelationKind(kind)) for path, start, name, kind in sites],
    )


def implementations_as_json(found: Implementations) -> Any:
    subjects, targets = found
    return [[_subject_json(each) for each in subjects], [_target_json(each) for each in targets]]


def implementations(data: Any) -> Implementations:
    subjects, targets = data
    return [_subject(each) for each in subjects], tuple(map(_target, targets))


def calls_as_json(found: Calls) -> Any:
    return [
        [byte, None if targets is None else [_target_json(each) for each in targets]]
        for byte, targets in found
    ]


def calls(data: Any) -> Calls:
    return [(byte, None if found is None else tuple(map(_target, found))) for byte, found in data]


def _subject_json(subject: Subject) -> Any:
    kind = subject.kind.value if subject.kind else None
    return [subject.start, subject.end, subject.name, kind, subject.unbuilt]


def _subject(data: Any) -> Subject:
    start, end, name, kind, unbuilt = data
    return Subject(start, end, name, RelationKind(kind) if kind else None, unbuilt)


def _target_json(target: Target) -> Any:
    return [target.package, _text(target.path), target.qualified, target.ordinal, target.name, target.nth]


def _target(data: Any) -> Target:
    package, path, *rest = data
    return Target(package, _path(path), *rest)


def _text(path: RepoPath) -> str:
    return path.decode("latin-1")


def _path(text: str) -> RepoPath:
    return RepoPath(text.encode("latin-1"))
