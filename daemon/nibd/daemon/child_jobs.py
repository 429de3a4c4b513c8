"""How a child does the jobs that the daemon gives it: one after the other, each with an answer.

A job tells of its progress, ends at a safe point once it is cancelled, and what goes wrong in it is told in
words and codes that the daemon acts on.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, RpcError
from nibd.repair.git import GitError
from nibd.repair.progress import Interrupted, Progress, Reporter
from nibd.stores.errors import CorruptStore, StoreError

NICENESS = 10
REPORT_S = 0.1
DAMAGED: Json = {"damaged": True}
"""The data of an error that says that what is stored is not what was written."""


def serve(endpoint: ChildEndpoint, answer: Callable[[ChildRequest], Json]) -> None:
    """Do requests one after the other, until the parent goes away (which ends the process)."""
    while True:
        request = endpoint.receive()
        if isinstance(request, ChildRequest):
            do(request, answer)


def do(request: ChildRequest, answer: Callable[[ChildRequest], Json]) -> None:
    """Do one request, and say what came of it."""
    try:
        request.reply(answer(request))
    except Interrupted:
        request.fail(RpcError(ErrorCode.CANCELLED, "superseded by a newer commit"))
    except RpcError as error:
        request.fail(error)
    except GitError as error:
        request.fail(RpcError(ErrorCode.UNSUPPORTED, str(error)))
    except (StoreError, OSError) as error:
        damaged = isinstance(error, CorruptStore)
        request.fail(RpcError(ErrorCode.INTERNAL, str(error), DAMAGED if damaged else None))


def reporter(request: ChildRequest, *, stops: bool = True) -> Reporter:
    """Passes progress on now and then, and stops the job at a safe point once it is cancelled.

    Unless it `stops`: then the job goes on to its end.
    """
    last = 0.0

    def report(progress: Progress) -> None:
        nonlocal last
        if stops and request.cancelled.is_set():
            raise Interrupted
        now = time.monotonic()
        if now - last >= REPORT_S or 0 < progress.total == progress.done:
            last = now
            request.notify(
                "progress", {"stage": progress.stage, "done": progress.done, "total": progress.total}
            )

    return report
