"""Which files are looked at closely: a few hundred, whatever the size of the tree.

The first files of an exact search for the most important terms; for a line, or where units of a kind are
asked for, those of the first units too; the files that the query names by path or stack frame, and those
that define what it mentions. None of it depends on how the tree came about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from nibd.query import lexical
from nibd.query.filters import Selection
from nibd.query.ranking import weights
from nibd.query.ranking.counts import File
from nibd.query.ranking.groups import QueryTerms
from nibd.query.ranking.outline import Outline
from nibd.query.ranking.path_classes import path_classes
from nibd.query.ranking.understanding import Frame, Shape, Understood
from nibd.query.ranking.weights import Zone
from nibd.query.symbols import components
from nibd.stores.bitmap import Bitmap
from nibd.stores.facts import FactStore
from nibd.stores.lexical import LexicalGeneration
from nibd.stores.structure import StoredUnit, StructureStore
from nibd.stores.types import Level, RepoPath, Unit

_COMPONENTS = re.compile(r"\.|::|->|#|\\")


@dataclass(frozen=True, slots=True)
class Tree:
    """A snapshot, as ranking reads it."""

    generation: LexicalGeneration
    facts: FactStore
    structure: StructureStore
    listing: Bitmap
    outline: Outline


@dataclass(slots=True)
class Named:
    """What the query names outright: files by path and by stack frame, units by identifier.

    A unit is known by its file's path and its ordinal. `qualified` are those whose qualified name ends in
    an identifier of several components; `places` those that a stack frame or a line of a file tells.
    """

    paths: dict[RepoPath, float] = field(default_factory=dict)
    frames: dict[RepoPath, float] = field(default_factory=dict)
    units: dict[tuple[RepoPath, int], float] = field(default_factory=dict)
    qualified: set[tuple[RepoPath, int]] = field(default_factory=set)
    places: dict[tuple[RepoPath, int], float] = field(default_factory=dict)

    def defines(self) -> dict[RepoPath, float]:
        """By file the best definition in it."""
        best: dict[RepoPath, float] = {}
        for (path, _), value in self.units.items():
            best[path] = max(best.get(path, 0.0), value)
        return best


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files in path order; how many were found by which way. `ended` when wider there would be no more."""

    files: list[File]
    ways: Mapping[str, int]
    ended: bool


def named(tree: Tree, understood: Understood) -> Named:
    return Named(
        _path_scores(tree, understood.paths[: weights.MOST_PATHS]),
        _frame_scores(tree, understood.frames[: weights.MOST_PATHS]),
        *_definition_scores(tree, understood.identifiers),
        _place_scores(tree, understood),
    )


def candidates(
    tree: Tree,
    understood: Understood,
    terms: QueryTerms,
    found: Named,
    widening: int,
    within: Selection | None,
) -> Candidates:
    """Of the files of `within`, `widening` times as many as usual."""
    usual = weights.ISSUE_CANDIDATES if understood.shape is Shape.ISSUE else weights.SHORT_CANDIDATES
    most = usual * widening
    wanted = {
        term: group.weights[0] for group in terms.groups[: weights.CANDIDATE_TERMS] for term in group.terms
    }
    files: dict[RepoPath, File] = {}
    ways = {}
    of_files = within and within.of_any_kind
    searches = [("files", Level.FILE, of_files), ("units", None, within)]
    if understood.shape is Shape.ISSUE and (within is None or not within.kinds):
        del searches[1]  # the best units stand in hardly any other files
    for way, level, inside in searches:
        first = lexical.first_documents(tree.generation, tree.facts, wanted, level, most, within=inside)
        ways[way] = len(first)
        for each in first:
            path = each.address.path
            files[path] = File(path, each.blob, each.language)
    ended = all(count < most for count in ways.values())
    mentioned = {*found.paths, *found.frames, *found.defines()}
    ways["named"] = len(mentioned)
    for path in sorted(mentioned - files.keys()):
        at = tree.structure.at_path(tree.listing, path)
        if at is not None and at[1].skip is None and (within is None or path in within.paths):
            files[path] = File(path, at[1].blob, at[1].language)
    return Candidates([files[path] for path in sorted(files)], ways, ended)


def is_ordinary(path: RepoPath, language: str) -> bool:
    return not path_classes(path, language) & weights.NOT_ORDINARY


def _looks_ordinary(path: RepoPath) -> bool:
    """By the path alone: a file that is named is taken for code."""
    return is_ordinary(path, "python")


def _definition_scores(
    tree: Tree, identifiers: Iterable[tuple[str, Zone]]
) -> tuple[dict[tuple[RepoPath, int], float], set[tuple[RepoPath, int]]]:
    """Per unit: zone weight / (1 + ln files that define the name), up to doubled by matching qualifiers.

    For a unit whose qualified name ends in the whole identifier only such files count, as nothing else is
    so called; these units are the second part.
    """
    strongest: dict[str, float] = {}
    for identifier, zone in identifiers:
        strongest[identifier] = max(strongest.get(identifier, 0.0), weights.DEFINITION_ZONES[zone])
    kept = sorted(strongest.items(), key=lambda each: -each[1])[: weights.MOST_IDENTIFIERS]
    scores: dict[tuple[RepoPath, int], float] = {}
    qualified: set[tuple[RepoPath, int]] = set()
    looked_up: dict[str, list[StoredUnit]] = {}
    for identifier, weight in kept:
        parts = [part for part in _COMPONENTS.split(identifier) if part]
        for depth, name in enumerate(reversed(parts[-2:])):
            if name not in looked_up:
                looked_up[name] = _definitions(tree, name)
            value = weight * (weights.QUALIFIER_SHARE if depth else 1.0)
            before = [part.lower() for part in parts[: len(parts) - 1 - depth]]
            whole = [unit for unit in looked_up[name] if before and _ends_with(unit, [*before, name.lower()])]
            _score(looked_up[name], value, set(before), scores)
            _score(whole, value, set(before), scores)
            if not depth:
                qualified.update((unit.file.path, unit.ordinal) for unit in whole)
    return scores, qualified


