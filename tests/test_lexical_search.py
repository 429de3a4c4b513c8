"""Lexical search: incremental, fresh and brute force agree, whatever happened before."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bm25_oracle import FIELD_WEIGHTS, file_documents, ranked, unit_documents
from lexical_corpus import MadeFile, Paragraph, made_file
from lexical_shelf import Shelf
from nibd.query import lexical as lexical_query
from nibd.query.lexical import LexicalHit, first_documents, search, tantivy_idf
from nibd.query.lexical_scores import Scorer
from nibd.stores.lexical import Candidate, Field, LexicalGeneration, Located, Population
from nibd.stores.types import Level, RepoPath

LEVELS = (None, Level.FILE, Level.SCOPE, Level.CALLABLE)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.facts.close()


Answer = list[tuple[tuple[bytes, int, int, str], float]]


def answer(hits: list[LexicalHit]) -> Answer:
    return [(hit.address.key, hit.score) for hit in hits]


def assert_close(found: Answer, expected: Answer) -> None:
    """Same order where scores differ by more than rounding, and the same scores."""
    assert len(found) == len(expected)
    for (address, score), (wanted, expected_score) in zip(found, expected, strict=True):
        assert math.isclose(score, expected_score, rel_tol=1e-9)
        if address != wanted:
            assert any(
                address == other and math.isclose(score, other_score, rel_tol=1e-9)
                for other, other_score in expected
            )


PATHS = (b"src/job.py", b"src/parse_alpha.py", b"a b\n.py", b"\xff\xe9.c")
WORDS = ("parse", "parseJob", "run_quick", "job", "alpha", "beta", "HTTPServer2", "x", "the", "naïve")
_texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
_names = st.sampled_from(("Job.run", "parse", "Server.parseJob", "alpha_beta", "x"))
_paragraphs = st.builds(Paragraph, _names, st.sampled_from((Level.SCOPE, Level.CALLABLE)), _texts)
_trees = st.dictionaries(
    st.sampled_from(
        [RepoPath(p) for p in (b"src/job.py", b"src/parse_alpha.py", b"a b\n.py", b"\xff\xe9.c")]
    ),
    st.tuples(_texts, st.lists(_paragraphs, max_size=4)),
)


def files_of(tree: dict[RepoPath, tuple[str, list[Paragraph]]]) -> list[MadeFile]:
    return [MadeFile(path, head, tuple(paragraphs)) for path, (head, paragraphs) in tree.items()]


@settings(
    max_examples=8, phases=[Phase.generate], deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    trees=st.lists(_trees, min_size=1, max_size=3),
    query=_texts.filter(bool),
    k=st.integers(1, 30),
    level=st.sampled_from(LEVELS),
)
def test_edited_equals_fresh_bit_for_bit_and_both_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    trees: list[dict[RepoPath, tuple[str, list[Paragraph]]]],
    query: str,
    k: int,
    level: Level | None,
) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    for tree in trees:
        repaired = shelf.repair(files_of(tree))
    found = answer(search(repaired, shelf.facts, query, level, k))
    assert found == answer(search(shelf.fresh(), shelf.facts, query, level, k))
    if level is Level.FILE:
        expected = ranked(file_documents(shelf.files.values()), query)
    else:
        expected = ranked(unit_documents(shelf.files.values()), query, level)
    everything = answer(search(repaired, shelf.facts, query, level, 100))
    assert_close(everything, expected)
    assert found == everything[:k]
    shelf.facts.close()


def random_tree(seed: int, files: int) -> list[MadeFile]:
    """Files of 20 units with lengths from 1 to 300 and common and rare words."""
    source = random.Random(seed)
    words = [f"w{n}" for n in range(300)]
    chances = [1 / (n + 1) for n in range(300)]

    def text() -> str:
        return " ".join(source.choices(words, chances, k=source.choice((1, 5, 41, 47, 63, 95, 300))))

    def made(number: int) -> MadeFile:
        units = [(f"C{number}.w{source.randrange(300)}", text()) for _ in range(20)]
        return made_file(f"p{number % 7}/w{number}.py", text(), *units)

    return [made(number) for number in range(files)]


@dataclass(frozen=True)
class Worn:
    """A shelf after edits that left most documents of its first segment dead, and its newest generation."""

    shelf: Shelf
    repaired: LexicalGeneration


@pytest.fixture(scope="module")
def worn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worn]:
    made = Shelf(tmp_path_factory.mktemp("worn"))
    tree = random_tree(1, 40)
    repaired = made.repair(tree)
    for seed in range(2, 6):
        changed = random_tree(seed, 40)
        tree = [changed[n] if (n + seed) % 5 == 0 else file for n, file in enumerate(tree)]
        repaired = made.repair(tree)
    assert made.stats.units.dead > 0
    yield Worn(made, repaired)
    made.facts.close()


def random_queries(seed: int, number: int) -> list[str]:
    source = random.Random(seed)
    return [
        " ".join(f"w{int(300 ** source.random()) - 1}" for _ in range(source.randint(1, 6)))
        for _ in range(number)
    ]


def test_after_many_edits_two_hundred_queries_answer_as_a_fresh_build(worn: Worn) -> None:
    repaired = worn.repaired
    fresh = worn.shelf.fresh()
    for query in random_queries(7, 200):
        for level in (None, Level.FILE):
            found = search(repaired, worn.shelf.facts, query, level, 10)
            assert answer(found) == answer(search(fresh, worn.shelf.facts, query, level, 10))


def test_tantivys_own_first_ten_would_be_wrong(worn: Worn) -> None:
    """What the exact scores are for: cutting Tantivy's list at k gives other hits than there should be."""
    repaired = worn.repaired
    documents = unit_documents(worn.shelf.files.values())
    wrong = 0
    for query in random_queries(11, 20):
        expected = ranked(documents, query)[:10]
        assert_close(answer(search(repaired, worn.shelf.facts, query, None, 10)), expected)
        weights = {
            (field, term): weight
            for field, weight in zip(Field, FIELD_WEIGHTS, strict=True)
            for term in set(query.split())
        }
        naive = repaired.candidates(Population.UNITS, weights, None, 10)
        wrong += {c.located().address.key for c in naive} != {address for address, _ in expected}
    assert wrong > 0


