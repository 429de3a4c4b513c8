"""Lexical view and units of a commit, built from a clone or a bare mirror, and kept between runs.

A repository has one folder for all of its commits, so each but the first costs what differs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from nibd.bench.rebuild import NO_DENSE, side
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.outline import outline
from nibd.repair.git.source import open_by_libgit
from nibd.repair.git.types import CheckoutLocation
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.transition import RulesCache, Target, Transition, repair
from nibd.stores.repository import RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import CheckoutId, CommitId, State, View


@contextmanager
def tree(mirror: Path, commit: CommitId, folder: Path, workers: int | None = None) -> Iterator[Tree]:
    """What ranking reads of `commit`; its views are made in `folder` where they are not there yet."""
    snapshot = _made(mirror, commit, folder, workers or len(os.sched_getaffinity(0)))
    with side(RepositoryFolder(folder), snapshot) as read:
        outlined = outline(read.structure, read.listing)
        yield Tree(read.lexical, read.facts, read.structure, read.listing, outlined)


def _made(mirror: Path, commit: CommitId, folder: Path, workers: int) -> Snapshot:
    policy = Policy()
    with RepositoryStores.open(RepositoryFolder(folder), EXTRACTOR) as stores:
        for publication in stores.catalog.at_commit(commit):
            view = publication.snapshot.views[View.LEXICAL]
            if view.state is State.READY and view.profile == policy.profile:
                return publication.snapshot
        git = mirror / ".git" if (mirror / ".git").exists() else mirror
        with closing(open_by_libgit(CheckoutLocation(mirror, git, git), None)) as source:
            step = Transition(
                source=source,
                stores=stores,
                policy=policy,
                dense=NO_DENSE,
                report=lambda _: None,
                workers=workers,
                rules=RulesCache(),
            )
            target = Target(CheckoutId("bench"), commit, source.tree_of(commit))
            return repair(step, target).publication.snapshot
