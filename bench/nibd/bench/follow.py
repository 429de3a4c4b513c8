"""Part `follow`: consecutive real transitions, how long each takes to be published, and whether it is right.

For each transition: HEAD moves; the lexical view and units are published, then the dense view; the daemon
comes to rest; the same tree is rebuilt aside from empty caches, timed, and compared. The first transition
warms up and is compared but not counted.
"""

from __future__ import annotations

import itertools
import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from nibd.bench.dense_rebuild import Answer, DenseRebuilder, Request
from nibd.bench.rebuild import Rebuilt, compare, newest_of, rebuild
from nibd.bench.report import Report
from nibd.bench.session import Moved, Session
from nibd.query.comparison import Comparison
from nibd.stores.snapshot import Publication
from nibd.stores.types import View

ORDINARY_FILES = 5
SAMPLED_TEXTS = 1000
LEXICAL_BARS = {"flask": 10.0, "sympy": 50.0}
DENSE_BARS = {"flask": 25.0, "sympy": 25.0}
"""How many times faster than a rebuild a repair is to be."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One transition. `dense_s` counts from the lexical publication; `embedded` is its number of new texts.

    `differences` are between what was published and the rebuild, all views.
    """

    commit: str
    files: int
    publish_s: float
    parsed: float
    dense_s: float | None
    embedded: float
    rebuild_s: float
    dense_rebuild_s: float | None
    dense_compared: str
    lexical_equal: bool
    dense_equal: bool | None
    differences: tuple[str, ...]


def follow(session: Session, commits: list[str], full_texts: int, dense: bool, report: Report) -> None:
    """`commits` are consecutive, and the session stands at the first."""
    with ExitStack() as stack:
        rebuilder = stack.enter_context(DenseRebuilder()) if dense else None
        samples = list(_samples(session, commits, rebuilder, full_texts))
    counted = samples[1:] if len(samples) > 1 else samples
    _report_lexical(session.name, counted, samples, report)
    if dense:
        _report_dense(session.name, counted, samples, report)


def _samples(
    session: Session, commits: list[str], rebuilder: DenseRebuilder | None, full_texts: int
) -> Iterator[Sample]:
    for number, (old, new) in enumerate(itertools.pairwise(commits)):
        session.keep_warm(commits[max(0, number - 1)])
        moved = session.move(new)
        dense = session.dense_ready(moved) if rebuilder else None
        session.settle()
        scratch = session.world.root / "rebuilt"
        rebuilt = rebuild(session.work_tree, new, scratch)
        compared = compare(session.folder, newest_of(session.folder, moved.snapshot), rebuilt)
        full = number in (0, len(commits) - 2) or _texts(dense) <= full_texts
        again = _dense(session, new, dense[1], scratch, full, rebuilder) if rebuilder and dense else None
        sample = _sample(session.changed_files(old, new), moved, dense, rebuilt, compared, again)
        for leftover in (scratch, *scratch.parent.glob(f"{scratch.name}-embeddings.db*")):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        where = f"{session.name} {number + 1}/{len(commits) - 1}"
        print(f"    {where} {_line(sample)}", file=sys.stderr, flush=True)
        yield sample


def _dense(
    session: Session,
    commit: str,
    publication: Publication,
    scratch: Path,
    full: bool,
    rebuilder: DenseRebuilder,
) -> Answer:
    return rebuilder.compare(
        Request(
            str(session.work_tree),
            commit,
            str(session.folder.root),
            publication.snapshot.generation,
            str(scratch),
            None if full else SAMPLED_TEXTS,
        )
    )


def _texts(dense: tuple[float, Publication] | None) -> float:
    return dense[1].snapshot.views[View.DENSE].counts.get("texts", 0) if dense else 0


def _sample(
    files: int,
    moved: Moved,
    dense: tuple[float, Publication] | None,
    rebuilt: Rebuilt,
    compared: list[Comparison],
    again: Answer | None,
) -> Sample:
    differences = [text for comparison in compared for text in comparison.differences]
    work = dense[1].snapshot.views[View.DENSE].work if dense else {}
    return Sample(
        commit=moved.commit,
        files=files,
        publish_s=moved.seconds,
        parsed=moved.snapshot.views[View.STRUCTURAL].work.get("parsed", 0),
        dense_s=dense[0] - moved.seen_at if dense else None,
        embedded=work.get("rows_appended", 0),
        rebuild_s=rebuilt.seconds,
        dense_rebuild_s=again.seconds if again else None,
        dense_compared=("none" if not again else "sample" if again.seconds is None else "full"),
        lexical_equal=not differences,
        dense_equal=None if again is None else again.count == 0,
        differences=tuple(differences + (again.differences if again else [])),
    )


def _report_lexical(name: str, counted: list[Sample], samples: list[Sample], report: Report) -> None:
    details = [asdict(sample) for sample in samples]
    seconds = [sample.publish_s for sample in counted]
    report.add_spread(f"{name}: HEAD moved to lexical and units published", seconds, 0.3, 1.0, details)
    rebuilds = [sample.rebuild_s for sample in counted]
    ratio = statistics.median(rebuilds) / statistics.median(seconds)
    how = f"repair {statistics.median(seconds):.3f} s, rebuild {statistics.median(rebuilds):.2f} s"
    report.add_ratio(f"{name}: lexical and units, repair against rebuild", ratio, how, LEXICAL_BARS.get(name))
    equal = sum(sample.lexical_equal for sample in samples)
    report.add_count(f"{name}: units, and lexical scores and order, equal to a rebuild", equal, len(samples))


def _report_dense(name: str, counted: list[Sample], samples: list[Sample], report: Report) -> None:
    ordinary = [s.dense_s for s in counted if s.dense_s is not None and s.files <= ORDINARY_FILES]
    report.add_spread(
        f"{name}: dense ready after that, at most {ORDINARY_FILES} files changed", ordinary, median_bar=1.0
    )
    # Transitions without a new text have their dense view in the first publication: they would flatter.
    repaired = [s.dense_s for s in counted if s.dense_s is not None and s.embedded > 0]
    rebuilds = [s.dense_rebuild_s for s in samples if s.dense_rebuild_s is not None]
    if repaired and rebuilds:
        ratio = statistics.median(rebuilds) / statistics.median(repaired)
        how = (
            f"repair {statistics.median(repaired):.3f} s over {len(repaired)} transitions with new texts, "
            f"rebuild {statistics.median(rebuilds):.1f} s over {len(rebuilds)}"
        )
        report.add_ratio(f"{name}: dense, repair against rebuild", ratio, how, DENSE_BARS.get(name))
    full = [sample for sample in samples if sample.dense_compared == "full"]
    sampled = [sample for sample in samples if sample.dense_compared == "sample"]
    report.add_count(
        f"{name}: dense vectors and order equal to a rebuild",
        sum(sample.dense_equal is True for sample in full),
        len(full),
    )
    if sampled:
        report.add_count(
            f"{name}: dense texts, and {SAMPLED_TEXTS} vectors embedded again, equal",
            sum(sample.dense_equal is True for sample in sampled),
            len(sampled),
        )


def _line(sample: Sample) -> str:
    dense = "" if sample.dense_s is None else f", dense {sample.dense_s:.3f} s ({sample.embedded:.0f} texts)"
    verdict = "equal" if sample.lexical_equal and sample.dense_equal is not False else "DIFFERENT"
    return (
        f"{sample.commit[:10]} {sample.files} files: {sample.publish_s:.3f} s{dense}, "
        f"rebuild {sample.rebuild_s:.2f} s, dense compared: {sample.dense_compared}, {verdict}"
    )