def test_a_hit_that_the_first_list_ranks_below_the_cut_is_found(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tantivy rounds 39 + 16 terms and 39 + 20 terms to one length, and lists the longer one first."""
    longer = made_file("a.py", "", ("f", "needle " + "hay " * 58))
    shorter = made_file("b.py", "", ("f", "needle " + "hay " * 55))
    generation = shelf.repair([longer, shorter, made_file("c.py", "", ("g", "straw"))])
    raw = generation.candidates(Population.UNITS, {(Field.BODY, "needl"): 1.0}, None, 2)
    assert raw[0].score == raw[1].score
    assert raw[0].located().address.path == b"a.py"
    monkeypatch.setattr(lexical_query, "FIRST_CANDIDATES", 1)
    monkeypatch.setattr(lexical_query, "CANDIDATES_PER_HIT", 1)
    asked: list[int] = []
    list_of = LexicalGeneration.candidates

    def candidates(*arguments: Any) -> list[Candidate]:
        asked.append(arguments[4])
        return list_of(*arguments)

    monkeypatch.setattr(LexicalGeneration, "candidates", candidates)
    assert [hit.path for hit in search(generation, shelf.facts, "needle", None, 1)] == [b"b.py"]
    assert asked == [1, 8]


def test_every_bound_is_at_least_the_exact_score(worn: Worn) -> None:
    """The inequality that the stop rests on, for every document that matches."""
    repaired = worn.repaired
    for level in (None, Level.FILE):
        population = Population.FILES if level is Level.FILE else Population.UNITS
        for query in random_queries(13, 30):
            plan = lexical_query._plan(repaired, population, dict.fromkeys(query.split(), 1))
            scorer = Scorer(population, repaired.totals(population), worn.shelf.facts, plan.terms)
            for candidate in repaired.candidates(population, plan.weights, None, 2000):
                exact = scorer.score(candidate.located())
                assert exact <= candidate.score * plan.slope + plan.unbounded
                assert candidate.score < exact * 2.5
                assert candidate.score * plan.least <= exact


@pytest.mark.parametrize("level", [None, Level.FILE])
def test_the_first_documents_are_those_of_the_first_hits_and_hardly_scored(
    worn: Worn, level: Level | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = 0
    score = Scorer.score

    def counted(scorer: Scorer, located: Located) -> float:
        nonlocal scored
        scored += 1
        return score(scorer, located)

    monkeypatch.setattr(Scorer, "score", counted)
    facts = worn.shelf.facts
    in_order = unordered = 0
    for query in random_queries(19, 100):
        times = dict.fromkeys(query.split(), 1.0)
        for k in (1, 10, 500):
            scored = 0
            hits = search(worn.repaired, facts, times, level, k)
            in_order += scored
            scored = 0
            first = first_documents(worn.repaired, facts, times, level, k)
            unordered += scored
            assert len(first) == len(hits)
            assert {(each.address.key, each.ordinal) for each in first} == {
                (hit.address.key, hit.ordinal) for hit in hits
            }
    assert 0 < unordered < in_order / 2


def test_candidates_of_a_short_list_are_those_of_the_full_one(worn: Worn) -> None:
    """No document is passed over on the strength of block maxima taken with older statistics."""
    repaired = worn.repaired
    for query in random_queries(17, 30):
        weights = {(Field.BODY, term): 1.0 for term in set(query.split())}
        full = [c.score for c in repaired.candidates(Population.UNITS, weights, None, 5000)]
        assert [c.score for c in repaired.candidates(Population.UNITS, weights, None, 10)] == full[:10]


def test_tantivys_idf_is_known_to_the_last_bit_or_two(worn: Worn) -> None:
    repaired = worn.repaired
    for term in ("w0", "w1", "w40", "w299"):
        inner = repaired.statistics(Population.UNITS, Field.BODY, term)
        counted = repaired.counted_frequency(Population.UNITS, Field.BODY, term)
        exact = math.log(1 + (inner.documents - counted + 0.5) / (counted + 0.5))
        assert math.isclose(tantivy_idf(inner.documents, counted), exact, rel_tol=1e-5)
    assert tantivy_idf(20_000_000, 20_000_000) == 0.0


def test_ties_are_broken_by_address_whichever_was_added_last(shelf: Shelf) -> None:
    def same(path: str) -> MadeFile:
        return made_file(path, "", ("f", "needle in hay"), ("f", "needle in hay"))

    shelf.repair([same("c.py"), same("d.py")])
    generation = shelf.repair([same("c.py"), same("d.py"), same("a.py"), same("b.py")])
    hits = search(generation, shelf.facts, "needle", None, 5)
    assert [(hit.path, hit.address.start_line) for hit in hits] == [
        (b"a.py", 2), (b"a.py", 3), (b"b.py", 2), (b"b.py", 3), (b"c.py", 2),
    ]  # fmt: skip
    assert len({hit.score for hit in hits}) == 1
    rest = search(generation, shelf.facts, "needle", None, 5, offset=5)
    assert [(hit.path, hit.address.start_line) for hit in rest] == [(b"c.py", 3), (b"d.py", 2), (b"d.py", 3)]


def test_levels_select_units_and_l0_ranks_whole_files(shelf: Shelf) -> None:
    scope = Paragraph("Job", Level.SCOPE, "class needle")
    method = Paragraph("Job.run", Level.CALLABLE, "def needle")
    generation = shelf.repair([MadeFile(RepoPath(b"a.py"), "import hay", (scope, method))])

    def found(query: str, level: Level | None) -> list[tuple[str, int]]:
        hits = search(generation, shelf.facts, query, level, 10)
        return sorted((hit.address.kind, hit.ordinal) for hit in hits)

    assert found("needle", Level.SCOPE) == [("class", 1)]
    assert found("needle", Level.CALLABLE) == [("function", 2)]
    assert found("needle", Level.FILE) == [("file", 0)]
    assert found("hay", None) == [("file", 0)]
    assert found("needle hay", None) == [("class", 1), ("file", 0), ("function", 2)]


def test_names_and_paths_are_found_in_parts(shelf: Shelf) -> None:
    generation = shelf.repair([made_file("net/http_pool.py", "", ("PoolManager.urlOpen", "body"))])
    for query in ("PoolManager", "manager", "open", "http", "net/http_pool.py", "NET"):
        assert search(generation, shelf.facts, query, None, 1), query


def test_a_query_without_terms_or_with_unknown_ones_has_no_hits(shelf: Shelf) -> None:
    generation = shelf.repair([made_file("a.py", "text")])
    for query in ("", "  ()!", "absent"):
        assert search(generation, shelf.facts, query, None, 10) == []
    assert search(generation, shelf.facts, "text", None, 0) == []
    assert search(shelf.repair([]), shelf.facts, "text", None, 10) == []


def test_a_repeated_query_term_counts_as_often_as_it_is_there(shelf: Shelf) -> None:
    generation = shelf.repair([made_file("a.py", "alpha"), made_file("b.py", "beta")])
    once = search(generation, shelf.facts, "alpha beta", None, 2)
    assert once[0].score == once[1].score
    twice = search(generation, shelf.facts, "alpha beta beta", None, 2)
    assert [hit.path for hit in twice] == [b"b.py", b"a.py"]
    assert twice[0].score == 2 * twice[1].score


def test_an_issue_text_of_a_thousand_terms_drops_none(shelf: Shelf) -> None:
    last = made_file("z.py", "", ("f", "zzz"))
    generation = shelf.repair([*random_tree(3, 6), last])
    query = " ".join([*(f"w{n}" for n in range(300)), *(f"unknown{n}" for n in range(700)), "zzz"])
    hits = search(generation, shelf.facts, query, None, 1000)
    assert last.path in {hit.path for hit in hits}
    assert_close(answer(hits), ranked(unit_documents(shelf.files.values()), query))


def test_two_threads_search_one_generation_while_the_next_are_built(shelf: Shelf) -> None:
    tree = random_tree(1, 20)
    generation = shelf.repair(tree)
    queries = random_queries(5, 10)
    expected = [answer(search(generation, shelf.facts, query, None, 10)) for query in queries]
    stop = threading.Event()
    rounds = [0, 0]
    wrong: list[object] = []

    def ask(number: int) -> None:
        while not stop.is_set():
            found = [answer(search(generation, shelf.facts, query, None, 10)) for query in queries]
            if found != expected:
                wrong.append(found)
            rounds[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        for seed in range(2, 4):
            shelf.repair(random_tree(seed, 20))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert all(rounds)
