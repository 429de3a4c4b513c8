"""A progress bar for requests that take long, on stderr.

Where that is no terminal: a line a stage, and then one each 5 s while something moves.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from nibd.daemon.commands._output import visible_line
from nibd.ipc.messages import Json

METHOD = "progress"
LINE_EACH_S = 5.0


class ProgressBar:
    """Takes the notifications of one request: pass `notified` to `Client.call`. A context manager."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_line_at = 0.0
        self._last_lines: dict[str, str] = {}
        self._console = Console(file=sys.stderr)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._stages: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def notified(self, method: str, value: Json) -> None:
        if method != METHOD or not isinstance(value, dict):
            return
        stage, done, total = visible_line(str(value["stage"])), value["done"], value.get("total")
        if stage not in self._stages:
            self._stages[stage] = self._bars.add_task(stage, total=total)
            self._print(stage, done, total)
        elif self._clock() - self._last_line_at >= LINE_EACH_S:
            self._print(stage, done, total)
        self._bars.update(self._stages[stage], completed=done, total=total)

    def _print(self, stage: str, done: int, total: int | None) -> None:
        counted = f": {done}{f' of {total}' if total else ''}" if total or done else ""
        line = f"{stage}{counted}"
        if not self._console.is_terminal and line != self._last_lines.get(stage):
            print(line, file=sys.stderr, flush=True)
            self._last_lines[stage], self._last_line_at = line, self._clock()
