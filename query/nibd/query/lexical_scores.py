"""The exact score of one document: the formula of `nibd.query.lexical`, over counts from the facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nibd.stores.fact_terms import TermCounts, term_hash
from nibd.stores.facts import FactStore
from nibd.stores.lexical import Field, Located, Population, Totals
from nibd.stores.lexical_documents import path_terms
from nibd.stores.types import BlobId

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
    """A field's greatest scores, by term of the query in the order of summing."""

    factors: tuple[float, ...]
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
        self._terms = sorted({each.term for of_field in terms.values() for each in of_field})
        self._hashes = [term_hash(term) for term in self._terms]
        self._fields = {
            field: _field_terms(self._terms, terms[field], totals.average(field)) for field in terms
        }
        self._held: dict[tuple[BlobId, str], tuple[TermCounts, list[int]]] = {}

    def score(self, located: Located) -> float:
        """Raises `StoreError` or `CorruptFacts` when the document's facts can't be had."""
        held = self._held.get((located.blob, located.language))
        counts, positions = held or self._hold(located)
        score = 0.0
        for field, terms in self._fields.items():
            if field is Field.PATH:
                in_path = path_terms(located.address.path)
                length, found = sum(in_path.values()), [in_path.get(term, 0) for term in self._terms]
            else:
                group = self._group(field, located.ordinal, counts)
                length, found = counts.length(group), counts.counts_at(group, positions)
            norm = terms.norm_base + terms.norm_per_term * length
            for factor, count in zip(terms.factors, found, strict=True):
                if count:
                    score += factor * count / (count + norm)
        return score

    def _hold(self, located: Located) -> tuple[TermCounts, list[int]]:
        """A file's counts, and where they have the query's terms: several documents may be of one file."""
        counts = self._facts.counts(located.blob, located.language)
        held = counts, counts.positions(self._hashes)
        self._held[located.blob, located.language] = held
        return held

    def _group(self, field: Field, ordinal: int, counts: TermCounts) -> int:
        if self._files:
            return counts.file_group if field is Field.BODY else counts.names_group
        return ordinal if field is Field.BODY else counts.name_group(ordinal)


def _field_terms(terms: Sequence[str], weighted: Sequence[WeightedTerm], average: float) -> _FieldTerms:
    """Of a term that no live document has in the field, 0."""
    factors = {each.term: each.factor for each in weighted}
    return _FieldTerms(
        factors=tuple(factors.get(term, 0.0) for term in terms),
        norm_base=K1 * (1.0 - B),
        norm_per_term=K1 * B / average,
    )
