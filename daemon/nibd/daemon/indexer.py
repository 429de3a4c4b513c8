"""The indexer: `python -m nibd.daemon.indexer`, the child that reads Git, repairs views and publishes.

It does one job at a time, at low priority, and may be killed at any instant: what it published stays,
what it derived is found by the next one, and what it had begun is swept away. Jobs are cancelled at
safe points. Its methods with the `Job` parameters below:

- `repair`   publish the commit's tree for the checkout
- `relations` publish the records that the navigator made for the tree that the checkout shows
- `dense`    publish what can be had by now of the dense view of the tree that the checkout shows
- `fold`     build that tree's lexical generation anew, without the dead documents of its history

And two for a collection, between which the daemon sees to it that nobody reads what is to go:

- `removable` the snapshots that nothing needs or that are damaged
- `collect`   drop those that are given, and what only they used

It loads no model and no language server.
"""

from __future__ import annotations

import os
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nibd.daemon.child_jobs import NICENESS, reporter, serve
from nibd.daemon.process_arguments import take_none
from nibd.daemon.repository_settings import (
    REPOSITORY_FILE,
    RepositorySettings,
    effective,
    parse_repository,
    refused,
    unusable,
)
from nibd.daemon.settings import MAX_FILE_BYTES, DenseSettings, IndexSettings, Settings
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, RpcError
from nibd.repair.dense import DenseSetting
from nibd.repair.git import GitSource, open_source
from nibd.repair.git.types import EXECUTABLE, REGULAR
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.progress import Reporter
from nibd.repair.transition import (
    Outcome,
    RulesCache,
    Target,
    Transition,
    fold,
    publish_relations,
    repair,
    repair_dense,
)
from nibd.stores.collection import collect, removable
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.errors import CorruptStore
from nibd.stores.repository import RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Generation, decode_view
from nibd.stores.types import CheckoutId, CommitId, ProfileId, RepoPath, TreeId, View

OPEN_REPOSITORIES = 4
MAX_EMBEDDINGS_BYTES = 2 << 30
"""About 1,300,000 vectors; those used longest ago go first, and are made again when wanted."""
VERIFY_PREFIX = "nibd-verify-"
"""Of the scratch folders beside the repositories' own, in which a verification rebuilds."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the daemon sends. `dense_absent` says why there is no dense view, if there is none."""

    folder: str
    work_tree: str
    checkout: str
    commit: str
    index: dict[str, Any]
    dense: dict[str, Any]
    embeddings: str
    dense_profile: str
    dense_absent: str | None
    discard: list[str]
    relations: dict[str, Any] = field(default_factory=dict)
    """By family, encoded records (`relations` alone)."""
    relations_absent: str | None = None

    def as_params(self) -> dict[str, Any]:
        return asdict(self)


class Indexer:
    """Does the jobs. Keeps the stores of the repositories served last open, since opening takes longer
    than a small repair; they are opened again when their files were deleted or replaced."""

    def __init__(self) -> None:
        self._rules: dict[str, RulesCache] = {}
        self._stores: OrderedDict[str, RepositoryStores] = OrderedDict()

    def answer(self, request: ChildRequest) -> Json:
        match request.method:
            case "repair" | "relations" | "dense" | "fold":
                return self.repair(Job(**request.params), request)
            case "removable":
                return self._removable(request.params)
            case "collect":
                return self._collect(request.params)
            case method:
                raise RpcError(ErrorCode.METHOD_NOT_FOUND, f"the indexer has no method {method}")

    def repair(self, job: Job, request: ChildRequest) -> Json:
        """Do `request.method` (a verification repairs) and report to the request.

        A store that turns out damaged is a cache that is lost: all is built from nothing. So it is
        when a reader found the structural view damaged, on whose listings every other view stands.
        """
        if View.STRUCTURAL in job.discard:
            self._clear(job.folder)
        try:
            return self._repair(job, request)
        except CorruptStore:
            self._clear(job.folder)
            return self._repair(replace(job, discard=[]), request)

    def _repair(self, job: Job, request: ChildRequest) -> Json:
        started = time.monotonic()
        with _opened(Path(job.work_tree)) as source, _embeddings(job) as embeddings:
            commit = CommitId(job.commit)
            target = Target(CheckoutId(job.checkout), commit, source.tree_of(commit))
            report, stores = reporter(request), self._open(job.folder)
            transition = self._transition(job, source, stores, embeddings, target.tree, report)
            outcome = _run(request.method, transition, target, job)
        return _result(outcome, time.monotonic() - started)

    def _clear(self, folder: str) -> None:
        stores = self._stores.pop(folder, None)
        if stores:
            stores.close()
        RepositoryFolder(Path(folder)).clear()

    def _open(self, folder: str) -> RepositoryStores:
        stores = self._stores.pop(folder, None)
        if stores and not stores.is_in_place():
            stores.close()
            stores = None
        if stores is None:
            stores = RepositoryStores.open(RepositoryFolder(Path(folder)), EXTRACTOR)
        self._stores[folder] = stores
        while len(self._stores) > OPEN_REPOSITORIES:
            self._stores.popitem(last=False)[1].close()
        return stores

    def _removable(self, params: dict[str, Any]) -> Json:
        """After forgetting all checkouts but `checkouts`. `damaged` gives generations, and what is wrong."""
        if not RepositoryFolder(Path(params["folder"])).catalog.exists():
            return {"unneeded": [], "damaged": []}
        stores = self._open(params["folder"])
        for checkout in stores.catalog.checkouts() - set(params["checkouts"]):
            stores.catalog.forget(checkout)
        found = removable(stores, params["keep"])
        return {"unneeded": [*found.unneeded], "damaged": [list(each) for each in found.damaged.items()]}

    def _collect(self, params: dict[str, Any]) -> Json:
        if not RepositoryFolder(Path(params["folder"])).catalog.exists():
            return {"removed": 0, "swept": 0}
        stores = self._open(params["folder"])
        removed = [Generation(generation) for generation in params["remove"]]
        swept, rows = collect(stores, removed, deep=params["deep"])
        result = {"removed": len(removed), "swept": swept, **rows}
        if params["deep"]:
            result["vectors"] = _trim_embeddings(Path(params["embeddings"]))
        return result

    def _transition(
        self,
        job: Job,
        source: GitSource,
        stores: RepositoryStores,
        embeddings: EmbeddingStore,
        tree: TreeId,
        report: Reporter,
    ) -> Transition:
        index = IndexSettings(**{**job.index, "ignore": tuple(job.index["ignore"])})
        settings, notes = _narrowed(Settings(index=index, dense=DenseSettings(**job.dense)), source, tree)
        absent = job.dense_absent or settings.dense.absent
        return Transition(
            source=source,
            stores=stores,
            policy=Policy(
                max_file_bytes=settings.index.max_file_bytes,
                index_generated=settings.index.generated == "index",
                index_vendored=settings.index.vendored == "index",
                ignore=settings.index.ignore,
            ),
            dense=DenseSetting(ProfileId(job.dense_profile), embeddings, absent),
            report=report,
            workers=settings.index.workers or len(os.sched_getaffinity(0)),
            rules=self._rules.setdefault(job.folder, RulesCache()),
            relations_absent=job.relations_absent or settings.relations.absent,
            notes=notes,
        )


