"""The views of a test's repository, repaired in this process by the code that the indexer runs.

    views = Views(tmp_path / "views", repo)
    made = views.repair()                  # HEAD is published for the checkout "main"
    made.work                              # what it took: see `Work`
    assert views.differences() == []       # against a build of the same tree from nothing

Only the embedder process has a stand-in: it takes texts from the spool as the real one does, and
puts vectors that follow from the text's id alone.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from gitrepo import Repo
from nibd.query.comparison import Comparison, Side, compare_dense, compare_lexical, compare_structure
from nibd.repair.dense import DenseSetting
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.progress import Progress, Reporter
from nibd.repair.transition import Outcome, RulesCache, Target, Transition, fold, repair, repair_dense
from nibd.stores.collection import collect, removable
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import members, read_rows
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.lexical import LexicalGeneration
from nibd.stores.repository import RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Generation, Publication, Snapshot
from nibd.stores.types import CheckoutId, CommitId, ProfileId, State, TextId, View

MAIN = CheckoutId("main")
OTHER = CheckoutId("other")
DENSE_PROFILE = ProfileId("by-text-id")
DIMENSION = 16
ALL_TEXTS = 1 << 30
HISTORY_COUNTS = {"segments", "dead", "old", "rows"}
"""What a record counts that the tree does not decide."""


@dataclass(frozen=True)
class Work:
    """What a repair took. `embedded` texts were spooled for the embedder, `appended` rows written."""

    paths: int = 0
    reclassified: int = 0
    read: int = 0
    parsed: int = 0
    added: int = 0
    removed: int = 0
    embedded: int = 0
    appended: int = 0


NOTHING = Work()


@dataclass(frozen=True)
class Made:
    """The last outcome of a repair; `kept` when an older snapshot was shown again."""

    outcome: Outcome
    work: Work
    kept: bool

    @property
    def publication(self) -> Publication:
        return self.outcome.publication

    @property
    def snapshot(self) -> Snapshot:
        return self.outcome.publication.snapshot


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder, in memory where the system has such a place.

    Every artifact is fsynced; hundreds of builds on a disk would wait for nothing else.
    """
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(prefix="nibd-", dir=memory if usable else None) as folder:
        yield Path(folder)


def vector_of(text: TextId) -> bytes:
    """A unit vector that no other text has."""
    digest = blake2b(text, digest_size=DIMENSION).digest()
    values = np.frombuffer(digest, np.uint8).astype(np.float32) - 127.5
    return np.asarray(values / np.linalg.norm(values), "<f4").tobytes()


@dataclass(frozen=True, slots=True)
class Collected:
    """`retired` and `swept` count snapshots and artifacts, `rows` what else was removed, by kind.

    `damaged` says of each snapshot that was dropped for its damage what was found.
    """

    retired: int
    swept: int
    damaged: dict[Generation, str]
    rows: dict[str, int]


