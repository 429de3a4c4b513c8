"""The shapes of docs/protocol.md, made from domain values."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from nibd.ipc.messages import Json, JsonObject
from nibd.query.hits import Hit
from nibd.query.ranking.rank import Explanation
from nibd.query.search import Nearness
from nibd.query.snippets import Snippet
from nibd.stores.snapshot import Publication, ViewRecord
from nibd.stores.types import RepoPath, State


def path_fields(path: RepoPath) -> JsonObject:
    """A path as text; bytes that are not UTF-8 as `\\xNN`, and then the bytes themselves beside it."""
    text = path.decode("utf-8", "backslashreplace")
    if text.encode() == path:
        return {"path": text}
    return {"path": text, "path_base64": base64.b64encode(path).decode()}


def path_of(fields: JsonObject) -> RepoPath:
    """Undo `path_fields`."""
    encoded = fields.get("path_base64")
    return RepoPath(base64.b64decode(encoded) if encoded else fields["path"].encode())


def snapshot(publication: Publication | None) -> Json:
    if publication is None:
        return None
    return {
        "commit": publication.commit,
        "tree": publication.snapshot.tree,
        "generation": publication.snapshot.generation,
        "published_at": publication.published_at,
    }


def lag(commits: int | None, seconds: float | None) -> JsonObject:
    return {"commits": commits, "seconds": None if seconds is None else round(seconds, 3)}


def view(
    record: ViewRecord, serving: Publication | None, behind: JsonObject, reason: str | None
) -> JsonObject:
    """`record` is the newest snapshot's; `serving` the publication that answers for the view now."""
    served = serving.snapshot if serving else None
    return {
        "state": record.state.value,
        "assurance": record.assurance.value if record.assurance and serving else None,
        "commit": serving.commit if serving else None,
        "generation": served.generation if served else None,
        "lag": behind,
        "coverage": {"done": record.coverage.done, "of": record.coverage.of},
        "reason": reason or record.reason,
        "counts": dict(record.counts),
        "profile": record.profile,
        "capabilities": dict(record.capabilities),
    }


def agreement(record: ViewRecord) -> Json:
    """Of a family's relations; null where it was never measured."""
    found = record.agreement
    if found is None:
        return None
    return {"commit": found.commit, "tree": found.tree, "rates": [asdict(rate) for rate in found.rates]}


def no_view(state: State, reason: str | None) -> JsonObject:
    """Of a checkout that shows nothing yet."""
    return view(ViewRecord(state, reason="nothing is published yet"), None, lag(None, None), reason)


def hit(found: Hit, snippet: Snippet | None, edited: bool | None) -> JsonObject:
    return path_fields(found.path) | {
        "start_line": found.start_line,
        "end_line": found.end_line,
        "kind": found.kind,
        "name": found.name,
        "score": found.score,
        "blob": found.blob,
        "language": found.language,
        "snippet": snippet.text if snippet else None,
        "snippet_line": snippet.line if snippet else None,
        "matches": [
            {"line": match.line, "column": match.column, "end_column": match.end_column}
            for match in (snippet.matches if snippet else ())
        ],
        "edited": edited,
    }


def explanation(
    found: Explanation | None,
    evidence: Sequence[Mapping[str, float] | None],
    nearness: Sequence[Nearness | None],
) -> JsonObject:
    """How the ranking by terms came about, and of each hit how near it is; of a plan without one of these,
    nothing but empty tables."""
    told = found or Explanation()
    return {
        "shape": told.shape or None,
        "terms": [{"term": term, "importance": round(value, 3)} for term, value in told.terms],
        "counts": dict(told.counts),
        "milliseconds": {stage: round(value, 3) for stage, value in told.milliseconds.items()},
        "hits": [
            None if each is None else {kind: round(value, 4) for kind, value in each.items()}
            for each in evidence
        ],
        "nearness": [
            None
            if each is None
            else {"cosine": round(each.cosine, 4), "rank": each.rank, "added": round(each.added, 4)}
            for each in nearness
        ],
    }


def counted(counts: Mapping[str, int]) -> JsonObject:
    return dict(sorted(counts.items()))
