"""Part `grep`: how long a pattern takes over the socket, and what it costs, on a warm daemon.

Selective patterns are `\\bNAME\\b` for names of units, spread over the tree's files, the same for the same
tree. They are asked twice: texts are read from Git's objects the first time, and held from then on.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from nibd.bench.idle import memory
from nibd.bench.rebuild import side
from nibd.bench.report import Report, spread
from nibd.bench.session import Session
from nibd.bench.world import CALL_S
from nibd.ipc.client import Client
from nibd.stores.types import Level

SELECTIVE = 20
LEAST_LETTERS = 8
SELECTIVE_BAR_MS = 50.0
UNSELECTIVE = {"lines": ".*", "count": "(a+)+$", "files": "e"}


def measure(session: Session, report: Report) -> None:
    before = memory(session.world)["daemon"]
    patterns = _selective(session)
    if not patterns:
        return
    with Client(session.world.socket, CALL_S) as client:
        _ask(session, client, "warm_up_nothing", "lines")
        for when in ("at first", "again"):
            took = [_ask(session, client, pattern, "lines")[0] for pattern in patterns]
            name = f"{session.name}: grep over the socket, {len(took)} selective patterns, {when}"
            report.details[name] = took
            p50 = statistics.median(took)
            met = p50 <= SELECTIVE_BAR_MS
            report.add(name, spread(took, "ms", 1), f"p50 <= {SELECTIVE_BAR_MS:g} ms", met)
        for mode, pattern in UNSELECTIVE.items():
            milliseconds, answer = _ask(session, client, pattern, mode)
            searched = f"{answer['searched']} files searched, {len(answer['hits'])} hits"
            ended = "time was up" if answer["partial"] else "a page" if answer["next_offset"] else "all"
            value = f"{milliseconds:.0f} ms: {searched}, {ended}"
            report.add(f"{session.name}: grep over the socket, `{pattern}`, {mode}", value)
    after = memory(session.world)["daemon"]
    value = f"{before:.0f}, {after:.0f} MB"
    report.add(f"{session.name}: memory of the daemon before and after greps", value)


def _selective(session: Session) -> list[str]:
    with side(session.folder, session.current().snapshot) as tree:
        rows = list(tree.listing)
        spread_rows = rows[:: max(1, len(rows) // (4 * SELECTIVE))]
        files = tree.structure.files(spread_rows)
        units = (unit for row, file in files for unit in _last(tree.structure.units(file, row)))
        names = dict.fromkeys(unit.name for unit in units)
    return [rf"\b{re.escape(name)}\b" for name in islice(names, SELECTIVE)]


def _last(units: Sequence[Any]) -> list[Any]:
    """One callable of a file, with a name that tells."""
    return [u for u in units if u.level is Level.CALLABLE and len(u.name) >= LEAST_LETTERS][-1:]


def _ask(session: Session, client: Client, pattern: str, mode: str) -> tuple[float, Any]:
    params: dict[str, Any] = {"path": str(session.work_tree), "pattern": pattern, "mode": mode, "k": 1000}
    started = time.perf_counter()
    answer = client.call("grep", params)
    return (time.perf_counter() - started) * 1000, answer
