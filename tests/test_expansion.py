"""What the best hits are related to: edges of each kind, in and out, over one hop and two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.query.expansion import Expansion, expand
from nibd.query.filters import Filters, select
from nibd.query.planning import Plan, Widths
from nibd.stores.types import Level
from planned_search import Searchable, searchable
from views import quick_folder

FILES = {
    "shop/basket.py": "import price\n\n\nclass Basket:\n    def weigh(self):\n        return sum_up(self)\n",
    "shop/price.py": "def sum_up(basket):\n    return rounded(basket)\n\n\ndef rounded(value):\n    pass\n",
    "shop/till.py": "def pay():\n    return sum_up(1)\n\n\nclass Special(Basket):\n    pass\n",
    "tests/test_till.py": "def test_pay():\n    assert pay()\n",
    "web/page.js": "export function weigh() { return 1 }\n",
    "alone.py": "def alone():\n    return 1\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searchable]:
    repo = Repo(tmp_path_factory.mktemp("expansion") / "repo")
    for key in ("user.name", "user.email"):  # made before the test's own home
        repo.git("config", key, "test")
    for path, text in FILES.items():
        repo.write(path, text)
    repo.commit("one")
    with quick_folder() as folder, searchable(folder, repo) as found:
        yield found


def expansion(
    shop: Searchable, name: str, widths: Widths, level: Level | None = None, filters: Filters | None = None
) -> Expansion:
    seeds = shop.hits(name, Plan.LEXICAL, level)[:1]
    within = select(shop.structure, shop.listing, filters) if filters else None
    return expand(shop.related, seeds, level, within, widths)


def names(found: Expansion) -> list[str]:
    return [hit.name or hit.path.decode() for hit in found.hits]


def test_one_hop_leads_to_what_it_calls_what_calls_it_and_what_is_around(shop: Searchable) -> None:
    found = expansion(shop, "sum_up", Widths())
    # It calls one unit; of its two callers each has half; the file around it is no call.
    assert [(name, hit.score) for name, hit in zip(names(found), found.hits, strict=True)] == [
        ("rounded", 1.0),
        ("Basket.weigh", 0.5),
        ("shop/price.py", 0.5),
        ("pay", 0.5),
    ]
    assert found.edges == {"contains": 1, "calls": 3}
    assert (found.families, found.lacking, found.hubs) == (["python"], [], 0)


def test_the_second_hop_leads_further_and_scores_less(shop: Searchable) -> None:
    one, two = (expansion(shop, "sum_up", Widths(hops=hops)) for hops in (1, 2))
    assert "test_pay" not in names(one)
    assert names(two).index("test_pay") > names(two).index("pay")


def test_what_inherits_refers_and_what_is_contained_is_known(shop: Searchable) -> None:
    found = expansion(shop, "Basket", Widths())
    assert set(names(found)) == {"Basket.weigh", "Special", "shop/basket.py"}
    assert found.edges == {"contains": 2, "references": 1}


def test_only_units_of_the_level_and_within_the_selection_are_given(shop: Searchable) -> None:
    level = expansion(shop, "sum_up", Widths(), Level.CALLABLE)
    assert set(names(level)) == {"rounded", "Basket.weigh", "pay"}
    outside = expansion(shop, "pay", Widths(hops=2), filters=Filters(tests=False))
    assert "test_pay" not in names(outside)


def test_at_the_level_of_files_files_are_related(shop: Searchable) -> None:
    found = expansion(shop, "rounded", Widths(), Level.FILE)
    assert [hit.path.decode() for hit in found.hits] == ["shop/basket.py", "shop/till.py"]


def test_no_more_neighbours_than_asked_for(shop: Searchable) -> None:
    assert names(expansion(shop, "sum_up", Widths(neighbours=2))) == ["rounded", "Basket.weigh"]


def test_a_family_without_relations_is_named_and_only_its_units_are_known(shop: Searchable) -> None:
    seeds = [hit for hit in shop.hits("weigh", Plan.LEXICAL) if hit.path == b"web/page.js"][:1]
    found = expand(shop.related, seeds, None, None, Widths())
    assert found.lacking == ["javascript"]
    assert set(found.edges) <= {"contains"}


def test_a_hub_is_counted_and_not_followed(shop: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nibd.query.expansion.MOST_RECORDS", 1)
    found = expansion(shop, "sum_up", Widths())
    assert found.hubs == 1
    assert names(found) == ["rounded", "shop/price.py"]


def test_seeds_stay_first_and_what_they_call_comes_up(shop: Searchable) -> None:
    by_terms = shop.hits("sum_up", Plan.LEXICAL)
    related = shop.hits("sum_up", Plan.STRUCTURAL)
    assert related[0].address_key == by_terms[0].address_key
    assert {hit.address_key for hit in by_terms} <= {hit.address_key for hit in related}
    assert "rounded" in [hit.name for hit in related]
    assert "alone" not in [hit.name for hit in related]


def test_an_expansion_is_told_of(shop: Searchable, tmp_path: Path) -> None:
    trace = shop.search("sum_up", Plan.STRUCTURAL).trace
    assert trace.expansion is not None
    assert trace.candidates["relations"] == trace.expansion.looked_at > 0
    assert {"relations", "fusion", "candidates"} <= set(trace.milliseconds)