def _definitions(tree: Tree, name: str) -> list[StoredUnit]:
    """Units of that name: in that case, else in any."""
    found = tree.structure.defined(tree.listing, name, weights.MOST_DEFINITIONS)
    return [unit for unit in found if unit.name == name] or found


def _score(
    found: Sequence[StoredUnit], value: float, qualifiers: set[str], scores: dict[tuple[RepoPath, int], float]
) -> None:
    ordinary = {u.file.path for u in found if is_ordinary(u.file.path, u.file.language)}
    value /= 1 + log(len(ordinary) or 1)
    for unit in found:
        matched = len(qualifiers & _around(unit)) / len(qualifiers) if qualifiers else 0.0
        key = (unit.file.path, unit.ordinal)
        scores[key] = max(scores.get(key, 0.0), value * (1 + matched))


def _ends_with(unit: StoredUnit, parts: Sequence[str]) -> bool:
    return components(unit.qualified.lower())[-len(parts) :] == parts


def _around(unit: StoredUnit) -> set[str]:
    """Lower-case parts of its qualified name, its folders and its file's stem."""
    *folders, name = unit.file.path.decode(errors="replace").lower().split("/")
    return {*components(unit.qualified.lower()), *folders, name.rpartition(".")[0]}


def _path_scores(tree: Tree, paths: Iterable[tuple[str, Zone]]) -> dict[RepoPath, float]:
    scores: dict[RepoPath, float] = {}
    for text, zone in paths:
        found, length = files_of_path(text, tree.outline)
        found = [path for path in found if _looks_ordinary(path)] or found
        if 0 < len(found) <= weights.MOST_FILES_OF_PATH:
            sure = 1.0 if length > 1 or len(found) == 1 else 0.5
            for path in found:
                value = weights.PATH_ZONES[zone] * sure / len(found)
                scores[path] = max(scores.get(path, 0.0), value)
    return scores


def _frame_scores(tree: Tree, frames: Iterable[Frame]) -> dict[RepoPath, float]:
    """1 for the last frame that is of the tree, less for those before it."""
    scores: dict[RepoPath, float] = {}
    for frame in frames:
        found, _ = files_of_path(frame.path, tree.outline)
        if len(found) <= weights.MOST_FILES_OF_FRAME:
            for path in found:
                value = 1 / (1 + weights.FRAME_DEPTH * frame.depth) / len(found)
                scores[path] = max(scores.get(path, 0.0), value)
    return scores


def _place_scores(tree: Tree, understood: Understood) -> dict[tuple[RepoPath, int], float]:
    """By unit that a frame or a line of a file tells, as much as that tells of its file."""
    told = [(f.path, f.line, f.function, 1 / (1 + weights.FRAME_DEPTH * f.depth)) for f in understood.frames]
    told += [(p.path, p.line, "", weights.PATH_ZONES[p.zone]) for p in understood.positions]
    scores: dict[tuple[RepoPath, int], float] = {}
    for text, line, function, value in told[: weights.MOST_PATHS]:
        found, _ = files_of_path(text, tree.outline)
        found = [path for path in found if _looks_ordinary(path)] or found
        for path in found if len(found) <= weights.MOST_FILES_OF_FRAME else ():
            at = tree.structure.at_path(tree.listing, path)
            if at is not None and at[1].skip is None:
                units = tree.facts.recent_units(at[1].blob, at[1].language)
                for ordinal in _at_place(units, line, function):
                    key = (path, ordinal)
                    scores[key] = max(scores.get(key, 0.0), value / len(found))
    return scores


def _at_place(units: Sequence[Unit], line: int, function: str) -> list[int]:
    """The units of that name, since lines move from version to version; else the innermost at the line."""
    name = (components(function) or [""])[-1]
    called = [at for at, unit in enumerate(units) if name and unit.name == name]
    holding = [at for at, unit in enumerate(units) if at and unit.start_line <= line <= unit.end_line]
    return [at for at in called if at in holding] or called or holding[-1:]


def files_of_path(text: str, outline: Outline) -> tuple[list[RepoPath], int]:
    """The files that a path in a query names, those with the longest common end, and its components."""
    parts = [part for part in text.strip("./").lower().partition("#")[0].split("/") if part]
    wanted = [part.encode(errors="replace") for part in reversed(parts)]
    best: list[RepoPath] = []
    longest = 0
    for path in outline.by_name.get(wanted[0], ()) if wanted else ():
        same = 0
        for mine, theirs in zip(reversed(path.lower().split(b"/")), wanted, strict=False):
            if mine != theirs:
                break
            same += 1
        if same > longest:
            best, longest = [RepoPath(path)], same
        elif same == longest:
            best.append(RepoPath(path))
    return best, longest
