"""The methods `search` and `symbols`: which plan answers, from which snapshot, and what its answer carries.

The planner is told what can be had at once: whether the dense view is whole, of the newest snapshot, and its
model loaded. It waits for nothing. Whoever names a plan gets it, from an older snapshot if need be, or an
error. Two plans have a part that can be done without, and then the answer says so: hybrid is answered by
terms where the query can't be embedded now, structural where there are no relations.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from nibd.daemon import broken_files, wire
from nibd.daemon.answers import Blobs, named, shown, text_of
from nibd.daemon.coordinator import CheckoutState, Coordinator
from nibd.daemon.filtering import AskedFilters, Changes
from nibd.daemon.navigating import Host
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.sessions import shown_at
from nibd.daemon.status import without_relations
from nibd.daemon.views import At
from nibd.ipc.children import ChildDied
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.forms import form_of
from nibd.query.hits import Hit
from nibd.query.paging import MAX_REACH
from nibd.query.planning import AUTO, LARGEST, Capabilities, Plan, Planned, Wishes, planned, widths_by_name
from nibd.query.ranking.understanding import understand
from nibd.query.reranking import DEPTH, cut, reranked
from nibd.query.reranking import text_of as paired
from nibd.query.search import Found, Question, Views, search
from nibd.query.snippets import Words
from nibd.stores.snapshot import Publication
from nibd.stores.types import Level, State, View

DEFAULT_PLAN = Plan.LEXICAL.value
NEEDS: Mapping[Plan, frozenset[View]] = {
    Plan.LEXICAL: frozenset({View.LEXICAL}),
    Plan.DENSE: frozenset({View.DENSE}),
    Plan.HYBRID: frozenset({View.LEXICAL, View.DENSE}),
    Plan.STRUCTURAL: frozenset({View.LEXICAL, View.STRUCTURAL}),
}
NEEDS_STRUCTURE = frozenset({View.STRUCTURAL})
RERANK_S = 20.0
"""Less than the socket's own limit for a request: then hits stay in the order of their plan."""


class Answer(Protocol):
    """How the service makes an answer: from the newest snapshot that serves `needed` and is accepted."""

    def __call__(
        self,
        state: CheckoutState,
        needed: frozenset[View],
        at: At,
        find: Callable[[Reading], list[Json]],
        wanted: frozenset[View] | None = None,
        reason: str | None = None,
        threads: ThreadPoolExecutor | None = None,
        accepts: Callable[[Publication], bool] = ...,
    ) -> Awaitable[JsonObject]: ...


@dataclass(frozen=True, slots=True)
class _Request:
    """What a client asks `search` for. `asked_plan` is as it was written."""

    query: str
    asked_plan: str
    wishes: Wishes
    level: Level | None
    k: int
    offset: int
    explain: bool
    rerank: bool
    filters: AskedFilters


@dataclass(frozen=True, slots=True)
class _Way:
    """How a request is answered: by `plan`, and why not by the part of it that `missing` is about."""

    plan: Planned
    vector: bytes | None = None
    missing: str | None = None


