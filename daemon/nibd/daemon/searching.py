"""The methods `search` and `symbols`: which plan answers, from which snapshot, and what its answer carries.

A search is planned on the snapshot that it is answered from, in one look at what is published
(`nibd.daemon.ways`). Where that needs the query's vector, it is embedded, and all is looked at anew: a look
without it decides nothing but that. The planner is told that the model is not loaded yet, and waits for
nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nibd.daemon import broken_files, ways, wire
from nibd.daemon.answering import Answering
from nibd.daemon.answers import Blobs, named, shown, text_of
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.filtering import AskedFilters, Changes
from nibd.daemon.host import NEEDS_STRUCTURE, Host
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.sessions import shown_at
from nibd.daemon.status import without_relations
from nibd.daemon.views import At
from nibd.daemon.ways import Meaning, Way
from nibd.ipc.children import ChildDied
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.forms import Form, form_of
from nibd.query.hits import Hit
from nibd.query.paging import MAX_REACH
from nibd.query.planning import AUTO, LARGEST, Plan, Wishes, widths_by_name
from nibd.query.ranking.understanding import understand
from nibd.query.reranking import DEPTH, cut, reranked
from nibd.query.reranking import text_of as paired
from nibd.query.search import Found, Question, Views, search
from nibd.query.snippets import Words
from nibd.stores.snapshot import Publication
from nibd.stores.types import Level, View

DEFAULT_PLAN = Plan.LEXICAL.value
RERANK_S = 20.0
"""Less than the socket's own limit for a request: then hits stay in the order of their plan."""


@dataclass(frozen=True, slots=True)
class _Request:
    """What a client asks `search` for. `asked_plan` is as it was written."""

    query: str
    form: Form
    asked_plan: str
    wishes: Wishes
    level: Level | None
    k: int
    offset: int
    explain: bool
    rerank: bool
    filters: AskedFilters


@dataclass(frozen=True, slots=True)
class _Page:
    """What a snapshot had for a request, and by which way."""

    way: Way
    found: Found
    hits: list[Json]
    evidence: Sequence[Mapping[str, float] | None]
    broken: Json
    relations: JsonObject | None


