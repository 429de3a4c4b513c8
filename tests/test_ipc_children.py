"""A parent and its child over real pipes: calls, progress, every way to die."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.messages import ErrorCode, RpcError
from waiting import wait_until

CHILD = """
import os, signal, subprocess, sys, threading
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, RpcError

print("before the endpoint", file=sys.stderr, flush=True)

def on_end():
    with open(os.environ["MARK"], "a") as mark:
        mark.write("ended")

endpoint = ChildEndpoint.over_stdio(on_end, None if os.environ.get("NO_SIGNAL") else signal.SIGKILL)

def threaded(request):
    for number in range(20):
        request.notify("counted", number)
    request.reply(request.params)

while True:
    request = endpoint.receive()
    if not isinstance(request, ChildRequest):
        endpoint.notify("heard", {"method": request.method, "params": request.params})
    elif request.method == "echo":
        request.reply(request.params)
    elif request.method == "threaded":
        threading.Thread(target=threaded, args=(request,)).start()
    elif request.method == "print":
        print("Content-Length: 3", flush=True)
        os.write(1, b"junk by descriptor\\n")
        os.system("echo junk by a program")
        request.reply(sys.stdin.read())
    elif request.method == "refuse":
        request.fail(RpcError(ErrorCode.UNSUPPORTED, "no", {"why": "\\udcff"}))
    elif request.method == "unsendable":
        try:
            request.reply({"nan": float("nan"), "bytes": b"x", "object": object()}[request.params["what"]])
        except ValueError as error:
            print("told:", error, file=sys.stderr, flush=True)
    elif request.method == "crash":
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    elif request.method == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif request.method == "raise":
        raise RuntimeError("unexpected here")
    elif request.method == "wait_cancel":
        request.notify("waiting", None)
        request.cancelled.wait()
        request.fail(RpcError(ErrorCode.CANCELLED, "cancelled"))
    elif request.method == "busy":
        request.notify("busy", None)
        while True:
            pass
    elif request.method == "freeze":
        request.notify("freezing", None)
        os.kill(os.getpid(), signal.SIGSTOP)
    elif request.method == "grandchild":
        request.reply(subprocess.Popen(["sleep", "3600"]).pid)
    elif request.method == "finish":
        request.notify("waiting", None)
        request.cancelled.wait()
        request.reply("finished all the same")
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "child.py"
    path.write_text(CHILD)
    return path


def environment(mark: Path) -> dict[str, str]:
    return os.environ | {"MARK": str(mark)}


def with_child(
    script: Path, mark: Path, work: Callable[[ChildProcess], Awaitable[None]], **options: Any
) -> None:
    """Run `work` with a child; it is gone afterwards."""

    async def run() -> None:
        child = await ChildProcess.spawn(
            [sys.executable, str(script)], env=options.pop("env", environment(mark)), **options
        )
        try:
            async with asyncio.timeout(60):
                await work(child)
        finally:
            child.kill()
            await child.wait()

    asyncio.run(run())


def test_calls_are_answered(script: Path, mark: Path) -> None:
    odd = {"path": os.fsdecode(b"\xff\x80"), "é": ["/", 2**70, 1.5, None], "result": 1, "error": 2}

    async def work(child: ChildProcess) -> None:
        assert await child.call("echo", odd) == odd
        assert await child.call("echo") == {}
        large = {"text": "x" * 3_000_000}
        assert await child.call("echo", large) == large

    with_child(script, mark, work)


