"""The relations of one file as bytes: what a row of relations.db holds of them.

Canonical: equal relations give equal bytes and others give others, so a digest of the bytes names them.
What occurs often is written once, in the order in which it first occurs:

names     of sites, then of targets that no site has
places    the units that targets stand in: package, path, qualified name, ordinal
targets   place, name, nth
answers   lists of targets; a site refers to one by its number from 1, 0 means that nothing is known. In place
          of a list, null says that the site is unbuilt

Before them come the sites, a column each for start (as the distance from the start before), length, unit,
name, answer and kind. Each is read when it is needed, and a lookup makes values only of the sites that
it is about.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, pairwise, repeat
from operator import add
from typing import Any, TypeVar, cast

from nibd.stores.relation_types import FileRelations, Relation, RelationKind, Site, Target, Unbuilt
from nibd.stores.types import BlobId, RepoPath

Place = tuple[str, RepoPath, str, int]
"""Package, path, qualified name and ordinal of the unit that holds a target."""

FORMAT = 1
DIGEST_BYTES = 16
COMPRESSION = 1
_HEADER = struct.Struct("<III")
"""Format, how many sites there are, and how many names of sites."""
_COLUMNS = 5
_KINDS = (
    RelationKind.DEFINITION,
    RelationKind.CALL,
    RelationKind.TYPE,
    RelationKind.IMPORT,
    RelationKind.INHERIT,
    RelationKind.READ,
    RelationKind.WRITE,
)
"""By their number in a record, which never changes."""
FEW = 8
"""So many numbers are looked for one by one, which is faster than to look at each that is there."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}

T = TypeVar("T")


