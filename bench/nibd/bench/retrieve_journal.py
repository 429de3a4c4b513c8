"""What was found, commit by commit, in a file with which a run that was broken off goes on.

A line of JSON for each commit. Its *key* is of everything that decides what is found: the sources of bench,
query, repair and stores, the versions of the libraries that parse, rank and embed, what the caller says of
model and language servers, the options, the commit and the questions. What others gave is passed over, and so
is a line that was cut off. Times are those of the run that measured them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nibd import bench, query, repair, stores
from nibd.bench.asking import Asked
from nibd.bench.retrieve_ablations import Ablated
from nibd.bench.retrieve_answers import Answered
from nibd.bench.retrieve_neighbours import Searched
from nibd.bench.retrieve_rows import Question
from nibd.repair.policy import EXTRACTOR

DECIDING = (bench, query, repair, stores)
LIBRARIES = (
    "faiss-cpu", "google-re2", "numpy", "pygit2", "pystemmer", "sentence-transformers", "tantivy",
    "tokenizers", "torch", "transformers", "tree-sitter", "tree-sitter-language-pack",
)  # fmt: skip
"""Those by which an upgrade may change what is found."""


@dataclass(slots=True)
class Found:
    """Of one commit's questions, or of many commits'."""

    answers: list[Answered] = field(default_factory=list)
    ablations: list[Ablated] = field(default_factory=list)
    indices: list[Searched] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.answers += other.answers
        self.ablations += other.ablations
        self.indices += other.indices


class Journal:
    """`options` are those that decide what is found, with what stands behind them. Without a file nothing is
    kept."""

    def __init__(self, file: Path | None, options: Mapping[str, Any]) -> None:
        self._file = file
        self._how = [sources(part.__path__[0] for part in DECIDING), EXTRACTOR, versions(), options]
        self._kept = dict(_read(file)) if file is not None and file.exists() else {}

    def found(self, asked: Asked, otherwise: Callable[[], Found]) -> Found:
        """What the file has of it, else what is found now."""
        key = self._key(asked)
        if key in self._kept:
            return _again(self._kept[key], {each.id: each for each in asked.questions})
        found = otherwise()
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps({'key': key, 'found': _plain(found)})}\n")
        return found

    def _key(self, asked: Asked) -> str:
        what = [self._how, asked.title, asked.repository, asked.commit, [asdict(q) for q in asked.questions]]
        return _digest([json.dumps(what, sort_keys=True, default=str).encode()])


def versions() -> dict[str, str]:
    """Of the libraries that are installed."""
    found = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def sources(folders: Iterable[str]) -> str:
    """A digest of all Python files in these folders, by their paths from the folders on."""
    parts = [Path(folder) for folder in folders]
    files = {path.relative_to(part.parent): path for part in parts for path in part.rglob("*.py")}
    return _digest(part for path in sorted(files) for part in (bytes(path), files[path].read_bytes()))


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _read(file: Path) -> Iterable[tuple[str, Any]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # an empty line, or one that was cut off
        yield entry["key"], entry["found"]


def _plain(found: Found) -> dict[str, Any]:
    return {
        "answers": [_named(each) for each in found.answers],
        "ablations": [_named(each) for each in found.ablations],
        "indices": [asdict(each) for each in found.indices],
    }


def _named(each: Answered | Ablated) -> dict[str, Any]:
    return asdict(each) | {"question": each.question.id}


def _again(plain: Mapping[str, Any], questions: Mapping[str, Question]) -> Found:
    def told(each: Mapping[str, Any], **others: Any) -> dict[str, Any]:
        return {**each, "question": questions[each["question"]], **others}

    return Found(
        [
            Answered(**told(each, **{name: tuple(each[name]) for name in ("milliseconds", "processor_ms")}))
            for each in plain["answers"]
        ],
        [Ablated(**told(each)) for each in plain["ablations"]],
        [Searched(**each) for each in plain["indices"]],
    )
