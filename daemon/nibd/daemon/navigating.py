"""The method `navigate`: which snapshot answers a question, and what its answer carries.

The newest snapshot that has the relations in question answers, which may be older than the newest one; the
answer names its commit and its lag, and `trace` says why newer ones were passed over. What none can answer
is an error with the reason, never an empty answer.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nibd.daemon import wire
from nibd.daemon.answers import Blobs
from nibd.daemon.coordinator import CheckoutState, Coordinator
from nibd.daemon.heads import HeadState
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.daemon.static_navigation import (
    OF_FILES,
    OPERATIONS,
    VOID,
    Navigated,
    Navigation,
    Question,
    Texts,
    UnservedError,
    may_serve,
    refusal,
)
from nibd.daemon.status import Standing, lag, standing
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.hits import SNIPPET_LINES, snippet
from nibd.query.navigation import External, Found, Page
from nibd.query.navigation_files import TreeFiles
from nibd.stores.errors import StoreError
from nibd.stores.relations import CorruptRelations
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import CommitId, RepoPath, View

NEEDED = frozenset({View.STRUCTURAL})
PROVIDERS = ("auto", "static", "live")
STATIC = "static"
MAX_HITS = 1000
MAX_PLACE = 1 << 31


@dataclass(frozen=True, slots=True)
class Host:
    """What the service does for all its methods."""

    state_of: Callable[[Path], CheckoutState]
    in_query: Callable[..., Awaitable[Any]]
    damage: Callable[[CheckoutState, frozenset[View], StoreError], RpcError]
    not_served: Callable[[CheckoutState, Standing, frozenset[View], CommitId | None], RpcError]


@dataclass(frozen=True, slots=True)
class _Passed:
    """A publication that could not answer, and why."""

    publication: Publication
    error: UnservedError


@dataclass(frozen=True, slots=True)
class _Answered:
    """`publication` is `None` when no snapshot could answer."""

    passed: tuple[_Passed, ...]
    publication: Publication | None = None
    navigated: Navigated = VOID
    hits: tuple[Json, ...] = ()
    candidates: tuple[Json, ...] = ()
    asked: Json = None


class Navigating:
    """For the event loop, all but `_find`."""

    def __init__(self, coordinator: Coordinator, blobs: Blobs, host: Host) -> None:
        self._coordinator = coordinator
        self._blobs = blobs
        self._texts = Texts(blobs)
        self._host = host

    async def navigate(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        path = given.path("path")
        operation = given.choice("operation", OPERATIONS, None)
        name = given.text("name") if "name" in params else ""
        line = given.integer("line", 0, 1, MAX_PLACE)
        col = given.integer("col", 0, 1, MAX_PLACE)
        declaration = given.flag("include_declaration", False)
        provider = given.choice("provider", PROVIDERS, "auto")
        page = Page(given.integer("offset", 0, 0, MAX_PLACE), given.integer("k", 100, 1, MAX_HITS))
        commit = given.commit("at")
        given.done()
        _check(operation, name, line, col)
        if provider == "live":
            raise RpcError(
                ErrorCode.UNSUPPORTED, "live answers are not there in this version; ask for static or auto"
            )
        state = self._host.state_of(path)
        inside = RepoPath(os.fsencode(path.relative_to(state.checkout.work_tree)))
        question = Question(str(operation), inside, line, col, name, declaration, page)
        try:
            found: _Answered = await self._host.in_query(self._find, state, commit, question)
        except CorruptRelations as error:
            self._coordinator.compare_all()
            raise RpcError(ErrorCode.VIEW_NOT_READY, f"the relations can't be read: {error}") from error
        except StoreError as error:
            raise self._host.damage(state, NEEDED, error) from error
        # HEAD is looked at afterwards: it may have moved meanwhile, and then the answer lags.
        head = await self._coordinator.look(state)
        if found.publication is None:
            raise await self._refused(state, commit, found)
        return await self._result(state, head, found.publication, found)

    def _find(self, state: CheckoutState, commit: CommitId | None, question: Question) -> _Answered:
        """In a query thread."""
        views = self._coordinator.views(state.checkout.repository)
        passed: list[_Passed] = []
        seen: set[Generation] = set()

        def accepts(publication: Publication) -> bool:
            return publication.snapshot.generation not in seen and (not passed or may_serve(publication))

        while True:
            with views.reading(state.checkout.id, NEEDED, commit, accepts=accepts) as reading:
                if reading is None:
                    return _Answered(tuple(passed))
                seen.add(reading.snapshot.generation)
                try:
                    found = self._asked(reading, state.checkout, question, tuple(passed))
                except UnservedError as error:
                    passed.append(_Passed(reading.publication, error))
                    continue
                except RpcError:
                    if not passed:
                        raise
                    continue  # what an older tree lacks was no question to it
                if not passed or not found.navigated.is_void:
                    return found

    def _asked(
        self, reading: Reading, checkout: Checkout, question: Question, passed: tuple[_Passed, ...]
    ) -> _Answered:
        files = self._texts.of_tree(reading, checkout)
        navigated = Navigation(reading, files, question).answer()
        shown = _Shown(self._blobs, checkout, files, {})
        with_calls = question.operation == "callers"
        return _Answered(
            passed,
            reading.publication,
            navigated,
            tuple(shown.hit(each, with_calls) for each in navigated.answer.found),
            tuple(shown.hit(each, False) for each in navigated.candidates),
            shown.asked(navigated),
        )

    async def _result(
        self, state: CheckoutState, head: HeadState, publication: Publication, found: _Answered
    ) -> JsonObject:
        behind = await lag(self._coordinator, state, head, publication)
        reason = head.error or (state.failure if behind["commits"] != 0 else None)
        snapshot, navigated = publication.snapshot, found.navigated
        structural = wire.view(snapshot.views[View.STRUCTURAL], publication, behind, reason)
        passed = str(found.passed[0].error) if found.passed else None
        relations: JsonObject = {
            family: wire.view(record, publication if record.serves else None, behind, reason or passed)
            | {"used": family == navigated.family}
            for family, record in snapshot.relations.items()
        }
        trace: list[Json] = [_step(each.publication, str(each.error)) for each in found.passed]
        return {
            "snapshot": wire.snapshot(publication),
            "views": {View.STRUCTURAL.value: structural | {"used": True, "relations": relations}},
            "head": {"commit": head.commit},
            "provider": STATIC,
            "trace": [*trace, _step(publication, "answered")],
            "asked": found.asked,
            "hits": list(found.hits),
            "total": navigated.answer.total,
            "unknown": navigated.answer.unknown,
            "lost": navigated.answer.lost,
            "candidates": list(found.candidates),
            "reason": navigated.reason,
        }

    async def _refused(
        self, state: CheckoutState, commit: CommitId | None, found: _Answered
    ) -> RpcError:
        if not found.passed:
            now = await standing(self._coordinator, state)
            return self._host.not_served(state, now, NEEDED, commit)
        first = found.passed[0]
        where = str(state.checkout.work_tree)
        if commit is not None:
            why = f"{where}: {commit[:10]} is not published with what is needed: {first.error}"
            return RpcError(ErrorCode.UNPUBLISHED_COMMIT, why)
        return refusal(first.error.family, where, first.publication, str(first.error))


@dataclass(frozen=True, slots=True)
class _Shown:
    """How places cross the wire."""

    blobs: Blobs
    checkout: Checkout
    files: TreeFiles
    _edited: dict[RepoPath, bool | None]

    def hit(self, found: Found, with_calls: bool) -> JsonObject:
        """`with_calls`: the lines of the calls are the hit's own, and shown."""
        if isinstance(found, External):
            outside = {"package": found.package, **wire.path_fields(found.path), "name": found.name}
            return _NOWHERE | {"name": found.name, "calls": list(found.calls), "external": outside}
        return wire.path_fields(found.path) | {
            "start_line": found.start_line,
            "end_line": found.end_line,
            "kind": found.kind,
            "name": found.name,
            "qualified": found.qualified,
            "line": found.line,
            "col": found.col,
            "calls": list(found.calls),
            "blob": found.blob,
            "language": found.language,
            "snippet": self._snippet(found.path, (found.start_line, found.end_line), with_calls, found.calls),
            "edited": self.edited(found.path, found.blob),
            "external": None,
        }

    def asked(self, navigated: Navigated) -> Json:
        asked = navigated.asked
        if asked is None:
            return None
        line, col = asked.file.text.place(asked.byte)
        return wire.path_fields(asked.file.path) | {
            "line": line,
            "col": col,
            "name": asked.name,
            "kind": asked.kind.value if asked.kind else None,
            "edited": self.edited(asked.file.path, asked.file.version.blob),
        }

    def edited(self, path: RepoPath, blob: Any) -> bool | None:
        if path not in self._edited:
            self._edited[path] = self.blobs.is_edited(self.checkout, path, blob)
        return self._edited[path]

    def _snippet(
        self, path: RepoPath, lines: tuple[int, int], with_calls: bool, calls: tuple[int, ...]
    ) -> str | None:
        file = self.files(path)
        if file is None:
            return None
        if with_calls:
            content = b"".join(file.text.line_text(line).rstrip(b"\n") + b"\n" for line in calls)
            return snippet(content, 1, len(calls))
        first, last = lines[0], min(lines[1], lines[0] + SNIPPET_LINES - 1)
        return snippet(file.text.range_text(first, last), 1, last - first + 1)


_NOWHERE: JsonObject = {
    "path": None, "start_line": None, "end_line": None, "kind": "external", "name": "", "qualified": None,
    "line": None, "col": None, "calls": [], "blob": None, "language": None, "snippet": None, "edited": None,
}  # fmt: skip
"""A hit outside the repository has no place there."""


def _step(publication: Publication, outcome: str) -> JsonObject:
    return {
        "provider": STATIC,
        "commit": publication.commit,
        "generation": publication.snapshot.generation,
        "outcome": outcome,
    }


def _check(operation: str | None, name: str, line: int, col: int) -> None:
    if operation is None:
        raise RpcError(ErrorCode.INVALID_PARAMS, f"operation: one of {', '.join(OPERATIONS)} is needed")
    if operation in OF_FILES and (name or line or col):
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{operation} takes the path of a file alone")
    if operation not in OF_FILES and (bool(name) == bool(line) or bool(line) != bool(col)):
        raise RpcError(ErrorCode.INVALID_PARAMS, f"{operation} takes either name, or line and col")