@dataclass(frozen=True)
class RelationRecord:
    """The relations of one file, packed; parts are made when they are asked for.

    `payload` may come from anywhere: what cannot be read raises `ValueError`.
    """

    path: RepoPath
    blob: BlobId
    language: str
    payload: bytes

    def file(self) -> FileRelations:
        """All of it."""
        table = self._table
        sites = _made(
            Site,
            table.starts,
            map(add, table.starts, table.lengths),
            map(table.names.__getitem__, table.name_of),
            map(_KINDS.__getitem__, table.kinds),
            table.unit_of,
        )
        answers = map(self._answers.__getitem__, table.answer_of)
        relations = _made(Relation, sites, answers, map(table.unbuilt.__eq__, table.answer_of))
        return FileRelations(self.path, self.blob, self.language, tuple(relations))

    def relation_at(self, byte: int) -> Relation | None:
        """Of the site whose text holds `byte`."""
        starts = self._table.starts
        at = bisect_right(starts, byte) - 1
        if at < 0:
            return None
        at = bisect_left(starts, starts[at])  # the first of those that start there
        return self._relation(at) if byte < starts[at] + self._table.lengths[at] else None

    def referring(self, *targets: Target, kinds: Container[RelationKind] = _KINDS) -> list[Relation]:
        """The relations of sites of `kinds` that have any of `targets`, in the order of the text."""
        rows = {tuple(row) for target in targets if (row := self._row(target))}
        if not rows:
            return []
        meant = {number for number, each in enumerate(self._table.targets) if tuple(each) in rows}
        return self._referring(meant, kinds)

    def within(self, start: int, end: int, kinds: Container[RelationKind] = _KINDS) -> list[Relation]:
        """The relations of sites of `kinds` that begin in this range of the text."""
        table, numbers = self._table, _numbers(kinds)
        first, after = bisect_left(table.starts, start), bisect_left(table.starts, end)
        return self._relations(at for at in range(first, after) if table.kinds[at] in numbers)

    def referring_symbol(self, path: RepoPath, qualified: str, ordinal: int) -> list[Relation]:
        """The relations that have a target in this unit of the repository."""
        table, place = self._table, ("", path, qualified, ordinal)
        if place not in table.places:
            return []
        sought = table.places.index(place)
        return self._referring({number for number, each in enumerate(table.targets) if each[0] == sought})

    def mentions(self, target: Target) -> bool:
        """Whether some relation has `target`."""
        return self._row(target) in self._table.targets

    @property
    def places(self) -> Sequence[Place]:
        """All that targets stand in, each once."""
        return self._table.places

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """All that occur, each once."""
        table = self._table
        places = [table.places[place] for place, _, _ in table.targets]
        names = [table.names[name] for _, name, _ in table.targets]
        nths = [nth for _, _, nth in table.targets]
        parts = zip(*places, strict=True) if places else [()] * 4
        return tuple(_made(Target, *parts, names, nths))

    @property
    def names(self) -> set[str]:
        """Of the sites."""
        return set(self._table.names[: self._table.site_names])

    @property
    def unknown(self) -> int:
        """How many sites nothing is known of, unbuilt ones included."""
        return self._table.answer_of.count(0) + self.unbuilt

    @property
    def unbuilt(self) -> int:
        return self._table.answer_of.count(self._table.unbuilt)

    @property
    def sites(self) -> int:
        """How many there are."""
        return self._table.sites

    @property
    def unit_of(self) -> Sequence[int]:
        """The unit of each site."""
        return self._table.unit_of

    def some(self, sites: Iterable[int]) -> list[Relation]:
        """The relations of these sites, by number. Those that have equal targets share them."""
        return self._relations(sites)

    def named(self, names: Collection[str]) -> list[int]:
        """The sites that have one of these names, by number."""
        own = enumerate(self._table.names[: self._table.site_names])
        return _all_of(self._table.name_of, {number for number, name in own if name in names})

    def targets_in(self, paths: Container[RepoPath]) -> dict[int, Target]:
        """The targets that stand in these files of the repository, by number."""
        places = {n for n, place in enumerate(self._table.places) if not place[0] and place[1] in paths}
        rows = enumerate(self._table.targets) if places else ()
        return {number: self._target(number) for number, row in rows if row[0] in places}

    def leading(self, targets: set[int]) -> list[int]:
        """The sites that have one of these targets, all by number."""
        return _all_of(self._table.answer_of, self._answered_by(targets))

    @property
    def found(self) -> list[int]:
        """The sites that have a target, by number."""
        return _all_of(self._table.answer_of, {n for n, each in enumerate(self._table.answers, 1) if each})

    @property
    def unanswered(self) -> list[int]:
        """The sites that got no answer, by number; unbuilt ones have one."""
        return _all_of(self._table.answer_of, {0})

    def _row(self, target: Target) -> list[int] | None:
        """As `target` would be written, which need not be; `None` when it cannot be."""
        table, place = self._table, _place(target)
        if place not in table.places or target.name not in table.names:
            return None
        return [table.places.index(place), table.names.index(target.name), target.nth]

    def _referring(self, targets: set[int], kinds: Container[RelationKind] = _KINDS) -> list[Relation]:
        if not targets:
            return []
        table, numbers = self._table, _numbers(kinds)
        found = _all_of(table.answer_of, self._answered_by(targets))
        return self._relations(at for at in found if table.kinds[at] in numbers)

    def _answered_by(self, targets: set[int]) -> set[int]:
        """The answers that have one of these targets."""
        if not targets:
            return set()
        return {n for n, each in enumerate(self._table.answers, 1) if not targets.isdisjoint(each)}

    def _relation(self, at: int) -> Relation:
        return self._relations([at])[0]

    def _relations(self, sites: Iterable[int]) -> list[Relation]:
        """Of sites by number. Those that have equal targets share them."""
        table = self._table
        targets: dict[int, tuple[Target, ...] | None] = {0: None, table.unbuilt: None}
        found = []
        for at in sites:
            start, number = table.starts[at], table.answer_of[at]
            name, kind = table.names[table.name_of[at]], _KINDS[table.kinds[at]]
            site = Site(start, start + table.lengths[at], name, kind, table.unit_of[at])
            if number not in targets:
                targets[number] = tuple(map(self._target, table.answers[number - 1]))
            found.append(Relation(site, targets[number], number == table.unbuilt))
        return found

    def _target(self, number: int) -> Target:
        place, name, nth = self._table.targets[number]
        return Target(*self._table.places[place], self._table.names[name], nth)

    @cached_property
    def _answers(self) -> list[tuple[Target, ...] | None]:
        targets = self.targets
        lists = enumerate(self._table.answers, 1)
        return [
            None,
            *(None if n == self._table.unbuilt else tuple(targets[t] for t in each) for n, each in lists),
        ]

    @cached_property
    def _table(self) -> _Table:
        try:
            return _Table(zlib.decompress(self.payload))
        except (struct.error, zlib.error) as error:
            raise ValueError(f"the relations of {self.path!r} cannot be read: {error}") from error


def pack(file: FileRelations) -> tuple[RelationRecord, bytes]:
    """The record of `file` and its digest, which is that of an equal file and of no other.

    Sites must come in the order of the text: `ValueError` otherwise.
    """
    content = _written(file.relations)
    digest = blake2b(digest_size=DIGEST_BYTES)
    for part in (file.path, file.blob.encode(), file.language.encode(), content):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    record = RelationRecord(file.path, file.blob, file.language, zlib.compress(content, COMPRESSION))
    return record, digest.digest()


def _numbers(kinds: Container[RelationKind]) -> set[int]:
    return {number for kind, number in _KIND_NUMBERS.items() if kind in kinds}


