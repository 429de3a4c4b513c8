"""Deriving facts: read a blob, find its language, and extract what its bytes say, once for ever.

The entries of one blob are one piece of work, so that it is read and parsed once under all its paths.
A few files are done in this process; many go to worker processes that read Git's objects
themselves, so that a first build uses every core. Both run `examine`, so the facts are the same.

A batch ends after `BATCH_BLOBS` or `BATCH_SECONDS`, whichever comes first. Its facts are stored, and then
the caller is told and may stop the work: an interrupted build goes on where it stopped.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from nibd.repair.extract import extract
from nibd.repair.git import GitSource, TreeEntry, open_source
from nibd.repair.languages import language_of
from nibd.repair.progress import Progress, Reporter
from nibd.repair.trigrams import packed_trigrams
from nibd.stores.errors import CorruptFacts
from nibd.stores.facts import EncodedFact, FactKey, FactStore, encode
from nibd.stores.trigram_store import TrigramStore
from nibd.stores.types import BlobId, FileVersion, RepoPath, Skip

BATCH_BLOBS = 64
BATCH_SECONDS = 0.5
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
    """What the entries of one blob turned out to be; `facts` and `trigrams` have to be stored."""

    files: tuple[FileVersion, ...]
    facts: tuple[EncodedFact, ...] = ()
    read: bool = True
    trigrams: bytes | None = None


Entries = tuple[TreeEntry, ...]
"""All those of one blob."""
Store = Callable[[Sequence[Examined]], None]


def derive(
    source: GitSource,
    facts: FactStore,
    trigrams: TrigramStore,
    entries: Sequence[TreeEntry],
    report: Reporter,
    workers: int,
) -> tuple[list[FileVersion], Derivation]:
    """Give the file version of every entry, in order; facts of those without a skip are stored, and the
    trigrams of all that are text.

    Raises what `report` raises, between batches; what was derived until then is kept.
    """
    files: dict[RepoPath, FileVersion] = {}
    read = 0
    languages: Counter[str] = Counter()

    def store(batch: Sequence[Examined]) -> None:
        facts.put_encoded(fact for examined in batch for fact in examined.facts)
        texts = ((examined.files[0].blob, examined.trigrams) for examined in batch)
        trigrams.put((blob, packed) for blob, packed in texts if packed is not None)

    by_blob: dict[BlobId, list[TreeEntry]] = {}
    for entry in entries:
        by_blob.setdefault(entry.blob, []).append(entry)
    pieces = [tuple(group) for group in by_blob.values()]
    with closing(_examined(source, facts, pieces, store, workers)) as batches:
        for batch in batches:
            for examined in batch:
                read += examined.read
                files |= {file.path: file for file in examined.files}
                languages.update(fact.language for fact in examined.facts)
            report(Progress("facts", len(files), len(entries)))
    return [files[entry.path] for entry in entries], Derivation(read, languages.total(), languages)


def examine(source: GitSource, facts: FactStore, entries: Entries) -> Examined:
    """Find out what one blob is under each of its paths; parse it once for each language that it is in,
    unless its facts, or its skip, are known.
    """
    blob = entries[0].blob
    data = source.read(blob)
    if data is None:
        return Examined(tuple(_version(entry, "", Skip.MISSING_OBJECT) for entry in entries), read=False)
    in_language = {entry.path: language_of(entry.path, data) for entry in entries}
    skips: dict[str, Skip | None] = {}
    made: list[EncodedFact] = []
    for language in dict.fromkeys(in_language.values()):
        try:
            if not facts.missing([(blob, language)]):
                skips[language] = facts.skip(blob, language)
                continue
        except CorruptFacts:
            pass  # made again below, and put over the damaged row
        found = extract(data, language)
        skips[language] = found if isinstance(found, Skip) else None
        if found != Skip.PARSE_TIMEOUT:  # the machine's verdict is no fact: it is tried again
            made.append(encode(blob, language, found))
    files = (_version(entry, in_language[entry.path], skips[in_language[entry.path]]) for entry in entries)
    return Examined(tuple(files), tuple(made), trigrams=packed_trigrams(data))


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
    source: GitSource, facts: FactStore, pieces: Sequence[Entries], store: Store, workers: int
) -> Generator[list[Examined], None, None]:
    """Batches that are stored."""
    if workers < 2 or sum(map(len, pieces)) < PARALLEL_FILES:
        rest = pieces
        while rest:
            batch = _examine_batch(source, facts, rest[:BATCH_BLOBS], BATCH_SECONDS)
            rest = rest[len(batch) :]
            store(batch)
            yield batch
        return
    # Spawned, not forked: the parent has threads, and open SQLite and Git handles must not be shared.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_open_worker,
        initargs=(source.work_tree, facts.path, facts.profile),
    )
    yield from _in_parallel(pool, pieces, store, ahead=workers * 3)


def _in_parallel(
    pool: ProcessPoolExecutor, pieces: Sequence[Entries], store: Store, ahead: int
) -> Generator[list[Examined], None, None]:
    """Batches as they are done, never more than `ahead` of them in memory."""
    batches = deque(pieces[at : at + BATCH_BLOBS] for at in range(0, len(pieces), BATCH_BLOBS))
    running: dict[Future[list[Examined]], Sequence[Entries]] = {}
    try:
        while batches or running:
            while batches and len(running) < ahead:
                batch = batches.popleft()
                running[pool.submit(_examine_in_worker, batch, BATCH_SECONDS)] = batch
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                examined = future.result()
                rest = running.pop(future)[len(examined) :]
                if rest:
                    batches.appendleft(rest)
                store(examined)
                yield examined
    finally:
        # Also when the caller wants no more: what the workers are at is done within the second, and kept.
        pool.shutdown(wait=True, cancel_futures=True)
        for future in running:
            if not future.cancelled() and future.exception() is None:
                store(future.result())


def _examine_batch(
    source: GitSource, facts: FactStore, pieces: Sequence[Entries], seconds: float
) -> list[Examined]:
    """Examine one piece, and as many more as there is time for."""
    ends = time.monotonic() + seconds
    examined: list[Examined] = []
    for piece in pieces:
        examined.append(examine(source, facts, piece))
        if time.monotonic() > ends:
            break
    return examined


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


def _examine_in_worker(pieces: Sequence[Entries], seconds: float) -> list[Examined]:
    return _examine_batch(_Worker.source, _Worker.facts, pieces, seconds)
