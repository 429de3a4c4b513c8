"""The method `grep`: a pattern looked for in the files of one pinned snapshot.

Trigrams say in which files a pattern may match (`nibd.stores.trigram_store`), filters narrow these, and their
texts are read from Git's objects and searched in the order of paths. Blocking, in threads of its own, so that
no search waits behind it; it ends when the page is full, when time is up, or when nobody waits any more.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from nibd.daemon.answers import Blobs
from nibd.daemon.filtering import AskedFilters, Changes
from nibd.daemon.parameters import Parameters
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.daemon.wire import path_fields
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.filters import Filters
from nibd.query.grep import Asked, Found, Mode, OutOfTimeError, Page, Ranges, Text, joined, search
from nibd.query.matching import Shown, normalized
from nibd.query.pattern import PatternError, compile_pattern
from nibd.repair.languages import language_of
from nibd.repair.text import decode
from nibd.stores.bitmap import Bitmap
from nibd.stores.trigram_store import Candidates
from nibd.stores.trigrams import has_text
from nibd.stores.types import FileVersion, RepoPath, Skip

MAX_HITS = 10_000
MAX_CONTEXT = 20
MAX_OFFSET = 10_000_000
TIME_S = 3.0
MAX_TIME_S = 25.0
"""Less than the socket's own limit for a request, after which there would be no answer at all."""
GIVES_WAY_S = 0.05
SORTED_ROWS = 1_000
"""Of more candidates only as many are read as are searched."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked for. `start` is the path from which on files are searched."""

    asked: Asked
    filters: AskedFilters
    start: RepoPath
    time_s: float

    @staticmethod
    def take(given: Parameters) -> Request:
        """Raises `RpcError`; for a pattern that can't be used, its data has the `position`."""
        text = given.pattern("pattern")
        ignore_case, word = given.flag("ignore_case", False), given.flag("word", False)
        literal = given.flag("literal", False)
        mode = Mode(given.choice("mode", [mode.value for mode in Mode], None) or Mode.LINES)
        k = given.integer("k", 100, 1, MAX_HITS)
        offset = given.integer("offset", 0, 0, MAX_OFFSET)
        context = given.integer("context", 0, 0, MAX_CONTEXT)
        try:
            pattern = compile_pattern(text, ignore_case=ignore_case, word=word, literal=literal)
        except PatternError as error:
            data: Json = {"position": error.position}
            raise RpcError(ErrorCode.INVALID_PARAMS, f"pattern: {error}", data) from error
        filters = AskedFilters.take(given)
        start = given.repository_path("from")
        time_s = given.number("time_s", TIME_S, MAX_TIME_S)
        return Request(Asked(pattern, mode, k, offset, context), filters, start, time_s)


