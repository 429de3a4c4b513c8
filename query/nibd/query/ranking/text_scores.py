"""BM25F of files and of units, from their counts.

    score(document) = sum over terms of importance(term) * t / (k1 + t)
    t               = sum over fields of weight(field) * count / (1 - b(field) + b(field) * length / average)

Averages are those of the whole tree. Sums are taken in the order of documents and terms, one number after
the other, so equal trees give equal bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nibd.query.ranking import weights
from nibd.query.ranking.counts import Counted, Ints, Pairs
from nibd.query.ranking.groups import Floats, QueryTerms
from nibd.stores.lexical import Field, Totals

Mask = npt.NDArray[np.bool_]
"""By unit, whether it is meant."""


@dataclass(frozen=True, slots=True)
class UnitTerms:
    """Of a unit and a term that it has, by ascending unit and term: how often the body and the name have it,
    and what the path adds to the `t` of the formula."""

    units: Ints
    terms: Ints
    body: Floats
    name: Floats
    path: Floats

    def of(self, meant: Mask) -> UnitTerms:
        kept = meant[self.units]
        return UnitTerms(
            self.units[kept], self.terms[kept], self.body[kept], self.name[kept], self.path[kept]
        )


@dataclass(frozen=True, slots=True)
class Weighted:
    """The `t` of the formula where it isn't 0: of a unit and a term."""

    units: Ints
    terms: Ints
    values: Floats


def file_scores(counted: Counted, totals: Totals, importance: Floats) -> Floats:
    fields = (
        (counted.body, counted.body_lengths, Field.BODY, weights.FILE_BODY),
        (counted.paths, counted.path_lengths, Field.PATH, weights.FILE_PATH),
        (counted.names, counted.names_lengths, Field.NAME, weights.FILE_NAMES),
    )
    together = np.zeros_like(counted.body)
    for counts, lengths, field, (weight, b) in fields:
        together += weight * counts / _norm(lengths, b, totals.average(field))[:, None]
    return _summed(together / (weights.K1 + together), importance)


def names_scores(counted: Counted, totals: Totals, importance: Floats) -> Floats:
    """Plain BM25 of the names that files define."""
    norm = weights.K1 * _norm(counted.names_lengths, weights.NAMES_B, totals.average(Field.NAME))
    saturated = counted.names * (weights.K1 + 1) / (counted.names + norm[:, None])
    return _summed(saturated, importance)


def covered(counted: Counted, importance: Floats) -> Floats:
    """The importance of the terms that a file has at all."""
    return _summed((counted.body > 0).astype(float), importance)


def unit_terms(counted: Counted, totals: Totals, terms: QueryTerms) -> UnitTerms:
    """A path counts for units that have a term in their body or name."""
    n = terms.count
    body, name = counted.unit_body, counted.unit_names
    alive = counted.unit_lengths[name.keys // n] > 0
    name = Pairs(name.keys[alive], name.counts[alive])
    with_term = distinct(_sorted(body.keys, name.keys) // n)
    path = Pairs(*_paths(counted, totals, with_term, n))
    keys = distinct(_sorted(body.keys, name.keys, path.keys))

    def column(of_field: Pairs) -> Floats:
        values = np.zeros(len(keys))
        values[keys.searchsorted(of_field.keys)] = of_field.counts
        return values

    return UnitTerms(keys // n, keys % n, column(body), column(name), column(path))


def weighed(found: UnitTerms, counted: Counted, totals: Totals, b: float | None = None) -> Weighted:
    """`b` may be set for body and name alike."""
    body_b = weights.UNIT_BODY[1] if b is None else b
    name_b = weights.UNIT_NAME[1] if b is None else b
    body_norm = _norm(counted.unit_lengths, body_b, totals.average(Field.BODY))
    name_norm = _norm(counted.unit_name_lengths, name_b, totals.average(Field.NAME))
    values = weights.UNIT_BODY[0] * found.body / body_norm[found.units]
    values += weights.UNIT_NAME[0] * found.name / name_norm[found.units]
    values += found.path
    return Weighted(found.units, found.terms, values)


def unit_scores(weighted: Weighted, importance: Floats, count: int, k1: float = weights.K1) -> Floats:
    saturated = importance[weighted.terms] * weighted.values / (k1 + weighted.values)
    return np.bincount(weighted.units, saturated, count).astype(float)


def best_of_files(scores: Floats, counted: Counted, nth: int = 1) -> Floats:
    """By file the score of its best unit (of the nth best); 0 where there is none."""
    found = np.zeros(len(counted.files))
    if nth == 1:
        np.maximum.at(found, counted.file_of, scores)
        return found
    some = np.flatnonzero(scores > 0)
    files = counted.file_of[some]
    order = np.lexsort((-scores[some], files))
    files = files[order]
    starts = np.flatnonzero(np.diff(files, prepend=-1))
    counts = np.diff(starts, append=len(files))
    has = counts >= nth
    found[files[starts[has]]] = scores[some][order][starts[has] + nth - 1]
    return found


def distinct(ascending: Ints) -> Ints:
    found: Ints = ascending[np.flatnonzero(np.diff(ascending, prepend=-1))]
    return found


def _paths(counted: Counted, totals: Totals, units: Ints, n: int) -> tuple[Ints, Floats]:
    weight, b = weights.UNIT_PATH
    values = weight * counted.paths / _norm(counted.path_lengths, b, totals.average(Field.PATH))[:, None]
    of_units = values[counted.file_of[units]]
    rows, terms = np.nonzero(of_units)
    return units[rows] * n + terms, of_units[rows, terms]


def _sorted(*ascending: Ints) -> Ints:
    return np.sort(np.concatenate(ascending), kind="stable")  # which joins what is sorted


def _norm(lengths: Floats, b: float, average: float) -> Floats:
    return 1 - b + b * lengths / average


def _summed(table: Floats, importance: Floats) -> Floats:
    """Not by `@`, whose order of summing depends on the processor's library."""
    summed: Floats = np.einsum("ij,j->i", table, importance, optimize=False)
    return summed
