"""The method `navigate`: who answers a question, from which snapshot, and what its answer carries.

`static` answers come from what is stored. The newest snapshot that has the relations in question answers,
which may be older than the newest one; the answer names its commit and its lag, and `trace` says why newer
ones were passed over. `live` answers come from a language server that holds the newest tree. `auto` takes
what is stored where every site was asked at the newest tree, for a server would say the same; else a live
answer if one can be had soon and is no worse (`weighing`); else what is stored, with its lag and assurance.
What none can answer is an error with the reason, never an empty answer.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from nibd.daemon import wire
from nibd.daemon.answers import Blobs
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.heads import HeadState
from nibd.daemon.host import NEEDS_STRUCTURE, Host, is_shown, unreadable_relations
from nibd.daemon.navigation.live_answers import LiveAnswers
from nibd.daemon.navigation.question import OF_FILES, OPERATIONS, Question
from nibd.daemon.navigation.shown_places import Answered, ShownPlaces
from nibd.daemon.navigation.static import StaticNavigation
from nibd.daemon.navigation.texts import Texts
from nibd.daemon.navigation.unserved import UnservedError, may_serve, refusal
from nibd.daemon.navigation.weighing import is_sure, left_open, weighed
from nibd.daemon.parameters import Parameters
from nibd.daemon.sessions import shown_at
from nibd.daemon.status import lag, relations_now, standing
from nibd.daemon.views import At
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.navigation_places import Page
from nibd.stores.errors import StoreError
from nibd.stores.relations import CorruptRelations
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import RepoPath, State, View

STATIC, LIVE, AUTO = "static", "live", "auto"
PROVIDERS = (AUTO, STATIC, LIVE)
MAX_HITS = 1000
MAX_PLACE = 1 << 31


@dataclass(frozen=True, slots=True)
class _Passed:
    """A publication that could not answer, and why."""

    publication: Publication
    error: UnservedError
    milliseconds: float


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the snapshots say: `answered` is `None` when none could answer."""

    passed: tuple[_Passed, ...] = ()
    answered: Answered | None = None
    milliseconds: float = 0.0

    def trace(self) -> list[JsonObject]:
        steps = [_step(STATIC, each.publication, str(each.error), each.milliseconds) for each in self.passed]
        if self.answered:
            steps.append(_step(STATIC, self.answered.publication, "answered", self.milliseconds))
        return steps


@dataclass(frozen=True, slots=True)
class _Tried:
    """What came of asking a server: an answer of `publication`, or why there is none."""

    live: Answered | None
    publication: Publication | None
    outcome: str
    milliseconds: float


