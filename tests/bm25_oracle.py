"""BM25 by brute force over texts: what the lexical view must answer, sharing no code with it but terms.

It splits every text itself, keeps no index, and computes each number from all documents at each
question.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lexical_corpus import MadeFile
from nibd.stores.terms import tokenize
from nibd.stores.types import Level

FIELD_WEIGHTS = (1.0, 2.0, 1.0)


@dataclass(frozen=True)
class OracleDocument:
    """Where it is (with what orders ties), its level, and the terms of body, name and path."""

    address: tuple[bytes, int, int, str]
    level: Level
    fields: tuple[list[str], list[str], list[str]]


def unit_documents(files: Iterable[MadeFile]) -> list[OracleDocument]:
    found = []
    for file in files:
        path = list(tokenize(file.path.decode(errors="replace")))
        last = len(file.paragraphs) + 1
        head = (file.path, 1, last, "file")
        found.append(OracleDocument(head, Level.FILE, (list(tokenize(file.head)), [], path)))
        for line, paragraph in enumerate(file.paragraphs, start=2):
            kind = "class" if paragraph.level is Level.SCOPE else "function"
            fields = (list(tokenize(paragraph.text)), list(tokenize(paragraph.qualified)), path)
            found.append(OracleDocument((file.path, line, line, kind), paragraph.level, fields))
    return [document for document in found if document.fields[0]]


def file_documents(files: Iterable[MadeFile]) -> list[OracleDocument]:
    found = []
    for file in files:
        names = [term for p in file.paragraphs for term in tokenize(p.qualified.rpartition(".")[2])]
        fields = (list(tokenize(file.text)), names, list(tokenize(file.path.decode(errors="replace"))))
        address = (file.path, 1, len(file.paragraphs) + 1, "file")
        found.append(OracleDocument(address, Level.FILE, fields))
    return found


def ranked(
    documents: list[OracleDocument], query: str, level: Level | None = None
) -> list[tuple[tuple[bytes, int, int, str], float]]:
    """Every document that matches, best first, with its score."""
    scores: defaultdict[int, float] = defaultdict(float)
    for term, times in Counter(tokenize(query)).items():
        for field, weight in enumerate(FIELD_WEIGHTS):
            for number, score in _bm25(documents, field, term):
                scores[number] += weight * times * score
    found = ((documents[number], score) for number, score in scores.items())
    kept = [(document.address, score) for document, score in found if level in (None, document.level)]
    return sorted(kept, key=lambda hit: (-hit[1], hit[0]))


def _bm25(documents: list[OracleDocument], field: int, term: str) -> list[tuple[int, float]]:
    """The documents that have the term in the field, each with its score for it."""
    counts = {n: d.fields[field].count(term) for n, d in enumerate(documents) if term in d.fields[field]}
    average = sum(len(document.fields[field]) for document in documents) / max(1, len(documents))
    idf = math.log(1 + (len(documents) - len(counts) + 0.5) / (len(counts) + 0.5))
    lengths = {number: len(documents[number].fields[field]) for number in counts}
    return [
        (n, idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * lengths[n] / average)))
        for n, count in counts.items()
    ]
