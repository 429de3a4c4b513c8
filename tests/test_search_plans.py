"""Searches of every plan: pages of one order, filters that narrow what is found and nothing else, and the
same answers whichever commits led to a tree."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitrepo import Repo
from nibd.query.filters import Filters
from nibd.query.hits import Hit
from nibd.query.planning import Plan
from nibd.query.search import FILE_NEARNESS, UNIT_NEARNESS
from nibd.stores.types import Level, RepoPath
from planned_search import Searchable, searchable, with_relations
from views import Views, quick_folder

WORDS = ("parcel", "ledger", "queue", "worker", "index", "plan", "zone", "weigh", "flush", "retry")
QUERIES = ("parcel", "how is the parcel weighed", "weigh_parcel", "flush the queue when a worker retries")
ALL = 1000


def python(source: random.Random) -> str:
    """A class, functions that call others by name, an import."""
    names = [f"{source.choice(WORDS)}_{source.choice(WORDS)}" for _ in range(6)]
    said = " ".join(source.choices(WORDS, k=source.randint(1, 12)))
    return (
        f"import {source.choice(WORDS)}\n\n\n"
        f"class {names[0].title().replace('_', '')}:\n    def {names[1]}(self):\n        # {said}\n"
        f"        return {names[2]}()\n\n\n"
        f"def {names[3]}(value):\n    return {names[4]}(value) + {names[1]}(value)\n\n\n"
        f"def {names[5]}():\n    return {names[3]}(1)  # {source.choice(WORDS)}\n"
    )


def fill(repo: Repo, source: random.Random, count: int) -> None:
    for _ in range(count):
        folder = source.choice(("", "src/", "src/pkg/", "tests/", "docs/"))
        name = source.choice(WORDS)
        if folder == "docs/":
            repo.write(f"docs/{name}.md", f"# {name}\n\n{' '.join(source.choices(WORDS, k=9))}\n")
        else:
            prefix = "test_" if folder == "tests/" else ""
            repo.write(f"{folder}{prefix}{name}{source.randint(0, 9)}.py", python(source))


@dataclass(frozen=True)
class Below:
    folder: bytes

    def accept(self, path: bytes) -> bool:
        return path.startswith(self.folder)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searchable]:
    repo = Repo(tmp_path_factory.mktemp("shop") / "repo")
    for key in ("user.name", "user.email"):  # made before the test's own home
        repo.git("config", key, "test")
    fill(repo, random.Random(1), 90)
    repo.commit("one")
    with quick_folder() as folder, searchable(folder, repo) as found:
        yield found


def some_filters(paths: list[bytes]) -> st.SearchStrategy[Filters]:
    return st.builds(
        Filters,
        globs=st.sampled_from((None, Below(b"src/"), Below(b"src/pkg/"), Below(b"docs/"), Below(b"no/"))),
        language=st.sampled_from((None, "python", "markdown")),
        tests=st.sampled_from((None, True, False)),
        changed=st.none() | st.frozensets(st.sampled_from([RepoPath(each) for each in paths]), max_size=9),
        kinds=st.sampled_from((frozenset(), frozenset({"method"}), frozenset({"class", "function"}))),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_filters_commute_with_paging_and_every_hit_passes_them(shop: Searchable, data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from(list(Plan)))
    level = data.draw(st.sampled_from((None, *Level)))
    query = data.draw(st.sampled_from(QUERIES))
    filters = data.draw(some_filters(shop.paths))
    size = data.draw(st.integers(1, 40))
    whole = shop.hits(query, plan, level, ALL, filters=filters)
    pages = [
        shop.hits(query, plan, level, size, at, filters) for at in range(0, min(len(whole) + 1, 200), size)
    ]
    assert [hit for page in pages for hit in page] == whole[: len(pages) * size]
    assert len({hit.address_key for hit in whole}) == len(whole)
    for hit in whole:
        assert filters.accept(hit.path, hit.language)
        assert not filters.kinds or hit.kind in filters.kinds
        assert level is None or hit.level is level


@pytest.mark.parametrize("plan", list(Plan))
def test_what_is_asked_twice_is_answered_alike(shop: Searchable, plan: Plan) -> None:
    for query in QUERIES:
        assert shop.hits(query, plan) == shop.hits(query, plan)


@pytest.mark.parametrize("plan", list(Plan))
@pytest.mark.parametrize("query", QUERIES)
def test_a_rare_file_is_found_however_far_behind_it_stands(shop: Searchable, plan: Plan, query: str) -> None:
    last = shop.hits(query, plan, Level.FILE, ALL)[-1]
    only = Filters(changed=frozenset({last.path}))
    assert [hit.path for hit in shop.hits(query, plan, Level.FILE, 3, filters=only)] == [last.path]


def test_vectors_of_a_selection_are_in_the_order_of_all(shop: Searchable) -> None:
    for filters in (
        Filters(tests=False),
        Filters(globs=Below(b"src/pkg/")),
        Filters(kinds=frozenset({"method"})),
    ):
        every = [hit for hit in shop.hits("parcel", Plan.DENSE, None, ALL) if passes(filters, hit)]
        assert shop.hits("parcel", Plan.DENSE, None, ALL, filters=filters) == every


def test_a_file_is_as_near_as_its_nearest_unit(shop: Searchable) -> None:
    units = shop.hits("parcel", Plan.DENSE, None, ALL)
    nearest = {hit.path: hit.score for hit in reversed(units)}
    files = shop.hits("parcel", Plan.DENSE, Level.FILE, ALL)
    assert {hit.path: hit.score for hit in files} == nearest
    assert {hit.kind for hit in files} == {"file"}


@pytest.mark.parametrize("level", [None, Level.FILE])
def test_what_nearness_added_to_a_hit_is_told(shop: Searchable, level: Level | None) -> None:
    query, fused = "flush the queue", 50
    weight = FILE_NEARNESS if level is Level.FILE else UNIT_NEARNESS
    nearest = shop.search(query, Plan.DENSE, level, fused)
    by_terms = {hit.address_key: hit.score for hit in shop.hits(query, Plan.LEXICAL, level)}
    both = shop.search(query, Plan.HYBRID, level, 40)
    cosines = {hit.address_key: hit.score for hit in nearest.hits}

    assert [near and (near.rank, near.cosine, near.added) for near in nearest.nearness] == [
        (rank, hit.score, hit.score) for rank, hit in enumerate(nearest.hits, start=1)
    ]
    assert None in both.nearness
    assert any(both.nearness)
    for hit, near in zip(both.hits, both.nearness, strict=True):
        assert (near and near.cosine) == cosines.get(hit.address_key)
        assert near is None or 0 <= near.added <= weight
        if hit.address_key in by_terms:
            assert hit.score == pytest.approx(by_terms[hit.address_key] + (near.added if near else 0.0))
    assert {*shop.search(query, Plan.LEXICAL, level).nearness} == {None}


def passes(filters: Filters, hit: Hit) -> bool:
    return filters.accept(hit.path, hit.language) and (not filters.kinds or hit.kind in filters.kinds)


@pytest.mark.parametrize("level", [None, *Level])
def test_a_large_selection_is_found_as_a_small_one_is(shop: Searchable, level: Level | None) -> None:
    """Where files are few they are looked for by Tantivy, else their documents are left out one by one."""
    filters = Filters(globs=Below(b"src/"))
    few = shop.hits("flush the queue", Plan.LEXICAL, level, ALL, filters=filters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nibd.query.lexical.FEW_PATHS", 0)
        assert shop.hits("flush the queue", Plan.LEXICAL, level, ALL, filters=filters) == few
    dense = shop.hits("flush the queue", Plan.DENSE, level, ALL, filters=filters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nibd.query.search.FEW_FILES", 0)
        assert shop.hits("flush the queue", Plan.DENSE, level, ALL, filters=filters) == dense


@pytest.mark.parametrize("seed", range(2))
def test_after_many_transitions_every_plan_answers_as_a_fresh_build_does(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    repo = Repo(tmp_path / "repo")
    with quick_folder() as folder, closing(Views(folder, repo)) as views:
        for number in range(5):
            fill(repo, source, source.randint(3, 9))
            tracked = repo.git("ls-files").split()
            for path in source.sample(tracked, min(len(tracked), source.randint(0, 2))):
                repo.git("rm", "-q", "-f", path)
            repo.commit(f"edit {number}")
            views.repair()
        with closing(views.rebuilt()) as fresh, with_relations(views) as old, with_relations(fresh) as new:
            for plan in Plan:
                for query in QUERIES:
                    for level in (None, *Level):
                        for filters in (Filters(), Filters(tests=False, kinds=frozenset({"function"}))):
                            found = old.hits(query, plan, level, 40, filters=filters)
                            assert found == new.hits(query, plan, level, 40, filters=filters)
