"""Kinds of evidence that a file answers a query: one number per file and kind.

The last three follow from how good other files are (`spreading`), the others from a file alone. Those in
`ABSOLUTE` say themselves how strong they are. The others are later divided by the greatest that an
ordinary file has (`sums`), so that each speaks with the same voice, however long the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

import numpy as np

from nibd.query.ranking import text_scores, weights
from nibd.query.ranking.candidates import Named, Tree
from nibd.query.ranking.counts import Counted, File
from nibd.query.ranking.groups import ALL, PROSE, TITLE, WORDS, Floats, Group, QueryTerms
from nibd.stores.lexical import Population
from nibd.stores.types import RepoPath


class Evidence(StrEnum):
    """In the order of summing."""

    UNIT = "best unit"
    FILE = "whole file"
    UNIT_WORDS = "best unit, title and prose without inline code"
    UNIT_PROSE = "best unit, prose without the title"
    FIFTH_UNIT = "fifth best unit"
    NAMES = "names that it defines"
    COVERED = "words of the title that it has at all"
    STEM = "its stem"
    STEM_TITLE = "its stem, title"
    DEFINES = "defines what is mentioned"
    PATH = "its path is mentioned"
    FRAME = "is in the stack trace"
    IMPORTED = "imported by the best files"
    IMPORTER = "imports the best files"
    FOLDER = "other good files in its folder"


ABSOLUTE = frozenset({Evidence.STEM, Evidence.STEM_TITLE, Evidence.DEFINES, Evidence.PATH, Evidence.FRAME})
"""These are not divided by their greatest value: a weak match is weak however alone it is."""

Found = Mapping[Evidence, Floats]


def own_evidence(
    tree: Tree, terms: QueryTerms, counted: Counted, unit_terms: text_scores.UnitTerms, named: Named
) -> Found:
    """What each file's own text, names and path say."""
    totals = {population: tree.generation.totals(population) for population in Population}
    weighed = text_scores.weighed(unit_terms, counted, totals[Population.UNITS])

    def units(variant: int) -> Floats:
        return text_scores.unit_scores(weighed, terms.importance[variant], len(counted.file_of))

    of_units = units(ALL)
    files = counted.files
    stems = [_stem(file.path) for file in files]
    return {
        Evidence.UNIT: text_scores.best_of_files(of_units, counted),
        Evidence.FILE: text_scores.file_scores(counted, totals[Population.FILES], terms.importance[ALL]),
        Evidence.UNIT_WORDS: text_scores.best_of_files(units(WORDS), counted),
        Evidence.UNIT_PROSE: text_scores.best_of_files(units(PROSE), counted),
        Evidence.FIFTH_UNIT: text_scores.best_of_files(of_units, counted, weights.FIFTH),
        Evidence.NAMES: text_scores.names_scores(counted, totals[Population.FILES], terms.importance[ALL]),
        Evidence.COVERED: text_scores.covered(counted, terms.importance[TITLE]),
        Evidence.STEM: _stem_matches(stems, terms.groups, ALL),
        Evidence.STEM_TITLE: _stem_matches(stems, terms.groups, TITLE),
        Evidence.DEFINES: of_files(files, named.defines()),
        Evidence.PATH: of_files(files, named.paths),
        Evidence.FRAME: of_files(files, named.frames),
    }


def stem_match(stem: str, groups: Sequence[tuple[str, float]]) -> float:
    """How much of a file's stem the query covers: the sum of share of importance times share of characters.

    `stem` is in lower case without punctuation, so that `tracinghandler` is matched by "tracing". A group
    of few characters has to be all of it. At most `MOST`.
    """
    covered = 0.0
    for text, share in groups:
        if text == stem or (len(text) >= weights.STEM_CHARACTERS and text in stem):
            covered += share * len(text) / len(stem)
    return min(weights.MOST, covered)


def _stem_matches(stems: Sequence[str], groups: Sequence[Group], variant: int) -> Floats:
    importance = [group.weights[variant] * group.idf for group in groups]
    most = max(importance, default=0.0)
    told = [
        (group.text.replace("_", ""), value / most)
        for group, value in zip(groups, importance, strict=True)
        if most > 0 and value > weights.STEM_SHARE * most and len(group.text) >= weights.STEM_CHARACTERS - 1
    ]
    return np.array([stem_match(stem, told) for stem in stems], float)


@lru_cache(maxsize=1 << 14)
def _stem(path: RepoPath) -> str:
    name = path.rpartition(b"/")[2].decode(errors="replace").lower()
    stem = name.rpartition(".")[0] or name
    return stem if stem.isalnum() else "".join(filter(str.isalnum, stem)) or " "


def of_files(files: Sequence[File], values: Mapping[RepoPath, float]) -> Floats:
    if not values:
        return np.zeros(len(files))
    return np.array([values.get(file.path, 0.0) for file in files], float)
