"""From a published tree to another: the one path for build and repair.

1. Find the base: the snapshot that the checkout shows, else the repository's newest, else nothing.
2. Repair the listing from Git's change set (`nibd.repair.listing`); facts are made once per blob.
3. Each view repairs itself along the difference of two listings, from its own newest artifact.
4. Publish lexical, structural and, when no text has to be embedded, dense together. Else the dense
   view is pending in this snapshot and follows as a later generation of the same tree.

A tree whose snapshot is still kept is shown again as it is. A build is a repair from the empty
listing, so there is no second way to make any of it. Nothing is written outside the repository's
folder, and nothing that was published is touched.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from nibd.repair.dense import DenseRepair, DenseSetting
from nibd.repair.git import GitSource
from nibd.repair.lexical import is_old, repair_lexical
from nibd.repair.listing import EMPTY_BASE, Base, ListingChange, ListingRepair
from nibd.repair.policy import Policy
from nibd.repair.progress import Reporter
from nibd.repair.rules import Rules
from nibd.stores.catalog import UNPUBLISHED
from nibd.stores.repository import RepositoryStores
from nibd.stores.snapshot import Artifact, Coverage, Publication, Snapshot, ViewRecord
from nibd.stores.structure import ListingId
from nibd.stores.types import (
    Assurance,
    CheckoutId,
    CommitId,
    State,
    TreeId,
    View,
)

INLINE_DENSE_FILES = 256
"""Up to this many changed files the dense view is tried before the first publication."""

RELATIONS_ABSENT = "relations are not built: no language server is driven by this version"


@dataclass(frozen=True, slots=True)
class Target:
    """What a checkout stands at."""

    checkout: CheckoutId
    commit: CommitId
    tree: TreeId


@dataclass(slots=True)
class RulesCache:
    """The rules of trees seen lately, so that a transition reads only those that changed."""

    limit: int = 8
    _rules: dict[tuple[TreeId, Policy], Rules] = field(default_factory=dict)

    def of(self, source: GitSource, base: TreeId, tree: TreeId, policy: Policy) -> Rules:
        known = self._rules.get((tree, policy))
        if known is None:
            old = self._rules.get((base, policy))
            known = (
                old.updated(source, source.changes(base, tree, renames=False))
                if old
                else Rules.read(source, tree, policy.ignore)
            )
            self._rules[(tree, policy)] = known
            while len(self._rules) > self.limit:
                del self._rules[next(iter(self._rules))]
        return known


@dataclass(frozen=True, slots=True)
class Transition:
    """Everything a repair of one repository needs. Lives in the one process that writes its stores."""

    source: GitSource
    stores: RepositoryStores
    policy: Policy
    dense: DenseSetting
    report: Reporter
    workers: int
    rules: RulesCache
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """`dense_missing` texts have to be embedded before the dense view can be published.

    `fold`: the lexical generation has grown old, and the caller should `fold` it when nothing waits.
    """

    publication: Publication
    dense_missing: int = 0
    fold: bool = False


def repair(transition: Transition, target: Target, discard: frozenset[View] = frozenset()) -> Outcome:
    """Publish `target`'s tree for its checkout; views in `discard` are built from nothing.

    Raises what `transition.report` raises at a safe point; nothing is published then.
    """
    kept = None if discard else _kept(transition, target.tree)
    if kept:
        return _publish(transition, target, kept)
    started = time.perf_counter()
    previous = _newest_serving(transition, target.checkout, View.STRUCTURAL, discard)
    base = _base(transition, previous)
    rules = transition.rules.of(transition.source, base.tree, target.tree, transition.policy)
    change = ListingRepair(
        transition.source,
        transition.stores,
        transition.policy,
        rules,
        transition.report,
        transition.workers,
    ).run(base, target.tree)
    listed = time.perf_counter()
    listing = transition.stores.structure.add_listing(change.listing)
    structural = _structural(transition, previous, base, change, listing)
    structural = replace(structural, work={**structural.work, "seconds": listed - started})
    draft = Snapshot(
        tree=target.tree,
        generation=UNPUBLISHED,
        listing=listing,
        files=_files(structural.counts),
        skipped=_skipped(structural.counts),
        views={View.STRUCTURAL: structural},
        notes=transition.notes,
    )
    previous = _newest_serving(transition, target.checkout, View.LEXICAL, discard)
    draft = draft.with_view(
        View.LEXICAL,
        repair_lexical(transition.source, transition.stores, transition.policy, previous, change.listing),
    )
    dense = DenseRepair(transition.source, transition.stores, transition.dense)
    inline = len(change.listing.minus(base.listing)) <= INLINE_DENSE_FILES
    draft = draft.with_view(
        View.DENSE, dense.assemble(target.checkout, change.listing) if inline else dense.pending()
    )
    return _publish(transition, target, draft)


def repair_dense(transition: Transition, target: Target) -> Outcome | None:
    """Publish what can be had of the dense view of the tree that the checkout shows.

    Texts that are not embedded yet are put on the spool and counted in the outcome. `None` when the
    checkout shows another tree by now.
    """
    current = transition.stores.catalog.current(target.checkout)
    if current is None or current.snapshot.tree != target.tree:
        return None
    listing = transition.stores.structure.listing(current.snapshot.listing)
    dense = DenseRepair(transition.source, transition.stores, transition.dense)
    missing = dense.spool_missing(target.checkout, listing, transition.report)
    record = dense.assemble(target.checkout, listing, partial=current.snapshot.views[View.DENSE])
    if record == current.snapshot.views[View.DENSE]:
        return Outcome(current, missing)
    draft = replace(current.snapshot.with_view(View.DENSE, record), generation=UNPUBLISHED)
    return Outcome(_published(transition, target, draft), missing)


def fold(transition: Transition, target: Target) -> Outcome | None:
    """Build the lexical generation of the tree that the checkout shows from nothing, and publish it.

    `None` when the checkout shows another tree by now.
    """
    current = transition.stores.catalog.current(target.checkout)
    if current is None or current.snapshot.tree != target.tree:
        return None
    listing = transition.stores.structure.listing(current.snapshot.listing)
    record = repair_lexical(transition.source, transition.stores, transition.policy, None, listing)
    draft = replace(current.snapshot.with_view(View.LEXICAL, record), generation=UNPUBLISHED)
    return Outcome(_published(transition, target, draft))


def _publish(transition: Transition, target: Target, draft: Snapshot) -> Outcome:
    """Publish, then put what the dense view lacks on the spool, or publish that view too."""
    current = transition.stores.catalog.current(target.checkout)
    if current and (current.commit, current.snapshot) == (target.commit, draft):
        publication = current
    else:
        publication = _published(transition, target, draft)
    views = publication.snapshot.views
    missing = 0
    if views[View.DENSE].state is State.BUILDING:
        dense = DenseRepair(transition.source, transition.stores, transition.dense)
        listing = transition.stores.structure.listing(publication.snapshot.listing)
        missing = dense.spool_missing(target.checkout, listing, transition.report)
        if missing == 0:
            return repair_dense(transition, target) or Outcome(publication)
    return Outcome(publication, missing, is_old(views[View.LEXICAL]))


def _published(transition: Transition, target: Target, draft: Snapshot) -> Publication:
    return transition.stores.catalog.publish(target.checkout, target.commit, draft, time.time())


def _kept(transition: Transition, tree: TreeId) -> Snapshot | None:
    """A snapshot of `tree` under today's profiles that can be shown again as it is."""
    kept = transition.stores.catalog.of_tree(tree)
    if kept is None or kept.skipped.get("missing_object"):
        return None
    for view in (View.LEXICAL, View.STRUCTURAL):
        record = kept.views[view]
        if record.state is not State.READY or record.profile != transition.policy.profile:
            return None
    dense = kept.views[View.DENSE]
    return kept if dense.profile == transition.dense.profile and dense.state is not State.FAILED else None


