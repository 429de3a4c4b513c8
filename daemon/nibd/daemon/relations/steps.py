"""What is to be done for the relations of a snapshot: pure, so that it can be tested without a process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nibd.repair.relations.families import families_of
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.types import Assurance, State, TreeId, View

Step = tuple[str, list[str]]
"""A navigator's method, and the families that it is for."""

VERIFIED = (Assurance.VERIFIED, Assurance.EXACT)


def next_step(
    snapshot: Snapshot,
    again: bool = False,
    profiles: Mapping[str, str | None] | None = None,
    lost: bool = False,
) -> Step | None:
    """Make the relations, verify those of some families, look what is installed, or nothing.

    `again`: also try what failed, had no server, or lacks answers. `profiles` are those of what is installed
    now; `None`: that is not known, and has to be looked up. `lost`: what records name is not there any more.
    """
    records = snapshot.relations
    families = families_of_tree(snapshot)
    if any(family not in records or _is_untried(records[family], again) for family in families):
        return "relate", families
    if profiles is not None and any(_is_other(records[family], profiles.get(family)) for family in families):
        return "relate", families
    if lost and families:
        return "relate", families
    repaired = [family for family in families if _is_repaired(records[family])]
    if repaired:
        return "verify", repaired
    return ("look", []) if profiles is None and families else None


def have_come(snapshot: Snapshot, least: Assurance | None) -> bool:
    """Whether the relations are there, with `least` assurance, of all families that have a server; of one."""
    records = [snapshot.relations.get(family) for family in families_of_tree(snapshot)]
    ready = [record for record in records if record and record.state is State.READY]
    absent = [record for record in records if record and record.state is State.ABSENT]
    if len(ready) + len(absent) < len(records):
        return False
    return not records or (bool(ready) and all(is_assured(record, least) for record in ready))


def is_assured(record: ViewRecord, least: Assurance | None) -> bool:
    order = list(Assurance)
    return least is None or (
        record.assurance is not None and order.index(record.assurance) >= order.index(least)
    )


def families_of_tree(snapshot: Snapshot) -> list[str]:
    return families_of(snapshot.views[View.STRUCTURAL].counts)


def as_of_now(record: ViewRecord, *, looked: bool, missing: str | None) -> ViewRecord:
    """A record with what is known now of its server, which may have come or gone since it was made.

    `looked`: whether that was looked up since the daemon started and since something was installed. `missing`
    is why there is none then.
    """
    if record.state is State.READY and missing:
        why = f"newer commits and live answers need its server: {missing}"
        return replace(record, reason="; ".join(filter(None, (record.reason, why))))
    if record.state is not State.ABSENT:
        return record
    if missing:
        return replace(record, reason=missing)
    found = "its language server was found, and is about to be asked"
    return replace(record, state=State.BUILDING, reason=found if looked else "its server is being looked for")


def after_failure(record: ViewRecord, failure: str | None, *, is_remade: bool) -> ViewRecord:
    """A record with what failed last of its tree's relations. `is_remade`: they are being made again now."""
    if is_remade and record.state is State.FAILED:
        why = f"they are being made again; before, that failed: {failure or record.reason}"
        return replace(record, state=State.BUILDING, reason=why)
    if failure is None:
        return record
    if record.state is State.BUILDING and not is_remade:
        return replace(record, state=State.FAILED, reason=f"it failed and is tried again: {failure}")
    if record.state is State.BUILDING:
        again = record.reason or "they are being made again"
        return replace(record, reason=f"{again}; before, that failed: {failure}")
    if record.state is State.READY:
        reasons = filter(None, (record.reason, f"what was done last with them failed: {failure}"))
        return replace(record, reason="; ".join(reasons))
    return record


def failing(records: Iterable[ViewRecord]) -> str | None:
    """Why some of these have to be tried again, if some have."""
    reasons = [
        record.reason or record.state.value
        for record in records
        if record.state is State.FAILED or (lacks_answers(record) and not _is_repaired(record))
    ]
    return "; ".join(reasons) or None


def lacks_answers(record: ViewRecord) -> bool:
    return record.state is State.READY and record.lacks_answers


def is_unmeasured(record: ViewRecord | None, tree: TreeId) -> bool:
    """Whether to measure how far static answers equal live ones: once for each tree that is verified."""
    if record is None or record.state is not State.READY or record.assurance is Assurance.REPAIRED:
        return False
    return record.agreement is None or record.agreement.tree != tree


def _is_untried(record: ViewRecord, again: bool) -> bool:
    if record.state is State.BUILDING:
        return True
    return again and (record.state in (State.FAILED, State.ABSENT) or lacks_answers(record))


def _is_other(record: ViewRecord, profile: str | None) -> bool:
    """Whether relations can be had with what is installed now, and these are not those."""
    if profile is None:
        return False  # their server is gone, which makes them no less right
    return record.state is State.ABSENT or record.profile != profile


def _is_repaired(record: ViewRecord) -> bool:
    """Whether verification may make more of it. What a server left unanswered is asked once more so."""
    if record.state is not State.READY:
        return False
    left = record.counts.get("verified", 0) < record.counts.get("files", 0)
    return record.assurance is Assurance.REPAIRED or (record.assurance is Assurance.PARTIAL and left)
