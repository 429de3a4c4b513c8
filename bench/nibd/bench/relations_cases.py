"""Which transitions are measured: the newest ones of clones, or those that a file lists."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from nibd.bench.world import BenchError
from nibd.repair.servers.registry import driver_of_family

T = TypeVar("T")

FAMILY_OF_NAME = {
    "python": "python", "go": "go", "rust": "rust", "c": "c", "c++": "c", "cpp": "c", "c/c++": "c",
    "javascript": "javascript", "typescript": "javascript", "javascript/typescript": "javascript",
}  # fmt: skip
"""By what people call a language, in lower case."""


@dataclass(frozen=True, slots=True)
class Case:
    """A transition. `bucket` is what whoever chose it says of its size."""

    parent: str
    child: str
    bucket: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """The cases of one clone that are measured one after another, in one language family."""

    name: str
    repository: Path
    family: str
    cases: tuple[Case, ...]


def newest(name: str, repository: Path, family: str | None, count: int) -> Chain:
    """The newest `count` transitions along first parents that change the family's files.

    Without `family`, that of most files at HEAD.
    """
    family = family or _main_family(repository)
    globs = [f":(glob)**/*{suffix.decode()}" for suffix in driver_of_family(family).suffixes]
    command = ["log", "--first-parent", "--format=%H", f"--max-count={count + 1}", "HEAD", "--", *globs]
    commits = _git(repository, *command).split()[::-1]
    if len(commits) < 2 and count:
        raise BenchError(f"{repository} has no two commits that change {family} files")
    return Chain(name, repository, family, tuple(Case(*pair) for pair in pairwise(commits)))


def listed(file: Path, clones: Path, each: int, family: str | None) -> list[Chain]:
    """The transitions in a file of JSON lines (repo, language, parent, child, bucket), by repository.

    Of one repository and family the first `each` rows (0: all), measured from the oldest child on: a commit
    that was the parent of one has verified relations, and shows no more how they are repaired. Commits may be
    named as git takes them. A clone or commit that is missing is a BenchError.
    """
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    found: dict[tuple[str, str], list[Case]] = {}
    for row in rows:
        key = (row["repo"], _family(row))
        if family in (None, key[1]):
            found.setdefault(key, []).append(Case(row["parent"], row["child"], row.get("bucket", "")))
    return [
        _chain(repo, _clone_of(repo, clones), language, cases[: each or None])
        for (repo, language), cases in found.items()
    ]


def _chain(name: str, clone: Path, family: str, cases: Sequence[Case]) -> Chain:
    whole = [Case(_commit(clone, each.parent), _commit(clone, each.child), each.bucket) for each in cases]
    newest_first = _git(clone, "rev-list", "--no-walk=sorted", *(each.child for each in whole)).split()
    return Chain(name, clone, family, tuple(sorted(whole, key=lambda each: -newest_first.index(each.child))))


def _commit(clone: Path, named: str) -> str:
    try:
        return _git(clone, "rev-parse", "--verify", "--end-of-options", f"{named}^{{commit}}").strip()
    except BenchError as error:
        raise BenchError(f"{clone} has no commit {named}") from error


def evenly_spread(values: Sequence[T], most: int) -> list[T]:
    """At most `most` of `values`, spread over their order."""
    if len(values) <= most:
        return list(values)
    return [values[at * len(values) // most] for at in range(most)]


def _family(row: dict[str, Any]) -> str:
    language = row["language"]
    if language.lower() not in FAMILY_OF_NAME:
        raise BenchError(f"{language!r} is of no language family")
    return FAMILY_OF_NAME[language.lower()]


def _clone_of(repo: str, clones: Path) -> Path:
    places = [clones / repo.replace("/", "+"), clones / repo.rsplit("/", 1)[-1]]
    for place in places:
        if place.is_dir():
            return place
    raise BenchError(f"there is no clone of {repo}: neither {places[0]} nor {places[1]}")


def _main_family(repository: Path) -> str:
    names = _git(repository, "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")
    families = sorted(set(FAMILY_OF_NAME.values()))
    return max(families, key=lambda family: _owned(family, names))


def _owned(family: str, names: Iterable[str]) -> int:
    suffixes = tuple(suffix.decode() for suffix in driver_of_family(family).suffixes)
    return sum(name.endswith(suffixes) for name in names)


def _git(repository: Path, *arguments: str) -> str:
    command: Sequence[str] = ["git", *arguments]
    done = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise BenchError(f"git {arguments[0]} in {repository}: {done.stderr.strip()}")
    return done.stdout
