"""One file of a tree as relations see it: text, units, sites. Made from its blob alone.

A *key* names a unit within its file: (qualified name, ordinal among those of the same name, from 0).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

from nibd.repair.extract import own_ranges
from nibd.repair.git import GitSource
from nibd.repair.languages import CODE_LANGUAGES
from nibd.repair.relations.families import FAMILY_OF
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.server import MOST_PLACES
from nibd.repair.syntax.sites import FileSymbols, Positions, sites
from nibd.repair.syntax.units import file_unit
from nibd.repair.text import decode
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.facts import FactStore
from nibd.stores.relation_types import FAMILIES, RelationKind, Site
from nibd.stores.types import BlobId, Level, RepoPath, Skip, Unit

Key = tuple[str, int]
FILE_KEY: Key = ("", 0)
"""Of the unit that is the whole file."""
ECMASCRIPT = frozenset(FAMILIES["javascript"])

_WORD = re.compile(r"\w+")
_SEPARATOR = re.compile(r"\.|::")


def last_part(qualified: str) -> str:
    """Of a qualified name, the name."""
    return _SEPARATOR.split(qualified)[-1]


def folder_of(path: RepoPath) -> bytes:
    return path.rpartition(b"/")[0]


@dataclass(frozen=True)
class SourceFile:
    """What can be said of a path with this blob. Nothing of it depends on the rest of the tree."""

    path: RepoPath
    blob: BlobId
    language: str
    content: bytes
    units: tuple[Unit, ...]
    known_sites: tuple[Site, ...] | None = None
    """Where they are kept: parsing is most of what asking about a few sites of a file would take."""

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """None of a file that no server is asked about, or whose text is refused whatever the machine.

        Raises ServerFailed when the clock stopped the parser: that it has no sites would be a guess.
        """
        if self.known_sites is not None:
            return self.known_sites
        if self.language not in FAMILY_OF:
            return ()
        found = sites(self.content, self.language, self.units)
        if found is Skip.PARSE_TIMEOUT:
            name = self.path.decode("utf-8", "backslashreplace")
            raise ServerFailed(f"the processor had no time to parse {name}; it is tried at the next commit")
        return () if isinstance(found, Skip) else found

    @cached_property
    def crowded(self) -> frozenset[int]:
        """The sites whose name is bound more than `MOST_PLACES` times in their unit: each leads to as many
        places in ty's answers, and to ask about all of them takes the square of that. Other servers name the
        one declaration. It follows from the text alone, so a repair leaves out what a rebuild does."""
        if self.language != "python" or self.content.count(b"=") <= MOST_PLACES:
            return frozenset()
        bound = Counter((site.unit, site.name) for site in self.sites if site.kind is RelationKind.WRITE)
        crowded = {where for where, times in bound.items() if times > MOST_PLACES}
        if not crowded:
            return frozenset()
        return frozenset(n for n, site in enumerate(self.sites) if (site.unit, site.name) in crowded)

    @cached_property
    def symbols(self) -> FileSymbols:
        return FileSymbols(self.content, self.units)

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.content)

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The key of each unit, by ordinal in the file."""
        seen: Counter[str] = Counter()
        keys = []
        for unit in self.units:
            keys.append((unit.qualified, seen[unit.qualified]))
            seen[unit.qualified] += 1
        return tuple(keys)

    @cached_property
    def own_texts(self) -> dict[Key, str]:
        """The own text of each unit; a nested unit leaves a line end."""
        return {
            key: "\n".join(self.content[start:end].decode("utf-8", "replace") for start, end in own)
            for key, own in zip(self.keys, own_ranges(self.units), strict=True)
        }

    @cached_property
    def ordinals(self) -> dict[Key, int]:
        return {key: ordinal for ordinal, key in enumerate(self.keys)}

    def around(self, key: Key) -> list[Key]:
        """A unit and those that hold it, from the inside."""
        found, at = [key], self.units[self.ordinals[key]].parent
        while at is not None:
            found.append(self.keys[at])
            at = self.units[at].parent
        return found

    def with_nested(self, units: Collection[int]) -> set[int]:
        """These units, and those within the callables among them, which see what is local there."""
        found = set(units)
        callables = {each for each in found if self.units[each].level is Level.CALLABLE}
        for ordinal, unit in enumerate(self.units if callables else ()):
            if unit.parent in callables:
                callables.add(ordinal)
        return found | callables

    @cached_property
    def sites_by_unit(self) -> dict[int, list[int]]:
        """Indexes into `sites`, by the unit whose own text holds them."""
        found: dict[int, list[int]] = defaultdict(list)
        for index, site in enumerate(self.sites):
            found[site.unit].append(index)
        return found

    def site_at(self, byte: int) -> Site | None:
        """The site that an offset is in."""
        at = bisect_right(self._site_starts, byte) - 1
        return self.sites[at] if at >= 0 and byte < self.sites[at].end_byte else None

    @cached_property
    def _site_starts(self) -> list[int]:
        return [site.start_byte for site in self.sites]

    @cached_property
    def lines(self) -> list[str]:
        """Of the text; they end at a line feed."""
        return self.content.decode("utf-8", "replace").split("\n")

    def line_of(self, site: Site) -> int:
        """From 0; lines end at a line feed."""
        return bisect_left(self._line_ends, site.start_byte)

    def start_of(self, line: int) -> int:
        """Where a line from 0 begins."""
        return self._line_ends[line - 1] + 1 if line else 0

    @cached_property
    def _line_ends(self) -> list[int]:
        return [found.start() for found in re.finditer(rb"\n", self.content)]

    def lines_with(self, key: Key, name: str) -> list[str]:
        """The lines of a unit's own text in which `name` is a word, trimmed."""
        return self._lines_by_word[key].get(name, [])

    @cached_property
    def _lines_by_word(self) -> dict[Key, dict[str, list[str]]]:
        return _LazyLines(self.own_texts)