class Searching:
    """For the event loop, but `_page` and what else is given to `answering`."""

    def __init__(
        self, coordinator: Coordinator, blobs: Blobs, changes: Changes, host: Host, answering: Answering
    ) -> None:
        self._coordinator = coordinator
        self._blobs = blobs
        self._changes = changes
        self._host = host
        self._answering = answering

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
        started = time.perf_counter()
        wishes = Wishes(None if plan == AUTO else Plan(plan), widths, time_ms)
        form = form_of(query, understand(query))
        asked = _Request(query, form, plan, wishes, level, k, offset, explain, rerank, filters)
        return await self._searched(state, at, asked, started)

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

        return await self._answering.answer(state, NEEDS_STRUCTURE, at, find) | own

    # Search

    async def _searched(self, state: CheckoutState, at: At, asked: _Request, started: float) -> JsonObject:
        meaning = self._before_looking(asked.wishes.plan)
        again = self._second_look(state, asked)
        prepared_ms = (time.perf_counter() - started) * 1000
        publication, page = await self._look(state, at, asked, meaning, again)
        while page is None:
            meaning = await self._embedded(asked, meaning)
            prepared_ms = (time.perf_counter() - started) * 1000
            publication, page = await self._look(state, at, asked, meaning, again)
        reason = await self._reason(state, at, page.way, meaning)
        without = dict.fromkeys(page.way.without, reason)
        answer = await self._answering.described(state, publication, page.way.uses, page.hits, without)
        answer |= {"plan": page.way.plan.plan.value, "broken": page.broken}
        answer["reranker"] = again.told() if again else None
        if asked.explain:
            answer["explain"] = _explained(asked, page, prepared_ms, reason)
        if page.relations is not None:
            structural = answer["views"][View.STRUCTURAL.value]
            structural["relations"] = {
                family: record | ({"lag": structural["lag"]} if record["commit"] else {})
                for family, record in page.relations.items()
            }
        return answer

    async def _look(
        self, state: CheckoutState, at: At, asked: _Request, meaning: Meaning, again: SecondLook | None
    ) -> tuple[Publication, _Page | None]:
        def uses(publication: Publication) -> frozenset[View]:
            return ways.way_of(asked.form, asked.wishes, meaning, publication).uses

        wanted = ways.wanted(asked.wishes.plan, meaning)
        find = partial(self._page, state, asked, meaning, again)
        return await self._answering.look(state, wanted, at, uses, find)

    def _page(
        self,
        state: CheckoutState,
        asked: _Request,
        meaning: Meaning,
        again: SecondLook | None,
        reading: Reading,
    ) -> _Page | None:
        """`None` where the query has to be embedded first. In a query thread."""
        way = ways.way_of(asked.form, asked.wishes, meaning, reading.publication)
        if way.awaits(meaning):
            return None
        within = reading.selection(asked.filters.at(reading, state.checkout, self._changes))
        vector = None if meaning.vector is None else np.frombuffer(meaning.vector, "<f4")
        question = Question(asked.query, way.plan, asked.level, asked.k, asked.offset, within, vector)
        found = again.found(reading, question) if again else search(reading, question)
        with found.trace.stage("snippets"):
            words = Words.of_ranking(found.trace.terms) if found.trace.terms else Words.of_text(asked.query)
            hits = shown(self._blobs, state.checkout, found.hits, words)
            broken = broken_files.of_hits(reading, hits)
        relations = _relations(reading, found) if way.plan.plan is Plan.STRUCTURAL else None
        return _Page(way, found, hits, found.evidence if asked.explain else (), broken, relations)

    def _before_looking(self, plan: Plan | None) -> Meaning:
        """What is known of the query's vector without a look at what is published. Raises RpcError."""
        embedding = self._coordinator.embedding
        lacking = embedding.absent
        if plan is Plan.DENSE and lacking:
            raise RpcError(ErrorCode.VIEW_ABSENT, f"there is no dense view: {lacking}")
        if plan is None and not lacking and not embedding.is_warm:
            embedding.warm_up()
            lacking = "its model is being loaded"
        return Meaning(embedding.profile, lacking=lacking)

    async def _embedded(self, asked: _Request, meaning: Meaning) -> Meaning:
        """With the query's vector, or why there is none: only a dense search waits for the model to load."""
        embedding = self._coordinator.embedding
        is_dense = asked.wishes.plan is Plan.DENSE
        if not is_dense and not embedding.is_warm:
            embedding.warm_up()
            return replace(meaning, lacking="warming")
        try:
            return replace(meaning, vector=await embedding.query(asked.query))
        except (RpcError, ChildDied, OSError) as error:
            if not is_dense:
                return replace(meaning, lacking=str(error))
            raise RpcError(ErrorCode.VIEW_NOT_READY, f"the query could not be embedded: {error}") from error

    async def _reason(self, state: CheckoutState, at: At, way: Way, meaning: Meaning) -> str | None:
        """Why what was to be used is not, where the views themselves don't tell."""
        if View.STRUCTURAL not in way.without:
            return meaning.lacking if way.without else None
        if at is not None:
            return f"{shown_at(at)} has no relations"
        return await without_relations(self._coordinator, state)

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
        except TimeoutError as error:
            self.missing = str(error) or "it took too long"
        except (RpcError, ChildDied, OSError) as error:
            self.missing = str(error)
        return cut(found, question.offset, question.k)

    def told(self) -> JsonObject:
        return {
            "model": self.model, "used": self.missing is None, "reason": self.missing, "hits": self.hits
        }  # fmt: skip


def _reach(given: Parameters, usual: int) -> tuple[int, int]:
    """`k` and `offset`."""
    k = given.integer("k", usual, 1, MAX_REACH)
    offset = given.integer("offset", 0, 0, MAX_REACH)
    if k + offset > MAX_REACH:
        message = f"offset: {offset} and {k} hits after it are more than {MAX_REACH}; narrow the search"
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


def _explained(asked: _Request, page: _Page, prepared_ms: float, reason: str | None) -> JsonObject:
    trace, plan = page.found.trace, page.way.plan
    told = wire.explanation(trace.ranking, page.evidence, page.found.nearness)
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
            "why": [*plan.why, *([f"without what it lacks: {reason}"] if reason else [])],
            "widths": {**widths_by_name(plan.widths)},
        },
        "expansion": None if expansion is None else {
            "families": list(expansion.families),
            "lacking": list(expansion.lacking),
            "edges": dict(expansion.edges),
            "hubs": expansion.hubs,
        },
    }  # fmt: skip
