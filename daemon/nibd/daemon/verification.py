"""The daemon's side of `verify`: one verifier a request, ended with it."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from typing import Any

from nibd.daemon.coordinator import CheckoutState, Coordinator
from nibd.daemon.indexer import VERIFY_PREFIX
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
    repositories = coordinator.paths.repositories_dir
    scratch = await asyncio.to_thread(tempfile.mkdtemp, prefix=VERIFY_PREFIX, dir=repositories)
    params: JsonObject = {
        "scratch": scratch,
        **coordinator.job_parameters(state, publication.commit),
        "generation": publication.snapshot.generation,
        "views": views,
    }
    reports: asyncio.Queue[Any] = asyncio.Queue()
    child = None
    try:
        child = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.verifier"])
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
        if child:
            child.kill()
            await child.wait()
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    return {
        "equal": all(view["equal"] for view in compared.values()),
        "commit": publication.commit,
        "tree": publication.snapshot.tree,
        "generation": publication.snapshot.generation,
        "views": compared,
    }
