"""Git, its hooks and the daemon together: whatever moves HEAD is published, and costs one transition."""

from __future__ import annotations

from pathlib import Path

from daemon_world import NO_DENSE, Daemon, configure, running
from gitrepo import Repo
from nibd.hooks import Outcome, install
from trouble_world import events, settled
from waiting import wait_until


def taken_in(daemon: Daemon, repo: Repo) -> Path:
    """As `nibd init` does: registered, with hooks; the marker."""
    marker = Path(daemon.add(repo.path)["marker"])
    reports = install(repo.path, marker, repo.path.parent / "records")
    assert {report.outcome for report in reports} <= {Outcome.INSTALLED, Outcome.UNCHANGED}
    settled(daemon, repo.path)
    return marker


def published_unasked(daemon: Daemon, repo: Repo) -> bool:
    """Whether HEAD's commit was published, by the log: a question would make the daemon look."""
    return bool(events(daemon, "job_done", job="repair", commit=repo.head()))


def seen(daemon: Daemon, repo: Repo) -> None:
    wait_until(lambda: published_unasked(daemon, repo), 30, "HEAD to be published")


def test_what_moves_head_touches_the_marker_and_is_published(daemon: Daemon, repo: Repo) -> None:
    marker = taken_in(daemon, repo)
    repo.git("branch", "topic")
    repo.write("b.py", "def beta():\n    pass\n")

    def moves(*arguments: str) -> None:
        marker.unlink(missing_ok=True)
        repo.git(*arguments)
        assert marker.exists(), arguments
        seen(daemon, repo)

    repo.git("add", "-A")
    moves("commit", "-qm", "two")
    patch = repo.git("format-patch", "-1", "--stdout")
    moves("checkout", "-q", "topic")
    repo.write("c.py", "def gamma():\n    pass\n")
    repo.git("add", "-A")
    moves("commit", "-qm", "on topic")
    moves("merge", "-q", "--no-edit", "main")
    moves("commit", "-q", "--amend", "-m", "amended")
    moves("checkout", "-q", "-b", "mailed", "main~1")
    file = repo.path.parent / "patch"
    file.write_text(patch + "\n")
    moves("am", "-q", str(file))
    repo.write("d.py", "def delta():\n    pass\n")
    repo.git("add", "-A")
    moves("commit", "-qm", "more")
    moves("rebase", "-q", "topic")
    status = settled(daemon, repo.path)
    assert status["files"]["indexed"] == 4
    assert status["error"] is None


def test_a_rebase_of_many_commits_takes_few_repairs(daemon: Daemon, repo: Repo) -> None:
    repo.git("branch", "topic")
    repo.write("upstream.py", "def upstream():\n    pass\n")
    repo.commit("upstream")
    repo.git("checkout", "-q", "topic")
    for number in range(30):
        repo.write(f"file{number}.py", f"def name_{number}():\n    pass\n")
        repo.commit(f"commit {number}")
    taken_in(daemon, repo)
    before = len(events(daemon, "job_done", job="repair"))
    repo.git("rebase", "-q", "main")
    status = settled(daemon, repo.path)
    assert status["snapshot"]["commit"] == repo.head()
    assert status["files"]["indexed"] == 32
    repairs = len(events(daemon, "job_done", job="repair")) - before
    assert 1 <= repairs <= 6
    wait_until(lambda: not daemon.call("status", path=str(repo.path))["work"]["running"], what="rest")
    assert len(events(daemon, "job_done", job="repair")) - before == repairs


def test_commits_while_the_daemon_is_down_are_one_transition_for_the_next(repo: Repo) -> None:
    configure(NO_DENSE)
    with running() as daemon:
        taken_in(daemon, repo)
    for number in range(5):
        repo.write(f"file{number}.py", f"def name_{number}():\n    pass\n")
        repo.commit(f"commit {number}")
    with running() as daemon:
        before = len(events(daemon, "job_done", job="repair"))
        seen(daemon, repo)
        assert settled(daemon, repo.path)["files"]["indexed"] == 6
        assert len(events(daemon, "job_done", job="repair")) == before + 1


def test_a_touched_marker_alone_makes_the_daemon_look(daemon: Daemon, repo: Repo) -> None:
    marker = taken_in(daemon, repo)
    tree = repo.tree()
    commit = repo.git("commit-tree", "-p", "HEAD", "-m", "behind its back", tree)
    # Written without a lock file in the Git directory, where the daemon would see it.
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(f"{commit}\n")
    assert repo.head() == commit
    assert not published_unasked(daemon, repo)
    marker.write_bytes(b"")
    seen(daemon, repo)


def test_a_linked_work_tree_is_published_by_the_hooks_of_its_repository(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    marker = taken_in(daemon, repo)
    linked = repo.worktree(tmp_path / "linked", "-b", "topic")
    assert Path(daemon.add(linked.path)["marker"]) == marker
    settled(daemon, linked.path)
    marker.unlink(missing_ok=True)
    linked.write("b.py", "def beta():\n    pass\n")
    linked.commit("on topic")
    assert marker.exists()
    seen(daemon, linked)
    assert daemon.call("symbols", path=str(linked.path), name="beta")["hits"]
    assert not daemon.call("symbols", path=str(repo.path), name="beta")["hits"]
    repo.git("merge", "-q", "topic")
    assert settled(daemon, repo.path)["snapshot"]["commit"] == linked.head()
    assert daemon.call("symbols", path=str(repo.path), name="beta")["hits"]


def test_two_clones_have_markers_and_views_of_their_own(daemon: Daemon, repo: Repo, tmp_path: Path) -> None:
    clone = Repo.clone(repo, tmp_path / "elsewhere" / "repo")
    markers = [taken_in(daemon, each) for each in (repo, clone)]
    assert markers[0] != markers[1]
    for marker in markers:
        marker.unlink(missing_ok=True)
    clone.write("b.py", "def beta():\n    pass\n")
    clone.commit("in the clone")
    assert [marker.exists() for marker in markers] == [False, True]
    seen(daemon, clone)
    assert daemon.call("symbols", path=str(clone.path), name="beta")["hits"]
    assert not daemon.call("symbols", path=str(repo.path), name="beta")["hits"]
