"""Commands against one real daemon that follows one small repository."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cli_run import PROGRAM, Home
from gitrepo import Repo
from waiting import wait_until

SOURCE = '''\
"""A shop."""


class Basket:
    def total_price(self):
        """Sum of the prices of all items."""
        return sum(self.items)


def checkout(basket):
    return basket.total_price()
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("cli-home"))
    yield home
    home.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, home: Home) -> Repo:
    """A registered repository whose HEAD is published. Tests leave its commits as they are."""
    repo = Repo(tmp_path_factory.mktemp("repos") / "shop", "--initial-branch=main")
    repo.write("shop/basket.py", SOURCE)
    repo.write("README.md", "# Shop\n\nBaskets and prices.\n")
    repo.git("config", "user.name", "Test")
    repo.git("config", "user.email", "test@example.org")
    repo.commit("first")
    home.nibd("init", repo.path)
    return repo


def test_status_names_what_is_published(home: Home, shop: Repo) -> None:
    head = shop.head()
    text = home.nibd("status", cwd=shop.path).out
    status = home.json("status", shop.file("shop/basket.py"))

    assert f"on main at {head[:10]}, published {head[:10]}" in text
    assert "\x1b" not in text
    assert status["snapshot"]["commit"] == status["head"]["commit"] == head
    assert status["views"]["lexical"]["state"] == "ready"


def test_search_prints_hits_for_people_and_the_answer_for_programs(home: Home, shop: Repo) -> None:
    text = home.nibd("search", "total", "price", "--level", "L2", "-k", "1", cwd=shop.path).out
    answer = home.json("search", "total price", "--repo", shop.path)

    assert text.startswith(f"commit {shop.head()[:10]}; lexical exact\n")
    assert "shop/basket.py:5-7 method Basket.total_price" in text
    assert "        return sum(self.items)" in text
    assert set(answer) >= {"snapshot", "views", "head", "hits"}
    assert answer["hits"][0]["blob"] == shop.blob("shop/basket.py")


def test_a_query_that_finds_nothing_ends_with_1(home: Home, shop: Repo) -> None:
    assert "nothing found" in home.nibd("search", "zyzzyva", cwd=shop.path, status=1).out
    assert home.json("search", "zyzzyva", cwd=shop.path, status=1)["hits"] == []
    assert home.json("symbols", "nowhere", cwd=shop.path, status=1)["hits"] == []


def test_search_says_when_a_file_was_edited_since(home: Home, shop: Repo) -> None:
    file = shop.write("shop/basket.py", SOURCE + "\n# edited\n")
    try:
        text = home.nibd("search", "checkout", cwd=shop.path).out
    finally:
        file.write_text(SOURCE)

    assert "! EDITED in the work tree since: shop/basket.py" in text


def test_symbols_and_outline(home: Home, shop: Repo) -> None:
    symbols = home.nibd("symbols", "Basket.total_price", cwd=shop.path).out
    outline = home.nibd("outline", "basket.py", cwd=shop.path / "shop").out

    assert "shop/basket.py:5-7 method Basket.total_price" in symbols
    assert [line.strip() for line in outline.splitlines()[1:]] == [
        "file  1-11",
        "class Basket  4-7",
        "method Basket.total_price  5-7",
        "function checkout  10-11",
    ]
    assert "not in the snapshot" in home.nibd("outline", "none.py", cwd=shop.path, status=1).err
    assert "is a folder" in home.nibd("outline", "shop", cwd=shop.path, status=2).err


def test_a_commit_may_be_named_as_git_names_it(home: Home, shop: Repo) -> None:
    for name in ("HEAD", "main", shop.head()[:8], shop.head()):
        answer = home.json("search", "basket", "--at", name, cwd=shop.path)
        assert answer["snapshot"]["commit"] == shop.head()

    for name in ("nothing-like-it", "0" * 40):
        error = home.json("search", "basket", "--at", name, cwd=shop.path, status=2)["error"]
        assert error["code"] == "unknown_revision"


def test_a_plan_whose_view_is_absent_ends_with_3_and_says_why(home: Home, shop: Repo) -> None:
    error = home.json("search", "basket", "--plan", "dense", cwd=shop.path, status=3)["error"]
    hybrid = home.nibd("search", "basket", "--plan", "hybrid", cwd=shop.path).out

    assert error["code"] == "view_absent"
    assert "settings" in error["message"]
    assert "! WITHOUT the dense view: " in hybrid


def test_wait_comes_back_at_once_when_all_is_published(home: Home, shop: Repo) -> None:
    assert home.nibd("wait", cwd=shop.path).out == f"published {shop.head()[:10]}\n"
    assert home.json("wait", "--view", "lexical", cwd=shop.path)["published"] is True
    dense = home.nibd("wait", "--view", "dense", "--timeout", "60", cwd=shop.path, status=1)
    assert dense.out.startswith("not published ")
    assert "settings" in dense.out


def test_verify_finds_the_published_views_equal(home: Home, shop: Repo) -> None:
    done = home.nibd("verify", "--view", "lexical", "--view", "structural", cwd=shop.path)

    assert done.out.startswith("equal: commit ")
    assert set(home.json("verify", "--view", "lexical", cwd=shop.path)["views"]) == {"lexical"}


def test_list_names_the_checkout(home: Home, shop: Repo) -> None:
    assert str(shop.path) in home.nibd("list").out
    listed = home.json("list")["checkouts"]
    assert [each["name"] for each in listed if each["path"] == str(shop.path)] == ["shop"]


def test_a_path_that_is_no_checkout_is_refused(home: Home, shop: Repo, tmp_path: Path) -> None:
    done = home.nibd("status", tmp_path, status=3)

    assert f"{tmp_path} is in no registered checkout" in done.err
    assert home.json("init", tmp_path, status=3)["error"]["code"] == "git"
    assert "list" in home.nibd("remove", "never-heard-of", status=3).err


def test_a_working_directory_that_is_gone_is_said(home: Home, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    process = home.start("version", cwd=gone)  # starts, and so does Python in it
    process.communicate()
    script = f"cd {gone} && rmdir {gone} && exec {' '.join(PROGRAM)} status"
    process = home.start(cwd=gone, args=["sh", "-c", script])
    _, err = process.communicate()

    assert process.returncode == 3
    assert b"working directory is gone" in err


def test_an_init_without_hooks_or_waiting(home: Home, shop: Repo, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "quiet")
    repo.write("a.py", "x = 1\n")
    repo.commit()
    document = home.json("init", repo.path, "--no-hooks", "--no-wait")
    home.nibd("wait", repo.path)

    assert document["added"] is True
    assert document["hooks"] == []
    assert document["published"] is document["status"] is None
    assert not (repo.path / ".git" / "hooks" / "post-commit").exists()
    home.nibd("remove", repo.path)


def test_a_reader_that_goes_away_is_no_error(home: Home, shop: Repo) -> None:
    read, write = os.pipe()
    os.close(read)
    process = home.start("status", cwd=shop.path, stdout=write)
    os.close(write)
    _, err = process.communicate()

    assert (process.returncode, err) == (141, b"")


def test_an_output_that_takes_nothing_is_said_in_one_line(home: Home, shop: Repo) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = home.start("status", "--json", cwd=shop.path, stdout=full.fileno())
        _, err = process.communicate()

    assert (process.returncode, err) == (3, b"nibd: No space left on device\n")


def test_watching_prints_a_line_for_each_change_and_ends_quietly(
    home: Home, shop: Repo, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "moving")
    repo.write("a.py", "x = 1\n")
    first = repo.commit()
    home.nibd("init", repo.path)
    process = home.start("status", "--watch", "--json", cwd=repo.path)
    assert process.stdout is not None

    assert json.loads(process.stdout.readline())["snapshot"]["commit"] == first
    repo.write("a.py", "x = 2\n")
    second = repo.commit()
    published = ""
    while published != second:
        published = json.loads(process.stdout.readline())["snapshot"]["commit"]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()

    assert (process.returncode, err) == (130, b"")
    home.nibd("remove", repo.path)


def test_watching_on_a_terminal_draws_until_interrupted(home: Home, shop: Repo) -> None:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.set_blocking(controller, False)
    process = home.start("status", "--watch", cwd=shop.path, stdout=terminal)
    os.close(terminal)
    drawn = bytearray()

    def draws(what: bytes) -> bool:
        with suppress(OSError):  # nothing yet, or (at the end) the other side was closed
            drawn.extend(os.read(controller, 65536))
        return what in drawn

    wait_until(lambda: draws(b"files: "), what="the status to be drawn")
    process.send_signal(signal.SIGINT)
    wait_until(lambda: draws(b"?") and process.poll() is not None, what="its end")
    os.close(controller)

    assert (process.returncode, process.communicate()[1]) == (130, b"")
    assert b"\x1b[" in drawn


def test_names_that_are_not_utf8_work_from_end_to_end(home: Home, shop: Repo, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    repo = Repo(folder)
    repo.write(b"na\xefve.py", "def naive(): pass\n")
    repo.commit()
    home.nibd("init", folder)
    answer = home.json("symbols", "naive", cwd=folder)
    outline = home.nibd("outline", b"na\xefve.py", cwd=folder).out
    listed = home.nibd("list").out

    assert answer["hits"][0]["path"] == "na\\xefve.py"
    assert "function naive" in outline
    assert "caf\udce9" in listed
    home.nibd("remove", cwd=folder)
    assert "caf\udce9" not in home.nibd("list").out


def test_doctor_is_content_with_what_the_tests_run_on(home: Home, shop: Repo) -> None:
    document = home.json("doctor")
    text = home.nibd("doctor").out

    assert document["problems"] == 0
    verdicts = {(check["name"], check["verdict"]) for check in document["checks"]}
    assert {("git", "ok"), ("daemon", "ok"), ("repository", "ok"), ("settings", "ok")} <= verdicts
    assert document["daemon"]["processes"]
    assert f"{shop.path}: hooks are in place" in text


def test_the_installed_script_is_the_same_program(home: Home, shop: Repo) -> None:
    process = home.start(args=[Path(sys.executable).parent / "nibd", "version", "--json"])
    out, _ = process.communicate()

    assert process.returncode == 0
    assert json.loads(out)["protocol"] == 1
