"""Part `switch`: going between two branches that were both published before.

Timed as in `nibd.bench.session`. That nothing was made is shown by what is stored, not by what is said:
the generation is one that was published before, no fact, vector or waiting text came into being, and
the indexer's processor time meanwhile is reported.
"""

from __future__ import annotations

from nibd.bench.report import Report
from nibd.bench.session import Session
from nibd.repair.policy import EXTRACTOR
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.facts import FactStore

BAR_S = 0.2


def measure(session: Session, one: str, other: str, switches: int, dense: bool, report: Report) -> None:
    """So many times between two commits, which stand for the tips of two branches."""
    for commit in (one, other):
        if session.head() != commit:
            moved = session.move(commit)
            if dense:
                session.dense_ready(moved)
            session.settle()
    known = {snapshot.generation for snapshot in session.catalog.snapshots()}
    before = _stored(session)
    seconds, again = [], 0
    for number in range(switches):
        moved = session.move(one if number % 2 == 0 else other)
        seconds.append(moved.seconds)
        again += moved.snapshot.generation in known
        session.settle()
    made = {what: count - before[what] for what, count in _stored(session).items()}
    name = f"{session.name}: checkout of a branch published before"
    report.add_spread(name, seconds, median_bar=BAR_S)
    work = ", ".join(f"{what} {count}" for what, count in made.items())
    report.add(
        f"{name}: work",
        f"{work}; {again} of {switches} showed a snapshot that was there",
        "parsed 0, embedded 0",
        not any(made.values()) and again == switches,
    )


def _stored(session: Session) -> dict[str, int]:
    facts = FactStore.open_reader(session.folder.facts, EXTRACTOR)
    embeddings = EmbeddingStore.open(session.world.cache / "embeddings.db")
    try:
        held = embeddings.statistics()
        return {"parsed": sum(1 for _ in facts.keys()), "embedded": held.vectors, "waiting": held.pending}  # noqa: SIM118
    finally:
        embeddings.close()
        facts.close()
