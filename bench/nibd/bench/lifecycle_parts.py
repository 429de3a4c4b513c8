"""The life cycle of one repository's views: materialise, load, serve.

1. *Materialise*: a daemon of its own, with empty caches, builds the views of HEAD: lexical and units, then
   the dense view in the background. It ends; what it left on disk is counted.
2. *Resident*: a new daemon over these views, and sessions one after another.
3. *Isolated*: for each of the same sessions a process that loads the views, answers and ends.

What a session costs among n is what a way took until the n-th had ended, over n.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nibd.bench.charts import Bars, Lines
from nibd.bench.idle import cpu_seconds, processes
from nibd.bench.lifecycle_asked import Asked, sessions
from nibd.bench.lifecycle_serve import Served, isolated, resident
from nibd.bench.page import Table
from nibd.bench.rebuild import side
from nibd.bench.report import Report
from nibd.bench.session import Session, session
from nibd.bench.world import BenchError, World, world
from nibd.stores.snapshot import Publication
from nibd.stores.types import View

EMBEDDINGS = "embeddings.db"


@dataclass(frozen=True, slots=True)
class Materialised:
    """`dense_s` is from the first publication on, 0 without that view. `parts` are bytes on disk."""

    work_tree: Path
    folder: Path
    publication: Publication
    built_s: float
    dense_s: float
    processor_s: float
    parts: Mapping[str, int]
    asked: Sequence[Asked]

    @property
    def seconds(self) -> float:
        return self.built_s + self.dense_s


def measure(name: str, repository: Path, counts: Sequence[int], dense: bool, report: Report) -> None:
    with world(dense) as where:
        made = materialise(where, name, repository, dense)
        _report_materialised(name, made, report)
        asked = [made.asked[number % len(made.asked)] for number in range(max(counts))]
        ways = {
            "resident": resident(where, made.work_tree, asked, dense),
            "isolated": isolated(where, made.work_tree, made.folder, made.publication, asked, dense),
        }
    _report_served(name, made, ways, counts, report)


def materialise(where: World, name: str, repository: Path, dense: bool) -> Materialised:
    """Raises BenchError for a tree without anything to ask about."""
    with session(where, name, repository, "HEAD") as built:
        publication, dense_s = built.current(), 0.0
        if dense:
            publication = built.dense_of(built.head())
            dense_s = max(0.0, publication.published_at - built.built_at)
        built.settle()
        running = [each["pid"] for each in processes(where).values() if each["pid"]]
        spent = sum(cpu_seconds(pid) for pid in running)
        asked = _asked(built, publication)
        work_tree, folder = built.work_tree, built.folder.root
    if not asked:
        raise BenchError(f"{name} has no text or no callable to be asked about")
    parts = on_disk(folder, where.cache / EMBEDDINGS)
    return Materialised(work_tree, folder, publication, built.built_s, dense_s, spent, parts, asked)


def _asked(built: Session, publication: Publication) -> list[Asked]:
    with side(built.folder, publication.snapshot) as tree:
        return sessions(tree)


def on_disk(folder: Path, embeddings: Path) -> dict[str, int]:
    """Bytes by what lies directly in the repository's folder, largest first; and of the vectors of all."""
    found: dict[str, int] = {}
    for path in [*folder.rglob("*"), *embeddings.parent.glob(f"{embeddings.name}*")]:
        if path.is_file():
            inside = path.relative_to(folder).parts[0] if path.is_relative_to(folder) else embeddings.name
            part = inside.removesuffix("-wal").removesuffix("-shm")
            found[part] = found.get(part, 0) + path.stat().st_size
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def cost(way: Served, count: int) -> tuple[float, float]:
    """Seconds of each among the first `count` sessions, by the clock and of processor time."""
    return way.ended_s[count - 1] / count, way.spent_s[count - 1] / count


def _report_materialised(name: str, made: Materialised, report: Report) -> None:
    report.details[f"{name}: on disk"] = dict(made.parts)
    counts = made.publication.snapshot.views[View.STRUCTURAL].counts
    value = f"lexical and units {made.built_s:.2f} s"
    if made.dense_s:
        texts = made.publication.snapshot.views[View.DENSE].counts["texts"]
        value += f", dense {made.dense_s:.1f} s for {texts} texts"
    value += f"; {made.processor_s:.1f} s of processor time ({counts.get('lines', 0)} lines)"
    report.add(f"{name}: materialise", value)
    megabytes = {part: size / 1e6 for part, size in made.parts.items()}
    told = ", ".join(f"{part} {size:.1f}" for part, size in megabytes.items())
    report.add(f"{name}: on disk", f"{sum(megabytes.values()):.1f} MB ({told})")
    rows = [[part, f"{size:.2f}"] for part, size in megabytes.items()]
    report.parts.append(Table(f"{name}: on disk", ("part", "MB"), rows))
    report.parts.append(Bars(f"{name}: on disk, MB", list(megabytes), {"MB": list(megabytes.values())}))


def _report_served(
    name: str, made: Materialised, ways: Mapping[str, Served], counts: Sequence[int], report: Report
) -> None:
    for way, served in ways.items():
        report.details[f"{name}: {way}"] = {
            key: value for key, value in asdict(served).items() if key != "answers"
        }
        each = "its start" if way == "resident" else "each"
        load = f"{statistics.median(served.load_s):.3f} s ({each})"
        serve = f"median {statistics.median(served.serve_s) * 1000:.1f} ms a session"
        work = f"{served.memory_mb:.0f} MB"
        report.add(f"{name}: {way}: load", load)
        report.add(f"{name}: {way}: serve", f"{serve} (n={len(served.serve_s)}; {work})")
    first, second = ways.values()
    same = sum(old == new for old, new in zip(first.answers, second.answers, strict=True))
    report.add_count(f"{name}: sessions answered alike in both ways", same, len(first.answers))
    rows = []
    for count in counts:
        of = {way: cost(served, count) for way, served in ways.items()}
        by_clock, spent = _told(of, 0), _told(of, 1)
        shared = made.seconds / count
        with_all = {way: f"{clock + shared:.2f}" for way, (clock, _) in of.items()}
        whole = ", ".join(f"{way} {seconds} s" for way, seconds in with_all.items())
        value = f"{by_clock[0]}; processor time {spent[0]}; with materialising {whole}"
        report.add(f"{name}: a session among {count}", value)
        rows.append([str(count), *by_clock[1], *spent[1], *with_all.values()])
    kinds = (*(f"{way}, s" for way in ways), "ratio")
    head = (
        "sessions",
        *kinds,
        *(f"processor: {kind}" for kind in kinds),
        *(f"{way} with materialising" for way in ways),
    )
    note = "Seconds of each session, executed one after another; what they share is divided among them."
    report.parts.append(Table(f"{name}: what a session costs", head, rows, note))
    for at, what in enumerate(("by the clock", "of processor time")):
        lines = {way: [(float(n), cost(served, n)[at]) for n in counts] for way, served in ways.items()}
        title = f"{name}: what a session costs, {what}"
        report.parts.append(Lines(title, lines, "sessions", "seconds each", by_powers=True))


def _told(costs: Mapping[str, tuple[float, float]], at: int) -> tuple[str, list[str]]:
    """As a sentence, and as cells; the ratio is of the last way over the first."""
    first, *_, last = (cost[at] for cost in costs.values())
    ratio = f"{last / first:.1f}" if first else "-"
    seconds = {way: f"{cost[at]:.3f}" for way, cost in costs.items()}
    sentence = ", ".join(f"{way} {value} s" for way, value in seconds.items())
    return f"{sentence}: {ratio} times", [*seconds.values(), ratio]
