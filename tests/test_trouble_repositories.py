"""Repositories in trouble under a daemon: large, rebased, rewritten, moved, without their objects."""

from __future__ import annotations

from pathlib import Path

from daemon_world import Daemon
from gitrepo import Repo
from trouble_world import building, events, large, settled
from waiting import wait_until


def knows(daemon: Daemon, repo: Repo, name: str) -> bool:
    return bool(daemon.call("symbols", path=str(repo.path), name=name)["hits"])


def test_the_first_build_of_a_large_repository_delays_nobody(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    many = large(tmp_path / "large", 3000, functions=3)
    added = daemon.add(many.path)
    building(daemon, many.path)
    repo.write("a.py", "def beta():\n    pass\n")
    commit = repo.commit("two")
    settled(daemon, repo.path)
    assert knows(daemon, repo, "beta")
    assert daemon.call("search", path=str(repo.path), query="beta")["hits"]
    assert daemon.call("outline", path=str(repo.file("a.py")))["hits"]
    assert daemon.call("repository.list")["checkouts"][1]["state"] == "building"
    # All of this was answered while the large one was at work.
    assert not events(daemon, "job_done", repository=added["repository"])
    assert settled(daemon, many.path)["files"]["indexed"] == 3000
    order = [event["commit"] for event in events(daemon, "job_done", job="repair")]
    assert order.index(commit) < order.index(many.head())  # what comes of relations may follow


def test_an_amended_commit_whose_objects_are_gone_is_left_behind(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    for name in ("beta", "gamma"):
        repo.write("a.py", f"def {name}():\n    pass\n")
        repo.commit("changed")
        settled(daemon, repo.path)
    gone = repo.head()
    repo.write("a.py", "def delta():\n    pass\n")
    repo.commit("amended", "--amend")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--prune=now", "-q")
    assert repo.git("cat-file", "-t", gone, check=False) == ""
    status = settled(daemon, repo.path)
    assert status["snapshot"]["commit"] == repo.head() != gone
    assert knows(daemon, repo, "delta")
    assert not knows(daemon, repo, "gamma")
    then = daemon.call("symbols", path=str(repo.path), name="gamma", at=gone)
    assert then["hits"][0]["snippet"] is None  # it is said where it was; its text is gone
    assert then["views"]["structural"]["lag"]["commits"] is None
    assert daemon.call("verify", path=str(repo.path))["equal"]


def test_a_moved_repository_says_so_and_is_taken_in_at_its_new_place(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    moved = Repo(repo.path.rename(tmp_path / "elsewhere"))
    status = daemon.call("status", path=str(repo.path))
    assert "nibd init" in status["error"]
    assert status["snapshot"]
    daemon.add(moved.path)
    assert settled(daemon, moved.path)["snapshot"]["commit"] == moved.head()
    assert knows(daemon, moved, "alpha")
    assert daemon.call("repository.remove", path=str(repo.path))["removed"]
    assert knows(daemon, moved, "alpha")


def test_a_git_directory_that_is_away_for_a_while(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    away = (repo.path / ".git").rename(repo.path / ".away")
    assert daemon.call("status", path=str(repo.path))["error"]
    answer = daemon.call("search", path=str(repo.path), query="alpha")
    assert answer["hits"][0]["name"] == "alpha"
    assert answer["views"]["lexical"]["reason"]
    away.rename(repo.path / ".git")
    repo.write("a.py", "def beta():\n    pass\n")
    repo.commit("two")
    settled(daemon, repo.path)
    assert knows(daemon, repo, "beta")


def test_a_head_at_a_missing_object_is_an_error_until_it_is_not(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    good = repo.head()
    reference = repo.path / ".git" / "refs" / "heads" / "main"
    reference.write_text("1" * 40 + "\n")
    status = daemon.call("status", path=str(repo.path))
    assert status["error"]
    assert status["snapshot"]["commit"] == good
    answer = daemon.call("search", path=str(repo.path), query="alpha")
    assert answer["snapshot"]["commit"] == good
    assert answer["views"]["lexical"]["reason"] == status["error"]
    reference.write_text(good + "\n")
    assert settled(daemon, repo.path)["views"]["lexical"]["lag"]["commits"] == 0


def test_a_commit_without_one_of_its_trees_fails_with_the_reason_and_recovers(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    good = repo.head()
    repo.write("folder/b.py", "def beta():\n    pass\n")
    repo.git("add", "-A")
    tree = repo.git("write-tree")
    folder = repo.git("rev-parse", f"{tree}:folder")
    commit = repo.git("commit-tree", "-p", good, "-m", "two", tree)
    lost = repo.path / ".git" / "objects" / folder[:2] / folder[2:]
    kept = lost.rename(tmp_path / "kept")
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(f"{commit}\n")
    wait_until(
        lambda: folder in (daemon.call("status", path=str(repo.path))["error"] or ""), what="the reason"
    )
    answer = daemon.call("search", path=str(repo.path), query="alpha")
    assert answer["snapshot"]["commit"] == good
    assert folder in answer["views"]["lexical"]["reason"]
    kept.rename(lost)
    settled(daemon, repo.path)
    assert knows(daemon, repo, "beta")
    assert not daemon.call("doctor")["problems"]


def test_of_a_repository_s_own_settings_what_is_right_holds_and_what_is_not_is_said(
    daemon: Daemon, repo: Repo
) -> None:
    repo.write(".nibd.toml", '[index]\nignore = ["data/"]\nworkers = 3\n[dense]\nmodel = "/opt/evil"\n')
    repo.write("data/b.py", "def beta():\n    pass\n")
    repo.commit("two")
    daemon.add(repo.path)
    status = daemon.published(repo.path)
    assert status["skipped"] == {"ignored": 1}
    workers, model = status["notes"]
    assert workers.startswith(".nibd.toml: index.workers = 3: only the user's own file")
    assert model.startswith('.nibd.toml: dense.model = "/opt/evil": only the user\'s own file')
    doctor = daemon.call("doctor")
    assert doctor["notes"] == [f"{repo.path}: {workers}", f"{repo.path}: {model}"]
    assert not doctor["problems"]


def test_settings_of_a_repository_that_are_no_file_of_a_sane_size_are_named(
    daemon: Daemon, repo: Repo
) -> None:
    repo.write(".nibd.toml", "#" * (1 << 20))
    repo.commit("two")
    daemon.add(repo.path)
    (note,) = daemon.published(repo.path)["notes"]
    assert "nothing of the file is honoured" in note
    assert "1048576 bytes" in note
    repo.remove(".nibd.toml")
    repo.symlink(".nibd.toml", "a.py")
    repo.commit("three")
    (note,) = settled(daemon, repo.path)["notes"]
    assert "no regular file" in note
