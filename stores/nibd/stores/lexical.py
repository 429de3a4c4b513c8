"""A lexical generation, opened for reading: candidates for a query, and the numbers for exact scores.

A generation never changes, so a reader shares one object among its threads for as long as it likes;
when the folder is deleted meanwhile, the mapped files go on answering. What a reader gets:

totals              live documents and sums of lengths, exact, from the record
document frequency  live documents with a term, exact, counted by Tantivy
statistics          what Tantivy itself scores with: those numbers with deleted documents included
candidates          documents by descending score of Tantivy, each term weighted by the caller

Tantivy's scores are never shown to anyone; `nibd.query.lexical` makes them an upper bound.

Each open generation has two of Tantivy's threads that look at `meta.json` every half second (0.03%
of a core); dropping the object ends them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import tantivy

from nibd.stores.errors import CorruptStore
from nibd.stores.lexical_build import GenerationStats, PopulationStats, TreeFile, build
from nibd.stores.lexical_documents import (
    ADDRESS_FIELD,
    KEY_FIELD,
    LEVEL_FIELD,
    LEXICAL_VERSION,
    Field,
    Located,
    Population,
    Totals,
    path_key,
    schema,
    unpack_address,
)
from nibd.stores.lexical_files import GenerationRecord, check_files, read_record
from nibd.stores.tantivy_errors import raised_as
from nibd.stores.types import Level, RepoPath

__all__ = [
    "LEXICAL_VERSION",
    "Candidate",
    "Field",
    "GenerationStats",
    "LexicalGeneration",
    "Located",
    "Population",
    "PopulationStats",
    "Statistics",
    "Totals",
    "TreeFile",
    "build",
]

Weights = Mapping[tuple[Field, str], float]
"""By what the score of a term in a field is multiplied. A term that is not here is not searched."""

FREQUENCY_CACHE_TERMS = 1 << 16
LOCATED_CACHE_DOCUMENTS = 1 << 13
"""At most 6 MB: to read where a document is takes longer than to score it."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What Tantivy scores a field with: documents and mean length, deleted ones included."""

    documents: int
    average_length: float


class Candidate(NamedTuple):
    """A document by Tantivy's score. `located()` reads where it is: most are never looked at."""

    score: float
    document: tantivy.DocAddress
    inside: _Index

    def located(self) -> Located:
        return self.inside.located(self.document)


class LexicalGeneration:
    """A finished generation, open for reading by any thread."""

    def __init__(self, root: Path, record: GenerationRecord) -> None:
        self._root = root
        self._record = record
        self._indexes = {p: _Index(root / p.value, record.totals[p].documents) for p in Population}

    @staticmethod
    def open(root: Path) -> LexicalGeneration:
        """Open a generation. Raises `CorruptStore` when it is unfinished or a file is missing or cut."""
        record = read_record(root)
        check_files(root, record, contents=False)
        return LexicalGeneration(root, record)

    def check(self) -> None:
        """Compare every byte with what was written. Raises `CorruptStore` naming the first file."""
        check_files(self._root, self._record, contents=True)

    def documents(self, population: Population) -> int:
        return self._record.totals[population].documents

    def totals(self, population: Population) -> Totals:
        return self._record.totals[population]

    def document_frequency(self, population: Population, field: Field, term: str) -> int:
        """How many live documents have the term in the field."""
        return self._indexes[population].document_frequency(field, term)

    def counted_frequency(self, population: Population, field: Field, term: str) -> int:
        """How many documents, deleted ones included, Tantivy takes the term to be in."""
        return self._indexes[population].counted_frequency(field, term)

    def statistics(self, population: Population, field: Field, term: str) -> Statistics:
        """Tantivy's statistics of a field; `term` is any that a live document has in it."""
        return self._indexes[population].statistics(field, term)

    def candidates(
        self,
        population: Population,
        weights: Weights,
        level: Level | None,
        limit: int,
        paths: Collection[RepoPath] | None = None,
    ) -> list[Candidate]:
        """The `limit` documents with the highest weighted score, highest first, and at most as many.

        With `paths`, of which there should not be many, documents of these files alone. Every matching
        document is scored: none is passed over by Tantivy's block maxima, which were taken with other
        statistics than the query has.
        """
        return self._indexes[population].candidates(weights, level, limit, paths)


