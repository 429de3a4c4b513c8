"""Kinds of evidence that a file answers a query: one number per file and kind.

Those in `ABSOLUTE` say themselves how strong they are. The others are later divided by the greatest that an
ordinary file has (`sums`), so that each speaks with the same voice, however long the query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

import numpy as np

from nibd.query.ranking import text_scores, weights
from nibd.query.ranking.candidates import Named, Tree
from nibd.query.ranking.counts import Counted, File
from nibd.query.ranking.groups import ALL, PROSE, TITLE, WORDS, Floats, Group, QueryTerms
from nibd.query.ranking.imports import imported_files
from nibd.query.ranking.outline import import_name
from nibd.query.ranking.text_scores import Weighted
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
    IMPORTED = "imported by the best files"
    IMPORTER = "imports the best files"
    FOLDER = "other good files in its folder"
    STEM = "its stem"
    STEM_TITLE = "its stem, title"
    DEFINES = "defines what is mentioned"
    PATH = "its path is mentioned"
    FRAME = "is in the stack trace"


ABSOLUTE = frozenset({Evidence.STEM, Evidence.STEM_TITLE, Evidence.DEFINES, Evidence.PATH, Evidence.FRAME})
"""These are not divided by their greatest value: a weak match is weak however alone it is."""

Found = Mapping[Evidence, Floats]


@dataclass(frozen=True, slots=True)
class Gathered:
    """By kind the evidence for each file; units' terms, weighed, for whoever ranks units."""

    by_kind: Found
    unit_terms: Weighted


def gather(
    tree: Tree, terms: QueryTerms, counted: Counted, named: Named, ordinary: Sequence[bool]
) -> Gathered:
    """Raises `StoreError` when the imports of a file can't be read."""
    totals = {population: tree.generation.totals(population) for population in Population}
    unit_terms = text_scores.weigh_units(counted, totals[Population.UNITS], terms)

    def units(variant: int) -> Floats:
        return text_scores.unit_scores(unit_terms, terms.importance[variant], len(counted.file_of))

    of_units = units(ALL)
    files = counted.files
    found = {
        Evidence.UNIT: text_scores.best_of_files(of_units, counted),
        Evidence.FILE: text_scores.file_scores(counted, totals[Population.FILES], terms.importance[ALL]),
        Evidence.UNIT_WORDS: text_scores.best_of_files(units(WORDS), counted),
        Evidence.UNIT_PROSE: text_scores.best_of_files(units(PROSE), counted),
        Evidence.FIFTH_UNIT: text_scores.best_of_files(of_units, counted, weights.FIFTH),
        Evidence.NAMES: text_scores.names_scores(counted, totals[Population.FILES], terms.importance[ALL]),
        Evidence.COVERED: text_scores.covered(counted, terms.importance[TITLE]),
        Evidence.STEM: _stems(files, terms.groups, ALL),
        Evidence.STEM_TITLE: _stems(files, terms.groups, TITLE),
        Evidence.DEFINES: _of_files(files, named.defines()),
        Evidence.PATH: _of_files(files, named.paths),
        Evidence.FRAME: _of_files(files, named.frames),
    }
    text = _shares(found[Evidence.FILE]) + _shares(found[Evidence.UNIT])
    usual = np.array(ordinary, bool)
    strong = (text + found[Evidence.STEM]) * np.where(usual, 1.0, weights.UNORDINARY_IMPORTING)
    found[Evidence.IMPORTED], found[Evidence.IMPORTER] = _along_imports(tree, files, strong)
    hot = text * np.where(usual, 1.0, weights.UNORDINARY_IN_FOLDER)
    found[Evidence.FOLDER] = _in_folder(tree, files, hot)
    return Gathered(found, unit_terms)


def best_first(values: Floats, count: int) -> list[int]:
    """The places of the greatest values above 0; equal ones in the order in which they stand."""
    return [int(at) for at in np.argsort(-values, kind="stable")[:count] if values[at] > 0]


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


def _stems(files: Sequence[File], groups: Sequence[Group], variant: int) -> Floats:
    importance = [group.weights[variant] * group.idf for group in groups]
    most = max(importance, default=0.0)
    told = [
        (group.text.replace("_", ""), value / most)
        for group, value in zip(groups, importance, strict=True)
        if most > 0 and value > weights.STEM_SHARE * most and len(group.text) >= weights.STEM_CHARACTERS - 1
    ]
    return np.array([stem_match(_stem(file.path), told) for file in files], float)


def _stem(path: RepoPath) -> str:
    name = path.rpartition(b"/")[2].decode(errors="replace").lower()
    stem = name.rpartition(".")[0] or name
    return "".join(filter(str.isalnum, stem)) or " "


def _of_files(files: Sequence[File], values: Mapping[RepoPath, float]) -> Floats:
    return np.array([values.get(file.path, 0.0) for file in files], float)


def _shares(values: Floats) -> Floats:
    most = values.max(initial=0.0)
    return values / most if most > 0 else values


def _along_imports(tree: Tree, files: Sequence[File], strong: Floats) -> tuple[Floats, Floats]:
    """What the best files import, and what imports them.

    The first: strength / sqrt(their imports + 1), over sqrt(importers + 2); the second the other way round.
    How many files import one is told by how many have an import with its import name.
    """
    targets = [_targets(tree, file) for file in files]
    importers = np.array([tree.outline.importing.get(import_name(file.path), 0) for file in files], float)
    imported: defaultdict[RepoPath, float] = defaultdict(float)
    importing: dict[RepoPath, float] = {}
    for at in best_first(strong, weights.IMPORTS_FROM):
        importing[files[at].path] = float(strong[at] / np.sqrt(importers[at] + 1))
        for target in targets[at]:
            imported[target] += float(strong[at]) / sqrt(len(targets[at]) + 1)
    down = _of_files(files, imported) / np.sqrt(importers + 2)
    up = [sum(importing.get(each, 0.0) for each in found) / sqrt(len(found) + 2) for found in targets]
    return down, np.array(up, float)


def _targets(tree: Tree, file: File) -> list[RepoPath]:
    known = tree.outline.targets.get(file.path)
    if known is not None:
        return known
    modules = tree.outline.modules.get(file.path, ())
    found = imported_files(file.path, file.language, modules, tree.outline)
    tree.outline.remember(file.path, found)
    return found


def _in_folder(tree: Tree, files: Sequence[File], scores: Floats) -> Floats:
    """Per file: what the other hot files of its folder score, over the square root of the folder's files."""
    hot = {at: float(scores[at]) for at in best_first(scores, weights.FOLDER_FROM)}
    folders = [file.path.rpartition(b"/")[0] for file in files]
    sums: defaultdict[bytes, float] = defaultdict(float)
    for at in sorted(hot):
        sums[folders[at]] += hot[at]
    return np.array(
        [
            (sums[folder] - hot.get(at, 0.0)) / sqrt(max(1, len(tree.outline.by_folder.get(folder, ()))))
            if folder in sums else 0.0
            for at, folder in enumerate(folders)
        ],
        float,
    )  # fmt: skip
