"""The wire to a language server: what it asks, what it refuses, what it says out of turn, how it breaks."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nibd.repair.servers import transport
from nibd.repair.servers.errors import Unknown
from nibd.repair.servers.inbound import ClientSide
from nibd.repair.servers.process import ServerProcess
from nibd.repair.servers.transport import Connection
from scripted_server import write_server
from waiting import wait_until

Connect = Callable[[str], Connection]
SETTINGS = {"ty": {"a": {"b": 1}}, "x.y": 2}


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    open_ones: list[tuple[ServerProcess, Connection]] = []

    def connected(body: str) -> Connection:
        process = ServerProcess.start([str(write_server(tmp_path, body))], {}, tmp_path)
        open_ones.append((process, Connection(process, ClientSide(tmp_path, SETTINGS))))
        return open_ones[-1][1]

    yield connected
    for process, connection in open_ones:
        process.kill()
        connection.join()


ECHO = 'reply(message.get("params"))'


def test_answers_are_in_order_whatever_order_they_come_in(connect: Connect) -> None:
    connection = connect(
        """
        kept = state.setdefault("kept", [])
        kept.append(message)
        if len(kept) == 8:
            for each in reversed(kept):
                say({"id": each["id"], "result": each["params"]})
            kept.clear()
        """
    )
    assert connection.ask_many("echo", range(64), window=16) == list(range(64))


def test_nothing_is_asked_when_there_is_nothing_to_ask(connect: Connect) -> None:
    connection = connect(ECHO)
    assert connection.ask_many("echo", []) == []
    assert connection.requests == {"echo": 0}


def test_no_more_than_a_window_is_open_at_once(connect: Connect) -> None:
    connection = connect(
        """
        if message["method"] == "each":
            state["open"] = state.get("open", 0) + 1
        elif message["method"] == "count":
            reply(state["open"])
        """
    )
    connection.ask_many("each", range(100), window=10, timeout_s=0.1)
    assert connection.ask("count") == 10


def test_a_missing_result_and_null_are_answers_an_error_is_not(connect: Connect) -> None:
    connection = connect(
        """
        error = {"code": -32801, "message": "content modified"}
        answers = [{}, {"result": None}, {"result": []}, {"error": error}]
        say({"id": message["id"], **answers[message["params"]]})
        """
    )
    *answers, refused = connection.ask_many("x", range(4))
    assert answers == [None, None, []]
    assert refused == Unknown("error -32801: content modified", transient=True, message="content modified")


def test_silence_makes_the_open_ones_and_the_rest_unknown(connect: Connect) -> None:
    connection = connect('message["params"] < 3 and reply("known")')
    connection.ask("is it up?", 0)
    answers = connection.ask_many("x", range(20), window=4, timeout_s=1.0)
    assert answers[:3] == ["known"] * 3
    reasons = [answer.reason for answer in answers[3:]]
    open_ones = reasons.count("no answer in 1 s")
    assert open_ones in (3, 4)  # the third answer may come before or after the window was filled again
    assert reasons[open_ones:] == ["not asked, since the server had stopped answering"] * (17 - open_ones)


def test_what_was_given_up_is_cancelled_and_its_late_answer_dropped(connect: Connect) -> None:
    connection = connect(
        """
        if message["method"] == "slow":
            state["slow"] = message["id"]
        elif message["method"] == "$/cancelRequest":
            state["cancelled"] = message["params"]["id"]
            say({"id": state["slow"], "result": "late"})
        else:
            reply(state["cancelled"] == state["slow"])
        """
    )
    assert connection.ask("slow", timeout_s=0.1) == Unknown("no answer in 0.1 s")
    assert connection.ask("was it?") is True


class SlowClock:
    """Time of which one second passes before each answer: the server gives the next one only then."""

    def __init__(self, folder: Path) -> None:
        self.gate = folder / "gate"
        os.mkfifo(self.gate)
        self._gate = os.open(self.gate, os.O_RDWR)
        self.seconds = self.answers = 0

    def monotonic(self) -> float:
        if self.seconds == self.answers:
            self.seconds += 1
            os.write(self._gate, b".")
        return float(self.seconds)

    def close(self) -> None:
        os.close(self._gate)


def test_patience_is_for_silence_not_for_the_whole(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, take = SlowClock(tmp_path), Connection._take

    def taken(connection: Connection, message: object) -> None:
        clock.answers += 1
        take(connection, message)

    monkeypatch.setattr(Connection, "_take", taken)
    monkeypatch.setattr(transport, "time", clock)
    connection = connect(f"""
        gate = state.setdefault("gate", None) or open({str(clock.gate)!r}, "rb", buffering=0)
        state["gate"] = gate
        gate.read(1)
        reply("slow but steady")
        """)
    assert connection.ask_many("x", range(4), timeout_s=1.9) == ["slow but steady"] * 4
    assert clock.seconds >= 4
    clock.close()


def test_the_servers_own_requests_are_answered(connect: Connect) -> None:
    connection = connect(
        """
        asked = [
            ("workspace/configuration", {"items": [{"section": s} for s in "ty ty.a x.y no".split()] + [{}]}),
            ("client/registerCapability", {"registrations": []}),
            ("client/unregisterCapability", {"unregisterations": []}),
            ("window/workDoneProgress/create", {"token": 1}),
            ("window/showMessageRequest", {"type": 1, "message": "?", "actions": [{"title": "yes"}]}),
            ("workspace/applyEdit", {"edit": {}}),
            ("workspace/workspaceFolders", None),
            ("window/showDocument", {"uri": "file:///etc/passwd"}),
        ]
        if "method" in message:
            state["request"] = message
            for n, (method, params) in enumerate(asked):
                say({"id": f"s{n}", "method": method, "params": params})
        else:
            answers = state.setdefault("answers", [])
            answers.append(message.get("result", message.get("error")))
            if len(answers) == len(asked):
                say({"id": state["request"]["id"], "result": answers})
        """
    )
    configuration, *rest, folders, unknown = connection.ask("go")
    assert configuration == [{"a": {"b": 1}}, {"b": 1}, 2, None, SETTINGS]
    assert rest == [None] * 4 + [{"applied": False, "failureReason": "read-only client"}]
    assert folders[0]["uri"].startswith("file:///")
    assert unknown["code"] == -32601


def test_work_and_status_are_followed(connect: Connect) -> None:
    connection = connect(
        """
        if message["method"] == "begin":
            begin = {"kind": "begin", "title": "Index"}
            say({"method": "$/progress", "params": {"token": 7, "value": begin}})
            say({"method": "experimental/serverStatus",
                 "params": {"quiescent": False, "health": "warning", "message": "no workspace"}})
            say({"method": "window/showMessage", "params": {"type": 1, "message": "bad"}})
            say({"method": "window/showMessage", "params": {"type": 3, "message": "hello"}})
            say({"method": "window/logMessage", "params": {"type": 4, "message": "log"}})
        else:
            say({"method": "$/progress", "params": {"token": 7, "value": {"kind": "end"}}})
            say({"method": "experimental/serverStatus", "params": {"quiescent": True, "health": "ok"}})
        reply(None)
        """
    )
    client = connection.client
    connection.ask("begin")
    assert (client.work, client.work_begun, client.quiescent) == (("Index",), 1, False)
    assert client.complaints == ("bad", "no workspace")
    assert list(client.log) == ["bad", "hello", "log"]
    connection.ask("end")
    assert (client.work, client.work_begun, client.quiescent) == ((), 1, True)
    assert client.complaints == ("bad",)


@pytest.mark.parametrize(
    ("last_words", "reason"),
    [
        ("sys.exit(3)", "ended with status 3"),
        ('print("half an oops", file=sys.stderr); os._exit(1)', "ended with status 1: half an oops"),
        ("os.abort()", "ended with signal 6"),
        (r'raw(b"panic: oops\n\n"); sys.exit()', "without Content-Length"),
        (r'raw(b"Content-Length: 1000\r\n\r\n{"); sys.exit()', "half a message"),
        (r'raw(b"Content-Length: 1\r\n\r\n5"); sys.stdin.read()', "no message"),
        ("os.close(1); os.close(2); sys.stdin.read()", "closed its output"),
    ],
)
def test_the_end_of_a_server_is_the_reason_for_all_that_is_open(
    connect: Connect, last_words: str, reason: str
) -> None:
    connection = connect(f'if message["params"] == 5:\n    {last_words}\nreply("known")')
    answers = connection.ask_many("x", range(100), window=20)
    assert answers[:5] == ["known"] * 5
    assert all(isinstance(answer, Unknown) for answer in answers[5:])
    assert connection.dead is not None
    assert answers[5] == answers[-1] == connection.dead
    assert reason in connection.dead.reason
    assert isinstance(connection.ask("x", 1), Unknown)


class Switching(transport._Batch):
    """A batch that lets other threads go on before a new count is written."""

    count = 0

    @property  # type: ignore[override]
    def received(self) -> int:
        return self.count

    @received.setter
    def received(self, count: int) -> None:
        select.select([], [], [], 0)
        self.count = count


def test_no_question_is_lost_where_two_threads_find_at_once_that_the_server_is_gone(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Switching] = []

    def batch(most: int | None) -> Switching:
        made.append(Switching(most))
        return made[-1]

    monkeypatch.setattr(transport, "_Batch", batch)
    connection = connect("pass")
    many, gone = 2000, Unknown("gone")
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(connection.ask_many, "never", range(many), window=many)
        wait_until(lambda: len(connection._waiting) == many)
        together = threading.Barrier(2)

        def fail() -> None:
            together.wait()
            connection._fail_waiting(gone)

        other = threads.submit(fail)
        fail()
        other.result()
        assert made[0].received == many
        assert asked.result() == [gone] * many


def test_bodies_larger_than_any_pipe_go_both_ways(connect: Connect) -> None:
    connection = connect(ECHO)
    large = "é🙂" * 400_000
    assert connection.ask_many("echo", [large] * 3) == [large] * 3


def test_threads_share_a_connection(connect: Connect) -> None:
    connection = connect(ECHO)
    results: dict[int, list[object]] = {}

    def ask(number: int) -> None:
        results[number] = connection.ask_many("echo", range(number, number + 300), window=7)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(0, 4000, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: list(range(number, number + 300)) for number in range(0, 4000, 1000)}


def test_a_talkative_server_does_not_block_on_stderr(connect: Connect) -> None:
    connection = connect('sys.stderr.write("x" * 500_000 + "\\nlast words"); sys.stderr.flush(); reply(1)')
    assert connection.ask("x") == 1
    process = connection._process
    wait_until(lambda: process.stderr_tail().endswith("last words"))
    assert len(process.stderr_tail()) <= 16_384
