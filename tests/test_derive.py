"""Facts are derived once for each blob, and kept whenever the work stops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.repair.derive import derive
from nibd.repair.git import GitSource, TreeEntry, open_source
from nibd.repair.progress import Progress
from nibd.repair.syntax import parse
from nibd.stores.facts import FactStore
from nibd.stores.types import Skip, TreeId


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[FactStore]:
    with closing(FactStore.open(tmp_path / "facts.db", "test")) as store:
        yield store


def entries_of(repo: Repo, source: GitSource) -> list[TreeEntry]:
    repo.commit()
    return list(source.list_tree(TreeId(repo.tree())))


def no_report(_progress: Progress) -> None:
    pass


def test_a_timeout_is_the_machines_verdict_and_never_kept(
    repo: Repo, facts: FactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a.py", "x = 1\n" * 10_000)
    source = open_source(repo.path)
    entries = entries_of(repo, source)
    with monkeypatch.context() as slow:
        slow.setattr(parse, "MAX_PARSE_SECONDS", 0.0)
        (file,), work = derive(source, facts, entries, no_report, workers=1)
    assert (file.skip, work.parsed) == (Skip.PARSE_TIMEOUT, 0)
    assert list(facts.keys()) == []
    (file,), work = derive(source, facts, entries, no_report, workers=1)
    assert (file.skip, file.language, work.parsed) == (None, "python", 1)
