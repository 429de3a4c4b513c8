"""Figures with their names and bars, with the machine they were taken on: as a table, as JSON, as a page."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nibd.bench.charts import Chart
from nibd.bench.page import Table, page

LIBRARIES = ("tantivy", "pygit2", "tree-sitter", "faiss-cpu", "sentence-transformers", "torch")


@dataclass(frozen=True, slots=True)
class Figure:
    """`bar` is what the figure is to reach, as people write it; `met` is `None` when there is no bar."""

    name: str
    value: str
    bar: str = ""
    met: bool | None = None


@dataclass(slots=True)
class Report:
    """`details` are the samples behind the figures; `failed` names the parts that could not be measured.

    `parts` are the tables and plots that a page has before the figures.
    """

    title: str
    figures: list[Figure] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    parts: list[Table | Chart] = field(default_factory=list)

    def add(self, name: str, value: str, bar: str = "", met: bool | None = None) -> None:
        self.figures.append(Figure(name, value, bar, met))
        print(f"  {name}: {value}{f'   (bar: {bar})' if bar else ''}", flush=True)

    def add_spread(
        self,
        name: str,
        seconds: Sequence[float],
        median_bar: float | None = None,
        p95_bar: float | None = None,
        samples: Sequence[Any] | None = None,
    ) -> None:
        """Median, p95 and maximum against what the first two may be; `samples` are kept as details."""
        self.details[name] = list(seconds if samples is None else samples)
        if not seconds:
            self.add(name, "no sample")
            return
        bars = [(statistics.median(seconds), median_bar, "median"), (p95(seconds), p95_bar, "p95")]
        stated = [(value, bar, what) for value, bar, what in bars if bar is not None]
        met = all(value <= bar for value, bar, _ in stated) if stated else None
        self.add(name, spread(seconds), ", ".join(f"{what} <= {bar:g} s" for _, bar, what in stated), met)

    def add_ratio(self, name: str, ratio: float, how: str, at_least: float | None = None) -> None:
        bar = "" if at_least is None else f">= {at_least:g} times"
        met = None if at_least is None else ratio >= at_least
        self.add(name, f"{ratio:.1f} times ({how})", bar, met)

    def add_count(self, name: str, good: int, of: int, bar: str = "every one") -> None:
        self.add(name, f"{good} of {of}", bar, good == of and of > 0)

    def add_failure(self, part: str, error: BaseException) -> None:
        self.failed.append(part)
        self.add(part, f"FAILED: {type(error).__name__}: {error}", met=False)

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """Make a failure a row, so that what comes after it goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a part may fail by anything; it is reported as failed
            traceback.print_exc()
            self.add_failure(what, error)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """As `guarded`; and say on stderr what runs, and how long it took."""
        print(f"{what} ...", file=sys.stderr, flush=True)
        started = time.monotonic()
        with self.guarded(what):
            yield
        print(f"{what}: took {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    def end(self, json_file: Path | None, page_file: Path | None = None) -> int:
        """Print all of it, and save it where that is asked for; the exit status of a bench: 1 where a part
        could not be measured."""
        print(f"\n{self.text()}", flush=True)
        if json_file:
            self.save(json_file)
        if page_file:
            self.save_page(page_file)
        return 1 if self.failed else 0

    def text(self) -> str:
        rows = [HEAD, *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(4)]
        padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
        return "\n".join([self.title, machine(), "", *("  ".join(row).rstrip() for row in padded)])

    def save(self, path: Path) -> None:
        data = {
            "title": self.title,
            "machine": machine(),
            "figures": [asdict(figure) for figure in self.figures],
            "failed": self.failed,
            "details": self.details,
        }
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    def save_page(self, path: Path) -> None:
        figures = Table("All figures", HEAD, self._rows())
        path.write_text(page(self.title, machine(), [*self.parts, figures]), encoding="utf-8")

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(f.name, f.value, f.bar, _MET[f.met]) for f in self.figures]


HEAD = ("what", "figure", "bar", "")
_MET = {True: "met", False: "NOT MET", None: ""}


def machine() -> str:
    """Processor, memory, system and libraries, on one line."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{cores} x {model}, {memory:.0f} GiB, {system}, {', '.join(_libraries())}; {now}"


def _libraries() -> list[str]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return found


def p95(values: Sequence[float]) -> float:
    """The smallest of `values` that 95% of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]


def spread(values: Sequence[float], unit: str = "s", digits: int = 3) -> str:
    return (
        f"median {statistics.median(values):.{digits}f} {unit}, p95 {p95(values):.{digits}f}, "
        f"max {max(values):.{digits}f} (n={len(values)})"
    )
