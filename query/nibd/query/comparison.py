"""Comparing two snapshots of one tree, such as a repaired one with a rebuild: every difference by name.

Each view is compared by what can be seen of it: the structural one file by file, unit by unit; the
lexical one by its totals and by the exact scores and order of many queries at every level; the dense
one by the texts it holds and the bits of their vectors.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nibd.query import lexical
from nibd.stores.bitmap import Bitmap
from nibd.stores.facts import FactStore
from nibd.stores.lexical import LexicalGeneration, Population
from nibd.stores.structure import FileRow, StructureStore
from nibd.stores.types import FileVersion, Level, RepoPath, TextId

MAX_NAMED = 100
QUERIES = 200
QUERY_HITS = 20


@dataclass(slots=True)
class Comparison:
    """`differences` names the first `MAX_NAMED`, `count` counts all."""

    compared: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    count: int = 0

    @property
    def equal(self) -> bool:
        return self.count == 0

    def differ(self, what: str) -> None:
        self.count += 1
        if len(self.differences) < MAX_NAMED:
            self.differences.append(what)

    def saw(self, what: str, count: int = 1) -> None:
        self.compared[what] = self.compared.get(what, 0) + count


@dataclass(frozen=True, slots=True)
class Side:
    """One snapshot, open for reading."""

    structure: StructureStore
    listing: Bitmap
    facts: FactStore
    lexical: LexicalGeneration


def compare_structure(old: Side, new: Side) -> Comparison:
    result = Comparison()
    left, right = _by_path(old), _by_path(new)
    for path in sorted(left.keys() | right.keys()):
        result.saw("files")
        here, there = left.get(path), right.get(path)
        if here is None or there is None:
            result.differ(f"{_show(path)}: only in the {'rebuild' if here is None else 'published snapshot'}")
        elif here[1] != there[1]:
            result.differ(f"{_show(path)}: {_made(here[1])} published, {_made(there[1])} rebuilt")
        else:
            _compare_file(old, here, new, there, result)
    if old.structure.broken(old.listing) != new.structure.broken(new.listing):
        result.differ("other files, or other lines of them, are broken")
    return result


def compare_lexical(old: Side, new: Side) -> Comparison:
    result = Comparison()
    old.lexical.check()
    for population in Population:
        result.saw("totals")
        if old.lexical.totals(population) != new.lexical.totals(population):
            result.differ(
                f"{population.value}: totals {old.lexical.totals(population)} published, "
                f"{new.lexical.totals(population)} rebuilt"
            )
    for query in queries(new, QUERIES):
        for level in (None, *Level):
            result.saw("queries")
            published = lexical.search(old.lexical, old.facts, query, level, QUERY_HITS)
            rebuilt = lexical.search(new.lexical, new.facts, query, level, QUERY_HITS)
            if published != rebuilt:
                where = "any level" if level is None else f"L{int(level)}"
                result.differ(f"query {query!r} at {where}: other hits, scores or order")
    return result


def compare_dense(
    published: Mapping[TextId, bytes],
    texts: set[TextId],
    embedded: Callable[[Sequence[TextId]], list[bytes]],
    most: int,
) -> Comparison:
    """`published` are the snapshot's vectors, `texts` those the tree has, `embedded` makes vectors anew.

    Texts are compared all, vectors bit by bit: all, or `most` of them spread over their ids.
    """
    result = Comparison()
    result.saw("texts", len(texts))
    for text in sorted(texts - published.keys()):
        result.differ(f"text {text.hex()}: no vector is published")
    for text in sorted(published.keys() - texts):
        result.differ(f"text {text.hex()}: a vector is published, the tree has no such text")
    both = evenly(texts & published.keys(), most)
    for text, vector in zip(both, embedded(both), strict=True):
        result.saw("vectors")
        if vector != published[text]:
            result.differ(f"text {text.hex()}: its vector has other bits")
    return result


def queries(side: Side, count: int) -> list[str]:
    """`count` queries of one to five terms that the tree has, the same for the same tree.

    None for a tree without terms; some are alike where it has few.
    """
    chosen = random.Random(20240102)
    files = {path: file for path, (_, file) in _by_path(side).items() if file.skip is None}
    paths = sorted(files)
    made: list[str] = []
    while paths and len(made) < count:
        at = chosen.randrange(len(paths))
        file = files[paths[at]]
        vocabulary = side.facts.counts(file.blob, file.language).vocabulary()
        if vocabulary:
            made.append(" ".join(chosen.choices(vocabulary, k=chosen.randint(1, 5))))
        else:
            del paths[at]  # such as an empty file
    return made


def _compare_file(
    old: Side,
    here: tuple[FileRow, FileVersion],
    new: Side,
    there: tuple[FileRow, FileVersion],
    result: Comparison,
) -> None:
    file = here[1]
    units, rebuilt = old.structure.units(file, here[0]), new.structure.units(there[1], there[0])
    result.saw("units", len(units))
    if units != rebuilt:
        pairs = zip(units, rebuilt, strict=False)
        at = next((unit.qualified or unit.kind for unit, other in pairs if unit != other), "their number")
        result.differ(f"{_show(file.path)}: units differ at {at}: {len(units)} and {len(rebuilt)}")
    result.saw("imports")
    if old.structure.imports(here[0]) != new.structure.imports(there[0]):
        result.differ(f"{_show(file.path)}: imports differ")
    if file.skip is None:
        result.saw("facts")
        if old.facts.get(file.blob, file.language) != new.facts.get(file.blob, file.language):
            result.differ(f"{_show(file.path)}: facts differ")


def _by_path(side: Side) -> dict[RepoPath, tuple[FileRow, FileVersion]]:
    return {file.path: (row, file) for row, file in side.structure.files(side.listing)}


def _made(file: FileVersion) -> str:
    made = f"skipped ({file.skip.value})" if file.skip else file.language
    return f"{made} of {file.blob[:10]} with mode {file.mode:o}"


def _show(path: RepoPath) -> str:
    return path.decode("utf-8", "backslashreplace")


def evenly(texts: Iterable[TextId], most: int) -> list[TextId]:
    """At most `most` of `texts`, spread over their order."""
    ordered = sorted(texts)
    if len(ordered) <= most:
        return ordered
    return [ordered[at * len(ordered) // most] for at in range(most)]
