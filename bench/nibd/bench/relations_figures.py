"""Rows of the table about transitions: per language family, with the bars they are to reach.

*Ordinary* transitions change at most `ORDINARY_FILES` files. A ratio is the median of the ratios of single
transitions. A transition counts as equal when every site of every file is.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from nibd.bench.relations_follow import Built, Followed, Sample
from nibd.bench.report import Report, p95
from nibd.repair.relations.comparison import Compared

ORDINARY_FILES = 5
RATIO_BARS = {"c": 2.0}
RATIO_BAR = 25.0
REPAIRED_BARS_S = {"c": 10.0}
REPAIRED_BAR_S = 1.5
REPAIRED_SHARE_BAR = 0.95
FLASK_BUILD_BAR_S = 15.0
SITES_BUILD_BAR = ("javascript", 150_000, 60.0)
"""Of a repository of so many sites; a larger or smaller one in proportion."""
DECISIVE_S = 0.05
"""By how much symbol-level repair has to be slower than file-level to count as slower."""


def report_transitions(followed: Sequence[Followed], report: Report) -> None:
    for build in (build for each in followed for build in each.builds):
        report_build(build, report)
    families = sorted({each.chain.family for each in followed})
    for family in families:
        samples = [s for each in followed if each.chain.family == family for s in each.samples]
        failures = [f for each in followed if each.chain.family == family for f in each.failures]
        if samples:
            _times(family, samples, report)
            _equality(family, samples, report)
            _work(family, samples, report)
        for failure in failures:
            where = f"{family}: {failure.name} {failure.case.child[:10]}"
            report.failed.append(where)
            report.add(where, f"FAILED: {failure.why}", met=False)
    samples = [sample for each in followed for sample in each.samples]
    if followed:
        report.details["transitions"] = [_as_json(sample) for sample in samples]


def report_build(build: Built, report: Report) -> None:
    bar = _build_bar(build)
    value = (
        f"{build.seconds:.1f} s, {build.sites / max(build.seconds, 1e-3):.0f} sites a second "
        f"({build.files} files, {build.sites} sites, {build.unknown} unknown; server "
        f"{build.memory_bytes >> 20} MiB)"
    )
    met = None if bar is None else build.seconds <= bar
    report.add(
        f"{build.family}: {build.name}: first build of relations",
        value,
        "" if bar is None else f"<= {bar:.0f} s",
        met,
    )
    report.details.setdefault("first builds", []).append(asdict(build))


def _build_bar(build: Built) -> float | None:
    if build.name == "flask":
        return FLASK_BUILD_BAR_S
    family, sites, seconds = SITES_BUILD_BAR
    return seconds * build.sites / sites if build.family == family else None


def _times(family: str, samples: Sequence[Sample], report: Report) -> None:
    bar = REPAIRED_BARS_S.get(family, REPAIRED_BAR_S)
    ordinary = [sample for sample in samples if sample.changed_files <= ORDINARY_FILES]
    _spread(
        report,
        f"{family}: commit to repaired, warm, at most {ORDINARY_FILES} files",
        [s.to_repaired_s for s in ordinary],
        bar,
    )
    _spread(report, f"{family}: commit to repaired, warm, any size", [s.to_repaired_s for s in samples])
    _spread(report, f"{family}: repair, warm", [s.repair_s for s in samples])
    started = sum(sample.started for sample in samples)
    report.add(f"{family}: repair, warm: servers that had to be started", f"{started} of {len(samples)}")
    _spread(report, f"{family}: repair, cold (server started for it)", _given(samples, lambda s: s.cold_s))
    _spread(report, f"{family}: repair by file, warm", _given(samples, lambda s: s.by_file_s))
    _spread(report, f"{family}: rebuild (fresh servers)", [s.rebuild_s for s in samples])
    _spread(report, f"{family}: verification", [s.verify_s for s in samples])
    ratios = [sample.rebuild_s / sample.repair_s for sample in samples]
    how = f"median; 95% reach {_low(ratios):.1f}, n={len(ratios)}"
    report.add_ratio(
        f"{family}: repair against rebuild", statistics.median(ratios), how, RATIO_BARS.get(family, RATIO_BAR)
    )
    both = [(sample.repair_s, sample.by_file_s) for sample in samples if sample.by_file_s is not None]
    if both:
        slower = sum(repair > by_file + DECISIVE_S for repair, by_file in both)
        value = f"{slower} of {len(both)} slower, by more than {DECISIVE_S:g} s"
        report.add(f"{family}: repair by symbol against by file", value, "never slower", slower == 0)


def _equality(family: str, samples: Sequence[Sample], report: Report) -> None:
    repaired = sum(sample.repaired.are_equal for sample in samples)
    share = repaired / len(samples)
    report.add(
        f"{family}: repaired equals a rebuild",
        f"{repaired} of {len(samples)} ({share:.0%})",
        f">= {REPAIRED_SHARE_BAR:.0%}",
        share >= REPAIRED_SHARE_BAR,
    )
    verified = sum(sample.verified.are_equal for sample in samples)
    report.add_count(f"{family}: verified equals a rebuild", verified, len(samples))
    if any(sample.vary and sample.vary.spots for sample in samples):
        narrower = sum(sample.unexplained == 0 for sample in samples)
        value = f"{narrower} of {len(samples)}"
        report.add(f"{family}: the same, without the sites in which two rebuilds differ", value)
    by_file = [sample.by_file for sample in samples if sample.by_file is not None]
    if by_file:
        equal = sum(each.are_equal for each in by_file)
        report.add(f"{family}: repaired by file equals a rebuild", f"{equal} of {len(by_file)}")
    for what, differing in (
        ("repaired", [s for s in samples if not s.repaired.are_equal]),
        ("verified", [s for s in samples if not s.verified.are_equal]),
    ):
        for sample in differing:
            found = sample.repaired if what == "repaired" else sample.verified
            name = f"{family}: {sample.name} {sample.case.child[:10]}: {what} differs"
            report.add(name, f"{_kinds(found)} of {sample.sites} sites{_varying(sample, found)}")


def _varying(sample: Sample, found: Compared) -> str:
    """What two rebuilds say of the sites that differ."""
    if sample.vary is None:
        return ""
    own = len(found.spots & sample.vary.spots)
    return f"; two rebuilds differ in {sample.vary.count}, {own} of them here"


def _kinds(found: Compared) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in found.kinds.most_common())


def _work(family: str, samples: Sequence[Sample], report: Report) -> None:
    asked, right = Counter[str](), Counter[str]()
    for sample in samples:
        asked.update(sample.asked)
        right.update(sample.changed)
    sites, total = sum(sample.sites for sample in samples), asked.total()
    rules = ", ".join(f"{rule} {_asked(rule, count, right)}" for rule, count in asked.most_common())
    cut = sum(sample.cut for sample in samples)
    report.add(
        f"{family}: sites asked by repair",
        f"{total} of {sites} ({rules}), kept {sites - total}, left to verification {cut}",
    )
    again = sum(sample.verify_asked for sample in samples)
    changed = sum(sample.verify_changed for sample in samples)
    unanswered = sum(sample.unanswered for sample in samples)
    report.add(
        f"{family}: sites asked by verification",
        f"{again}, of which {changed} were repaired and {unanswered} unanswered",
    )
    for step in ("repair", "by_file", "rebuild", "verify"):
        sent: Counter[str] = Counter()
        for sample in samples:
            sent.update(sample.requests.get(step, {}))
        if sent:
            kinds = ", ".join(f"{method} {count}" for method, count in sent.most_common())
            report.add(f"{family}: requests of {step.replace('_', ' ')}", kinds)


def _asked(rule: str, count: int, changed: Mapping[str, int]) -> str:
    """Of sites that are new nothing was kept that could have changed."""
    return str(count) if rule == "new" else f"{count} of which {changed.get(rule, 0)} changed"


def _spread(report: Report, name: str, seconds: Sequence[float], bar: float | None = None) -> None:
    """A row only where there is a sample, or a bar that is missed for want of one."""
    if seconds or bar is not None:
        report.add_spread(name, seconds, median_bar=bar)


def _given(samples: Iterable[Sample], value: Callable[[Sample], float | None]) -> list[float]:
    return [found for sample in samples if (found := value(sample)) is not None]


def _low(ratios: Sequence[float]) -> float:
    """The ratio that 95% of them reach."""
    return -p95([-ratio for ratio in ratios])


def _as_json(sample: Sample) -> dict[str, Any]:
    own = ("repaired", "by_file", "verified", "vary", "case")
    data = {name: getattr(sample, name) for name in Sample.__slots__ if name not in own}
    data |= asdict(sample.case) | {"kept": sample.kept, "unexplained": sample.unexplained}
    for name in own[:-1]:
        found: Compared | None = getattr(sample, name)
        data[f"differences_{name}"] = found and {
            "sites": found.count,
            "kinds": dict(found.kinds),
            "listed": [asdict(difference) for difference in found.listed],
        }
    return data
