"""The main job, for real: a HEAD that moves, by whatever means, is published and can be asked."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from daemon_world import Daemon
from gitrepo import Repo, run_git
from nibd.ipc.messages import ErrorCode, RpcError
from waiting import wait_until


def shows(daemon: Daemon, repo: Repo) -> str | None:
    """The commit that is published, without asking the daemon to look: `list` would."""
    status = daemon.call("status", path=str(repo.path))
    snapshot = status["snapshot"]
    return snapshot["commit"] if snapshot else None


def test_a_registered_checkout_is_published_and_answers(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    status = daemon.published(repo.path)
    head = repo.git("rev-parse", "HEAD").strip()
    assert status["head"]["commit"] == status["snapshot"]["commit"] == head
    assert status["views"]["lexical"]["state"] == status["views"]["structural"]["state"] == "ready"
    assert status["views"]["dense"]["state"] == "absent"
    assert "settings" in status["views"]["dense"]["reason"]
    answer = daemon.call("search", path=str(repo.path), query="alpha")
    assert answer["snapshot"]["commit"] == head
    hit = answer["hits"][0]
    assert (hit["path"], hit["start_line"], hit["end_line"], hit["name"]) == ("a.py", 1, 2, "alpha")
    assert hit["snippet"] == "def alpha():\n    return 'first'"
    assert hit["edited"] is False


def test_a_move_without_hooks_is_seen_by_the_watch(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    first = repo.git("rev-parse", "HEAD").strip()
    repo.write("a.py", "def beta():\n    pass\n")
    second = repo.commit("two")
    moved = daemon.call("doctor")["processes"]
    assert moved["daemon"]["pid"]

    def job_done() -> bool:
        return f'"commit": "{second}"' in daemon.log.read_text() and '"job_done"' in daemon.log.read_text()

    wait_until(job_done, what="the commit to be published without a question")
    repo.git("reset", "--hard", "-q", first)
    wait_until(lambda: daemon.log.read_text().count(f'"commit": "{first}"') >= 2, what="the reset to be seen")
    assert daemon.call("symbols", path=str(repo.path), name="alpha")["hits"]


def test_answers_say_when_the_work_tree_has_something_else(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    repo.write("a.py", "def alpha():\n    return 'edited'\n")
    hit = daemon.call("search", path=str(repo.path), query="alpha")["hits"][0]
    assert hit["edited"] is True
    assert "first" in hit["snippet"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_snippets_are_decoded_as_units_are(daemon: Daemon, repo: Repo, encoding: str) -> None:
    text = "def café():\n    return 'é'\n\n\ndef second():\n    return 'ü'\n"
    repo.write("a.py", text.encode(encoding))
    repo.commit("encoded")
    daemon.add(repo.path)
    daemon.published(repo.path)
    for name, snippet in (
        ("café", "def café():\n    return 'é'"),
        ("second", "def second():\n    return 'ü'"),
    ):
        [hit] = daemon.call("symbols", path=str(repo.path), name=name)["hits"]
        assert hit["snippet"] == snippet


def test_two_branches_in_linked_work_trees_each_show_their_own(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    repo.git("branch", "other")
    repo.write("b.py", "def only_on_main():\n    pass\n")
    repo.commit("two")
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "-q", str(linked), "other")
    daemon.add(repo.path)
    daemon.add(linked)
    main_status, linked_status = daemon.published(repo.path), daemon.published(linked)
    assert main_status["repository"] == linked_status["repository"]
    assert main_status["checkout"] != linked_status["checkout"]
    assert daemon.call("symbols", path=str(repo.path), name="only_on_main")["hits"]
    assert not daemon.call("symbols", path=str(linked), name="only_on_main")["hits"]


def test_an_unborn_branch_says_so_and_is_published_with_its_first_commit(
    daemon: Daemon, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "new")
    daemon.add(repo.path)
    status = daemon.call("status", path=str(repo.path))
    assert status["head"]["commit"] is None
    assert status["snapshot"] is None
    assert status["views"]["lexical"]["reason"] == "the branch has no commit yet"
    assert daemon.call("wait", path=str(repo.path), timeout_s=30)["published"] is False
    with pytest.raises(RpcError) as refused:
        daemon.call("search", path=str(repo.path), query="x")
    assert refused.value.code == ErrorCode.VIEW_NOT_READY
    repo.write("a.py", "x = 1\n")
    repo.commit("one")
    assert daemon.published(repo.path)["files"] == {"indexed": 1, "total": 1}


def test_who_does_not_want_to_wait_is_told_what_is_there(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    assert daemon.call("wait", path=str(repo.path), timeout_s=0)["published"] is True


def test_an_earlier_commit_can_be_asked_for_while_it_is_kept(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    first = repo.git("rev-parse", "HEAD").strip()
    repo.write("a.py", "def beta():\n    pass\n")
    repo.commit("two")
    daemon.published(repo.path)
    then = daemon.call("symbols", path=str(repo.path), name="alpha", at=first)
    assert then["snapshot"]["commit"] == first
    assert then["views"]["structural"]["lag"]["commits"] == 1
    assert then["hits"]
    with pytest.raises(RpcError) as refused:
        daemon.call("symbols", path=str(repo.path), name="alpha", at="1" * 40)
    assert refused.value.code == ErrorCode.UNPUBLISHED_COMMIT


def test_questions_about_what_is_not_there_are_refused_with_what_to_do(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    with pytest.raises(RpcError, match="nibd init") as unknown:
        daemon.call("status", path=str(tmp_path))
    assert unknown.value.code == ErrorCode.UNKNOWN_REPOSITORY
    daemon.add(repo.path)
    daemon.published(repo.path)
    with pytest.raises(RpcError, match="settings") as absent:
        daemon.call("search", path=str(repo.path), query="x", plan="dense")
    assert absent.value.code == ErrorCode.VIEW_ABSENT
    with pytest.raises(RpcError, match="not in the snapshot") as missing:
        daemon.call("outline", path=str(repo.path / "nothing.py"))
    assert missing.value.code == ErrorCode.NOT_FOUND
    hybrid = daemon.call("search", path=str(repo.path), query="alpha", plan="hybrid")
    assert hybrid["hits"]
    assert hybrid["views"]["dense"]["used"] is False
    assert "settings" in hybrid["views"]["dense"]["reason"]


def test_a_repository_that_was_deleted_says_so_and_can_be_removed(daemon: Daemon, repo: Repo) -> None:
    added = daemon.add(repo.path)
    daemon.published(repo.path)
    folder = daemon.cache / "repositories" / added["repository"]
    assert folder.is_dir()
    shutil.rmtree(repo.path)
    status = daemon.call("status", path=str(repo.path))
    assert "nibd remove" in status["error"]
    assert daemon.call("repository.remove", path=str(repo.path))["removed"]
    assert not folder.exists()
    assert daemon.call("repository.list") == {"checkouts": []}


def test_verify_finds_equality_and_names_a_difference(daemon: Daemon, repo: Repo) -> None:
    repo.write("b.go", "package b\n\nfunc Beta() int { return 1 }\n")
    repo.commit("two")
    daemon.add(repo.path)
    daemon.published(repo.path)
    repo.write("a.py", "def alpha():\n    return 'second'\n\n\ndef gamma():\n    pass\n")
    repo.commit("three")
    status = daemon.published(repo.path)
    verdict = daemon.call("verify", path=str(repo.path))
    assert verdict["equal"]
    assert verdict["commit"] == status["head"]["commit"]
    assert verdict["views"]["structural"]["compared"]["files"] == 2

    structure = daemon.cache / "repositories" / status["repository"] / "structure.db"
    with sqlite3.connect(structure) as database:
        database.execute("DELETE FROM unit WHERE name = 'gamma'")
    verdict = daemon.call("verify", path=str(repo.path))
    assert not verdict["equal"]
    assert "a.py: units differ at their number" in verdict["views"]["structural"]["differences"][0]


def test_facts_that_a_power_cut_lost_are_made_again(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    status = daemon.published(repo.path)
    facts = daemon.cache / "repositories" / status["repository"] / "facts.db"
    with sqlite3.connect(facts) as database:
        database.execute("DELETE FROM fact")
    with pytest.raises(RpcError, match="built again") as refused:
        daemon.call("search", path=str(repo.path), query="alpha")
    assert refused.value.code == ErrorCode.VIEW_NOT_READY

    def healed() -> bool:
        try:
            return bool(daemon.call("search", path=str(repo.path), query="alpha")["hits"])
        except RpcError:
            return False

    wait_until(healed, what="the facts to be made again")
    assert daemon.call("verify", path=str(repo.path))["equal"]


def test_a_pipe_or_a_link_in_a_files_place_keeps_nobody_waiting(daemon: Daemon, repo: Repo) -> None:
    repo.write("b.py", "def beta():\n    pass\n")
    repo.commit("two")
    daemon.add(repo.path)
    daemon.published(repo.path)
    for name in ("a.py", "b.py"):
        repo.file(name).unlink()
    os.mkfifo(repo.file("a.py"))
    repo.file("b.py").symlink_to("/dev/zero")
    for name in ("alpha", "beta"):
        hit = daemon.call("symbols", path=str(repo.path), name=name)["hits"][0]
        assert hit["edited"] is not False


def test_what_was_found_unedited_is_looked_at_again_when_it_changes(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    old = repo.file("a.py").stat().st_mtime_ns - 10**10
    os.utime(repo.file("a.py"), ns=(old, old))

    def edited() -> bool:
        answer: bool = daemon.call("symbols", path=str(repo.path), name="alpha")["hits"][0]["edited"]
        return answer

    assert [edited(), edited()] == [False, False]
    repo.write("a.py", "def alpha():\n    return 'other'\n")  # as long as before
    assert edited() is True


def test_a_checkout_inside_another_is_not_answered_from_the_outer_one(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    repo.git("worktree", "add", "-q", "nested", "-b", "other")
    nested = repo.path / "nested"
    with pytest.raises(RpcError, match="not registered") as refused:
        daemon.call("search", path=str(nested), query="alpha")
    assert refused.value.code == ErrorCode.UNKNOWN_REPOSITORY
    daemon.add(nested)
    assert daemon.published(nested)["head"]["branch"] == "other"


def test_missing_objects_make_views_partial_until_they_arrive(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    run_git("config", "uploadpack.allowFilter", "true", cwd=repo.path)
    clone = Repo.clone(f"file://{repo.path}", tmp_path / "part", "--no-checkout", "--filter=blob:none")
    daemon.add(clone.path)
    status = daemon.published(clone.path)
    assert status["skipped"] == {"missing_object": 1}
    lexical = status["views"]["lexical"]
    assert (lexical["assurance"], lexical["coverage"]) == ("partial", {"done": 0, "of": 1})
    assert "missing" in lexical["reason"]
    answer = daemon.call("search", path=str(clone.path), query="alpha")
    assert (answer["hits"], answer["views"]["lexical"]["assurance"]) == ([], "partial")
    clone.git("checkout", "-q")  # fetches the blob; HEAD stays where it is

    def whole() -> bool:
        return bool(daemon.call("search", path=str(clone.path), query="alpha")["hits"])

    wait_until(whole, what="the objects to be indexed")
    status = daemon.call("status", path=str(clone.path))
    assert (status["skipped"], status["views"]["lexical"]["assurance"]) == ({}, "exact")
    assert daemon.call("verify", path=str(clone.path))["equal"]


def test_a_deleted_object_that_is_put_back_is_all_that_is_read(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    repo.write("b.py", "def beta():\n    return 'second'\n")
    repo.commit("two")
    blob = repo.blob("b.py")
    folder = repo.path / ".git" / "objects" / blob[:2]
    (folder / ("0" * 38)).write_bytes(b"")  # the folder outlives the object, as it does in a large repository
    lost = (folder / blob[2:]).rename(tmp_path / "lost")
    daemon.add(repo.path)
    status = daemon.published(repo.path)
    repairs = status["statistics"]["jobs"]["repair"]["done"]
    assert status["views"]["structural"]["assurance"] == "partial"
    assert status["views"]["structural"]["coverage"] == {"done": 1, "of": 2}
    for _ in range(5):
        answer = daemon.call("symbols", path=str(repo.path), name="alpha")
        assert answer["views"]["structural"]["assurance"] == "partial"
    assert daemon.call("status", path=str(repo.path))["statistics"]["jobs"]["repair"]["done"] == repairs
    lost.rename(folder / blob[2:])

    def whole() -> bool:
        return bool(daemon.call("symbols", path=str(repo.path), name="beta")["hits"])

    wait_until(whole, what="the object to be indexed")
    structural = daemon.call("status", path=str(repo.path))["views"]["structural"]
    assert (structural["assurance"], structural["coverage"]) == ("exact", {"done": 2, "of": 2})
    work = {name: structural["work"][name] for name in ("changed_paths", "reclassified", "read", "parsed")}
    assert work == {"changed_paths": 0, "reclassified": 1, "read": 1, "parsed": 1}
    assert daemon.call("verify", path=str(repo.path))["equal"]


def test_a_path_longer_than_any_is_refused(daemon: Daemon) -> None:
    with pytest.raises(RpcError, match="at most 4096") as refused:
        daemon.call("status", path="/" + "a/" * 100_000)
    assert refused.value.code == ErrorCode.INVALID_PARAMS