def _run(method: str, transition: Transition, target: Target, job: Job) -> Outcome | None:
    match method:
        case "dense":
            return repair_dense(transition, target)
        case "relations":
            records = {family: decode_view(record) for family, record in job.relations.items()}
            return publish_relations(transition, target, records)
        case "fold":
            return fold(transition, target)
        case _:
            return repair(transition, target, frozenset(map(View, job.discard)))


def _result(outcome: Outcome | None, seconds: float) -> Json:
    """`published` is false when the checkout shows another tree by now, and nothing was to be done."""
    if outcome is None:
        return {"published": False, "seconds": seconds}
    snapshot = outcome.publication.snapshot
    return {
        "published": True,
        "commit": outcome.publication.commit,
        "generation": snapshot.generation,
        "dense_missing": outcome.dense_missing,
        "fold": outcome.fold,
        "seconds": seconds,
        "work": {view.value: dict(record.work) for view, record in snapshot.views.items()},
    }


def _trim_embeddings(path: Path) -> int:
    store = EmbeddingStore.open(path)
    try:
        return store.trim(MAX_EMBEDDINGS_BYTES)
    finally:
        store.close()


def _narrowed(user: Settings, source: GitSource, tree: TreeId) -> tuple[Settings, tuple[str, ...]]:
    """The settings for this tree, and what its own file asked for and did not get."""
    asked = _asked(source, tree)
    return effective(user, asked), asked.problems + refused(user, asked)


def _asked(source: GitSource, tree: TreeId) -> RepositorySettings:
    """What the tree's own file asks for."""
    entry = source.entry(tree, RepoPath(REPOSITORY_FILE.encode()))
    if entry is None:
        return RepositorySettings()
    if entry.mode not in {REGULAR, EXECUTABLE}:
        return unusable("it is no regular file; make it one")
    size = source.size(entry.blob)
    if size is not None and size > MAX_FILE_BYTES:  # before it is read: it can have any size
        return unusable(f"it has {size} bytes; shorten it to at most {MAX_FILE_BYTES}")
    data = source.read(entry.blob)
    if data is None:
        return unusable("its object is missing from the repository; 'git checkout' may fetch it")
    return parse_repository(data)


@contextmanager
def _opened(work_tree: Path) -> Iterator[GitSource]:
    source = open_source(work_tree)
    try:
        yield source
    finally:
        source.close()


@contextmanager
def _embeddings(job: Job) -> Iterator[EmbeddingStore]:
    store = EmbeddingStore.open(Path(job.embeddings))
    try:
        yield store
    finally:
        store.close()


def main() -> int:
    endpoint = ChildEndpoint.over_stdio()
    os.nice(NICENESS)
    serve(endpoint, Indexer().answer)
    return 0


if __name__ == "__main__":
    take_none("nibd.daemon.indexer", "Read Git, repair views and publish, as the nibd daemon asks.")
    sys.exit(main())
