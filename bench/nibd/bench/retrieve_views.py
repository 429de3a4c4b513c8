"""The views of a commit, built from a clone or a bare mirror, and kept between runs.

A repository has one folder for all of its commits, so each but the first costs what differs. The dense view
and relations are made for whoever wants them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nibd.bench.rebuild import NO_DENSE, side
from nibd.bench.retrieve_relations import identities, lacking, with_relations
from nibd.query.expansion import Related
from nibd.query.navigation_view import CachedRelations
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.outline import outline
from nibd.repair.dense import DenseSetting
from nibd.repair.embedding import Embedder
from nibd.repair.git import GitSource
from nibd.repair.git.source import open_by_libgit
from nibd.repair.git.types import CheckoutLocation
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.transition import RulesCache, Target, Transition, repair, repair_dense
from nibd.stores.bitmap import Bitmap
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import read_rows
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.relations import ResolutionId
from nibd.stores.repository import RelationsReader, RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Snapshot
from nibd.stores.structure import StructureStore
from nibd.stores.types import CheckoutId, CommitId, State, TextId, View

LAYOUTS = ("{name}/repo", "{name}")
EMBEDDINGS = "embeddings.db"
SPOOLED_TEXTS = 512


@dataclass(frozen=True, slots=True)
class Embedding:
    """A loaded model, and where vectors are kept between runs."""

    embedder: Embedder
    store: EmbeddingStore

    @property
    def setting(self) -> DenseSetting:
        return DenseSetting(self.embedder.profile, self.store)


@dataclass(frozen=True, slots=True)
class How:
    """What is made. `servers`: folders in which language servers are looked for too; `None`: no relations."""

    workers: int | None = None
    embedding: Embedding | None = None
    servers: tuple[Path, ...] | None = None


LEXICAL_ALONE = How()


@dataclass(frozen=True, slots=True)
class Opened:
    """A commit's views, open for reading (as `nibd.query.search.Views`), and its repository.

    `dense` is the matrix and the rows of it; `related` has the relations that are in the folder.
    """

    tree: Tree
    commit: CommitId
    snapshot: Snapshot
    folder: RepositoryFolder
    source: GitSource
    dense: tuple[DenseStore, Bitmap] | None
    related: Related

    @property
    def structure(self) -> StructureStore:
        return self.tree.structure

    @property
    def listing(self) -> Bitmap:
        return self.tree.listing


def mirror_of(folder: Path, repository: str) -> Path | None:
    """A clone or a bare mirror: FOLDER/owner+name, or a folder `repo` in that."""
    names = [folder / layout.format(name=repository.replace("/", "+")) for layout in LAYOUTS]
    return next((path for path in names if path.is_dir()), None)


@contextmanager
def embedding(cache: Path, model: str | None) -> Iterator[Embedding | None]:
    """The model, loaded, with its vectors in the cache. Raises EmbeddingError."""
    if model is None:
        yield None
        return
    embedder = Embedder.load(model, threads=len(os.sched_getaffinity(0)))
    cache.mkdir(parents=True, exist_ok=True)
    store = EmbeddingStore.open(cache / EMBEDDINGS)
    try:
        yield Embedding(embedder, store)
    finally:
        store.close()


@contextmanager
def opened(mirror: Path, commit: CommitId, folder: Path, how: How = LEXICAL_ALONE) -> Iterator[Opened]:
    """`commit` to be read; its views are made in `folder` where they are not there yet."""
    git = mirror / ".git" if (mirror / ".git").exists() else mirror
    with closing(open_by_libgit(CheckoutLocation(mirror, git, git), None)) as source:
        snapshot = _made(source, commit, folder, how)
        with read(source, RepositoryFolder(folder), snapshot, commit, how.embedding is not None) as found:
            yield found


@contextmanager
def read(
    source: GitSource, folder: RepositoryFolder, snapshot: Snapshot, commit: CommitId, with_vectors: bool
) -> Iterator[Opened]:
    """A snapshot that is published in `folder`."""
    with ExitStack() as stack:
        views = stack.enter_context(side(folder, snapshot))
        dense = _dense(folder, snapshot) if with_vectors else None
        if dense:
            stack.callback(dense[0].close)
        relations = stack.enter_context(closing(RelationsReader(folder)))
        outlined = outline(views.structure, views.listing)
        tree = Tree(views.lexical, views.facts, views.structure, views.listing, outlined)
        related = Related(views.structure, views.listing, views.facts, _families(snapshot, relations))
        yield Opened(tree, commit, snapshot, folder, source, dense, related)


def _families(
    snapshot: Snapshot, relations: RelationsReader
) -> dict[str, tuple[CachedRelations, ResolutionId]]:
    store = relations.current()
    if store is None:
        return {}
    cached = CachedRelations(store)
    return {family: (cached, resolution) for family, resolution in snapshot.resolutions().items()}


def _workers(mirror: Path) -> int:
    """Other processes open a checkout; a bare mirror is none."""
    return len(os.sched_getaffinity(0)) if (mirror / ".git").exists() else 1


def _made(source: GitSource, commit: CommitId, folder: Path, how: How) -> Snapshot:
    with RepositoryStores.open(RepositoryFolder(folder), EXTRACTOR) as stores:
        for publication in stores.catalog.at_commit(commit):
            if _is_enough(publication.snapshot, how):
                return publication.snapshot
        step = Transition(
            source=source,
            stores=stores,
            policy=Policy(),
            dense=how.embedding.setting if how.embedding else NO_DENSE,
            report=lambda _: None,
            workers=how.workers or _workers(source.work_tree),
            rules=RulesCache(),
        )
        target = Target(CheckoutId("bench"), commit, source.tree_of(commit))
        outcome = repair(step, target)
        if how.embedding and outcome.dense_missing:
            _embed(how.embedding)
            outcome = repair_dense(step, target) or outcome
        snapshot = outcome.publication.snapshot
        if how.servers is not None and lacking(snapshot, identities(how.servers)):
            snapshot = with_relations(step, target, snapshot, how.servers)
        return snapshot


def _is_enough(snapshot: Snapshot, how: How) -> bool:
    lexical, dense = snapshot.views[View.LEXICAL], snapshot.views[View.DENSE]
    if lexical.state is not State.READY or lexical.profile != Policy().profile:
        return False
    if how.servers is not None and lacking(snapshot, identities(how.servers)):
        return False
    if how.embedding is None:
        return True
    return dense.state is State.READY and dense.profile == how.embedding.embedder.profile


def _embed(embedding: Embedding) -> None:
    profile, store = embedding.embedder.profile, embedding.store
    while waiting := store.spool.take(profile, SPOOLED_TEXTS):
        vectors = embedding.embedder.embed([text for _, text in waiting])
        made: dict[TextId, bytes] = {}
        for (text, _), vector in zip(waiting, vectors, strict=True):
            made[text] = vector.tobytes()
        store.put_many(profile, made)


def _dense(folder: RepositoryFolder, snapshot: Snapshot) -> tuple[DenseStore, Bitmap] | None:
    """`None` for a tree without a text."""
    artifact = snapshot.views[View.DENSE].artifact
    if artifact is None or not snapshot.views[View.DENSE].coverage.done:
        return None
    path = folder.root / artifact.location
    return DenseStore.open_reader(path.parent), read_rows(path)