class Searching:
    """For the event loop, but what is given to `answer`."""

    def __init__(
        self, coordinator: Coordinator, blobs: Blobs, changes: Changes, host: Host, answer: Answer
    ) -> None:
        self._coordinator = coordinator
        self._blobs = blobs
        self._changes = changes
        self._host = host
        self._answer = answer

    async def search(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._host.state_of(given.path("path"))
        query = given.text("query")
        plan = given.choice("plan", [AUTO, *Plan], DEFAULT_PLAN) or DEFAULT_PLAN
        widths = given.widths("widths", widths_by_name(LARGEST))
        time_ms = given.number("time_ms", 0.0) if given.has("time_ms") else None
        level = given.level("level")
        k, offset = _reach(given, 10)
        explain = given.flag("explain", False)
        rerank = given.flag("rerank", True)
        filters = AskedFilters.take(given)
        at = self._host.sessions.at(given, context, state.checkout.id)
        given.done()
        wishes = Wishes(None if plan == AUTO else Plan(plan), widths, time_ms)
        asked = _Request(query, plan, wishes, level, k, offset, explain, rerank, filters)
        return await self._searched(state, at, asked)

    async def symbols(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        state = self._host.state_of(given.path("path"))
        name = given.text("name")
        k, offset = _reach(given, 100)
        filters = AskedFilters.take(given)
        at = self._host.sessions.at(given, context, state.checkout.id)
        given.done()
        own: JsonObject = {}

        def find(reading: Reading) -> list[Json]:
            within = reading.selection(filters.at(reading, state.checkout, self._changes))
            hits = shown(self._blobs, state.checkout, named(reading, name, within)[offset : offset + k])
            own["broken"] = broken_files.of_hits(reading, hits)
            return hits

        return await self._answer(state, NEEDS_STRUCTURE, at, find) | own

    # Search

    async def _searched(self, state: CheckoutState, at: At, asked: _Request) -> JsonObject:
        started = time.perf_counter()
        form = form_of(asked.query, understand(asked.query))
        there_is = Capabilities(None if asked.wishes.plan else await self._no_dense(state, at))
        chosen = planned(form, asked.wishes, there_is)
        way = await self._way(state, at, asked.query, chosen)
        prepared_ms = (time.perf_counter() - started) * 1000
        again = self._second_look(state, asked)
        own: JsonObject = {"plan": way.plan.plan.value}

        def find(reading: Reading) -> list[Json]:
            within = reading.selection(asked.filters.at(reading, state.checkout, self._changes))
            vector = None if way.vector is None else np.frombuffer(way.vector, "<f4")
            question = Question(asked.query, way.plan, asked.level, asked.k, asked.offset, within, vector)
            found = again.found(reading, question) if again else search(reading, question)
            began = time.perf_counter()
            words = Words.of_ranking(found.trace.terms) if found.trace.terms else Words.of_text(asked.query)
            hits = shown(self._blobs, state.checkout, found.hits, words)
            own["broken"] = broken_files.of_hits(reading, hits)
            if asked.explain:
                found.trace.milliseconds["snippets"] += (time.perf_counter() - began) * 1000
                own["explain"] = _explained(asked, way, found, prepared_ms)
            if way.plan.plan is Plan.STRUCTURAL:
                own["relations"] = _relations(reading, found)
            return hits

        needed = NEEDS[way.plan.plan]
        accepts = has_relations if way.plan.plan is Plan.STRUCTURAL else _any
        answer = await self._answer(state, needed, at, find, NEEDS[chosen.plan], way.missing, accepts=accepts)
        answer |= own | {"reranker": again.told() if again else None}
        if "relations" in answer:
            structural = answer["views"][View.STRUCTURAL.value]
            structural["relations"] = {
                family: record | ({"lag": structural["lag"]} if record["commit"] else {})
                for family, record in answer.pop("relations").items()
            }
        return answer

    def _second_look(self, state: CheckoutState, asked: _Request) -> SecondLook | None:
        """`None` where hits are not to be scored again."""
        reranking = self._coordinator.embedding.reranking
        if not asked.rerank or reranking.model is None:
            return None
        loop = asyncio.get_running_loop()

        def score(query: str, texts: list[str]) -> list[float]:
            return asyncio.run_coroutine_threadsafe(reranking.scores(query, texts), loop).result(RERANK_S)

        read = partial(text_of, self._blobs, state.checkout)
        return SecondLook(reranking.model, reranking.missing(), read, score)

    async def _no_dense(self, state: CheckoutState, at: At) -> str | None:
        """Why the dense view can't be used without waiting and without an older answer."""
        embedding = self._coordinator.embedding
        if embedding.absent:
            return embedding.absent
        if not embedding.is_warm:
            embedding.warm_up()
            return "its model is being loaded"
        by_terms = await self._serving(state, NEEDS[Plan.LEXICAL], at)
        if by_terms is None:
            return "nothing is published"
        record = by_terms.snapshot.views[View.DENSE]
        if record.state is not State.READY or record.profile != embedding.profile:
            return record.reason or "it is not ready for the newest snapshot"
        return None

    async def _no_relations(self, state: CheckoutState, at: At) -> str | None:
        if await self._serving(state, NEEDS[Plan.STRUCTURAL], at, has_relations):
            return None
        if at is not None:
            return f"{shown_at(at)} has no relations"
        return await without_relations(self._coordinator, state)

    async def _way(self, state: CheckoutState, at: At, query: str, chosen: Planned) -> _Way:
        by_terms = replace(chosen, plan=Plan.LEXICAL)
        if chosen.plan is Plan.STRUCTURAL:
            missing = await self._no_relations(state, at)
            return _Way(by_terms, missing=missing) if missing else _Way(chosen)
        if chosen.plan is Plan.LEXICAL:
            return _Way(chosen)
        vector, missing = await self._vector(query, chosen.plan)
        if chosen.plan is Plan.HYBRID and (
            vector is None or not await self._serving(state, NEEDS[Plan.HYBRID], at)
        ):
            return _Way(by_terms, missing=missing)
        return _Way(chosen, vector)

    async def _serving(
        self,
        state: CheckoutState,
        needed: frozenset[View],
        at: At,
        accepts: Callable[[Publication], bool] | None = None,
    ) -> Publication | None:
        views = self._coordinator.views(state.checkout.repository)
        profile = self._coordinator.embedding.profile

        def look() -> Publication | None:
            with views.reading(state.checkout.id, needed, at, profile, accepts or _any) as reading:
                return reading.publication if reading else None

        found: Publication | None = await self._host.in_query(look)
        return found

    async def _vector(self, query: str, plan: Plan) -> tuple[bytes | None, str | None]:
        """The query's vector, or why there is none.

        A hybrid search does not wait for the model to load; a dense one has to.
        """
        embedding = self._coordinator.embedding
        if embedding.absent:
            if plan is Plan.DENSE:
                raise RpcError(ErrorCode.VIEW_ABSENT, f"there is no dense view: {embedding.absent}")
            return None, embedding.absent
        if plan is Plan.HYBRID and not embedding.is_warm:
            embedding.warm_up()
            return None, "warming"
        try:
            return await embedding.query(query), None
        except (RpcError, ChildDied) as error:
            if plan is Plan.HYBRID:
                return None, str(error)
            raise RpcError(ErrorCode.VIEW_NOT_READY, f"the query could not be embedded: {error}") from error


@dataclass(slots=True)
class SecondLook:
    """The first hits of a search, scored anew; `missing` is why they are not. In a query thread."""

    model: str
    missing: str | None
    read: Callable[[Hit], str]
    score: Callable[[str, list[str]], list[float]]
    hits: int = 0

    def found(self, views: Views, question: Question) -> Found:
        if self.missing or question.offset >= DEPTH:
            return search(views, question)
        deep = replace(question, offset=0, k=max(DEPTH, question.offset + question.k))
        found = search(views, deep)
        first = found.hits[:DEPTH]
        try:
            with found.trace.stage("reranker"):
                scores = self.score(question.query, [paired(hit, self.read(hit)) for hit in first])
            found, self.hits = reranked(found, scores), len(scores)
        except (RpcError, ChildDied, TimeoutError) as error:
            self.missing = str(error) or "it took too long"
        return cut(found, question.offset, question.k)

    def told(self) -> JsonObject:
        return {
            "model": self.model, "used": self.missing is None, "reason": self.missing, "hits": self.hits
        }  # fmt: skip


def has_relations(publication: Publication) -> bool:
    """Of any language family."""
    return any(record.serves for record in publication.snapshot.relations.values())


def _any(_: Publication) -> bool:
    return True


def _reach(given: Parameters, usual: int) -> tuple[int, int]:
    """`k` and `offset`."""
    k = given.integer("k", usual, 1, MAX_REACH)
    offset = given.integer("offset", 0, 0, MAX_REACH)
    if k + offset > MAX_REACH:
        message = f"offset: {offset} and k {k} are more than {MAX_REACH} together; narrow the search"
        raise RpcError(ErrorCode.INVALID_PARAMS, message)
    return k, offset


def _relations(reading: Reading, found: Found) -> JsonObject:
    """By family what is known of its relations, and whether they were followed."""
    expansion: Any = found.trace.expansion
    return {
        family: wire.view(
            record, reading.publication if record.serves else None, wire.lag(None, None), record.reason
        )
        | {"used": family in expansion.families}
        for family, record in reading.snapshot.relations.items()
    }


def _explained(asked: _Request, way: _Way, found: Found, prepared_ms: float) -> JsonObject:
    trace, plan = found.trace, way.plan
    told = wire.explanation(trace.ranking, found.evidence)
    stages = {"plan": prepared_ms, **trace.milliseconds}
    expansion = trace.expansion
    return told | {
        "milliseconds": {stage: round(value, 3) for stage, value in stages.items()},
        "candidates": dict(trace.candidates),
        "rungs": trace.rungs,
        "plan": {
            "asked": asked.asked_plan,
            "used": plan.plan.value,
            "form": plan.form.value,
            "why": [*plan.why, *([f"without what it lacks: {way.missing}"] if way.missing else [])],
            "widths": {**widths_by_name(plan.widths)},
        },
        "expansion": None if expansion is None else {
            "families": list(expansion.families),
            "lacking": list(expansion.lacking),
            "edges": dict(expansion.edges),
            "hubs": expansion.hubs,
        },
    }  # fmt: skip
