"""Parts `empty` and `idle`: memory of a daemon, and the processor time it takes while nothing happens.

Processor time is that of the daemon and its children, in the kernel's ticks of usually 10 ms. No more
than `BAR_SHARE` of one processor counts as not measurable.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from nibd.bench.report import Report
from nibd.bench.session import Session
from nibd.bench.world import World, world

MEMORY_BAR_MB = 90.0
BAR_SHARE = 0.001
SETTLE_S = 2.0


def measure_empty(seconds: float, report: Report) -> None:
    """A daemon that has no repository; the dense view is not switched off."""
    with world() as where, where.daemon():
        time.sleep(SETTLE_S)
        used = memory(where)["daemon"]
        report.add(
            "daemon after start, no repository: memory",
            f"{used:.0f} MB",
            f"<= {MEMORY_BAR_MB:g} MB",
            used <= MEMORY_BAR_MB,
        )
        _report_idle("daemon after start, no repository", where, seconds, report)


def measure_open(session: Session, seconds: float, report: Report) -> None:
    """A daemon with a repository open, after all the parts before this one."""
    session.settle()
    _report_idle(f"daemon with {session.name} open", session.world, seconds, report)
    used = memory(session.world)
    shown = ", ".join(f"{process} {megabytes:.0f} MB" for process, megabytes in used.items())
    report.add(f"daemon with {session.name} open: memory", shown)


def _report_idle(name: str, where: World, seconds: float, report: Report) -> None:
    pids = {process: found["pid"] for process, found in processes(where).items() if found["pid"]}
    time.sleep(SETTLE_S)
    before = {process: cpu_seconds(pid) for process, pid in pids.items()}
    time.sleep(seconds)
    took = {process: cpu_seconds(pid) - before[process] for process, pid in pids.items()}
    shown = ", ".join(f"{process} {spent:.2f}" for process, spent in took.items())
    most = max(BAR_SHARE * seconds, 1 / os.sysconf("SC_CLK_TCK"))
    report.add(
        f"{name}: idle",
        f"{sum(took.values()):.2f} s of processor time in {seconds:.0f} s ({shown})",
        f"<= {most:.2f} s",
        sum(took.values()) <= most + 1e-9,
    )


def memory(where: World) -> dict[str, float]:
    """In megabytes, of each process that runs."""
    running = {name: process for name, process in processes(where).items() if process["pid"]}
    return {name: process["memory_bytes"] / 1e6 for name, process in running.items()}


def processes(where: World) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = where.call("doctor")["processes"]
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
