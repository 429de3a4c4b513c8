"""JSON-RPC with a language server over its stdin and stdout: many questions in flight, none lost.

python-lsp-jsonrpc frames and parses. One thread reads: it files answers, answers the server's own requests
(`ClientSide`), and wakes who waits. Whoever asks sends a *window* of requests at once and the next half
window when half of it is answered, so both processes work at the same time and wake each other rarely.

An answer is what the server gave as `result`, `None` included. An error response, silence, or the server's
end gives `Unknown` with the reason. *Patience* (`timeout_s`) is the longest silence that is borne while
questions are open, not the time that a batch may take; after it the open ones are cancelled, those not yet
sent are not asked, and both are unknown. An answer that comes later is dropped. Who passes an `interrupt` is
called back at least once a second; what that raises ends the batch.

Any thread may ask; batches of several threads share the connection. A server takes requests in the order that
they come, so a single question would wait for a whole window of a large batch: while *urgent* ones are open,
and a moment longer since they come in rows, other batches keep to a small window.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

from nibd.repair.servers.errors import Unknown, too_many
from nibd.repair.servers.inbound import METHOD_NOT_FOUND, ClientSide, Json, MethodNotFound
from nibd.repair.servers.outbox import Outbox
from nibd.repair.servers.process import ServerProcess

WINDOW = 64
SMALL_WINDOW = 4
URGENT_FOR_S = 0.5
PATIENCE_S = 30.0
Answer = Json | Unknown
"""A result value, or Unknown."""

_TRANSIENT = (-32800, -32801, -32802)
"""RequestCancelled, ContentModified, ServerCancelled."""
_UNANSWERED = Unknown("not answered yet")
_END = object()
_JOIN_S = 5.0
"""A process that left its session could hold the output open: then the reader is left to itself."""
_LAST_WORDS_S = 1.0
"""How long to wait for the end of a server that closed its output, to say how it ended."""


class Connection:
    """One server's wire. The caller ends it by killing the process, then `join`."""

    def __init__(self, process: ServerProcess, client: ClientSide, delimited: bool = False) -> None:
        self.client = client
        self.requests: dict[str, int] = {}
        """How many requests were sent, by method."""
        self._process = process
        self._outbox = Outbox(process.stdin)
        self._writer = _Delimited(self._outbox) if delimited else JsonRpcStreamWriter(self._outbox)
        self._reader = JsonRpcStreamReader(_Frames(process.stdout))
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[_Batch, int]] = {}
        self._urgent_until = 0.0
        self._changed = threading.Condition()
        self._dead: Unknown | None = None
        self._thread = threading.Thread(target=self._read, name=f"server-{process.pid}", daemon=True)
        self._thread.start()

    @property
    def dead(self) -> Unknown | None:
        """Why there will be no more answers, or `None` while there may be."""
        return self._dead

    def notify(self, method: str, params: Json = None) -> None:
        """Queue a notification; it goes out with the next request or `drain`."""
        message = {"jsonrpc": "2.0", "method": method}
        self._writer.write(message if params is None else message | {"params": params})

    def drain(self, timeout_s: float = PATIENCE_S) -> bool:
        """Send all that is queued; tell whether the server took it in time."""
        return self._outbox.drain(timeout_s)

    def ask(
        self,
        method: str,
        params: Json = None,
        timeout_s: float = PATIENCE_S,
        interrupt: Callable[[], None] = lambda: None,
    ) -> Answer:
        return self.ask_many(method, [params], window=1, timeout_s=timeout_s, interrupt=interrupt)[0]

    def ask_many(
        self,
        method: str,
        params_list: Iterable[Json],
        *,
        window: int = WINDOW,
        timeout_s: float = PATIENCE_S,
        urgent: bool = False,
        interrupt: Callable[[], None] = lambda: None,
        most: int | None = None,
    ) -> list[Answer]:
        """Ask for each of `params_list`, at most `window` at a time; answers in the same order.

        A list of more than `most` is not kept, not even until the others are there: it is `Unknown`.
        """
        batch = _Batch(most)
        source = iter(params_list)
        more = True
        while more and self._dead is None:
            at_once = self._at_once(window, urgent)
            more = self._send_some(batch, method, source, at_once)
            try:
                is_heard = self._wait(batch, at_once // 2 if more else 0, timeout_s, interrupt)
            except BaseException:
                self._give_up(batch, Unknown("interrupted"))
                raise
            if not is_heard:
                self._give_up(batch, Unknown(f"no answer in {timeout_s:g} s"))
                break
        unasked = self._dead or Unknown("not asked, since the server had stopped answering")
        return [*batch.answers, *(unasked for _ in source)]

    def wait_for_news(self, timeout_s: float) -> None:
        """Wait until the server begins or ends work, changes its status or dies; at most `timeout_s`."""
        with self._changed:
            if self._dead is None:
                self._changed.wait(timeout_s)

    def join(self) -> None:
        """Wait for the reader after the process was killed, and close its files."""
        self._outbox.close()
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._process.release()

    def _at_once(self, window: int, urgent: bool) -> int:
        """How many requests of a batch may be open now."""
        now = time.monotonic()
        if urgent:
            self._urgent_until = now + URGENT_FOR_S
            return window
        return window if now > self._urgent_until else min(window, SMALL_WINDOW)

    def _send_some(self, batch: _Batch, method: str, source: Iterator[Json], window: int) -> bool:
        """Fill the window; tell whether `source` has more."""
        write, waiting, answers = self._writer.write, self._waiting, batch.answers
        before = len(answers)
        more = True
        while batch.sent - batch.received < window:
            params = next(source, _END)
            if params is _END:
                more = False
                break
            request_id = next(self._ids)
            answers.append(_UNANSWERED)
            batch.sent += 1
            waiting[request_id] = (batch, batch.sent - 1)
            message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
            if params is None:
                del message["params"]
            write(message)
        self.requests[method] = self.requests.get(method, 0) + len(answers) - before
        self._outbox.pump()
        if self._dead is not None:
            self._fail_waiting(self._dead)
        return more

    def _wait(self, batch: _Batch, target: int, timeout_s: float, interrupt: Callable[[], None]) -> bool:
        """Wait until at most `target` of the batch are open; False after too long a silence."""
        batch.target = target
        seen, since = batch.received, time.monotonic()
        while True:
            with self._changed:
                if batch.sent - batch.received <= target:
                    return True
                if batch.received != seen:
                    seen, since = batch.received, time.monotonic()
                left = since + timeout_s - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 1.0 if self._outbox.is_empty else 0.005))
            if not self._outbox.is_empty:
                self._outbox.pump()
            interrupt()

    def _give_up(self, batch: _Batch, unknown: Unknown) -> None:
        for request_id, (whose, index) in list(self._waiting.items()):
            if whose is batch and self._waiting.pop(request_id, None) is not None:
                batch.answers[index] = unknown
                if self._outbox.is_empty:  # else it does not read either
                    self.notify("$/cancelRequest", {"id": request_id})
        self._outbox.pump()

    def _read(self) -> None:
        reason = ""
        try:
            self._reader.listen(self._take)
        except (EOFError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"it sent what is no message ({error}); "
        self._process.wait(_LAST_WORDS_S)
        dead = Unknown(f"the server is gone: {reason}{self._process.how_it_ended()}")
        with self._changed:
            self._dead = dead
            self._fail_waiting(dead)
            self._changed.notify_all()

    def _fail_waiting(self, dead: Unknown) -> None:
        while self._waiting:
            try:
                _, (batch, index) = self._waiting.popitem()
            except KeyError:  # the other thread took the last
                return
            self._file(batch, index, dead)

    def _take(self, message: Json) -> None:
        if "method" in message:
            self._take_inbound(message)
            return
        waiter = self._waiting.pop(message["id"], None)
        if waiter is None:
            return  # too late: it was given up
        batch, index = waiter
        error = message.get("error")
        answer = message.get("result") if error is None else _refused(error)
        if batch.most is not None and isinstance(answer, list) and len(answer) > batch.most:
            answer = too_many(batch.most)
        self._file(batch, index, answer)

    def _file(self, batch: _Batch, index: int, answer: Answer) -> None:
        """By the reader, or by whoever finds that the server is gone: of any thread's batch."""
        with self._changed:
            batch.answers[index] = answer
            batch.received += 1
            if batch.sent - batch.received <= batch.target:
                self._changed.notify_all()

    def _take_inbound(self, message: Json) -> None:
        method, params = message["method"], message.get("params")
        if "id" not in message:
            if self.client.take(method, params):
                with self._changed:
                    self._changed.notify_all()
            return
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = self.client.respond(method, params)
        except MethodNotFound:
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": f"{method} is not supported"}
        self._writer.write(reply)
        self._outbox.pump()


class _Batch:
    """Questions asked together. `sent` is written by who asks, `received` under the connection's lock."""

    __slots__ = ("answers", "most", "received", "sent", "target")

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.answers: list[Answer] = []
        self.sent = 0
        self.received = 0
        self.target = 0


class _Delimited:
    """Messages with a line `---` behind each, which some servers read in the place of a header."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def write(self, message: Json) -> None:
        self._outbox.write(json.dumps(message, separators=(",", ":")).encode() + b"\n---\n")


class _Frames:
    """Stdout as the reader wants it, which reads for ever after a line that is no header."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.readline = file.readline

    @property
    def closed(self) -> bool:
        return self._file.closed

    def read(self, size: int | None) -> bytes:
        if size is None:
            raise EOFError("a header without Content-Length")
        data = self._file.read(size)
        if len(data) < size:
            raise EOFError("half a message")
        return data


def _refused(error: Json) -> Unknown:
    code, message = error.get("code", 0), str(error.get("message", ""))[:300]
    return Unknown(f"error {code}: {message}", transient=code in _TRANSIENT, message=message)
