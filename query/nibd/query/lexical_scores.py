"""The exact score of one document: the formula of `nibd.query.lexical`, over counts from the facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nibd.stores.fact_terms import TermCounts, term_hash
from nibd.stores.facts import FactStore
from nibd.stores.lexical import Field, Located, Population, Totals
from nibd.stores.lexical_documents import name_terms, path_terms

K1 = 1.2
B = 0.75


def idf(documents: int, frequency: int) -> float:
    """How much a term tells that `frequency` of `documents` have (Lucene's form, never negative)."""
    return math.log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A query term in a field. `factor` is its greatest possible score: the count's limit."""

    term: str
    factor: float


@dataclass(frozen=True, slots=True)
class _FieldTerms:
    """A field's terms in the order of summing; by hash and by term, the place in that order."""

    factors: tuple[float, ...]
    by_hash: Mapping[int, int]
    by_term: Mapping[str, int]
    norm_base: float
    norm_per_term: float


class Scorer:
    """Scores documents of one population for one query. For one thread."""

    def __init__(
        self,
        population: Population,
        totals: Totals,
        facts: FactStore,
        terms: Mapping[Field, Sequence[WeightedTerm]],
    ) -> None:
        self._files = population is Population.FILES
        self._facts = facts
        self._fields = {field: _field_terms(terms[field], totals.average(field)) for field in terms}
        self.scored = 0

    def score(self, located: Located) -> float:
        """Raises `StoreError` or `CorruptFacts` when the document's facts can't be had."""
        self.scored += 1
        counts = self._facts.counts(located.blob, located.language)
        score = 0.0
        for field, terms in self._fields.items():
            found, length = self._found(field, terms, located, counts)
            norm = terms.norm_base + terms.norm_per_term * length
            for order, count in found:
                score += terms.factors[order] * count / (count + norm)
        return score

    def _found(
        self, field: Field, terms: _FieldTerms, located: Located, counts: TermCounts
    ) -> tuple[list[tuple[int, int]], int]:
        """The query terms that a field has, as (order, count), and the field's length."""
        if field is Field.PATH:
            return _in_mapping(terms, path_terms(located.address.path))
        if field is Field.NAME and not self._files:
            return _in_mapping(terms, name_terms(located.qualified))
        group = located.ordinal
        if self._files:
            group = counts.file_group if field is Field.BODY else counts.names_group
        return counts.matching(group, terms.by_hash), counts.length(group)


def _field_terms(weighted: Sequence[WeightedTerm], average: float) -> _FieldTerms:
    return _FieldTerms(
        factors=tuple(term.factor for term in weighted),
        by_hash={term_hash(term.term): order for order, term in enumerate(weighted)},
        by_term={term.term: order for order, term in enumerate(weighted)},
        norm_base=K1 * (1.0 - B),
        norm_per_term=K1 * B / average,
    )


def _in_mapping(terms: _FieldTerms, counts: Mapping[str, int]) -> tuple[list[tuple[int, int]], int]:
    places = ((terms.by_term.get(term), count) for term, count in counts.items())
    return sorted((order, count) for order, count in places if order is not None), sum(counts.values())
