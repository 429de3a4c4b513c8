"""Facts are derived once for each blob, and kept whenever the work stops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.repair import derive as deriving
from nibd.repair.derive import derive
from nibd.repair.git import GitSource, TreeEntry, open_source
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.syntax import parse
from nibd.stores.facts import FactStore
from nibd.stores.trigram_store import TrigramStore
from nibd.stores.types import Skip, TreeId


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


@pytest.fixture
def trigrams(tmp_path: Path) -> Iterator[TrigramStore]:
    with closing(TrigramStore.open(tmp_path / "trigrams.db")) as store:
        yield store


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
    repo: Repo, facts: FactStore, trigrams: TrigramStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a.py", "x = 1\n" * 10_000)
    source = open_source(repo.path)
    entries = entries_of(repo, source)
    with monkeypatch.context() as slow:
        slow.setattr(parse, "MAX_PARSE_SECONDS", 0.0)
        (file,), work = derive(source, facts, trigrams, entries, no_report, workers=1)
    assert (file.skip, work.parsed) == (Skip.PARSE_TIMEOUT, 0)
    assert list(facts.keys()) == []
    (file,), work = derive(source, facts, trigrams, entries, no_report, workers=1)
    assert (file.skip, file.language, work.parsed) == (None, "python", 1)


def test_a_blob_at_several_paths_is_parsed_once_for_each_language(
    repo: Repo, facts: FactStore, trigrams: TrigramStore
) -> None:
    for path in ("a.py", "b.py", "deep/c.py", "d.rb"):
        repo.write(path, "x = 1\n")
    repo.write("e.py", "y = 1\n")
    source = open_source(repo.path)
    entries = entries_of(repo, source)
    files, work = derive(source, facts, trigrams, entries, no_report, workers=1)
    assert [file.path for file in files] == [b"a.py", b"b.py", b"d.rb", b"deep/c.py", b"e.py"]
    assert [file.language for file in files] == ["python", "python", "ruby", "python", "python"]
    assert (work.read, work.parsed) == (2, 3)
    assert work.by_language == {"python": 2, "ruby": 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_work_that_is_stopped_is_stored_up_to_the_last_blob(
    workers: int,
    repo: Repo,
    facts: FactStore,
    trigrams: TrigramStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every blob takes longer than a batch may: each is stored before the caller is asked to go on."""
    monkeypatch.setattr(deriving, "BATCH_SECONDS", 0.0)
    monkeypatch.setattr(deriving, "PARALLEL_FILES", 100)
    for number in range(200):
        repo.write(f"{number}.py", f"x = {number}\n")
    source = open_source(repo.path)
    entries = entries_of(repo, source)

    def stop(progress: Progress) -> None:
        if progress.done >= 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        derive(source, facts, trigrams, entries, stop, workers)
    kept = len(list(facts.keys()))
    assert kept == 3 if workers == 1 else 3 <= kept < 100
    files, work = derive(source, facts, trigrams, entries, no_report, workers)
    assert work.parsed == 200 - kept
    assert [file.path for file in files] == [entry.path for entry in entries]
