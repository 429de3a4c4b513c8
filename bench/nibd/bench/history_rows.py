"""Questions that a repository asks itself: what a commit says, put to the tree before it.

The files that answer it are the code, but for tests, that the commit changed or deleted. Commits with a
parent, a message of `LEAST_CHARACTERS` and one to `MOST_FILES` such files count; merges don't. A message
often names what it changed, so such questions are easier than issues.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nibd.bench.retrieve_rows import Question
from nibd.query.ranking.path_classes import is_test
from nibd.repair.languages import CODE_LANGUAGES, language_of
from nibd.stores.types import CommitId, RepoPath

LEAST_CHARACTERS = 30
MOST_FILES = 5
CATEGORY = "commit"


@dataclass(frozen=True, slots=True)
class _Commit:
    id: str
    parent: str
    message: str


def questions(name: str, repository: Path, count: int, tip: str = "HEAD") -> list[Question]:
    """Of the newest commits of `tip` that give one, `count` at most; halves: every other one."""
    found: list[Question] = []
    for commit in _commits(repository, tip):
        files = _changed(repository, commit)
        if files and len(files) <= MOST_FILES:
            languages = Counter(language_of(RepoPath(path.encode()), b"") for path in files)
            found.append(
                Question(
                    f"{name}@{commit.id[:10]}", name, CommitId(commit.parent), languages.most_common(1)[0][0],
                    CATEGORY, commit.message, "", tuple(files), (), len(found) % 2,
                )
            )  # fmt: skip
            if len(found) == count:
                break
    return found


def _commits(repository: Path, tip: str) -> Iterator[_Commit]:
    said = _git(repository, "log", "--no-merges", "-z", "--format=%H%n%P%n%B", tip)
    for text in said.split("\0"):
        commit, _, rest = text.partition("\n")
        parent, _, message = rest.partition("\n")
        if parent and len(message.strip()) >= LEAST_CHARACTERS:
            yield _Commit(commit, parent, message.strip())


def _changed(repository: Path, commit: _Commit) -> list[str]:
    """The code that it changed or deleted, but for tests."""
    command = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=MD")
    paths = _git(repository, *command, commit.parent, commit.id).split("\0")
    return [path for path in paths if path and _is_code(RepoPath(path.encode()))]


def _is_code(path: RepoPath) -> bool:
    language = language_of(path, b"")
    return language in CODE_LANGUAGES and not is_test(path, language)


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