class Precedence:
    """Lets other questions go first: beside a long search each of their steps waits for the interpreter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._quiet = threading.Event()
        self._quiet.set()

    @contextmanager
    def going_first(self) -> Iterator[None]:
        """While another question is answered."""
        with self._lock:
            self._asked += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._lock:
                self._asked -= 1
                if self._asked == 0:
                    self._quiet.set()

    def give_way(self) -> None:
        """Wait while others are answered, but not for long: they may never end."""
        self._quiet.wait(GIVES_WAY_S)


@dataclass(frozen=True, slots=True)
class Grep:
    """One request at work. `cancelled` is set when nobody waits for the answer any more."""

    request: Request
    checkout: Checkout
    blobs: Blobs
    changes: Changes
    cancelled: threading.Event
    damaged: Callable[[Candidates], None]
    """Told of candidates some of which are there since trigrams are damaged or lacking."""
    precedence: Precedence = field(default_factory=Precedence)

    def answer(self, reading: Reading) -> JsonObject:
        """The fields of the answer that are grep's own."""
        started = time.monotonic()
        ends = started + self.request.time_s

        def pause() -> None:
            self.precedence.give_way()
            if time.monotonic() > ends or self.cancelled.is_set():
                raise OutOfTimeError

        candidates = reading.candidates(self.request.asked.pattern.need)
        if candidates.damage or candidates.uncovered:
            self.damaged(candidates)
        files = self._files(reading, candidates.rows)
        filters = self.request.filters.at(reading, self.checkout, self.changes)
        accept, lines = partial(self._passes, filters), partial(_lines, reading, filters.kinds)
        asked, of_kinds = self.request.asked, lines if filters.kinds else None
        page = search(asked, files, accept, self._text, pause, of_kinds)
        edited = _Edited(self.blobs, self.checkout)
        return {
            "hits": [_hit(found, edited) for found in page.found],
            "next_offset": page.next_offset,
            "partial": _partial(page),
            "searched": page.searched,
            "candidates": len(candidates.rows),
            "unfiltered": candidates.uncovered,
            "not_searched": _not_searched(reading, page),
            "milliseconds": round((time.monotonic() - started) * 1000, 1),
        }

    def _files(self, reading: Reading, rows: Bitmap) -> Iterable[FileVersion]:
        """The candidates in the order of paths."""
        start = self.request.start
        if len(rows) > SORTED_ROWS:
            return (file for _, file in reading.structure.in_path_order(rows, start))
        found = [file for _, file in reading.structure.files(rows) if file.path >= start]
        return sorted(found, key=lambda file: file.path)

    def _passes(self, filters: Filters, file: FileVersion) -> bool:
        if not has_text(file.skip):
            return False
        matters = filters.language is not None or filters.tests is not None
        return filters.accept(file.path, self._language(file) if matters else file.language)

    def _language(self, file: FileVersion) -> str:
        """A file without units is searched all the same, and its row names no language."""
        return file.language or language_of(file.path, self.blobs.read(self.checkout, file.blob) or b"")

    def _text(self, file: FileVersion) -> Text:
        data = self.blobs.read(self.checkout, file.blob)
        if data is None:
            return Skip.MISSING_OBJECT.value
        text = decode(data)
        return text.value if isinstance(text, Skip) else normalized(text.content)


def _lines(reading: Reading, kinds: frozenset[str], file: FileVersion) -> Ranges:
    """The lines of a file's units of these kinds; a file that has no units has none."""
    units = reading.facts.recent_units(file.blob, file.language) if file.skip is None else ()
    return joined((unit.start_line, unit.end_line) for unit in units if unit.kind in kinds)


class _Edited:
    """Whether the work tree has something else than was searched, looked at once a file."""

    def __init__(self, blobs: Blobs, checkout: Checkout) -> None:
        self._blobs = blobs
        self._checkout = checkout
        self._known: dict[RepoPath, bool | None] = {}

    def __call__(self, file: FileVersion) -> bool | None:
        if file.path not in self._known:
            self._known[file.path] = self._blobs.is_edited(self._checkout, file.path, file.blob)
        return self._known[file.path]


def _hit(found: Found, edited: _Edited) -> JsonObject:
    file = found.file
    hit = path_fields(file.path) | {
        "blob": file.blob,
        "language": file.language,
        "edited": edited(file),
    }
    if found.count is not None:
        hit["count"] = found.count
    if found.shown is not None:
        hit |= {
            "line": found.line,
            "column": found.column,
            "end_column": found.end_column,
            "text": found.shown.text,
            "cut": found.shown.is_cut,
            "before": _texts(found.before),
            "after": _texts(found.after),
        }
    return hit


def _texts(lines: tuple[Shown, ...]) -> list[Json]:
    return [line.text for line in lines]


def _partial(page: Page) -> Json:
    """`None` when all was searched, or the page is full."""
    if page.stopped_at is None:
        return None
    return path_fields(page.stopped_at) | {"reason": "out_of_time", "from": os.fsdecode(page.stopped_at)}


def _not_searched(reading: Reading, page: Page) -> JsonObject:
    """Files by reason: those of the whole tree without a text to be searched, and what could not be read."""
    skipped = reading.snapshot.skipped.items()
    counts = {reason: count for reason, count in skipped if not has_text(Skip(reason))}
    for reason, count in page.unread.items():
        counts[reason] = counts.get(reason, 0) + count
    return dict(sorted(counts.items()))
