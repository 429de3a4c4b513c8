"""Plans, filters, pages and snippets over the socket and by the commands, with a running daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_run import Home
from gitrepo import Repo
from made_navigation import publish_relations
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.ipc.session import Session
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import CheckoutId

SETTINGS = "[dense]\nenabled = false\n[relations]\nenabled = false\n"
BASKET = '''class Basket:
    """What somebody buys."""

    def weigh(self):
        return sum(self.parcels)


def total_price(basket):
    first = basket.parcels[0]
    rest = basket.parcels[1:]
    if not rest:
        return first
    for parcel in rest:
        first += parcel
    # Taxes come on top of what the parcels cost.
    taxes = first * 0.2
    return first + taxes
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("search-home"), SETTINGS)
    yield home
    home.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, home: Home) -> Repo:
    repo = Repo(tmp_path_factory.mktemp("repos") / "shop", "--initial-branch=main")
    repo.write("shop/basket.py", BASKET)
    repo.write("tests/test_basket.py", "def test_total_price():\n    assert total_price(None) == 1\n")
    repo.write("web/basket.ts", "export function totalPrice() { return 1 }\n")
    repo.commit("first")
    repo.write("shop/till.py", "def pay(basket):\n    return total_price(basket)\n")
    repo.commit("second")
    home.nibd("init", repo.path)
    return repo


@pytest.fixture
def ask(home: Home, shop: Repo) -> Any:
    def ask(method: str, **params: Any) -> Any:
        with Client(home.socket, 60.0) as client:
            return client.call(method, {"path": str(shop.path), **params})

    return ask


def paths(answer: Any) -> set[str]:
    return {hit["path"] for hit in answer["hits"]}


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"paths": ["shop"]}, {"shop/basket.py", "shop/till.py"}),
    ({"paths": ["*.py", "!shop"]}, {"tests/test_basket.py"}),
    ({"language": "typescript"}, {"web/basket.ts"}),
    ({"tests": "only"}, {"tests/test_basket.py"}),
    ({"tests": "without", "language": "python"}, {"shop/basket.py", "shop/till.py"}),
    ({"paths": ["no/such"]}, set()),
]


@pytest.mark.parametrize(("filters", "found"), FILTERS, ids=[str(filters) for filters, _ in FILTERS])
def test_every_method_takes_the_same_filters(ask: Any, filters: dict[str, Any], found: set[str]) -> None:
    assert paths(ask("search", query="total price", level="L0", **filters)) == found
    assert {
        hit["path"] for hit in ask("context", query="total price", level="L0", **filters)["units"]
    } == found
    lines = ask("grep", pattern="total_?price", ignore_case=True, mode="files", **filters)
    assert paths(lines) == found
    named = ask("symbols", name="total_price", **filters)
    assert paths(named) == found & {"shop/basket.py"}


def test_units_are_narrowed_by_kind(ask: Any) -> None:
    answer = ask("search", query="basket", kinds=["class"])
    assert [hit["name"] for hit in answer["hits"]] == ["Basket"]
    assert ask("symbols", name="weigh", kinds=["function"])["hits"] == []
    assert [hit["name"] for hit in ask("symbols", name="weigh", kinds=["method"])["hits"]] == ["Basket.weigh"]


def test_lines_are_narrowed_by_the_kind_of_the_units_they_lie_in(ask: Any) -> None:
    def lines(**params: Any) -> list[tuple[str, int]]:
        found = ask("grep", pattern="parcels", paths=["/shop/basket.py"], **params)
        return [(hit["path"], hit["line"]) for hit in found["hits"]]

    basket = "shop/basket.py"
    assert lines() == [(basket, line) for line in (5, 9, 10, 15)]
    assert lines(kinds=["method"]) == lines(kinds=["class"]) == [(basket, 5)]
    assert lines(kinds=["class", "function"]) == lines()
    assert lines(kinds=["function"], k=1, offset=1) == [(basket, 10)]
    assert lines(kinds=["trait"]) == []
    counted = ask("grep", pattern="parcels", mode="count", kinds=["function"])
    assert [(hit["path"], hit["count"]) for hit in counted["hits"]] == [(basket, 3)]


def test_what_changed_since_a_commit_is_told_by_git(ask: Any, shop: Repo) -> None:
    first = shop.git("rev-parse", "HEAD~1")
    assert paths(ask("search", query="total price", changed_since=first)) == {"shop/till.py"}
    assert paths(ask("grep", pattern="total", changed_since=first)) == {"shop/till.py"}
    assert ask("search", query="total price", changed_since=shop.head())["hits"] == []
    for commit, said in (("0" * 40, "can't be compared"), ("HEAD", "a whole commit id")):
        with pytest.raises(RpcError, match=said) as refused:
            ask("search", query="total price", changed_since=commit)
        assert refused.value.code is ErrorCode.INVALID_PARAMS


@pytest.mark.parametrize("method", ["search", "symbols"])
def test_pages_are_of_one_order_up_to_a_bound(ask: Any, method: str) -> None:
    asked = {"query": "total price"} if method == "search" else {"name": "total_price"}
    whole = ask(method, **asked)["hits"]
    pages = [ask(method, **asked, k=1, offset=at)["hits"] for at in range(len(whole) + 1)]
    assert [hit for page in pages for hit in page] == whole
    with pytest.raises(RpcError, match=r"offset: .* are more than 1000"):
        ask(method, **asked, k=10, offset=991)


def test_a_snippet_is_of_the_lines_that_match_and_says_where(ask: Any) -> None:
    (hit,) = ask("search", query="taxes on top", kinds=["function"], k=1)["hits"]
    lines = hit["snippet"].split("\n")
    assert hit["snippet_line"] == 12
    assert lines[3] == "    # Taxes come on top of what the parcels cost."
    marked = {
        lines[each["line"] - 12][each["column"] - 1 : each["end_column"] - 1] for each in hit["matches"]
    }
    assert {"Taxes", "taxes", "top"} <= marked


def test_a_plan_without_its_part_says_which_and_answers_by_terms(ask: Any) -> None:
    answer = ask("search", query="total price", plan="structural")
    assert answer["plan"] == "lexical"
    assert answer["views"]["structural"]["used"] is False
    assert answer["views"]["structural"]["reason"] == (
        "there are no relations: switched off by the settings ([relations] enabled)"
    )
    commit = answer["snapshot"]["commit"]
    then = ask("search", query="total price", plan="structural", at=commit)
    assert then["views"]["structural"]["reason"] == f"{commit[:10]} has no relations"


def test_the_planner_says_why(ask: Any) -> None:
    answer = ask("search", query="what is the price of all", plan="auto", explain=True)
    plan = answer["explain"]["plan"]
    assert (answer["plan"], plan["asked"], plan["used"], plan["form"]) == (
        "lexical",
        "auto",
        "lexical",
        "prose",
    )
    assert plan["why"] == [
        "prose, but the dense view can't be used: switched off by the settings ([dense] enabled)"
    ]
    assert list(answer["views"]) == ["lexical"]
    wide = ask("search", query="price", explain=True, widths={"widening": 3})["explain"]["plan"]
    assert wide["widths"]["widening"] == 3
    assert "widening 3: asked for" in wide["why"]
    with pytest.raises(RpcError, match="widths: found 'depth'; allowed: any of widening, "):
        ask("search", query="price", widths={"depth": 3})


def test_commands_take_filters_pages_and_plans(home: Home, shop: Repo) -> None:
    def out(*arguments: str, status: int = 0) -> str:
        return home.nibd(*arguments, "--repo", shop.path, status=status).out

    assert "shop/till.py" in out("search", "total price", "--changed-since", "HEAD~1", "--kind", "function")
    assert "nothing found" in out("symbols", "total_price", "--language", "go", status=1)
    for command in ("search", "symbols", "grep"):
        said = home.nibd(command, "weigh", "--kind", "klingon", "--repo", shop.path, status=2).err
        assert "--kind: found 'klingon'; allowed: file, " in said
    assert "Basket.weigh" in out("symbols", "weigh", "--no-tests", "--path", "/shop")
    assert "shop/till.py:1" in out("grep", "def", "--changed-since", "HEAD~1")
    explained = out("search", "Basket", "--explain", "--plan", "auto", "--width", "seeds=2")
    assert "plan lexical (asked: auto; a query of the form identifier); widening 1" in explained
    assert "a query of the form identifier is found by its terms" in explained
    packet = out("context", "total price", "--tests", "-k", "1")
    assert "tests/test_basket.py" in packet


def test_relations_are_followed_and_their_assurance_is_said(home: Home, shop: Repo, ask: Any) -> None:
    """Last, since it publishes relations."""
    with Client(home.socket, 60.0) as client:
        everything: Any = client.call("repository.list")
    (listed,) = everything["checkouts"]
    cache = Path(home.environment["XDG_CACHE_HOME"]) / "nibd" / "repositories"
    folder = RepositoryFolder(cache / listed["repository"])
    publish_relations(folder, shop.path, CheckoutId(listed["checkout"]))

    answer = ask("search", query="pay", plan="structural", explain=True)
    python = answer["views"]["structural"]["relations"]["python"]
    assert answer["plan"] == "structural"
    assert (python["assurance"], python["used"]) == ("verified", True)
    assert python["lag"] == answer["views"]["structural"]["lag"]
    assert answer["hits"][0]["name"] == "pay"
    assert "total_price" in [hit["name"] for hit in answer["hits"]]
    expansion = answer["explain"]["expansion"]
    assert expansion["families"] == ["python"]
    assert expansion["edges"]["calls"] >= 1
    assert {"relations", "fusion", "plan"} <= set(answer["explain"]["milliseconds"])

    with Session(home.socket, shop.path, views=["lexical", "structural"]) as session:
        session.call("search", query="pay", plan="structural")
        (request,) = session.trace()["requests"]
    assert (request["plan"], set(request["views"])) == ("structural", {"lexical", "structural"})