class _Index:
    """One population's index."""

    def __init__(self, folder: Path, documents: int) -> None:
        self._folder = folder
        self._schema = schema()
        with raised_as(CorruptStore, folder):
            index = tantivy.Index.open(str(folder))
            index.config_reader("manual", 0)
            self._searcher = index.searcher()
        if self._searcher.num_docs != documents:
            raise CorruptStore(f"{folder} has {self._searcher.num_docs} documents instead of {documents}")
        self._lock = threading.Lock()
        self._frequencies: dict[tuple[Field, str], int] = {}
        self._counted: dict[tuple[Field, str], int] = {}
        self._statistics: dict[Field, Statistics] = {}
        self._located: dict[tuple[int, int], Located] = {}

    def document_frequency(self, field: Field, term: str) -> int:
        return self._cached(self._frequencies, field, term, self._count)

    def counted_frequency(self, field: Field, term: str) -> int:
        return self._cached(self._counted, field, term, self._counted_frequency)

    def statistics(self, field: Field, term: str) -> Statistics:
        found = self._statistics.get(field)
        if found is None:
            found = self._explained(field, term)
            with self._lock:
                self._statistics[field] = found
        return found

    def candidates(
        self, weights: Weights, level: Level | None, limit: int, paths: Collection[RepoPath] | None
    ) -> list[Candidate]:
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.boost_query(self._term(field, term), weight))
            for (field, term), weight in weights.items()
        ]
        query = tantivy.Query.boolean_query(clauses)
        if level is not None:
            query = _within(query, tantivy.Query.term_query(self._schema, LEVEL_FIELD, int(level)))
        if paths is not None:
            keys = [path_key(path) for path in paths]
            query = _within(query, tantivy.Query.term_set_query(self._schema, KEY_FIELD, keys))
        with raised_as(CorruptStore, self._folder):
            hits = self._searcher.search(query, limit, count=True).hits
        return [Candidate(score, document, self) for score, document in hits]

    def located(self, document: tantivy.DocAddress) -> Located:
        key = (document.segment_ord, document.doc)
        found = self._located.get(key)
        if found is None:
            with raised_as(CorruptStore, self._folder):
                stored = self._searcher.doc(document).get_first(ADDRESS_FIELD)
                found = unpack_address(bytes(stored or b""))
            with self._lock:
                if len(self._located) >= LOCATED_CACHE_DOCUMENTS:
                    self._located.clear()
                self._located[key] = found
        return found

    def _cached(
        self,
        known: dict[tuple[Field, str], int],
        field: Field,
        term: str,
        count: Callable[[Field, str], int],
    ) -> int:
        found = known.get((field, term))
        if found is None:
            found = count(field, term)
            with self._lock:
                if len(known) >= FREQUENCY_CACHE_TERMS:
                    known.clear()
                known[field, term] = found
        return found

    def _counted_frequency(self, field: Field, term: str) -> int:
        with raised_as(CorruptStore, self._folder):
            return self._searcher.doc_freq(field.value, term)

    def _count(self, field: Field, term: str) -> int:
        counted = self.counted_frequency(field, term)
        if counted == 0 or self._has_all():
            return counted
        with raised_as(CorruptStore, self._folder):
            found: int = self._searcher.search(self._term(field, term), 1, count=True).count  # type: ignore[attr-defined]
            return found

    def _has_all(self) -> bool:
        """Whether none is known to be deleted: the statistics, once they were read, count those too."""
        return any(known.documents == self._searcher.num_docs for known in self._statistics.values())

    def _term(self, field: Field, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field.value, term, index_option="freq")

    def _explained(self, field: Field, term: str) -> Statistics:
        """Read Tantivy's statistics off its explanation of a score: nothing else tells them."""
        query = self._term(field, term)
        with raised_as(CorruptStore, self._folder):
            document = self._searcher.search(query, 1).hits[0][1]
            values = dict(_values(json.loads(query.explain(self._searcher, document).to_json())))
            return Statistics(int(values["N"]), values["avgdl"])


def _within(query: tantivy.Query, condition: tantivy.Query) -> tantivy.Query:
    """What matches both, with the score of the query."""
    unscored = tantivy.Query.const_score_query(condition, 0.0)
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])


def _values(explanation: dict[str, object]) -> Iterator[tuple[str, float]]:
    """Yield every number of an explanation under the symbol that its description starts with."""
    value, description = explanation["value"], explanation["description"]
    assert isinstance(value, float)
    assert isinstance(description, str)
    yield description.partition(",")[0], value
    details = explanation.get("details", ())
    assert isinstance(details, list | tuple)
    for detail in details:
        yield from _values(detail)