class Views:
    """Stores of one repository in `root`, open. `repo` may be exchanged for another checkout of it."""

    def __init__(self, root: Path, repo: Repo, policy: Policy | None = None, workers: int = 1) -> None:
        self.root = root
        self.repo = repo
        self.policy = policy or Policy()
        self.workers = workers
        self.report: Reporter = _no_report
        self.dense_absent: str | None = None
        self.folder = RepositoryFolder(root / "repository")
        self._rebuilds = itertools.count()
        self.open()

    def open(self) -> None:
        """As a new indexer: nothing in memory."""
        self.stores = RepositoryStores.open(self.folder, EXTRACTOR)
        self.embeddings = EmbeddingStore.open(self.root / "embeddings.db")
        self._rules = RulesCache()

    def close(self) -> None:
        self.stores.close()
        self.embeddings.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    def repair(
        self,
        revision: str = "HEAD",
        checkout: CheckoutId = MAIN,
        discard: Sequence[View] = (),
        embed: bool = True,
    ) -> Made:
        """Publish `revision`; with `embed`, every text that waits gets its vector, and so does the view."""
        with self._transition(revision, checkout) as (transition, target):
            before = {snapshot.generation for snapshot in self.stores.catalog.snapshots()}
            outcome = repair(transition, target, frozenset(discard))
            kept = outcome.publication.snapshot.generation in before
            embedded = 0
            if embed and outcome.dense_missing:
                embedded = self.embed()
                outcome = repair_dense(transition, target) or outcome
        return Made(outcome, NOTHING if kept else _work(outcome.publication.snapshot, embedded), kept)

    def repair_dense(self, revision: str = "HEAD", checkout: CheckoutId = MAIN) -> Outcome | None:
        with self._transition(revision, checkout) as (transition, target):
            return repair_dense(transition, target)

    def fold(self, revision: str = "HEAD", checkout: CheckoutId = MAIN) -> Outcome | None:
        with self._transition(revision, checkout) as (transition, target):
            return fold(transition, target)

    def embed(self, limit: int = ALL_TEXTS) -> int:
        """What the embedder does: at most `limit` of the texts on the spool get their vector."""
        texts = self.embeddings.spool.take(DENSE_PROFILE, limit)
        self.embeddings.put_many(DENSE_PROFILE, {text: vector_of(text) for text, _ in texts})
        return len(texts)

    @contextmanager
    def _transition(self, revision: str, checkout: CheckoutId) -> Iterator[tuple[Transition, Target]]:
        commit = CommitId(self.repo.git("rev-parse", f"{revision}^{{commit}}"))
        with closing(open_source(self.repo.path)) as source:
            transition = Transition(
                source=source,
                stores=self.stores,
                policy=self.policy,
                dense=DenseSetting(DENSE_PROFILE, self.embeddings, self.dense_absent),
                report=self.report,
                workers=self.workers,
                rules=self._rules,
            )
            yield transition, Target(checkout, commit, source.tree_of(commit))

    def collect(self, keep: int = 0, pinned: Sequence[Generation] = (), deep: bool = True) -> Collected:
        """As the daemon's job of that name, while requests read `pinned`."""
        found = removable(self.stores, keep)
        damaged = {g: damage for g, damage in found.damaged.items() if g not in pinned}
        unneeded = [generation for generation in found.unneeded if generation not in pinned]
        swept, rows = collect(self.stores, [*unneeded, *damaged], deep)
        return Collected(len(unneeded), swept, damaged, rows)

    def current(self, checkout: CheckoutId = MAIN) -> Snapshot:
        publication = self.stores.catalog.current(checkout)
        assert publication is not None, f"{checkout} shows nothing"
        return publication.snapshot

    def side(self, checkout: CheckoutId = MAIN) -> Side:
        """What the checkout shows, as readers see it."""
        snapshot = self.current(checkout)
        artifact = snapshot.views[View.LEXICAL].artifact
        assert artifact is not None
        return Side(
            self.stores.structure,
            self.stores.structure.listing(snapshot.listing),
            self.stores.facts,
            LexicalGeneration.open(self.folder.root / artifact.location),
        )

    def vectors(self, checkout: CheckoutId = MAIN) -> dict[TextId, bytes]:
        """The vectors that the checkout's dense view searches, by text."""
        record = self.current(checkout).views[View.DENSE]
        assert record.artifact is not None, record
        path = self.folder.root / record.artifact.location
        rows = members(read_rows(path)).tolist()
        if not rows:
            return {}
        store = DenseStore.open_reader(path.parent)
        try:
            texts = store.texts(rows)
            return {texts[row]: v.tobytes() for row, v in zip(rows, store.vectors(rows), strict=True)}
        finally:
            store.close()

    def rebuilt(self, checkout: CheckoutId = MAIN) -> Views:
        """The tree that the checkout shows, built from nothing under the same policy. To be closed."""
        publication = self.stores.catalog.current(checkout)
        assert publication is not None
        fresh = Views(self.root / f"rebuild-{next(self._rebuilds)}", self.repo, self.policy)
        fresh.repair(publication.commit)
        return fresh

    def differences(self, checkout: CheckoutId = MAIN) -> list[str]:
        """Everything in which the checkout's snapshot is not what a rebuild gives."""
        fresh = self.rebuilt(checkout)
        try:
            old, new = self.side(checkout), fresh.side()
            texts = {text for _, text in new.structure.text_ids(new.listing)}
            found = [
                *_named(compare_structure(old, new)),
                *_named(compare_lexical(old, new)),
                *_named(compare_dense(self.vectors(checkout), texts, _vectors, ALL_TEXTS)),
                *_records(self.current(checkout), fresh.current()),
            ]
            counts = self.stores.structure.counts(old.listing)
            recounted = {name: count for name, count in counts.items() if count}
            counted = self.current(checkout).views[View.STRUCTURAL].counts
            if recounted != counted:
                found.append(f"the record counts {counted}, the listing holds {recounted}")
            return found
        finally:
            fresh.close()


def _no_report(_: Progress) -> None:
    """Stops nothing."""


def _vectors(texts: Sequence[TextId]) -> list[bytes]:
    return [vector_of(text) for text in texts]


def _named(comparison: Comparison) -> list[str]:
    return comparison.differences


def _work(snapshot: Snapshot, embedded: int) -> Work:
    structural = snapshot.views[View.STRUCTURAL].work
    lexical = snapshot.views[View.LEXICAL].work
    return Work(
        paths=int(structural["changed_paths"]),
        reclassified=int(structural["reclassified"]),
        read=int(structural["read"]),
        parsed=int(structural["parsed"]),
        added=int(lexical["documents_added"]),
        removed=int(lexical["documents_removed"]),
        embedded=embedded,
        appended=int(snapshot.views[View.DENSE].work.get("rows_appended", 0)),
    )


def _records(old: Snapshot, new: Snapshot) -> list[str]:
    """In what two manifests of one tree differ, as far as a tree decides it."""
    found = []
    for what in ("tree", "files", "skipped"):
        if getattr(old, what) != getattr(new, what):
            found.append(f"{what}: {getattr(old, what)} published, {getattr(new, what)} rebuilt")
    for view in View:
        left, right = (_decided(snapshot, view) for snapshot in (old, new))
        if left != right:
            found.append(f"the record of {view.value}: {left} published, {right} rebuilt")
        if old.views[view].state is not State.READY:
            found.append(f"{view.value} is {old.views[view].state.value}")
    return found


def _decided(snapshot: Snapshot, view: View) -> dict[str, object]:
    """A view's record without what its history decides."""
    record = asdict(snapshot.views[view])
    for name in ("artifact", "work"):
        del record[name]
    record["counts"] = {
        name: count
        for name, count in record["counts"].items()
        if name not in HISTORY_COUNTS
    }
    return record