def _newest_serving(
    transition: Transition, checkout: CheckoutId, view: View, discard: Iterable[View] = ()
) -> Snapshot | None:
    """The snapshot whose artifact of `view` a repair starts from: the checkout's newest, else any."""
    if view in discard:
        return None
    publications = transition.stores.catalog.publications(checkout)
    snapshots = [publication.snapshot for publication in publications]
    snapshots += reversed(transition.stores.catalog.snapshots())
    for snapshot in snapshots:
        record = snapshot.views[view]
        if record.state is State.READY and record.profile == transition.policy.profile:
            return snapshot
    return None


def _base(transition: Transition, snapshot: Snapshot | None) -> Base:
    if snapshot is None:
        return EMPTY_BASE
    return Base(snapshot.tree, transition.stores.structure.listing(snapshot.listing))


def _structural(
    transition: Transition,
    previous: Snapshot | None,
    base: Base,
    change: ListingChange,
    listing: ListingId,
) -> ViewRecord:
    structure = transition.stores.structure
    counts = dict(previous.views[View.STRUCTURAL].counts) if previous else {}
    for sign, rows in ((-1, base.listing.minus(change.listing)), (1, change.listing.minus(base.listing))):
        for key, count in structure.counts(rows).items():
            counts[key] = counts.get(key, 0) + sign * count
    counts = {key: count for key, count in sorted(counts.items()) if count}
    indexed = _files(counts)["indexed"]
    return ViewRecord(
        state=State.READY,
        assurance=Assurance.EXACT,
        profile=transition.policy.profile,
        artifact=Artifact(f"listing/{listing}", "", len(change.listing.data)),
        coverage=Coverage(indexed, indexed),
        counts=counts,
        work={
            "changed_paths": change.changed_paths,
            "reclassified": change.reclassified,
            "read": change.derivation.read,
            "parsed": change.derivation.parsed,
        },
        capabilities={"units": None, "imports": None, "relations": RELATIONS_ABSENT},
    )


def _files(counts: Mapping[str, int]) -> dict[str, int]:
    indexed = sum(count for key, count in counts.items() if key.startswith("language:"))
    return {"total": indexed + sum(_skipped(counts).values()), "indexed": indexed}


def _skipped(counts: Mapping[str, int]) -> dict[str, int]:
    return {key[5:]: count for key, count in counts.items() if key.startswith("skip:")}
