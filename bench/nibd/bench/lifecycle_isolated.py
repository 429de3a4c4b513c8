"""One isolated session: `python -m nibd.bench.lifecycle_isolated`, a process that loads the views and ends.

It opens what is published, with the embedding model where there is a dense view; answers what the `Request`
on its stdin asks, the texts of all hits read from Git's objects; and prints a `Told` on its stdout.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path

from nibd.bench.lifecycle_asked import HITS, Places, places
from nibd.bench.rebuild import published
from nibd.bench.retrieve_views import Opened, read
from nibd.query import search, symbols
from nibd.query.context.packet import lines_of
from nibd.query.forms import form_of
from nibd.query.hits import Hit
from nibd.query.planning import Capabilities, Plan, Wishes, planned
from nibd.query.ranking.understanding import understand
from nibd.repair.embedding import Embedder
from nibd.repair.git import open_source
from nibd.repair.text import Text, decode
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import CommitId


@dataclass(frozen=True, slots=True)
class Request:
    """`folder` and `generation` name what is published of `work_tree`; `model` embeds, if there is one."""

    work_tree: str
    folder: str
    generation: int
    commit: str
    query: str
    names: tuple[str, ...]
    model: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """`serve_s` is from the first question to the last answer; `memory_mb` the most that the process had."""

    serve_s: float
    memory_mb: float
    answers: list[Places]


def told(request: Request) -> Told:
    with ExitStack() as stack:
        folder = RepositoryFolder(Path(request.folder))
        source = stack.enter_context(closing(open_source(Path(request.work_tree))))
        snapshot = published(folder, request.generation)
        with_vectors = request.model is not None
        commit = CommitId(request.commit)
        opened = stack.enter_context(read(source, folder, snapshot, commit, with_vectors))
        embedder = None
        if request.model is not None:
            embedder = Embedder.load(request.model, threads=len(os.sched_getaffinity(0)))
        loaded = time.perf_counter()
        answers = [_found(opened, request.query, Plan.LEXICAL, None)]
        if embedder:
            answers.append(_found(opened, request.query, Plan.DENSE, embedder))
        for name in request.names:
            units = symbols.find(opened.structure, opened.listing, name)[:HITS]
            answers.append(_read(opened, [search.unit_hit(unit, 1.0) for unit in units]))
        serve_s = time.perf_counter() - loaded
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Told(serve_s, memory_mb, answers)


def _found(opened: Opened, query: str, plan: Plan, embedder: Embedder | None) -> Places:
    chosen = planned(form_of(query, understand(query)), Wishes(plan, {}), Capabilities(None))
    vector = embedder.embed_queries([query])[0] if embedder else None
    found = search.search(opened, search.Question(query, chosen, None, HITS, vector=vector))
    return _read(opened, found.hits)


def _read(opened: Opened, hits: Sequence[Hit]) -> Places:
    """With their texts, which an answer has too."""
    for hit in hits:
        data = opened.source.read(hit.blob)
        text = None if data is None else decode(data)
        if isinstance(text, Text):
            lines_of(text.content.decode(), hit.start_line, hit.end_line)
    return places(hits)


def main() -> int:
    given = json.load(sys.stdin)
    found = told(Request(**given | {"names": tuple(given["names"])}))
    json.dump(asdict(found), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
