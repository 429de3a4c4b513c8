"""The score of a file from its evidence, and that of a unit from its text and its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nibd.query.ranking import weights
from nibd.query.ranking.evidence import ABSOLUTE, Evidence, Found
from nibd.query.ranking.groups import Floats


def relative(evidence: Found, ordinary: Sequence[bool]) -> Found:
    """Each kind that is not absolute divided by the greatest that an ordinary file has, at most `MOST`."""
    usual = np.array(ordinary, bool)
    if not usual.any():
        usual = np.ones(len(usual), bool)
    return {
        kind: values if kind in ABSOLUTE else _divided(values, float(values[usual].max(initial=0.0)))
        for kind, values in evidence.items()
    }


def _divided(values: Floats, most: float) -> Floats:
    shares: Floats = np.minimum(weights.MOST, values / max(most, 1e-9))
    return shares


def penalties(classes: Sequence[frozenset[str]], asked: frozenset[str]) -> list[Mapping[str, float]]:
    """What each file's classes take off, by class, but for those that are asked for."""
    return [
        {name: weights.PENALTIES[name] for name in sorted(each - asked) if name in weights.PENALTIES}
        for each in classes
    ]


def points(taken_off: Sequence[Mapping[str, float]]) -> Floats:
    """The penalties of each file together."""
    return np.array([sum(each.values()) for each in taken_off], float)


def file_scores(evidence: Found, taken_off: Sequence[Mapping[str, float]]) -> Floats:
    """The plain sum of the relative evidence that there is, less the penalties."""
    score = np.zeros(len(taken_off))
    for kind in Evidence:
        if kind in evidence:
            score += evidence[kind]
    score -= points(taken_off)
    return score


def unit_scores(text: Floats, prose: Floats, title: Floats, file: Floats, defined: Floats) -> Floats:
    """A unit's text for all zones and, by half each, for the prose and for the title alone, each over its
    greatest; how far its file is below the best one; and what it defines of what the query asks for."""
    score: Floats = _share(text) + weights.UNIT_PROSE * _share(prose) + weights.UNIT_TITLE * _share(title)
    score += weights.UNIT_FILE * (file - file.max(initial=-np.inf))
    score += defined
    return score


def _share(values: Floats) -> Floats:
    shares: Floats = values / max(float(values.max(initial=0.0)), 1e-9)
    return shares
