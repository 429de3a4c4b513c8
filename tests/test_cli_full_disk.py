"""`nibd init` on a full disk: the exit status, what is full, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_run import Home
from gitrepo import Repo
from small_disk import fill, small_disk


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("file.py", "def name():\n    pass\n")
    repo.commit()
    return repo


def test_where_the_state_is_while_a_daemon_runs(home: Home, repo: Repo) -> None:
    state = home.folder / "state"
    with small_disk(state, "1m"):
        other = Repo(repo.path.parent / "other")
        other.commit()
        home.nibd("init", other.path)
        filler = fill(state)
        done = home.nibd("init", repo.path, status=3)
        assert done.err.splitlines()[-1] == (
            f"nibd: {home.state / 'registry.json'} cannot be written: No space left on device; "
            "make room on that disk, then try again"
        )
        assert home.json("init", repo.path, status=3)["error"]["code"] == "not_stored"
        assert [each["path"] for each in home.json("list")["checkouts"]] == [str(other.path)]
        filler.unlink()
        assert "registered; published" in home.nibd("init", repo.path).out
        home.nibd("stop")


def test_where_the_state_is_and_no_daemon_can_be_started(home: Home, repo: Repo) -> None:
    state = home.folder / "state"
    with small_disk(state, "1m"):
        filler = fill(state)
        done = home.nibd("init", repo.path, status=3)
        assert done.err.splitlines()[-1].endswith(
            f"no space left on the disk of {home.state / 'log'}; make room there, then try again"
        )
        filler.unlink()
        assert "registered; published" in home.nibd("init", repo.path).out
        home.nibd("stop")


def test_where_the_views_are(home: Home, repo: Repo) -> None:
    """Registered is the checkout all the same: it is built once there is room."""
    cache = home.folder / "cache"
    with small_disk(cache, "24m"):
        filler = fill(cache)
        done = home.nibd("init", repo.path, status=1)
        assert f"not published {repo.head()[:10]}" in done.out
        assert f"{cache}/nibd/" in done.out
        assert "make room there" in done.out
        filler.unlink()
        assert "registered already; published" in home.nibd("init", repo.path).out
        home.nibd("stop")