def _all_of(column: array[int], numbers: Collection[int]) -> list[int]:
    """Where one of these numbers stands in a column."""
    if len(numbers) <= FEW:
        return sorted(at for number in numbers for at in _where(column, number))
    return [at for at, number in enumerate(column) if number in numbers]


def _where(column: array[int], number: int) -> Iterator[int]:
    """Where a number stands in a column."""
    at = -1
    for _ in range(column.count(number)):
        at = column.index(number, at + 1)
        yield at


class _Table:
    """A record, uncompressed, before values are made of it."""

    def __init__(self, content: bytes) -> None:
        format_: int
        self.sites: int
        self.site_names: int
        format_, self.sites, self.site_names = _HEADER.unpack_from(content)
        if format_ != FORMAT:
            raise ValueError(f"relations have format {format_}, not {FORMAT}")
        self._content = content
        self._kinds_at = _HEADER.size + _COLUMNS * 4 * self.sites
        self._tables = content[self._kinds_at + self.sites :].split(b"\n")

    @cached_property
    def starts(self) -> list[int]:
        return list(accumulate(self._column(0)))

    @cached_property
    def lengths(self) -> array[int]:
        return self._column(1)

    @cached_property
    def unit_of(self) -> array[int]:
        return self._column(2)

    @cached_property
    def name_of(self) -> array[int]:
        return self._column(3)

    @cached_property
    def answer_of(self) -> array[int]:
        return self._column(4)

    @cached_property
    def kinds(self) -> bytes:
        return self._content[self._kinds_at : self._kinds_at + self.sites]

    @cached_property
    def names(self) -> list[str]:
        return cast(list[str], json.loads(self._tables[0]))

    @cached_property
    def places(self) -> list[Place]:
        rows = json.loads(self._tables[1])
        return [(package, RepoPath(path.encode("latin-1")), *rest) for package, path, *rest in rows]

    @cached_property
    def targets(self) -> list[list[int]]:
        """Place, name, nth."""
        return cast(list[list[int]], json.loads(self._tables[2]))

    @cached_property
    def answers(self) -> list[list[int]]:
        """That of unbuilt sites is empty here."""
        return [each or [] for each in self._answers]

    @cached_property
    def unbuilt(self) -> int:
        """The number of the answer of unbuilt sites; -1 where there are none."""
        return self._answers.index(None) + 1 if None in self._answers else -1

    @cached_property
    def _answers(self) -> list[list[int] | None]:
        return cast(list[list[int] | None], json.loads(self._tables[3]))

    def _column(self, number: int) -> array[int]:
        at = _HEADER.size + number * 4 * self.sites
        return _little_endian(array("I", self._content[at : at + 4 * self.sites]))


class _Numbers(dict[Any, int]):
    """Numbers things from 0, in the order in which they are first asked for."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


def _written(relations: Sequence[Relation]) -> bytes:
    sites = [relation.site for relation in relations]
    starts = [site.start_byte for site in sites]
    if any(after < before for before, after in pairwise(starts)):
        raise ValueError("sites do not come in the order of the text")
    names, places, targets, answers = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    answers[None] = 0
    columns = (
        [after - before for before, after in pairwise([0, *starts])],
        [site.end_byte - site.start_byte for site in sites],
        [site.unit for site in sites],
        [names[site.name] for site in sites],
        [answers[relation.answer] for relation in relations],
    )
    site_names = len(names)
    lists = [
        None if isinstance(answer, Unbuilt) else [targets[target] for target in answer]
        for answer in answers
        if answer is not None
    ]
    rows = [[places[_place(target)], names[target.name], target.nth] for target in targets]
    written = [[package, path.decode("latin-1"), *rest] for package, path, *rest in places]
    tables = (json.dumps(table, separators=(",", ":")) for table in (list(names), written, rows, lists))
    header = _HEADER.pack(FORMAT, len(sites), site_names)
    kinds = bytes(_KIND_NUMBERS[site.kind] for site in sites)
    return b"".join((header, *map(_column_bytes, columns), kinds, "\n".join(tables).encode()))


def _made(kind: type[T], *columns: Iterable[Any]) -> list[T]:
    """A frozen, slotted dataclass for each row of `columns`, one a field: five times as fast as calls."""
    first, *rest = columns
    values = list(first)
    made = list(map(object.__new__, repeat(kind, len(values))))
    for field, column in zip(fields(kind), (values, *rest), strict=True):  # type: ignore[arg-type]
        deque(map(getattr(kind, field.name).__set__, made, column), maxlen=0)
    return made


def _place(target: Target) -> Place:
    return (target.package, target.path, target.qualified, target.ordinal)


def _column_bytes(values: Iterable[int]) -> bytes:
    return _little_endian(array("I", values)).tobytes()


def _little_endian(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column.byteswap()
    return column
