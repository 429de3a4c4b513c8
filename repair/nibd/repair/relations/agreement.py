"""The compatibility audit's plan and its figures: which places are asked about, and how answers compare.

Places are sampled by a seed alone, so that the same tree is always asked the same. Files come in an order
that the seed gives, each has a turn before any has a second, and within a file the seed picks. Two answers
are equal when their sets of (path, line where it starts) are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from nibd.repair.relations.source_file import SourceFile
from nibd.stores.agreement import Rate
from nibd.stores.relation_types import RelationKind, Site
from nibd.stores.types import FileVersion, Level, TreeId

SAMPLE = 50
"""Places for each language and operation."""
MAX_FILES = 200
"""Files that are opened to find them: not every file has a class."""

DEFINITION, REFERENCES, IMPLEMENTATIONS = "definition", "references", "implementations"
OPERATIONS = (DEFINITION, REFERENCES, IMPLEMENTATIONS)

Lines = frozenset[tuple[bytes, int]]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A site to ask about."""

    language: str
    operation: str
    file: SourceFile
    site: Site


@dataclass(slots=True)
class Tally:
    """Counts how answers compare."""

    _counts: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)

    def compare(self, sampled: Sampled, static: Lines, live: Lines | None) -> None:
        """`live` is `None` when the server gave no answer."""
        counts = self._counts.setdefault((sampled.language, sampled.operation), {})
        verdict = "unanswered" if live is None else _verdict(static, live)
        counts[verdict] = counts.get(verdict, 0) + 1

    def rates(self) -> tuple[Rate, ...]:
        return tuple(
            Rate(
                language, operation,
                sum(counts.values()) - counts.get("unanswered", 0), counts.get("equal", 0),
                counts.get("fewer", 0), counts.get("more", 0), counts.get("other", 0),
                counts.get("unanswered", 0),
            )
            for (language, operation), counts in sorted(self._counts.items())
        )  # fmt: skip


def _verdict(static: Lines, live: Lines) -> str:
    if static == live:
        return "equal"
    if static < live:
        return "fewer"
    return "more" if static > live else "other"


def sample(
    tree: TreeId,
    family: str,
    files: Iterable[FileVersion],
    open_file: Callable[[FileVersion], SourceFile | None],
    operations: Sequence[str] = OPERATIONS,
    size: int = SAMPLE,
) -> list[Sampled]:
    """At most `size` places for each language of `files` and each operation."""
    by_language: dict[str, list[FileVersion]] = {}
    for file in files:
        by_language.setdefault(file.language, []).append(file)
    found: list[Sampled] = []
    for language, versions in sorted(by_language.items()):
        chosen = sorted(versions, key=lambda each: _rank(tree, family, each.path))[:MAX_FILES]
        opened = [source for version in chosen if (source := open_file(version))]
        for operation in operations:
            turns = [_shuffled(tree, operation, source, sites(source, operation)) for source in opened]
            in_turn = (pair for row in zip_longest(*turns) for pair in row if pair is not None)
            found += [Sampled(language, operation, *pair) for pair in islice(in_turn, size)]
    return found


def sites(source: SourceFile, operation: str) -> list[Site]:
    """Those of a file that a question makes sense for: names of units, but for `definition`."""
    if operation == DEFINITION:
        return [*source.sites]
    named = [site for site in source.sites if site.kind is RelationKind.DEFINITION and _is_unit(source, site)]
    if operation == REFERENCES:
        return named
    return [site for site in named if _can_be_implemented(source, site)]


def _is_unit(source: SourceFile, site: Site) -> bool:
    unit = source.units[site.unit]
    return unit.level is not Level.FILE and unit.name == site.name


def _can_be_implemented(source: SourceFile, site: Site) -> bool:
    unit = source.units[site.unit]
    in_scope = unit.parent is not None and source.units[unit.parent].level is Level.SCOPE
    return unit.level is Level.SCOPE or in_scope


def _shuffled(
    tree: TreeId, operation: str, source: SourceFile, found: Iterable[Site]
) -> list[tuple[SourceFile, Site]]:
    ranked = sorted(found, key=lambda site: _rank(tree, operation, source.path, site.start_byte))
    return [(source, site) for site in ranked]


def _rank(*seed: object) -> bytes:
    return hashlib.blake2b(repr(seed).encode(), digest_size=8).digest()
