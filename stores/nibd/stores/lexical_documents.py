"""What a lexical index holds: populations, fields, documents and totals.

Two *populations* are ranked apart, each in a Tantivy index of its own, because Tantivy's statistics
(how many documents, how long on average) are those of an index:

units   a document for each unit, of any level, whose own text has a term
files   a document for each file

A document has three scored *fields*, which are terms with counts: `body` (own text; for a file, the
whole text), `name` (the qualified name; for a file, the names it defines) and `path`. The *length*
of a field is how many terms it has, repeated ones included. `Totals` are exact integers over the
documents of a population; they and the facts are what scores are computed from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import tantivy

from nibd.stores.fact_terms import TermCounts
from nibd.stores.terms import count_terms
from nibd.stores.types import Address, BlobId, Level, RepoPath, Unit

LEXICAL_VERSION = "1"
"""Part of the lexical profile: changes when other documents or fields are made of the same facts."""


class Population(StrEnum):
    """Documents that are ranked together."""

    UNITS = "units"
    FILES = "files"


class Field(StrEnum):
    """The scored fields, in the order in which scores are summed."""

    BODY = "body"
    NAME = "name"
    PATH = "path"


KEY_FIELD = "key"
LEVEL_FIELD = "level"
ADDRESS_FIELD = "address"


@dataclass(frozen=True, slots=True)
class Totals:
    """Live documents of a population and the sum of the lengths of each field."""

    documents: int
    lengths: Mapping[Field, int]

    def plus(self, other: Totals) -> Totals:
        return self._combined(other, 1)

    def minus(self, other: Totals) -> Totals:
        return self._combined(other, -1)

    def average(self, field: Field) -> float:
        """The mean length of a field; of no documents, or of empty ones, 1, which divides nothing."""
        return self.lengths[field] / self.documents if self.lengths[field] else 1.0

    def _combined(self, other: Totals, sign: int) -> Totals:
        lengths = {field: self.lengths[field] + sign * other.lengths[field] for field in Field}
        return Totals(self.documents + sign * other.documents, lengths)


NO_DOCUMENTS = Totals(0, dict.fromkeys(Field, 0))


class Located(NamedTuple):
    """A document's address with where its facts are: `ordinal` is the unit's, 0 for a file."""

    address: Address
    blob: BlobId
    language: str
    ordinal: int
    qualified: str


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of a tree with the facts that its documents are made of."""

    path: RepoPath
    blob: BlobId
    language: str
    units: tuple[Unit, ...]
    counts: TermCounts

    def unit_ordinals(self) -> Iterator[int]:
        """Units that are documents: those whose own text has a term."""
        return (ordinal for ordinal in range(len(self.units)) if self.counts.length(ordinal))

    def totals(self) -> dict[Population, Totals]:
        path_length = sum(path_terms(self.path).values())
        ordinals = list(self.unit_ordinals())
        names = (sum(name_terms(self.units[ordinal].qualified).values()) for ordinal in ordinals)
        units = {
            Field.BODY: sum(self.counts.length(ordinal) for ordinal in ordinals),
            Field.NAME: sum(names),
            Field.PATH: path_length * len(ordinals),
        }
        file = {
            Field.BODY: self.counts.file_length,
            Field.NAME: self.counts.length(self.counts.names_group),
            Field.PATH: path_length,
        }
        return {Population.UNITS: Totals(len(ordinals), units), Population.FILES: Totals(1, file)}


@lru_cache(maxsize=1 << 14)
def path_terms(path: RepoPath) -> Mapping[str, int]:
    """Terms of a path. Bytes that are not UTF-8 separate terms."""
    return count_terms(path.decode(errors="replace"))


@lru_cache(maxsize=1 << 14)
def name_terms(qualified: str) -> Mapping[str, int]:
    return count_terms(qualified)


def path_key(path: RepoPath) -> str:
    """A path as the text by which Tantivy finds its documents; different for different paths."""
    return path.decode("latin-1")


def schema() -> tantivy.Schema:
    """The schema of either population's index. Nothing but the address is stored."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(KEY_FIELD, tokenizer_name="raw", index_option="basic")
    for field in Field:
        builder.add_text_field(field.value, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field(LEVEL_FIELD, indexed=True)
    builder.add_bytes_field(ADDRESS_FIELD, stored=True)
    return builder.build()


def unit_documents(file: IndexedFile, terms: Sequence[Mapping[str, int]]) -> Iterator[tantivy.Document]:
    """`terms` are by group of the file's counts."""
    for ordinal in file.unit_ordinals():
        names = name_terms(file.units[ordinal].qualified)
        yield _document(file, ordinal, terms[ordinal], names)


def file_document(file: IndexedFile, terms: Sequence[Mapping[str, int]]) -> tantivy.Document:
    """`terms` are by group of the file's counts."""
    return _document(file, 0, terms[file.counts.file_group], terms[file.counts.names_group])


def _document(
    file: IndexedFile, ordinal: int, body: Mapping[str, int], name: Mapping[str, int]
) -> tantivy.Document:
    document = tantivy.Document()
    document.add_text(KEY_FIELD, path_key(file.path))
    document.add_text(Field.BODY.value, _repeated(body))
    document.add_text(Field.NAME.value, _repeated(name))
    document.add_text(Field.PATH.value, _repeated(path_terms(file.path)))
    document.add_unsigned(LEVEL_FIELD, int(file.units[ordinal].level))
    document.add_bytes(ADDRESS_FIELD, _pack_address(file, ordinal))
    return document


def _repeated(counts: Mapping[str, int]) -> str:
    """A text of which the whitespace tokenizer makes these counts."""
    return "".join([f"{term} " * count for term, count in counts.items()])


def _pack_address(file: IndexedFile, ordinal: int) -> bytes:
    unit = file.units[ordinal]
    lines = (unit.start_line, unit.end_line, unit.kind, unit.qualified)
    return json.dumps([path_key(file.path), file.blob, file.language, ordinal, *lines]).encode()


def unpack_address(stored: bytes) -> Located:
    path, blob, language, ordinal, start, end, kind, qualified = json.loads(stored.decode())
    address = Address(RepoPath(path.encode("latin-1")), start, end, kind)
    return Located(address, BlobId(blob), language, ordinal, qualified)


def total(files: Iterable[IndexedFile]) -> dict[Population, Totals]:
    """The totals of files taken together."""
    sums = dict.fromkeys(Population, NO_DOCUMENTS)
    for file in files:
        for population, totals in file.totals().items():
            sums[population] = sums[population].plus(totals)
    return sums


def level_population(level: Level | None) -> Population:
    """Where a search at a level looks: files at L0, units at the others and at no level."""
    return Population.FILES if level is Level.FILE else Population.UNITS
