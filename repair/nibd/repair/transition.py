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

from nibd.repair import dense, lexical, trigrams
from nibd.repair.git import GitSource, MissingObject
from nibd.repair.listing import EMPTY_BASE, Base, ListingChange, ListingRepair
from nibd.repair.policy import Policy
from nibd.repair.progress import Reporter
from nibd.repair.relations.families import families_of
from nibd.repair.rules import Rules
from nibd.stores.catalog import UNPUBLISHED
from nibd.stores.errors import CorruptStore
from nibd.stores.repository import RepositoryStores
from nibd.stores.snapshot import Artifact, Coverage, Publication, Snapshot, ViewRecord
from nibd.stores.structure import ListingId
from nibd.stores.types import (
    Assurance,
    CheckoutId,
    CommitId,
    Skip,
    State,
    TreeId,
    View,
)

INLINE_DENSE_FILES = 256
"""Up to this many changed files the dense view is tried before the first publication."""

PENDING_RELATIONS = ViewRecord(State.BUILDING, reason="a language server is about to be asked")


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
        known, old = self._rules.get((tree, policy)), self._rules.get((base, policy))
        if known:
            rules = known.looked_for_again(source)
        elif old:
            rules = old.updated(source, source.changes(base, tree, renames=False))
        else:
            rules = Rules.read(source, tree, policy.ignore)
        self._rules[(tree, policy)] = rules
        while len(self._rules) > self.limit:
            del self._rules[next(iter(self._rules))]
        return rules


@dataclass(frozen=True, slots=True)
class Transition:
    """Everything a repair of one repository needs. Lives in the one process that writes its stores."""

    source: GitSource
    stores: RepositoryStores
    policy: Policy
    dense: dense.DenseSetting
    report: Reporter
    workers: int
    rules: RulesCache
    notes: tuple[str, ...] = ()
    relations_absent: str | None = None
    """Why there are no relations, whatever the language."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`dense_missing` texts have to be embedded before the dense view can be published.

    `fold`: an artifact has grown old, and the caller should `fold` it when nothing waits.
    """

    publication: Publication
    dense_missing: int = 0
    fold: bool = False


def repair(transition: Transition, target: Target, discard: frozenset[View] = frozenset()) -> Outcome:
    """Publish `target`'s tree for its checkout; views in `discard` are built from nothing.

    Raises what `transition.report` raises at a safe point; nothing is published then.
    """
    draft = None if discard else _kept(transition, target.tree)
    if draft is None:
        try:
            draft = _repaired(transition, target, discard)
        except MissingObject:
            # Perhaps of the base alone: Git drops its trees some time after history was rewritten.
            draft = _repaired(transition, target, discard, from_base=False)
    return _publish(transition, target, draft)


def _repaired(
    transition: Transition, target: Target, discard: frozenset[View], from_base: bool = True
) -> Snapshot:
    """The snapshot to publish, every view repaired from its own newest artifact.

    Without `from_base` the listing is made from the target's tree alone.
    """
    stores, checkout = transition.stores, target.checkout
    started = time.perf_counter()
    previous = _newest_serving(transition, checkout, View.STRUCTURAL, discard) if from_base else None
    base = _base(transition, previous)
    rules = transition.rules.of(transition.source, base.tree, target.tree, transition.policy)
    change = ListingRepair(
        transition.source, stores, transition.policy, rules, transition.report, transition.workers
    ).run(base, target.tree)
    seconds = time.perf_counter() - started
    notes = transition.notes + rules.notes
    unchanged = (
        previous
        and (previous.tree, previous.notes, previous.missing_rules) == (target.tree, notes, rules.missing)
        and change.listing == base.listing
    )
    if previous and unchanged and not discard and _is_usable(transition, previous):
        return previous  # missing objects were looked for again, and are still missing
    listing = stores.structure.add_listing(change.listing)
    structural = _structural(transition, previous, base, change, listing)
    views = {View.STRUCTURAL: replace(structural, work={**structural.work, "seconds": seconds})}
    views[View.LEXICAL] = lexical.repair_lexical(
        transition.source,
        stores,
        transition.policy,
        _newest_serving(transition, checkout, View.LEXICAL, discard),
        change.listing,
    )
    maker = _dense(transition)
    if View.DENSE in discard:
        views[View.DENSE] = maker.discard(change.listing)
    elif len(change.listing.minus(base.listing)) <= INLINE_DENSE_FILES:
        views[View.DENSE] = maker.assemble(checkout, change.listing)
    else:
        views[View.DENSE] = maker.pending()
    return Snapshot(
        tree=target.tree,
        generation=UNPUBLISHED,
        listing=listing,
        files=_files(structural.counts),
        skipped=_skipped(structural.counts),
        views=views,
        notes=notes,
        missing_rules=rules.missing,
        relations=_pending_relations(transition, structural.counts),
    )


