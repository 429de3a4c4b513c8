"""Means with 95% intervals, by drawing repositories, and differences of two ways to answer one question.

Questions of one repository are alike, so repositories are what is drawn: as many as there are, with
replacement, `BOOTSTRAPS` times from a fixed seed, each with all its questions. The interval is from the 2.5th
to the 97.5th percentile of the means. A *paired* difference is taken question by question, before that.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

BOOTSTRAPS = 2000
SEED = 20240102

Sample = tuple[str, float]
"""A repository and the value of one of its questions."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, or a ratio of two sums, over `count` questions, and its 95% interval."""

    value: float
    low: float
    high: float
    count: int

    def text(self, digits: int = 3) -> str:
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"

    def signed(self, digits: int = 3) -> str:
        return f"{self.value:+.{digits}f} ({self.low:+.{digits}f} to {self.high:+.{digits}f})"


def mean(samples: Iterable[Sample]) -> Estimate | None:
    """`None` where there is no sample."""
    return ratio((repository, value, 1.0) for repository, value in samples)


def ratio(samples: Iterable[tuple[str, float, float]]) -> Estimate | None:
    """The sum of the first values over that of the second ones; `None` where the latter is 0."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    count = 0
    for repository, above, below in samples:
        sums[repository][0] += above
        sums[repository][1] += below
        count += 1
    groups = [(above, below) for above, below in sums.values()]
    whole = _quotient(groups)
    if whole is None:
        return None
    if len(groups) == 1:
        return Estimate(whole, whole, whole, count)  # whatever is drawn
    source = random.Random(SEED)
    drawn = (_quotient(source.choices(groups, k=len(groups))) for _ in range(BOOTSTRAPS))
    found = sorted(value for value in drawn if value is not None)
    tail = len(found) // 40
    return Estimate(whole, found[tail], found[-1 - tail], count)


def paired(
    old: Mapping[str, float], new: Mapping[str, float], repositories: Mapping[str, str]
) -> Estimate | None:
    """The mean of new less old, over the questions that both answer; all by the question's id."""
    both = [question for question in old if question in new]
    return mean((repositories[question], new[question] - old[question]) for question in both)


def texts(values: Iterable[Estimate | None], sign: Literal["", "+"] = "") -> str:
    """The values alone, such as of two halves."""
    return " / ".join(f"{each.value:{sign}.3f}" if each else "-" for each in values)


def _quotient(groups: Sequence[tuple[float, float]]) -> float | None:
    below = sum(below for _, below in groups)
    return sum(above for above, _ in groups) / below if below else None
