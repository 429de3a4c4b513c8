"""What a session keeps of each of its requests, read off the answer that the client gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nibd.ipc.messages import Json, JsonObject

STATIC, EMBEDDER = "static", "embedder"
_PLANNED = ("search", "context")


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """`views` maps each view that the answer rests on to its assurance. `providers` are who answered:
    `static` (what is stored), `live` (a language server), `embedder` (the query's vector, or the reranker's
    scores)."""

    method: str
    plan: Json
    views: Mapping[str, str | None]
    providers: tuple[str, ...]
    snapshot: Json
    hits: int | None
    error: str | None
    started_at: float = 0.0
    milliseconds: float = 0.0
    tokens: int | None = None

    def timed(self, started_at: float, milliseconds: float, tokens: int | None) -> TraceEntry:
        return replace(
            self, started_at=started_at, milliseconds=round(milliseconds, 3), tokens=tokens
        )

    def wire(self) -> JsonObject:
        return {
            "method": self.method,
            "plan": self.plan,
            "views": dict(self.views),
            "providers": list(self.providers),
            "snapshot": self.snapshot,
            "started_at": self.started_at,
            "milliseconds": self.milliseconds,
            "hits": self.hits,
            "tokens": self.tokens,
            "error": self.error,
        }


def entry_of(method: str, params: JsonObject, result: JsonObject | None, error: str | None) -> TraceEntry:
    answer = result or {}
    views = {name: view for name, view in answer.get("views", {}).items() if view["used"]}
    hits = answer.get("units", answer.get("hits"))
    asked = params.get("plan") or "lexical"
    return TraceEntry(
        method=method,
        plan=answer.get("plan", asked) if method in _PLANNED else None,
        views={name: view["assurance"] for name, view in views.items()},
        providers=_providers(answer, views) if result is not None else (),
        snapshot=answer.get("snapshot"),
        hits=None if hits is None else len(hits),
        error=error,
    )


def delivered(result: JsonObject) -> list[str]:
    """The texts of the repository that an answer's hits bring."""
    texts: list[str] = []
    for hit in result.get("hits", ()):
        texts += [*_lines(hit.get("before")), *_lines(hit.get("snippet")), *_lines(hit.get("text"))]
        texts += _lines(hit.get("after"))
    return texts


def _providers(answer: JsonObject, views: Mapping[str, Any]) -> tuple[str, ...]:
    named = answer.get("provider")
    if named is not None:
        return (str(named),)
    is_scored = (answer.get("reranker") or {}).get("used", False)
    return (STATIC, EMBEDDER) if "dense" in views or is_scored else (STATIC,)


def _lines(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(each) for each in value] if isinstance(value, list | tuple) else []
