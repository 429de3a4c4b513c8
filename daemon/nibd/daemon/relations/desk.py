"""Who does what in the navigator: jobs one after the other, questions at once and beside them.

One thread lasts as long as the process and does all the work that moves the private tree or starts servers,
since a server dies with the thread that started it. Another takes what the daemon sends: jobs wait for
their turn, and questions (`ask`) go to a few threads, which ask the servers at the tree that they hold.

A question names its tree. When the servers are not there and nothing is done for another tree, the servers
are brought there, or started, as work of its own, and the question waits for as long as its asker is patient;
the work goes on after that, for the next one. When something is done for another tree the question is
refused (`moving`): moving to and fro would serve neither.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from nibd.daemon.child_jobs import do
from nibd.daemon.relations import live_wire
from nibd.daemon.relations.live_wire import Ask
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.repair.relations.holding import Holding, NotHeld
from nibd.repair.relations.live import Live, NotOffered, Unanswered
from nibd.stores.types import TreeId

MOVING = frozenset({"relate", "verify", "audit", "agree"})
"""The jobs that need the servers at the tree of their snapshot."""
ANY = TreeId("")
QUESTIONS = 4
"""Threads for questions: one that takes seconds does not make the others wait."""


class Bench(Protocol):
    """What the desk needs of the navigator."""

    @property
    def holding(self) -> Holding: ...

    def live(self) -> Live | None:
        """What answers questions, while what it reads is in place. For any thread."""
        ...

    def bring(self, job: JsonObject, family: str) -> None:
        """For the working thread: have the family's server hold the job's tree. Raises RpcError."""
        ...


@dataclass(slots=True)
class _Bringing:
    """Work that a question wanted."""

    job: JsonObject
    family: str
    tree: TreeId
    error: RpcError | None = None
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class _Job:
    request: ChildRequest
    tree: TreeId


_Work = _Job | _Bringing


class Desk:
    """`serve` is the lasting thread's."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        self._open: list[_Work] = []
        """What is at work and what waits for its turn."""

    def serve(self, endpoint: ChildEndpoint, answer: Callable[[ChildRequest], Json]) -> None:
        """Until the parent goes away, which ends the process. `answer` does a job; see `do` for errors."""
        threading.Thread(target=self._receive, args=(endpoint,), name="desk", daemon=True).start()

        def answered(request: ChildRequest) -> Json:
            try:
                return answer(request)
            finally:  # before the reply: who has it may ask about another tree at once
                self._done(work)

        while True:
            work = self._work.get()
            if isinstance(work, _Job):
                do(work.request, answered)
            else:
                self._bring(work)
                self._done(work)

    def _done(self, work: _Work) -> None:
        with self._lock:
            self._open.remove(work)
        self._bench.holding.notify()

    def _receive(self, endpoint: ChildEndpoint) -> None:
        with ThreadPoolExecutor(QUESTIONS, "question") as threads:
            while True:
                request = endpoint.receive()
                if not isinstance(request, ChildRequest):
                    continue
                if request.method == "ask":
                    threads.submit(self._reply, request)
                else:
                    moves = request.method in MOVING
                    self._put(_Job(request, TreeId(request.params.get("tree", ANY)) if moves else ANY))

    def _put(self, work: _Work) -> None:
        with self._lock:
            self._open.append(work)
        self._work.put(work)

    def _bring(self, work: _Bringing) -> None:
        try:
            self._bench.bring(work.job, work.family)
        except RpcError as error:
            work.error = error
        work.is_done = True

    # Questions, in their threads

    def _reply(self, request: ChildRequest) -> None:
        try:
            request.reply(self._answer(request.params["job"], Ask.from_params(request.params["ask"])))
        except RpcError as error:
            request.fail(error)
        except Unanswered as error:
            request.fail(RpcError(ErrorCode.TIMEOUT, str(error)))
        except NotOffered as error:
            request.fail(RpcError(ErrorCode.UNSUPPORTED, str(error)))
        except Exception as error:  # noqa: BLE001 - else nobody would ever answer
            traceback.print_exc()
            request.fail(RpcError(ErrorCode.INTERNAL, repr(error)))

    def _answer(self, job: JsonObject, ask: Ask) -> Json:
        deadline = time.monotonic() + ask.scope.patience_s
        bringing: _Bringing | None = None
        while True:
            seen, was_done = self._bench.holding.version, bringing is not None and bringing.is_done
            live = self._bench.live()
            why = "no language server is running"
            if live is not None:
                try:
                    return answer(live, ask)
                except NotHeld as not_held:
                    why = str(not_held)
            if bringing is not None and was_done:
                raise bringing.error or RpcError(ErrorCode.MOVING, f"{why}; ask again")
            bringing = bringing or self._brought(job, ask)
            left = deadline - time.monotonic()
            if left <= 0:
                raise RpcError(ErrorCode.TIMEOUT, f"{why}; waited {ask.scope.patience_s:g} s")
            self._bench.holding.wait(seen, left)

    def _brought(self, job: JsonObject, ask: Ask) -> _Bringing | None:
        """See that the servers come to the question's tree, by what is at work or by work of its own.

        Raises RpcError when another tree is at work.
        """
        family, tree = ask.scope.family, ask.scope.tree
        with self._lock:
            for work in self._open:
                if work.tree not in (tree, ANY):
                    raise RpcError(
                        ErrorCode.MOVING,
                        f"the language servers are at work on the tree {work.tree[:10]}, not {tree[:10]};"
                        " ask again",
                    )
            same = [each for each in self._open if isinstance(each, _Job) or each.family == family]
            if same:
                last = same[-1]
                return last if isinstance(last, _Bringing) else None
        bringing = _Bringing(job, family, tree)
        self._put(bringing)
        return bringing


def answer(live: Live, ask: Ask) -> Json:
    """Raises NotHeld, Unanswered, NotOffered."""
    found: Any
    match ask.operation:
        case live_wire.DEFINITION:
            found = live_wire.defined_as_json(live.definition(ask.scope, ask.spots))
        case live_wire.REFERENCES:
            found = live_wire.references_as_json(live.references(ask.scope, ask.spots))
        case live_wire.IMPLEMENTATIONS:
            found = live_wire.implementations_as_json(live.implementations(ask.scope, ask.spots))
        case live_wire.CALLS:
            path, start = ask.spots[0]
            found = live_wire.calls_as_json(live.calls(ask.scope, path, start, ask.end))
        case live_wire.SITES:
            path, start = ask.spots[0]
            found = live_wire.defined_as_json(live.sites(ask.scope, path, start, ask.end))
        case operation:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"the navigator answers no question {operation}")
    return {"tree": ask.scope.tree, "found": found, "server": asdict(live.asked(ask.scope))}