class _LazyLines(dict[Key, dict[str, list[str]]]):
    """Lines by word for each unit, made when first asked for."""

    def __init__(self, own_texts: dict[Key, str]) -> None:
        super().__init__()
        self._own_texts = own_texts

    def __missing__(self, key: Key) -> dict[str, list[str]]:
        lines: dict[str, list[str]] = defaultdict(list)
        for line in self._own_texts.get(key, "").splitlines():
            for word in set(_WORD.findall(line)):
                lines[word].append(line.strip())
        self[key] = lines
        return lines


class SourceFiles:
    """Makes source files of one repository, and keeps those used last. For one thread."""

    def __init__(self, source: GitSource, facts: FactStore, cache_bytes: int = 64 * 1024 * 1024) -> None:
        self._source = source
        self._facts = facts
        self._kept: BoundedCache[tuple[RepoPath, BlobId, str], SourceFile] = BoundedCache(cache_bytes)

    def get(
        self, path: RepoPath, blob: BlobId, language: str, sites: tuple[Site, ...] | None = None
    ) -> SourceFile | None:
        """`None` when the blob can't be read or is not text. `sites`, where they are known."""
        key = (path, blob, language)
        found = self._kept.get(key)
        if found is None:
            found = self._read(path, blob, language, sites)
            if found is not None:
                self._kept.put(key, found, 20 * len(found.content) + 1_000)
        return found

    def _read(
        self, path: RepoPath, blob: BlobId, language: str, sites: tuple[Site, ...] | None
    ) -> SourceFile | None:
        data = self._source.read(blob)
        text = Skip.MISSING_OBJECT if data is None else decode(data)
        if isinstance(text, Skip):
            return None
        units = self._units(blob, language, text.content)
        return SourceFile(path, blob, language, text.content, units, sites)

    def _units(self, blob: BlobId, language: str, content: bytes) -> tuple[Unit, ...]:
        key = (blob, language)
        if language not in CODE_LANGUAGES or self._facts.missing([key]) or self._facts.skip(*key):
            return (file_unit(content),)
        return self._facts.units(*key)


Files = Callable[[RepoPath], SourceFile | None]
"""Finds a tree's file by its path."""
