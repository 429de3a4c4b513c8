"""Deriving facts: read a blob, find its language, and extract what its bytes say, once for ever.

A few files are done in this process; many go to worker processes that read Git's objects
themselves, so that a first build uses every core. Both run `examine`, so the facts are the same.
Each batch is stored before the next is begun: an interrupted build goes on where it stopped.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path

from nibd.repair.extract import extract
from nibd.repair.git import GitSource, TreeEntry, open_source
from nibd.repair.languages import language_of
from nibd.repair.progress import Progress, Reporter
from nibd.stores.errors import CorruptFacts
from nibd.stores.facts import EncodedFact, FactKey, FactStore, encode
from nibd.stores.types import FileVersion, Skip

BATCH_FILES = 64
PARALLEL_FILES = 640
"""From how many files on worker processes pay: two take a second or more to start, in which one process
parses some 400 files."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The work done: blobs `read`, and `parsed` because no facts were kept, by language."""

    read: int = 0
    parsed: int = 0
    by_language: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Examined:
    """What one entry turned out to be; `fact` is set when it has to be stored."""

    file: FileVersion
    fact: EncodedFact | None = None
    read: bool = True


def derive(
    source: GitSource, facts: FactStore, entries: Sequence[TreeEntry], report: Reporter, workers: int
) -> tuple[list[FileVersion], Derivation]:
    """Give the file version of every entry, in order; facts of those without a skip are stored.

    Raises what `report` raises, between batches; what was derived until then is kept.
    """
    files: list[FileVersion] = []
    read = parsed = 0
    languages: Counter[str] = Counter()
    for batch in _examined(source, facts, entries, workers):
        new = [examined.fact for examined in batch if examined.fact]
        if new:
            facts.put_encoded(new)
        for examined in batch:
            read += examined.read
            files.append(examined.file)
            if examined.fact:
                parsed += 1
                languages[examined.file.language] += 1
        report(Progress("facts", len(files), len(entries)))
    return files, Derivation(read, parsed, languages)


def examine(source: GitSource, facts: FactStore, entry: TreeEntry) -> Examined:
    """Find out what one entry is; parse it unless its facts, or its skip, are known."""
    data = source.read(entry.blob)
    if data is None:
        return Examined(_version(entry, "", Skip.MISSING_OBJECT), read=False)
    language = language_of(entry.path, data)
    try:
        if not facts.missing([(entry.blob, language)]):
            return Examined(_version(entry, language, facts.skip(entry.blob, language)))
    except CorruptFacts:
        pass  # made again below, and put over the damaged row
    found = extract(data, language)
    skip = found if isinstance(found, Skip) else None
    if skip is Skip.PARSE_TIMEOUT:
        return Examined(_version(entry, language, skip))  # the machine's verdict, no fact: tried again
    return Examined(_version(entry, language, skip), encode(entry.blob, language, found))


def rederive(source: GitSource, facts: FactStore, keys: Iterable[FactKey]) -> None:
    """Make the facts of blobs again, over damaged rows or where rows are missing.

    Raises `CorruptFacts` when a blob itself cannot be had any more, or this machine is too slow for it.
    """
    for blob, language in keys:
        data = source.read(blob)
        if data is None:
            raise CorruptFacts(facts.path, blob, language)
        found = extract(data, language)
        if found == Skip.PARSE_TIMEOUT:
            raise CorruptFacts(facts.path, blob, language)
        facts.put_many([(blob, language, found)])


def _version(entry: TreeEntry, language: str, skip: Skip | None) -> FileVersion:
    return FileVersion(entry.path, entry.blob, entry.mode, "" if skip else language, skip)


def _examined(
    source: GitSource, facts: FactStore, entries: Sequence[TreeEntry], workers: int
) -> Iterator[list[Examined]]:
    batches = _batches(entries, BATCH_FILES)
    if workers < 2 or len(entries) < PARALLEL_FILES:
        for batch in batches:
            yield [examine(source, facts, entry) for entry in batch]
        return
    # Spawned, not forked: the parent has threads, and open SQLite and Git handles must not be shared.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_open_worker,
        initargs=(source.work_tree, facts.path, facts.profile),
    )
    with pool:
        try:
            yield from _in_order(pool, batches, ahead=workers * 3)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _in_order(
    pool: ProcessPoolExecutor, batches: Iterator[list[TreeEntry]], ahead: int
) -> Iterator[list[Examined]]:
    """Results in the order of the batches, never more than `ahead` of them in memory."""
    waiting: list[Future[list[Examined]]] = [
        pool.submit(_examine_batch, batch) for batch in islice(batches, ahead)
    ]
    while waiting:
        yield waiting.pop(0).result()
        waiting += [pool.submit(_examine_batch, batch) for batch in islice(batches, 1)]


class _Worker:
    source: GitSource
    facts: FactStore


def _open_worker(work_tree: Path, facts: Path, profile: str) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    # Workers hold both ends of their queue: without this they would outlive a killed parent.
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _Worker.source = open_source(work_tree)
    _Worker.facts = FactStore.open_reader(facts, profile)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _examine_batch(entries: list[TreeEntry]) -> list[Examined]:
    return [examine(_Worker.source, _Worker.facts, entry) for entry in entries]


def _batches(entries: Iterable[TreeEntry], size: int) -> Iterator[list[TreeEntry]]:
    iterator = iter(entries)
    while batch := list(islice(iterator, size)):
        yield batch
