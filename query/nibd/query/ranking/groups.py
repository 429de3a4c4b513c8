"""A query's words as terms of a tree, each with its weights.

A *group* is one thing that the query says, with each spelling that the tree has: a word (its stem, and the
word itself, which is what a tree has of `TocTree` as a whole), an identifier of several parts as a whole, or
two or three neighbouring words that the tree writes as one (`testcase`, `test_case`). Its *importance* is
its weight in the query times its idf over the tree's files; there are four of them, by which zones of the
query count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nibd.query.lexical_scores import idf
from nibd.query.ranking import weights
from nibd.query.ranking.understanding import Understood
from nibd.query.ranking.weights import Zone
from nibd.query.ranking.words import FORM_WORDS, STOP_WORDS
from nibd.stores.fact_terms import term_hash
from nibd.stores.lexical import Field, LexicalGeneration, Population
from nibd.stores.terms import spelled_terms, tokenize

Floats = npt.NDArray[np.float64]

VARIANTS: Sequence[Mapping[Zone, float]] = (
    weights.ALL_ZONES, weights.TITLE_ZONES, weights.WORDS_ZONES, weights.PROSE_ZONES
)  # fmt: skip
ALL, TITLE, WORDS, PROSE = range(4)


@dataclass(frozen=True, slots=True)
class Group:
    """`text` is the stem, the whole identifier, or the neighbours without space; `terms` its spellings."""

    text: str
    terms: tuple[str, ...]
    idf: float
    weights: tuple[float, ...]

    @property
    def importance(self) -> float:
        return self.weights[ALL] * self.idf


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Terms by ascending hash; a row of `importance` for each variant, and of idf, by term.

    `groups` are by falling importance; `found` tells how many the query had in the tree before a cut.
    """

    groups: Sequence[Group]
    hashes: npt.NDArray[np.uint64]
    by_term: Mapping[str, int]
    importance: Floats
    found: int

    @property
    def count(self) -> int:
        return len(self.hashes)


def query_terms(understood: Understood, generation: LexicalGeneration) -> QueryTerms:
    """The groups of a query that the tree has, the most important ones."""
    documents = generation.totals(Population.FILES).documents
    groups = []
    for said in _said(understood, generation):
        files = min(documents, sum(_files(generation, term) for term in said.terms))
        if files or any(_paths(generation, term) for term in said.terms):
            times = Counter(said.occurrences)
            weighed = tuple(_weight(times, zones) for zones in VARIANTS)
            groups.append(Group(said.text, said.terms, idf(documents, files), weighed))
    groups.sort(key=lambda group: (-group.importance, group.text))
    kept = groups[: weights.MOST_TERMS]
    return packed(kept, len(groups))


def packed(groups: Sequence[Group], found: int) -> QueryTerms:
    """`groups` are by falling importance."""
    # The stem of one word may be how another is spelt (`parameterized` and `parameter`): it counts once, for
    # the less important of the two.
    of_term = {term: at for at, group in enumerate(groups) for term in group.terms}
    pairs = sorted((term_hash(term), term, at) for term, at in of_term.items())
    importance = np.array([[w * g.idf for w in g.weights] for g in groups], float).reshape(-1, len(VARIANTS))
    order = [at for _, _, at in pairs]
    return QueryTerms(
        groups,
        np.array([hashed for hashed, _, _ in pairs], np.uint64),
        {term: place for place, (_, term, _) in enumerate(pairs)},
        np.ascontiguousarray(importance[order].T),
        found,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What will be a group: its spellings, and each occurrence with the weight of its class."""

    text: str
    terms: tuple[str, ...]
    occurrences: list[tuple[Zone, float]]


def _said(understood: Understood, generation: LexicalGeneration) -> list[_Said]:
    words: dict[str, _Said] = {}
    for token, zone in understood.tokens:
        for term, spelt in spelled_terms(token):
            is_stop, is_form = spelt in STOP_WORDS, spelt in FORM_WORDS
            weight = weights.STOP_WEIGHT if is_stop else weights.FORM_WEIGHT if is_form else 1.0
            text = next(tokenize(spelt), term)
            if text not in words:
                spellings = (each for each in dict.fromkeys((spelt, text)) if each != term)
                known = (each for each in spellings if _files(generation, each))
                words[text] = _Said(text, (term, *known), [])
            words[text].occurrences.append((zone, weight))
    joined: dict[str, _Said] = {}
    taken = {term for said in words.values() for term in said.terms}
    for run, zone in _neighbours(understood.tokens):
        text = "".join(run)
        said = joined.get(text)
        if said is None:
            if len(joined) == weights.MOST_NEIGHBOURS:
                continue
            new = [term for term in _spellings(run) if term not in taken and _files(generation, term)]
            said = joined[text] = _Said(text, tuple(new), [])
            taken.update(new)
        said.occurrences.append((zone, weights.JOINED_WEIGHT))
    return [*words.values(), *(said for said in joined.values() if said.terms)]


def _weight(times: Mapping[tuple[Zone, float], int], zones: Mapping[Zone, float]) -> float:
    """The sum over zones of the zone's weight times log2(1 + occurrences there), times the word's class."""
    return sum(
        zones.get(zone, 0.0) * math.log2(1 + number) * weight for (zone, weight), number in times.items()
    )


def _neighbours(tokens: Sequence[tuple[str, Zone]]) -> Iterator[tuple[tuple[str, ...], Zone]]:
    words = [(token.lower(), zone) for token, zone in tokens]
    plain = [word.isalnum() and not word.isdigit() for word, _ in words]
    for count in (2, 3):
        for at in range(len(words) - count + 1):
            run = words[at : at + count]
            if not all(plain[at : at + count]) or any(zone is not run[0][1] for _, zone in run):
                continue
            texts = tuple(word for word, _ in run)
            long_enough = sum(map(len, texts)) >= weights.JOINED_CHARACTERS
            if long_enough and texts[0] not in STOP_WORDS and texts[-1] not in STOP_WORDS:
                yield texts, run[0][1]


def _spellings(words: Sequence[str]) -> Iterable[str]:
    """How a tree may write neighbours as one: `testcase` (whose term is a stem), `TestCase`, `test_case`."""
    joined = "".join(words)
    return dict.fromkeys((joined, *tokenize(joined), "_".join(words)))


def _files(generation: LexicalGeneration, term: str) -> int:
    return generation.document_frequency(Population.FILES, Field.BODY, term)


def _paths(generation: LexicalGeneration, term: str) -> int:
    return generation.document_frequency(Population.FILES, Field.PATH, term)
