"""Grep over the socket and by the command, with a running daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_run import Home
from gitrepo import Repo
from nibd.stores.database import open_database
from nibd.stores.trigram_store import migrations
from waiting import wait_until

SETTINGS = "[dense]\nenabled = false\n[relations]\nenabled = false\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("grep-home"), SETTINGS)
    yield home
    home.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, home: Home) -> Repo:
    """A repository of two commits, both published."""
    repo = Repo(tmp_path_factory.mktemp("repos") / "shop", "--initial-branch=main")
    repo.write("shop/basket.py", "def total_price(basket):\n    return sum(basket)\n")
    repo.write("tests/test_basket.py", "def test_total_price():\n    assert total_price([1]) == 1\n")
    repo.write("logo.bin", b"\0\1\2")
    repo.commit("first")
    home.nibd("init", repo.path)
    repo.write("shop/basket.py", "def whole_price(basket):\n    return sum(basket)\n")
    repo.commit("second")
    home.nibd("wait", repo.path)
    return repo


def test_lines_are_shown_as_grep_shows_them_with_what_was_searched(home: Home, shop: Repo) -> None:
    out = home.nibd("grep", "def .*_price", "--repo", shop.path).out
    header, *lines = out.splitlines()
    assert header.startswith(f"commit {shop.head()[:10]}; 2 files read of 2 that may match")
    assert "1 binary" in header
    assert lines == [
        "shop/basket.py:1:1: def whole_price(basket):",
        "tests/test_basket.py:1:1: def test_total_price():",
    ]


def test_options_reach_the_daemon(home: Home, shop: Repo) -> None:
    def out(*arguments: str, status: int = 0) -> list[str]:
        done = home.nibd("grep", *arguments, "--repo", shop.path, status=status)
        return done.out.splitlines()[1:]

    assert out("PRICE", status=1) == ["nothing found"]
    assert out("-i", "PRICE", "--files") == ["shop/basket.py", "tests/test_basket.py"]
    assert out("price", "--count", "--tests") == ["tests/test_basket.py:2"]
    assert out("price", "--count", "--path", "!tests") == ["shop/basket.py:1"]
    assert out("-w", "price", status=1) == ["nothing found"]
    assert out("-F", "sum(basket)") == ["shop/basket.py:2:12:     return sum(basket)"]
    assert out("sum", "-C", "1", "--language", "python", "--no-tests") == [
        "shop/basket.py-1- def whole_price(basket):",
        "shop/basket.py:2:12:     return sum(basket)",
    ]
    assert out("price", "-k", "1") == [
        "! MORE: --offset 1 shows what follows",
        "shop/basket.py:1:11: def whole_price(basket):",
    ]
    assert out("price", "-k", "1", "--offset", "2") == [
        "tests/test_basket.py:2:18:     assert total_price([1]) == 1"
    ]
    assert out("price", "--from", "t", "--files") == ["tests/test_basket.py"]


def test_an_older_commit_can_be_asked(home: Home, shop: Repo) -> None:
    done = home.nibd("grep", "total_price", "--at", "HEAD~1", "--path", "shop", "--repo", shop.path)
    assert "shop/basket.py:1:5: def total_price(basket):" in done.out.splitlines()


def test_a_pattern_that_is_none_is_a_mistake_of_the_caller_with_its_place(home: Home, shop: Repo) -> None:
    done = home.nibd("grep", "total(price", "--repo", shop.path, status=2)
    assert "missing )" in done.err
    assert "at character 6" in done.err
    document = home.json("grep", "a**", "--repo", shop.path, status=2)
    assert document["error"]["code"] == "invalid_params"
    assert document["error"]["data"] == {"position": 1}


def test_time_that_is_up_is_said_and_where_to_go_on(home: Home, shop: Repo) -> None:
    longer = home.nibd("grep", "price", "--time", "26", "--repo", shop.path, status=2)
    assert "--time: found 26; allowed: a number, 0 to 25" in longer.err
    out = home.nibd("grep", "price", "--time", "0", "--repo", shop.path, status=1).out
    assert "! PARTIAL: time was up before tests/test_basket.py; --from that path goes on there" in out


def test_lost_trigrams_are_done_without_and_made_anew_in_the_background(home: Home, shop: Repo) -> None:
    (path,) = Path(home.environment["XDG_CACHE_HOME"]).glob("nibd/repositories/*/trigrams.db")
    database = open_database(path, migrations)
    database.rows("UPDATE loose SET checksum = checksum + 1")
    database.rows("UPDATE segment SET checksum = checksum + 1")
    database.rows("UPDATE state SET placings = placings + 1, foldings = foldings + 1")
    database.close()
    answer = home.json("grep", "whole_price", "--repo", shop.path)
    assert [hit["path"] for hit in answer["hits"]] == ["shop/basket.py"]
    assert answer["unfiltered"] > 0

    def mended() -> bool:
        again = home.json("grep", "whole_price", "--repo", shop.path)
        return again["unfiltered"] == 0 and again["candidates"] == 1

    wait_until(mended, 60, "the trigrams to be made anew")