def test_answers_from_threads_and_their_progress_are_told_apart(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        seen: dict[int, list[Any]] = {number: [] for number in range(8)}

        async def ask(number: int) -> None:
            def note(_method: str, value: Any) -> None:
                seen[number].append(value)

            assert await child.call("threaded", {"n": number}, note) == {"n": number}
            assert seen[number] == list(range(20))

        await asyncio.gather(*map(ask, range(8)))

    with_child(script, mark, work)


def test_what_belongs_to_no_call_goes_to_the_childs_listener(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        await child.notify("hello", {"a": 1})
        await child.call("echo")
        assert seen == [("heard", {"method": "hello", "params": {"a": 1}})]

    seen: list[tuple[str, Any]] = []
    with_child(script, mark, work, on_notification=lambda *one: seen.append(one))


def test_prints_go_to_stderr_and_stdin_reads_empty(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        assert await child.call("print") == ""
        assert await child.call("echo", {"n": 1}) == {"n": 1}
        child.kill()
        await child.wait()
        for junk in (b"Content-Length: 3", b"junk by descriptor", b"junk by a program"):
            assert junk in b"".join(text)

    text: list[bytes] = []
    with_child(script, mark, work, on_stderr=text.append)


def test_a_refusal_keeps_code_and_data(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        with pytest.raises(RpcError, match="no") as caught:
            await child.call("refuse")
        assert caught.value.code is ErrorCode.UNSUPPORTED
        assert caught.value.data == {"why": "\udcff"}

    with_child(script, mark, work)


@pytest.mark.parametrize("what", ["nan", "bytes", "object"])
def test_a_result_that_json_lacks_is_an_error_on_both_sides(script: Path, mark: Path, what: str) -> None:
    async def work(child: ChildProcess) -> None:
        with pytest.raises(RpcError, match="unsendable") as caught:
            await child.call("unsendable", {"what": what})
        assert caught.value.code is ErrorCode.INTERNAL
        assert await child.call("echo") == {}
        assert b"told:" in b"".join(text)
        assert b"Traceback" not in b"".join(text)

    text: list[bytes] = []
    with_child(script, mark, work, on_stderr=text.append)


@pytest.mark.parametrize(
    ("method", "returncode", "says"),
    [
        ("crash", 7, "exited with 7; its last words: .*last words"),
        ("segfault", -signal.SIGSEGV, "ended by SIGSEGV"),
        ("raise", 1, "unexpected here"),
    ],
)
def test_every_waiting_call_learns_of_the_childs_death(
    script: Path, mark: Path, method: str, returncode: int, says: str
) -> None:
    async def work(child: ChildProcess) -> None:
        calls = [child.call("threaded", {"n": 1}), child.call(method), child.call("echo"), child.call("echo")]
        first, *rest = await asyncio.gather(*calls, return_exceptions=True)
        assert first == {"n": 1} or isinstance(first, ChildDied)
        for error in rest:
            assert isinstance(error, ChildDied)
            assert error.returncode == returncode
        with pytest.raises(ChildDied, match=f"(?s){says}"):
            await child.call("echo")
        with pytest.raises(ChildDied):
            await child.notify("hello")
        assert await child.wait() == child.returncode == returncode

    with_child(script, mark, work)


@pytest.mark.parametrize(
    "code",
    [
        "print('junk', flush=True); import signal; signal.pause()",
        "print('Content-Length: 1\\r\\n\\r\\n5', flush=True); import signal; signal.pause()",
    ],
)
def test_a_child_that_does_not_frame_is_killed(mark: Path, code: str) -> None:
    async def run() -> None:
        child = await ChildProcess.spawn([sys.executable, "-c", code])
        with pytest.raises(ChildDied, match="sent what is no message") as caught:
            await child.call("echo")
        assert caught.value.returncode == -signal.SIGKILL

    asyncio.run(run())


def test_a_child_that_ends_at_once_fails_the_first_call() -> None:
    async def run() -> None:
        child = await ChildProcess.spawn(["false"], name="navigator")
        with pytest.raises(ChildDied, match=r"^the navigator exited with 1$"):
            await child.call("echo")

    asyncio.run(run())


def test_what_can_not_be_started_raises() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(ChildProcess.spawn(["/does/not/exist"]))


def test_a_child_whose_own_child_holds_the_pipes_is_still_seen_to_die(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        grandchild = psutil.Process(await child.call("grandchild"))
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(ChildDied):
            await child.call("echo")
        grandchild.kill()

    with_child(script, mark, work)


def test_killing_reaches_what_the_child_started(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        grandchild = psutil.Process(await child.call("grandchild"))
        child.kill()
        await child.wait()
        wait_until(lambda: not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE)

    with_child(script, mark, work)


def test_a_cancelled_call_tells_the_child(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        waiting = asyncio.Event()
        call = asyncio.create_task(child.call("wait_cancel", None, lambda *_: waiting.set()))
        await waiting.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await child.call("echo", {"n": 1}) == {"n": 1}

    with_child(script, mark, work)


def test_a_call_out_of_time_tells_the_child(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        await child.call("echo")
        with pytest.raises(RpcError, match="did not answer in") as caught:
            await child.call("wait_cancel", timeout_s=0.05)
        assert caught.value.code is ErrorCode.TIMEOUT
        assert await child.call("echo", {"n": 1}) == {"n": 1}

    with_child(script, mark, work)


def test_params_that_json_lacks_are_the_callers_error(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        with pytest.raises(ValueError, match="JSON"):
            await child.call("echo", {"x": float("nan")})
        assert await child.call("echo") == {}

    with_child(script, mark, work)


LARGE = {"text": "x" * 1_000_000}


async def fill_pipe(child: ChildProcess, calls: int) -> list[asyncio.Task[Any]]:
    """Stop the child and call it until its pipe takes no more; the calls, which wait until it goes on."""
    await child.call("echo")
    os.kill(child.pid, signal.SIGSTOP)
    await asyncio.to_thread(wait_frozen, psutil.Process(child.pid))
    asked = [asyncio.create_task(child.call("echo", LARGE)) for _ in range(calls)]
    while child._wire._room is None:
        await asyncio.sleep(0)
    return asked


def test_a_full_pipe_holds_callers_back_until_the_child_reads(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        asked = await fill_pipe(child, 8)
        assert child._wire._stdin().get_write_buffer_size() < 2 * len(LARGE["text"])
        os.kill(child.pid, signal.SIGCONT)
        assert await asyncio.gather(*asked) == [LARGE] * 8

    with_child(script, mark, work)


def test_a_call_that_is_unwanted_is_awaited_until_the_child_has_let_go(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        unwanted, waiting = asyncio.Event(), asyncio.Event()
        call = asyncio.create_task(
            child.call("wait_cancel", None, lambda *_: waiting.set(), unwanted=unwanted)
        )
        await waiting.wait()
        unwanted.set()
        with pytest.raises(RpcError) as caught:
            await call
        assert caught.value.code is ErrorCode.CANCELLED
        assert await child.call("finish", unwanted=unwanted) == "finished all the same"
        assert await child.call("echo", {"n": 1}, unwanted=asyncio.Event()) == {"n": 1}

    with_child(script, mark, work)


def test_a_call_that_is_unwanted_before_it_could_be_sent_is_told_after_it(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        asked = await fill_pipe(child, 1)
        unwanted = asyncio.Event()
        unwanted.set()
        call = asyncio.create_task(child.call("wait_cancel", unwanted=unwanted))
        for _ in range(3):
            await asyncio.sleep(0)  # both the call and whatever tells of it get their turn
        os.kill(child.pid, signal.SIGCONT)
        with pytest.raises(RpcError) as caught:
            await call
        assert caught.value.code is ErrorCode.CANCELLED
        assert await asyncio.gather(*asked) == [LARGE]

    with_child(script, mark, work)


@pytest.mark.parametrize("method", [None, "busy"])
def test_stopping_ends_a_child_in_order_even_a_busy_one(script: Path, mark: Path, method: str | None) -> None:
    async def work(child: ChildProcess) -> None:
        if method is None:
            await child.call("echo")
        else:
            started = asyncio.Event()
            call = asyncio.create_task(child.call(method, None, lambda *_: started.set()))
            await started.wait()
        assert await child.stop(grace_s=20) == 0
        assert mark.read_text() == "ended"
        if method is not None:
            with pytest.raises(ChildDied, match="exited with 0"):
                await call

    with_child(script, mark, work)


def test_stopping_ends_a_child_that_does_nothing_any_more(script: Path, mark: Path) -> None:
    async def work(child: ChildProcess) -> None:
        call = asyncio.create_task(child.call("freeze"))
        await asyncio.to_thread(wait_frozen, psutil.Process(child.pid))
        assert await child.stop(grace_s=0.05) == -signal.SIGKILL
        with pytest.raises(ChildDied, match="SIGKILL"):
            await call

    with_child(script, mark, work)


def wait_frozen(process: psutil.Process) -> None:
    wait_until(lambda: process.status() == psutil.STATUS_STOPPED, what="the child to be stopped")


PARENT = """
import asyncio, sys
from nibd.ipc.children import ChildProcess

async def main():
    child = await ChildProcess.spawn([sys.executable, sys.argv[1]])
    await child.call("echo")
    print(child.pid, flush=True)
    await child.call(sys.argv[2], None, lambda *_: print("started", flush=True))

asyncio.run(main())
"""


@pytest.mark.parametrize(("method", "no_signal"), [("wait_cancel", True), ("busy", True), ("freeze", False)])
def test_a_child_does_not_outlive_its_parent(script: Path, mark: Path, method: str, no_signal: bool) -> None:
    env = environment(mark) | ({"NO_SIGNAL": "1"} if no_signal else {})
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(script), method], env=env, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = psutil.Process(int(parent.stdout.readline()))
        assert parent.stdout.readline() == "started\n"
        if method == "freeze":
            wait_frozen(child)
        parent.kill()
        parent.wait()
        wait_until(
            lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, what="the child to end"
        )
    if no_signal:
        assert mark.read_text() == "ended"
