"""Building a tree from nothing in this process, and comparing it with what a daemon published."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nibd.query.comparison import Comparison, Side, compare_lexical, compare_structure
from nibd.repair.dense import DenseSetting
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.progress import Progress
from nibd.repair.transition import RulesCache, Target, Transition, repair
from nibd.stores.catalog import Catalog
from nibd.stores.facts import FactStore
from nibd.stores.lexical import LexicalGeneration
from nibd.stores.repository import RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Snapshot
from nibd.stores.structure import StructureStore
from nibd.stores.types import CheckoutId, CommitId, ProfileId, View

NO_DENSE = DenseSetting(ProfileId(""), None, "left out of this rebuild")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    folder: RepositoryFolder
    snapshot: Snapshot
    seconds: float


def rebuild(work_tree: Path, commit: str, folder: Path) -> Rebuilt:
    """Lexical view and units of `commit` from empty caches, with every processor."""
    started = time.perf_counter()
    with transition(work_tree, commit, folder, NO_DENSE) as (step, target):
        outcome = repair(step, target)
    seconds = time.perf_counter() - started
    return Rebuilt(RepositoryFolder(folder), outcome.publication.snapshot, seconds)


@contextmanager
def transition(
    work_tree: Path, commit: str, folder: Path, dense: DenseSetting
) -> Iterator[tuple[Transition, Target]]:
    """To `commit`, from whatever is in `folder`."""
    source = open_source(work_tree)
    try:
        with RepositoryStores.open(RepositoryFolder(folder), EXTRACTOR) as stores:
            step = Transition(
                source=source,
                stores=stores,
                policy=Policy(),
                dense=dense,
                report=_silent,
                workers=len(os.sched_getaffinity(0)),
                rules=RulesCache(),
            )
            yield step, Target(CheckoutId("bench"), CommitId(commit), source.tree_of(CommitId(commit)))
    finally:
        source.close()


@contextmanager
def side(folder: RepositoryFolder, snapshot: Snapshot) -> Iterator[Side]:
    """`snapshot` open for reading, until the block ends."""
    artifact = snapshot.views[View.LEXICAL].artifact
    assert artifact is not None, "a published lexical view has an artifact"
    structure = StructureStore.open_reader(folder.structure)
    facts = FactStore.open_reader(folder.facts, EXTRACTOR)
    try:
        generation = LexicalGeneration.open(folder.root / artifact.location)
        yield Side(structure, structure.listing(snapshot.listing), facts, generation)
    finally:
        facts.close()
        structure.close()


def published(folder: RepositoryFolder, generation: int) -> Snapshot:
    catalog = Catalog.open_reader(folder.catalog)
    try:
        return next(s for s in catalog.snapshots() if s.generation == generation)
    finally:
        catalog.close()


def newest_of(folder: RepositoryFolder, snapshot: Snapshot) -> Snapshot:
    """The newest one of its tree: an older one may be collected as soon as that is published."""
    catalog = Catalog.open_reader(folder.catalog)
    try:
        return [each for each in catalog.snapshots() if each.tree == snapshot.tree][-1]
    finally:
        catalog.close()


def compare(folder: RepositoryFolder, snapshot: Snapshot, rebuilt: Rebuilt) -> list[Comparison]:
    """Units, and the lexical view by the scores and order of 200 queries at every level."""
    with side(folder, snapshot) as old, side(rebuilt.folder, rebuilt.snapshot) as new:
        return [compare_structure(old, new), compare_lexical(old, new)]


def _silent(progress: Progress) -> None:
    """Progress is for people who wait; here time is measured."""
