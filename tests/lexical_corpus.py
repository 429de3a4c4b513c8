"""Made-up files with facts, for tests that need no parser: one unit a paragraph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from nibd.stores.terms import count_terms
from nibd.stores.types import BlobId, Facts, Import, Level, RepoPath, TextId, Unit, UnitTerms

LANGUAGE = "made"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A unit to be: its qualified name, level and own text."""

    qualified: str
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file of paragraphs after `head`, which is the file unit's own text."""

    path: RepoPath
    head: str
    paragraphs: tuple[Paragraph, ...]

    @property
    def text(self) -> str:
        return "\n".join([self.head, *(paragraph.text for paragraph in self.paragraphs)])

    @property
    def blob(self) -> BlobId:
        return BlobId(hashlib.sha1(repr((self.head, self.paragraphs)).encode()).hexdigest())

    @property
    def key(self) -> tuple[RepoPath, BlobId, str]:
        return (self.path, self.blob, LANGUAGE)


def made_file(path: str, head: str, *paragraphs: tuple[str, str]) -> MadeFile:
    """A file with callables, given as (qualified name, own text)."""
    made = tuple(Paragraph(name, Level.CALLABLE, text) for name, text in paragraphs)
    return MadeFile(RepoPath(path.encode()), head, made)


def facts_of(file: MadeFile) -> Facts:
    lines = len(file.paragraphs) + 1
    units = [Unit(Level.FILE, "file", "", "", 1, lines, 0, len(file.text), 1, None)]
    for line, paragraph in enumerate(file.paragraphs, start=2):
        name = paragraph.qualified.rpartition(".")[2]
        kind = "class" if paragraph.level is Level.SCOPE else "function"
        units.append(
            Unit(
                paragraph.level,
                kind,
                name,
                paragraph.qualified,
                line,
                line,
                line * 10,
                line * 10 + 9,
                line,
                0,
            )
        )
    texts = [file.head, *(paragraph.text for paragraph in file.paragraphs)]
    return Facts(
        units=tuple(units),
        imports=(Import("made.module", 1, 1),),
        terms=tuple(UnitTerms(count_terms(text)) for text in texts),
        file_terms=UnitTerms(count_terms(file.text)),
        text_ids=tuple(
            TextId(hashlib.blake2b(t.encode(), digest_size=16).digest()) if t else None for t in texts
        ),
        lines=lines,
    )
