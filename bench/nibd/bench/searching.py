"""Part `search`: how long a question takes, from the shell and over the socket, on a warm daemon.

Queries are one to five terms of the tree's own files, the same for the same tree.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterable
from typing import Any

from nibd.bench.rebuild import side
from nibd.bench.report import Report, spread
from nibd.bench.session import Session
from nibd.bench.world import CALL_S
from nibd.ipc.client import Client
from nibd.query.comparison import queries

SHELL_RUNS = 20
LEXICAL_QUERIES = 200
DENSE_QUERIES = 100
SHELL_BAR_S = 0.15
LEXICAL_BAR_MS = 5.0
DENSE_BAR_MS = 30.0


def measure(session: Session, dense: bool, report: Report) -> None:
    with side(session.folder, session.current().snapshot) as tree:
        # Some files have no terms and give no query.
        asked = queries(tree, 2 * LEXICAL_QUERIES)[:LEXICAL_QUERIES]
    seconds = [_shell(session, query) for query in asked[: SHELL_RUNS + 1]][1:]
    report.add_spread(f"{session.name}: nibd search from the shell, lexical", seconds, median_bar=SHELL_BAR_S)
    _over_socket(session, "lexical", asked, LEXICAL_BAR_MS, report)
    if dense:
        _over_socket(session, "dense", asked[:DENSE_QUERIES], DENSE_BAR_MS, report)


def _shell(session: Session, query: str) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        ["nibd", "search", "--json", "--", query],
        cwd=session.work_tree,
        env=session.world.environment,
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1):  # 1: nothing found
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return seconds


def _over_socket(session: Session, plan: str, asked: Iterable[str], bar: float, report: Report) -> None:
    path = str(session.work_tree)
    took = []
    with Client(session.world.socket, CALL_S) as client:
        client.call("search", {"path": path, "query": "warm up", "plan": plan})
        for query in asked:
            params: dict[str, Any] = {"path": path, "query": query, "plan": plan}
            started = time.perf_counter()
            client.call("search", params)
            took.append((time.perf_counter() - started) * 1000)
    name = f"{session.name}: search over the socket, {plan}"
    report.details[name] = took
    p50 = statistics.median(took)
    report.add(name, spread(took, "ms", 2), f"p50 <= {bar:g} ms", p50 <= bar)
