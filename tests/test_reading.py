"""A request reads one publication from files that belong together, whatever happens to the folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.daemon.reading import Reading
from nibd.daemon.views import RepositoryViews
from nibd.ipc.children import ChildDied
from nibd.query import lexical, symbols
from nibd.query.ranking.outline import Outline
from nibd.stores.catalog import Catalog
from nibd.stores.collection import collect, removable
from nibd.stores.snapshot import Generation, Publication
from nibd.stores.types import CheckoutId, ProfileId, View
from views import MAIN, Views, quick_folder

STRUCTURE = frozenset({View.STRUCTURAL, View.LEXICAL})


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def found(reading: Reading, name: str) -> list[str]:
    return [unit.qualified for unit in symbols.find(reading.structure, reading.listing, name)]


def hits(reading: Reading, query: str) -> int:
    return len(lexical.search(reading.lexical, reading.facts, query, None, 10))


def test_a_request_ends_on_the_files_it_began_with(folder: Path, repo: Repo) -> None:
    made = Views(folder, repo)
    made.repair()
    views = RepositoryViews(made.stores.folder)
    with views.reading(MAIN, STRUCTURE) as before:
        assert before is not None
        assert (found(before, "alpha"), hits(before, "alpha")) == (["alpha"], 1)
        made.close()
        shutil.rmtree(made.stores.folder.root)
        for number in range(5):  # other rows under the same numbers
            repo.write(f"b{number}.py", f"def beta_{number}():\n    pass\n")
        repo.write("a.py", "def gamma():\n    pass\n")
        repo.commit("two")
        made.open()
        made.repair()
        with views.reading(MAIN, STRUCTURE) as after:
            assert after is not None
            assert found(after, "alpha") == []
            assert (found(after, "beta_3"), hits(after, "gamma")) == (["beta_3"], 1)
        assert (found(before, "alpha"), hits(before, "alpha")) == (["alpha"], 1)
    made.close()


def two_commits(folder: Path, repo: Repo) -> tuple[Views, Publication]:
    """Two published commits, and the first one's publication, which nothing needs."""
    made = Views(folder, repo)
    made.repair()
    first = made.stores.catalog.current(MAIN)
    assert first is not None
    repo.write("a.py", "def gamma():\n    pass\n")
    repo.commit("two")
    made.repair()
    return made, first


def remove(made: Views, condemned: list[Generation]) -> None:
    collect(made.stores, condemned, deep=True)


def test_what_is_read_is_left_by_a_collection_until_it_was_read(folder: Path, repo: Repo) -> None:
    made, first = two_commits(folder, repo)
    unneeded = removable(made.stores, keep=0).unneeded
    assert first.snapshot.generation in unneeded
    views = RepositoryViews(made.stores.folder)
    with views.reading(MAIN, STRUCTURE, first.commit) as outer, views.reading(MAIN, STRUCTURE, first.commit):
        assert outer is not None
        read = outer.snapshot.generation
        with views.condemning(unneeded) as condemned:
            assert condemned == [generation for generation in unneeded if generation != read]
            remove(made, condemned)
        assert (found(outer, "alpha"), hits(outer, "alpha")) == (["alpha"], 1)
    with views.condemning(unneeded) as condemned:
        assert condemned == unneeded
    made.close()


def test_older_publications_are_read_only_where_the_newest_does_not_do(
    folder: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, first = two_commits(folder, repo)
    read: list[int] = []
    publications = Catalog.publications

    def counted(catalog: Catalog, checkout: CheckoutId, limit: int = 100) -> list[Publication]:
        found = publications(catalog, checkout, limit)
        read.append(len(found))
        return found

    monkeypatch.setattr(Catalog, "publications", counted)
    views = RepositoryViews(made.stores.folder)
    with views.reading(MAIN, STRUCTURE) as newest:
        assert newest is not None
        assert newest.publication.commit == repo.head()
    assert read == [1]
    with views.reading(MAIN, STRUCTURE, accepts=lambda each: each.commit == first.commit) as older:
        assert older is not None
        assert older.publication == first
    assert read[:2] == [1, 1]
    assert read[2] > 1
    views.close()
    made.close()


def test_an_outline_made_from_one_of_a_collected_tree_is_that_of_a_fresh_start(
    folder: Path, repo: Repo
) -> None:
    made = Views(folder, repo)
    first = repo.head()
    made.repair()
    views = RepositoryViews(made.stores.folder)

    def outlined(from_views: RepositoryViews) -> Outline:
        with from_views.reading(MAIN, STRUCTURE) as reading:
            assert reading is not None
            return reading.tree.outline

    for name, module in (("old", "alpha"), ("newer", "beta")):
        repo.git("reset", "-q", "--hard", first)
        made.repair()
        made.collect()
        repo.write(f"{name}.py", f"import {module}\n")
        repo.commit(name)
        made.repair()
        remade = outlined(views)
        fresh = RepositoryViews(made.stores.folder)
        assert remade == outlined(fresh)
        fresh.close()
        assert remade.has(f"{name}.py".encode())
    views.close()
    made.close()


def test_nobody_begins_to_read_what_a_collection_removes(folder: Path, repo: Repo) -> None:
    made, first = two_commits(folder, repo)
    views = RepositoryViews(made.stores.folder)
    with views.condemning(removable(made.stores, keep=0).unneeded) as condemned:
        with views.reading(MAIN, STRUCTURE, first.commit) as removed, views.reading(MAIN, STRUCTURE) as kept:
            assert removed is None
            assert kept is not None
            remove(made, condemned)
            assert (found(kept, "gamma"), hits(kept, "gamma")) == (["gamma"], 1)
        with views.reading(MAIN, STRUCTURE, first.commit) as removed:
            assert removed is None
    made.close()


def test_what_a_collection_that_failed_left_is_read_again(folder: Path, repo: Repo) -> None:
    made, first = two_commits(folder, repo)
    views = RepositoryViews(made.stores.folder)
    with pytest.raises(ChildDied), views.condemning(removable(made.stores, keep=0).unneeded):
        raise ChildDied(-9, "")
    with views.reading(MAIN, STRUCTURE, first.commit) as reading:
        assert reading is not None
        assert (found(reading, "alpha"), hits(reading, "alpha")) == (["alpha"], 1)
    made.close()


def test_vectors_of_another_profile_answer_nothing(folder: Path, repo: Repo) -> None:
    made = Views(folder, repo)
    made.repair()
    profile = made.current().views[View.DENSE].profile
    views = RepositoryViews(made.stores.folder)
    needed = frozenset({View.DENSE})
    with views.reading(MAIN, needed, dense_profile=ProfileId(profile)) as same:
        assert same is not None
        matrix, rows = same.dense
        assert len(matrix.vectors(list(rows))) == 1
    with views.reading(MAIN, needed, dense_profile=ProfileId("another")) as other:
        assert other is None
    made.close()


def test_nothing_is_read_where_nothing_is_published(folder: Path, repo: Repo) -> None:
    made = Views(folder, repo)
    made.repair()
    views = RepositoryViews(made.stores.folder)
    with views.reading(CheckoutId("another"), STRUCTURE) as nothing:
        assert nothing is None
    assert views.publications(CheckoutId("another")) == []
    made.close()