def publish_relations(
    transition: Transition, target: Target, records: Mapping[str, ViewRecord]
) -> Outcome | None:
    """Publish `records`, by family, as the relations of the tree that the checkout shows.

    `None` when the checkout shows another tree by now.
    """
    current = transition.stores.catalog.current(target.checkout)
    if current is None or current.snapshot.tree != target.tree:
        return None
    draft = current.snapshot
    for family, record in records.items():
        draft = draft.with_relations(family, record)
    if draft == current.snapshot:
        return Outcome(current)
    return Outcome(_published(transition, target, replace(draft, generation=UNPUBLISHED)))


def _pending_relations(transition: Transition, counts: Mapping[str, int]) -> dict[str, ViewRecord]:
    """What a tree says of its relations before its language servers were asked."""
    absent = transition.relations_absent
    record = ViewRecord(State.ABSENT, reason=absent) if absent else PENDING_RELATIONS
    return dict.fromkeys(families_of(counts), record)


def repair_dense(transition: Transition, target: Target) -> Outcome | None:
    """Publish what can be had of the dense view of the tree that the checkout shows.

    Texts that are not embedded yet are put on the spool and counted in the outcome. `None` when the
    checkout shows another tree by now.
    """
    current = transition.stores.catalog.current(target.checkout)
    if current is None or current.snapshot.tree != target.tree:
        return None
    listing = transition.stores.structure.listing(current.snapshot.listing)
    missing = _dense(transition).spool_missing(target.checkout, listing, transition.report)
    published = current.snapshot.views[View.DENSE]
    record = _dense(transition).assemble(target.checkout, listing, partial=published)
    if record == published:
        return Outcome(current, missing)
    draft = replace(current.snapshot.with_view(View.DENSE, record), generation=UNPUBLISHED)
    return Outcome(_published(transition, target, draft), missing, _is_old(draft))


def fold(transition: Transition, target: Target) -> Outcome | None:
    """Make the artifacts of the tree that the checkout shows that have grown old anew, and publish them.

    The trigrams too, which are no artifact: what of the tree they lack is made.

    `None` when the checkout shows another tree by now.
    """
    current = transition.stores.catalog.current(target.checkout)
    if current is None or current.snapshot.tree != target.tree:
        return None
    listing = transition.stores.structure.listing(current.snapshot.listing)
    trigrams.cover(transition.source, transition.stores, listing, transition.report)
    draft = current.snapshot
    if lexical.is_old(draft.views[View.LEXICAL]):
        record = lexical.repair_lexical(
            transition.source, transition.stores, transition.policy, None, listing
        )
        draft = draft.with_view(View.LEXICAL, record)
    if dense.is_old(draft.views[View.DENSE]):
        folded = _dense(transition).fold(listing)
        draft = draft.with_view(View.DENSE, folded) if folded else draft
    if draft == current.snapshot:
        return Outcome(current)
    return Outcome(_published(transition, target, replace(draft, generation=UNPUBLISHED)))


def _dense(transition: Transition) -> dense.DenseRepair:
    return dense.DenseRepair(transition.source, transition.stores, transition.dense)


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
        listing = transition.stores.structure.listing(publication.snapshot.listing)
        missing = _dense(transition).spool_missing(target.checkout, listing, transition.report)
        if missing == 0:
            return repair_dense(transition, target) or Outcome(publication)
    listing = transition.stores.structure.listing(publication.snapshot.listing)
    due = trigrams.is_due(transition.stores, listing)
    return Outcome(publication, missing, due or _is_old(publication.snapshot))


