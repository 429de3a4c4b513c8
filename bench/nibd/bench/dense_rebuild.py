"""A child that makes dense views from nothing and compares them: `python -m nibd.bench.dense_rebuild`.

It holds the model, so that a rebuild's time has no loading in it. Each line of stdin is a `Request` as
JSON, answered by one line: an `Answer`. In `scratch` the tree's lexical view and units have been rebuilt
already. Steps of a full rebuild, of which embedding and publishing are timed:

1. Every text of the tree goes on the spool of an empty cache.
2. Every one is embedded, and the dense view published from that.
3. The texts and the bits of their vectors are compared with those of the published snapshot, then scores
   and order of `QUERIES` queries over both matrices, whose rows are in different orders.

With `sample`, so many texts spread over all are embedded, and only texts and these vectors compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nibd.bench.rebuild import published, side, transition
from nibd.bench.world import BenchError
from nibd.query.comparison import MAX_NAMED, Comparison, compare_dense, evenly, queries
from nibd.repair.dense import DenseSetting
from nibd.repair.embedding import Embedder
from nibd.repair.transition import repair, repair_dense
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import members, read_rows
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import TextId, View

QUERIES = 200
HITS = 20


@dataclass(frozen=True, slots=True)
class Request:
    """`folder` and `generation` name what a daemon published, `scratch` the rebuild of the same tree."""

    work_tree: str
    commit: str
    folder: str
    generation: int
    scratch: str
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`seconds` of a full rebuild; `None` of a sample."""

    texts: int
    seconds: float | None
    compared: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    count: int = 0


class DenseRebuilder:
    """The parent's side; the child ends with the block."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "nibd.bench.dense_rebuild"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> DenseRebuilder:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def compare(self, request: Request) -> Answer:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(asdict(request)) + "\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise BenchError("the dense view could not be rebuilt; see what was printed above")
        return Answer(**json.loads(line))


def answer(embedder: Embedder, request: Request) -> Answer:
    scratch = Path(request.scratch)
    snapshot = published(RepositoryFolder(Path(request.folder)), request.generation)
    store = EmbeddingStore.open(scratch.parent / f"{scratch.name}-embeddings.db")
    dense = DenseSetting(embedder.profile, store)
    with transition(Path(request.work_tree), request.commit, scratch, dense) as (step, target):
        spooled = repair(step, target)
        contents = dict(store.spool.take(embedder.profile, max(1, spooled.dense_missing)))
        old = _vectors(RepositoryFolder(Path(request.folder)), snapshot)
        if request.sample is not None:
            chosen = evenly(contents, request.sample)
            made = dict(zip(chosen, _embedded(embedder, [contents[text] for text in chosen]), strict=True))
            result, seconds = compare_vectors(old, contents.keys(), made), None
        else:
            started = time.perf_counter()
            made = dict(zip(contents, _embedded(embedder, list(contents.values())), strict=True))
            store.put_many(embedder.profile, made)
            outcome = repair_dense(step, target)
            seconds = time.perf_counter() - started
            assert outcome is not None, "nothing else publishes in this folder"
            fresh = outcome.publication.snapshot
            result = compare_vectors(old, contents.keys(), made)
            _compare_order(embedder, request, snapshot, scratch, fresh, result)
    store.close()
    return Answer(len(contents), seconds, result.compared, result.differences[:MAX_NAMED], result.count)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    return [vector.tobytes() for vector in embedder.embed(texts)]


def compare_vectors(
    old: Mapping[TextId, bytes], texts: Collection[TextId], made: Mapping[TextId, bytes]
) -> Comparison:
    """`old` are the published vectors, `texts` those of the tree, `made` vectors of all or some of them."""

    def again(wanted: Sequence[TextId]) -> list[bytes]:
        return [made[text] for text in wanted]

    result = compare_dense({text: old[text] for text in made if text in old}, set(made), again, len(made))
    result.compared["texts"] = len(texts)
    for text in sorted((old.keys() ^ set(texts)) - made.keys()):
        result.differ(f"text {text.hex()}: only in the {'published' if text in old else 'rebuilt'} view")
    return result


def _compare_order(
    embedder: Embedder,
    request: Request,
    snapshot: Snapshot,
    scratch: Path,
    fresh: Snapshot,
    result: Comparison,
) -> None:
    published_in, rebuilt_in = RepositoryFolder(Path(request.folder)), RepositoryFolder(scratch)
    with side(rebuilt_in, fresh) as tree:
        asked = queries(tree, QUERIES)
    for query, vector in zip(asked, embedder.embed_queries(asked) if asked else (), strict=True):
        result.saw("queries")
        if _ranked(published_in, snapshot, vector) != _ranked(rebuilt_in, fresh, vector):
            result.differ(f"query {query!r}: other texts, scores or order")


def _ranked(folder: RepositoryFolder, snapshot: Snapshot, query: Any) -> list[tuple[float, TextId]]:
    """Scores and texts, best first, with all that tie with the last."""
    store, rows = _open(folder, snapshot)
    try:
        found, scores = store.search(rows, query, min(HITS, len(rows)))
        named = store.texts(found.tolist())
    finally:
        store.close()
    pairs = [(float(score), named[row]) for row, score in zip(found.tolist(), scores.tolist(), strict=True)]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))


def _vectors(folder: RepositoryFolder, snapshot: Snapshot) -> dict[TextId, bytes]:
    store, row_list = _open(folder, snapshot)
    try:
        rows = members(row_list).tolist()
        named = store.texts(rows)
        return {named[row]: vector.tobytes() for row, vector in zip(rows, store.vectors(rows), strict=True)}
    finally:
        store.close()


def _open(folder: RepositoryFolder, snapshot: Snapshot) -> tuple[DenseStore, Any]:
    artifact = snapshot.views[View.DENSE].artifact
    assert artifact is not None, "only finished dense views are compared"
    path = folder.root / artifact.location
    return DenseStore.open_reader(path.parent), read_rows(path)


def main() -> int:
    embedder = Embedder.load(threads=len(os.sched_getaffinity(0)))
    for line in sys.stdin:
        found = answer(embedder, Request(**json.loads(line)))
        print(json.dumps(asdict(found)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
