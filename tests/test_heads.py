"""For how long a checkout has been elsewhere than an answer."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitrepo import START_SECONDS, Repo
from nibd.daemon.heads import HeadHistory, HeadReader, HeadState
from nibd.daemon.registry import Checkout, checkout_id, repository_id
from nibd.stores.types import CommitId, TreeId

A, B = CommitId("a" * 40), CommitId("b" * 40)


def at(commit: CommitId | None) -> HeadState:
    return HeadState(commit, TreeId("t" * 40) if commit else None, "main")


def checkout_of(repo: Repo) -> Checkout:
    git_dir = repo.path / ".git"
    return Checkout(checkout_id(git_dir), repository_id(git_dir), repo.path, git_dir, git_dir, 0.0)


def test_lag_begins_when_head_leaves_and_ends_when_it_comes_back() -> None:
    history = HeadHistory()
    assert history.observe(at(A), A, time.time())
    assert history.seconds_behind(A) == 0
    assert history.observe(at(B), A, time.time())
    first = history.seconds_behind(A)
    assert first is not None
    assert first >= 0
    assert (history.seconds_behind(A) or 0) >= first
    assert history.observe(at(A), A, time.time())
    assert history.seconds_behind(A) == 0
    assert not history.observe(at(A), A, time.time())


def test_what_was_left_while_nobody_looked_counts_from_its_publication() -> None:
    history = HeadHistory()
    history.observe(at(B), A, time.time() - 100)
    assert history.seconds_behind(A) == pytest.approx(100, abs=5)


def test_a_clock_set_back_or_forth_changes_no_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    history = HeadHistory()
    history.observe(at(A), None, None)
    history.observe(at(B), None, None)
    now = time.time()
    for jump in (-86_400.0, 86_400.0):
        monkeypatch.setattr(time, "time", lambda jump=jump: now + jump)
        assert history.seconds_behind(A) == pytest.approx(0, abs=5)
    monkeypatch.setattr(time, "time", lambda: now)
    behind = HeadHistory()
    behind.observe(at(B), A, now + 86_400)  # published by a clock that ran ahead
    assert (behind.seconds_behind(A) or 0) >= 0


def test_an_unborn_branch_and_an_unknown_commit_have_no_lag() -> None:
    history = HeadHistory()
    assert history.observe(at(None), None, None)
    assert not history.observe(at(None), None, None)
    assert history.seconds_behind(A) is None


def test_head_is_read_as_it_is_and_its_errors_are_said(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    checkout = checkout_of(repo)
    reader = HeadReader()
    assert reader.read(checkout) == HeadState(None, None, "main")
    repo.write("a", "1")
    first = CommitId(repo.commit("one"))
    repo.write("a", "2")
    second = CommitId(repo.commit("two"))
    assert reader.read(checkout).commit == second
    assert reader.distance(checkout, first, second) == 1
    assert reader.distance(checkout, second, second) == 0
    assert reader.distance(checkout, A, second) is None
    repo.git("checkout", "-q", "--detach", first)
    assert reader.read(checkout) == HeadState(first, TreeId(repo.git("rev-parse", "HEAD^{tree}")), None)
    repo.path.rename(tmp_path / "moved")
    gone = reader.read(checkout)
    assert gone.commit is None
    assert "nibd remove" in (gone.error or "")
    Repo(repo.path)  # another repository in the same place
    assert reader.read(checkout).error is None


def test_the_stamp_of_objects_changes_when_a_lost_one_is_put_back_among_others(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "1")
    repo.commit()
    blob = repo.blob("a.py")
    folder = repo.path / ".git" / "objects" / blob[:2]
    (folder / "another").write_bytes(b"")  # so the folder stays, and only it changes
    lost = (folder / blob[2:]).rename(tmp_path / "lost")
    os.utime(folder, ns=(START_SECONDS * 10**9,) * 2)  # an earlier time than that of what comes
    checkout, reader = checkout_of(repo), HeadReader()
    before = reader.objects_stamp(checkout)
    assert reader.objects_stamp(checkout) == before
    lost.rename(folder / blob[2:])
    assert reader.objects_stamp(checkout) != before
    reader.close()