def _is_old(snapshot: Snapshot) -> bool:
    return lexical.is_old(snapshot.views[View.LEXICAL]) or dense.is_old(snapshot.views[View.DENSE])


def _published(transition: Transition, target: Target, draft: Snapshot) -> Publication:
    if draft.generation == UNPUBLISHED:
        draft = _without_claim(draft)
    return transition.stores.catalog.publish(target.checkout, target.commit, draft, time.time())


def _without_claim(draft: Snapshot) -> Snapshot:
    """Views that lack files which another try may have are partial, however they were made."""
    reasons = [
        (draft.skipped.get(Skip.MISSING_OBJECT, 0), "the objects of {} files are missing"),
        (draft.skipped.get(Skip.PARSE_TIMEOUT, 0), "the processor had no time to parse {} files"),
    ]
    lacking = sum(count for count, _ in reasons)
    if not lacking:
        return draft
    reason = "; ".join(text.format(count) for count, text in reasons if count)
    for view, record in draft.views.items():
        if record.assurance is Assurance.EXACT:
            of = record.coverage.of + (0 if view is View.DENSE else lacking)
            partial = replace(
                record,
                assurance=Assurance.PARTIAL,
                coverage=Coverage(record.coverage.done, of),
                reason=reason,
            )
            draft = draft.with_view(view, partial)
    return draft


def _kept(transition: Transition, tree: TreeId) -> Snapshot | None:
    """A snapshot of `tree` under today's profiles that can be shown again as it is."""
    kept = transition.stores.catalog.of_tree(tree)
    if kept is None or kept.skipped.get(Skip.MISSING_OBJECT) or kept.missing_rules:
        return None
    return kept if _is_usable(transition, kept) and _has_listing(transition, kept) else None


def _is_usable(transition: Transition, snapshot: Snapshot) -> bool:
    """Whether its views are of today's profiles, and its artifacts in place."""
    for view in (View.LEXICAL, View.STRUCTURAL):
        record = snapshot.views[view]
        if record.state is not State.READY or record.profile != transition.policy.profile:
            return False
    if not all((transition.stores.folder.root / location).exists() for location in _locations(snapshot)):
        return False
    record = snapshot.views[View.DENSE]
    if record.profile != transition.dense.profile or record.state is State.FAILED:
        return False
    return (record.state is State.ABSENT) == bool(transition.dense.absent)


def _locations(snapshot: Snapshot) -> list[str]:
    """Where its artifacts lie; its listing is in structure.db."""
    records = (snapshot.views[view] for view in (View.LEXICAL, View.DENSE))
    return [record.artifact.location for record in records if record.artifact]


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
        serves = record.state is State.READY and record.profile == transition.policy.profile
        if serves and _has_listing(transition, snapshot):
            return snapshot  # else an older one does as well; without any, the view is built from nothing
    return None


def _has_listing(transition: Transition, snapshot: Snapshot) -> bool:
    """Whether its listing can be read; a damaged snapshot is dropped by the next collection."""
    try:
        transition.stores.structure.listing(snapshot.listing)
    except CorruptStore:
        return False
    return True


def _base(transition: Transition, snapshot: Snapshot | None) -> Base:
    if snapshot is None:
        return EMPTY_BASE
    listing = transition.stores.structure.listing(snapshot.listing)
    return Base(snapshot.tree, listing, snapshot.missing_rules)


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
        capabilities={"units": None, "imports": None, "relations": transition.relations_absent},
    )


def _files(counts: Mapping[str, int]) -> dict[str, int]:
    indexed = sum(count for key, count in counts.items() if key.startswith("language:"))
    return {"total": indexed + sum(_skipped(counts).values()), "indexed": indexed}


def _skipped(counts: Mapping[str, int]) -> dict[str, int]:
    return {key[5:]: count for key, count in counts.items() if key.startswith("skip:")}
