"""The daemon's side of `verify`: one verifier a request, ended with it."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from nibd.daemon.coordinator import CheckoutState, Coordinator
from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.handlers import RequestContext
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.stores.snapshot import Publication


async def verify(
    coordinator: Coordinator,
    state: CheckoutState,
    publication: Publication,
    views: list[str],
    context: RequestContext,
) -> dict[str, Any]:
    """Compare a pinned publication with a rebuild of its tree; raises `RpcError` when there is no verdict."""
    params: JsonObject = {
        **coordinator.job_parameters(state, publication.commit),
        "generation": publication.snapshot.generation,
        "views": views,
    }
    reports: asyncio.Queue[Any] = asyncio.Queue()
    child = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.verifier"])
    try:
        answer = asyncio.ensure_future(
            child.call("verify", params, lambda _, value: reports.put_nowait(value))
        )
        answer.add_done_callback(lambda _: reports.put_nowait(None))
        while (report := await reports.get()) is not None:
            await context.notify("progress", report)
        compared = await answer
    except ChildDied as died:
        words = died.stderr_tail.splitlines()[-1:] or [str(died)]
        raise RpcError(ErrorCode.INTERNAL, f"the verification ended early: {words[0]}") from died
    finally:
        child.kill()
        await child.wait()
    return {
        "equal": all(view["equal"] for view in compared.values()),
        "commit": publication.commit,
        "tree": publication.snapshot.tree,
        "generation": publication.snapshot.generation,
        "views": compared,
    }
