"""Questions with known answers: rows of a JSONL file.

A row has `id`, `repo`, `language`, a commit (`base_commit` or `commit`), a query (`issue_text` or `query`),
the files that answer it (`gold_files`, or `gold` and `secondary` with a `file` each) and perhaps the symbols
(`gold_symbols`: `file` and `symbol`), and a `benchmark_root`, below which alone is searched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nibd.bench.retrieve_names import last_component
from nibd.stores.types import CommitId


@dataclass(frozen=True, slots=True)
class Question:
    """`symbols` are (file, last component of the name); `half` tells which half of the repositories."""

    id: str
    repository: str
    commit: CommitId
    language: str
    category: str
    query: str
    root: str
    files: tuple[str, ...]
    symbols: tuple[tuple[str, str], ...]
    half: int


class OfQuestion(Protocol):
    """What was found of a question."""

    @property
    def question(self) -> Question: ...


Found = TypeVar("Found", bound=OfQuestion)


def halves(found: Iterable[Found]) -> tuple[list[Found], list[Found]]:
    """By the half of its question's repository."""
    first: list[Found] = []
    second: list[Found] = []
    for each in found:
        (second if each.question.half else first).append(each)
    return first, second


def read(paths: Iterable[Path], repositories: Iterable[str] = ()) -> list[Question]:
    """All questions of these repositories (of all when there are none), those of one commit together.

    Halves: repositories by (language, name), every other one.
    """
    wanted = set(repositories)
    found: list[Question] = []
    for path in paths:
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        names = sorted({(row["language"], row["repo"]) for row in rows})
        halves = {name: at % 2 for at, (_, name) in enumerate(names)}
        found += [_question(row, halves[row["repo"]]) for row in rows]
    kept = [each for each in found if each.files and (not wanted or each.repository in wanted)]
    return sorted(kept, key=lambda each: (each.repository, each.commit))


def _question(row: Mapping[str, Any], half: int) -> Question:
    files = row.get("gold_files")
    if files is None:
        files = [each["file"] for each in [*row["gold"], *row.get("secondary", ())]]
    symbols = [(each["file"], last_component(each["symbol"])) for each in row.get("gold_symbols", ())]
    return Question(
        row["id"],
        row["repo"],
        CommitId(row.get("base_commit") or row["commit"]),
        row["language"],
        row.get("category", ""),
        row.get("issue_text") or row["query"],
        row.get("benchmark_root") or "",
        tuple(dict.fromkeys(files)),
        tuple(dict.fromkeys(symbols)),
        half,
    )