class Navigating:
    """For the event loop, all but `_find`."""

    def __init__(self, coordinator: Coordinator, blobs: Blobs, host: Host) -> None:
        self._coordinator = coordinator
        self._blobs = blobs
        self._texts = Texts(blobs)
        self._live = LiveAnswers(coordinator, blobs, self._texts, host)
        self._host = host

    async def navigate(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        path = given.path("path")
        operation = given.choice("operation", OPERATIONS, None)
        name = given.text("name") if "name" in params else ""
        line = given.integer("line", 0, 1, MAX_PLACE)
        col = given.integer("col", 0, 1, MAX_PLACE)
        declaration = given.flag("include_declaration", False)
        provider = given.choice("provider", PROVIDERS, AUTO)
        page = Page(given.integer("offset", 0, 0, MAX_PLACE), given.integer("k", 100, 1, MAX_HITS))
        state = self._host.state_of(path)
        at = self._host.sessions.at(given, context, state.checkout.id)
        given.done()
        _check(operation, name, line, col)
        inside = RepoPath(os.fsencode(path.relative_to(state.checkout.work_tree)))
        question = Question(str(operation), inside, line, col, name, declaration, page)
        remade = self._coordinator.remade(state)
        try:
            return await self._answer(state, at, question, provider or AUTO)
        except CorruptRelations as error:
            shown = is_shown(state, at)
            self._coordinator.relations_damaged(state, error, remade, shown=shown)
            raise unreadable_relations(str(error), shown=shown) from error
        except StoreError as error:
            raise self._host.damage(state, NEEDS_STRUCTURE, error) from error

    async def _answer(self, state: CheckoutState, at: At, question: Question, provider: str) -> JsonObject:
        if provider == LIVE:
            return await self._insisted(state, at, question)
        newest = state.published
        stored: _Stored = await self._host.in_query(self._find, state, at, question)
        trace = stored.trace()
        if provider == AUTO and at is None and self._is_live_wanted(question, stored):
            tried = await self._casual(state, question)
            if state.published is not newest:  # what came meanwhile may know what the server does not
                again: _Stored = await self._host.in_query(self._find, state, at, question)
                stored = again if again.answered else stored
                trace = stored.trace()
            live = _taken(question, tried, stored, trace)
            if live:
                return await self._result(state, live, LIVE, trace)
        if stored.answered is None:
            # HEAD is looked at by now: it may have moved meanwhile
            await self._coordinator.look(state)
            raise _also_not_live(await self._refused(state, at, stored), trace)
        return await self._result(state, stored.answered, STATIC, trace, stored.passed)

    # Live

    async def _insisted(self, state: CheckoutState, at: At, question: Question) -> JsonObject:
        started = time.perf_counter()
        live = await self._live.answer(state, at, question)
        if live is None:
            await self._coordinator.look(state)
            now = await standing(self._coordinator, state)
            raise self._host.not_served(state, now, NEEDS_STRUCTURE, at)
        trace: list[JsonObject] = [_step(LIVE, live.publication, "answered", _since(started))]
        return await self._result(state, live, LIVE, trace)

    async def _casual(self, state: CheckoutState, question: Question) -> _Tried:
        """A live answer if one can be had soon."""
        started, newest = time.perf_counter(), state.published
        try:
            live = await self._live.casual(state, question)
        except RpcError as error:
            return _Tried(None, newest, error.message, _since(started))
        publication = None if live is None else live.publication
        return _Tried(live, publication, "answered", _since(started))

    def _is_live_wanted(self, question: Question, stored: _Stored) -> bool:
        """Whether a server may know better than what is stored."""
        if question.operation in OF_FILES or self._coordinator.settings.relations.absent:
            return False
        if stored.passed:
            record = stored.passed[0].publication.snapshot.relations.get(stored.passed[0].error.family)
            return record is not None and record.state not in (State.ABSENT, State.FAILED)
        if stored.answered is None:
            return False
        navigated = stored.answered.navigated
        if navigated.family is None or navigated.candidates:
            return False
        record = stored.answered.publication.snapshot.relations.get(navigated.family)
        return record is not None and not is_sure(record, navigated)

    # Static

    def _find(self, state: CheckoutState, at: At, question: Question) -> _Stored:
        """In a query thread."""
        views = self._coordinator.views(state.checkout.repository)
        passed: list[_Passed] = []
        seen: set[Generation] = set()

        def accepts(publication: Publication) -> bool:
            return publication.snapshot.generation not in seen and (not passed or may_serve(publication))

        while True:
            with views.reading(state.checkout.id, NEEDS_STRUCTURE, at, accepts=accepts) as reading:
                if reading is None:
                    return _Stored(tuple(passed))
                seen.add(reading.snapshot.generation)
                started = time.perf_counter()
                try:
                    files = self._texts.of_tree(reading, state.checkout)
                    navigated = StaticNavigation(reading, files, question).answer()
                    places = ShownPlaces(self._blobs, state.checkout, files)
                    found = places.answered(reading, navigated, question.operation)
                except UnservedError as error:
                    passed.append(_Passed(reading.publication, error, _since(started)))
                    continue
                except RpcError:
                    if not passed:
                        raise
                    continue  # what an older tree lacks was no question to it
                if not passed or not navigated.is_void:
                    return _Stored(tuple(passed), found, _since(started))

    async def _refused(self, state: CheckoutState, at: At, stored: _Stored) -> RpcError:
        if not stored.passed:
            now = await standing(self._coordinator, state)
            return self._host.not_served(state, now, NEEDS_STRUCTURE, at)
        first = stored.passed[0]
        where = str(state.checkout.work_tree)
        if at is not None:
            made = "relations are made of what a checkout shows"
            why = f"{where}: {shown_at(at)} is not published with what is needed: {first.error}; {made}"
            return RpcError(ErrorCode.UNPUBLISHED_COMMIT, why)
        family, newest = first.error.family, first.publication
        record, progress = relations_now(self._coordinator, state, newest, family)
        return refusal(family, where, newest, str(first.error), record, progress)

    # The answer

    async def _result(
        self,
        state: CheckoutState,
        found: Answered,
        provider: str,
        trace: list[JsonObject],
        passed: tuple[_Passed, ...] = (),
    ) -> JsonObject:
        publication = found.publication
        # HEAD is looked at afterwards: it may have moved meanwhile, and then the answer lags.
        head: HeadState = await self._coordinator.look(state)
        behind = await lag(self._coordinator, state, head, publication)
        reason = head.error or (state.failure if behind["commits"] != 0 else None)
        snapshot, navigated = publication.snapshot, found.navigated
        structural = wire.view(snapshot.views[View.STRUCTURAL], publication, behind, reason)
        why = reason or (str(passed[0].error) if passed else None)
        relations: JsonObject = {
            family: wire.view(record, publication if record.serves else None, behind, why)
            | {"used": provider == STATIC and family == navigated.family}
            for family, record in snapshot.relations.items()
        }
        return {
            "snapshot": wire.snapshot(publication),
            "views": {View.STRUCTURAL.value: structural | {"used": True, "relations": relations}},
            "head": {"commit": head.commit},
            "provider": provider,
            "trace": [*trace],
            "asked": found.asked,
            "hits": list(found.hits),
            "total": navigated.answer.total,
            "unknown": navigated.answer.unknown,
            "lost": navigated.answer.lost,
            "candidates": list(found.candidates),
            "reason": navigated.reason,
            "server": found.server,
            "broken": found.broken,
        }


def _also_not_live(error: RpcError, trace: list[JsonObject]) -> RpcError:
    """With what kept a server from answering, where one was asked."""
    tried = [step["outcome"] for step in trace if step["provider"] == LIVE]
    return RpcError(error.code, "; no live answer: ".join([error.message, *tried]), error.data)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _taken(question: Question, tried: _Tried, stored: _Stored, trace: list[JsonObject]) -> Answered | None:
    """The live answer if it hides nothing stored; what came of it goes to `trace`."""
    live, outcome, is_taken = tried.live, tried.outcome, tried.live is not None
    if live is not None:
        if stored.answered is not None:
            found = weighed(question, live, stored.answered, is_older=bool(stored.passed))
            live, is_taken = found.live, found.is_better
            outcome += f", without {found.lacking} of what is stored" if found.lacking else ""
        outcome += f", but for {left_open(live)} sites" if left_open(live) else ""
    if tried.publication is not None:
        trace.append(_step(LIVE, tried.publication, outcome, tried.milliseconds))
    return live if is_taken else None


def _step(provider: str, publication: Publication, outcome: str, milliseconds: float) -> JsonObject:
    return {
        "provider": provider,
        "commit": publication.commit,
        "generation": publication.snapshot.generation,
        "outcome": outcome,
        "milliseconds": milliseconds,
    }


def _check(operation: str | None, name: str, line: int, col: int) -> None:
    if operation is None:
        raise RpcError(ErrorCode.INVALID_PARAMS, f"operation: one of {', '.join(OPERATIONS)} is needed")
    if operation in OF_FILES and (name or line or col):
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{operation} takes the path of a file alone")
    if operation not in OF_FILES and (bool(name) == bool(line) or (col and not line)):
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{operation} takes either name, or line and maybe col")
