"""The hook through the real Git: what fires it, and what can't make it fail or speak."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hooks_world import GIT, World, make_world, outcomes, plain_environment
from nibd.hooks import Outcome


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(tmp_path)
    assert outcomes(made.install()) == {Outcome.INSTALLED}
    return made


def branch_with_commits(world: World, name: str, count: int) -> None:
    """`count` commits on a branch off `main`, each of a file of its own; ends on `main`."""
    world.git("switch", "-qc", name)
    for number in range(count):
        (world.repo / f"{name}{number}").write_text("x\n")
        world.git("add", ".")
        world.git("commit", "-qm", f"{name} {number}")
    world.git("switch", "-q", "main")


def test_commit_amend_and_no_verify_touch_the_marker(world: World) -> None:
    assert world.touches(lambda: world.commit("one"))
    assert world.touches(lambda: world.git("commit", "-q", "--amend", "-m", "other"))
    assert world.touches(lambda: world.commit("two", "--no-verify"))


def test_checkout_and_switch_touch_the_marker(world: World) -> None:
    branch_with_commits(world, "side", 1)
    assert world.touches(lambda: world.git("checkout", "-q", "side"))
    assert world.touches(lambda: world.git("switch", "-q", "main"))
    assert world.touches(lambda: world.git("checkout", "-q", "--detach", "side"))


def test_merge_and_fast_forward_pull_touch_the_marker(world: World, tmp_path: Path) -> None:
    branch_with_commits(world, "side", 1)
    world.commit("on main")
    assert world.touches(lambda: world.git("merge", "-q", "--no-edit", "side"))
    other = make_world(tmp_path, "other")
    other.git("fetch", "-q", str(world.repo), "main:incoming")
    other.git("reset", "-q", "--hard", "incoming~1")
    other.install()
    assert other.touches(lambda: other.git("pull", "-q", "--ff-only", str(world.repo), "main"))


def test_each_kind_of_rewriting_touches_the_marker(world: World) -> None:
    branch_with_commits(world, "side", 3)
    branch_with_commits(world, "picked", 1)
    world.commit("on main")
    world.git("switch", "-q", "side")
    assert world.touches(lambda: world.git("rebase", "-q", "main"))
    assert world.touches(lambda: world.git("cherry-pick", "picked"))
    assert world.touches(lambda: world.git("revert", "--no-edit", "HEAD"))


def test_a_stopped_rebase_touches_the_marker_for_what_it_did(world: World) -> None:
    world.git("switch", "-qc", "side")
    world.commit("theirs")
    world.git("switch", "-q", "main")
    world.commit("ours")
    world.git("switch", "-q", "side")
    assert world.touches(lambda: world.git("rebase", "-q", "main", ok=False))
    assert (world.repo / ".git" / "rebase-merge").is_dir()
    (world.repo / "file").write_text("merged\n")
    world.git("add", "file")
    environment = plain_environment(GIT_EDITOR="true")
    assert world.touches(lambda: world.git("rebase", "--continue", env=environment))


def test_applying_mail_touches_the_marker(world: World, tmp_path: Path) -> None:
    branch_with_commits(world, "side", 1)
    world.git("format-patch", "-q", "-1", "side", "-o", str(tmp_path / "mail"))
    [patch] = (tmp_path / "mail").iterdir()
    assert world.touches(lambda: world.git("am", "-q", str(patch)))


def test_a_linked_work_tree_shares_the_hook(world: World, tmp_path: Path) -> None:
    linked = tmp_path / "linked tree"
    assert world.touches(lambda: world.git("worktree", "add", "-q", "-b", "linked", str(linked)))
    assert world.touches(lambda: world.commit("inside", cwd=linked))
    assert outcomes(world.install(linked)) == {Outcome.UNCHANGED}
    assert world.hook().read_bytes().count(b">>> nibd >>>") == 1


def test_it_works_with_an_empty_environment(world: World) -> None:
    (world.repo / "file").write_text("new\n")
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    done: list[subprocess.CompletedProcess[str]] = []
    assert world.touches(lambda: done.append(world.git(*identity, "commit", "-qam", "bare", env={})))
    assert done[0].stderr == ""


def test_it_works_without_any_path_and_from_anywhere(world: World) -> None:
    for cwd in (Path("/"), world.repo):
        done = subprocess.run([world.hook()], env={"PATH": ""}, cwd=cwd, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert world.marker.exists()
        world.marker.unlink()


def test_it_works_with_git_dir_and_index_file_set(world: World, tmp_path: Path) -> None:
    shutil.copy(world.repo / ".git" / "index", tmp_path / "index")
    environment = plain_environment(
        GIT_DIR=str(world.repo / ".git"),
        GIT_INDEX_FILE=str(tmp_path / "index"),
        GIT_WORK_TREE=str(world.repo),
    )
    (world.repo / "file").write_text("new\n")
    assert world.touches(lambda: world.git("commit", "-qam", "elsewhere", cwd=tmp_path, env=environment))


def test_installing_ignores_git_variables_about_another_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = make_world(tmp_path, "here"), make_world(tmp_path, "other")
    monkeypatch.setenv("GIT_DIR", str(other.repo / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.repo))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(tmp_path))
    assert here.install()["post-commit"].path == here.hook()
    assert here.hook().exists()
    assert not other.hook().exists()


def test_a_missing_marker_folder_is_silent(world: World) -> None:
    shutil.rmtree(world.marker.parent)
    assert world.commit() == ""
    assert world.git("checkout", "-q", "--detach").stderr == ""
    assert not world.marker.parent.exists()


@pytest.mark.parametrize("marker", ["/dev/full", "/proc/nibd-marker", "/dev/null/marker", "/"])
def test_a_marker_that_cannot_be_written_is_silent(tmp_path: Path, marker: str) -> None:
    made = make_world(tmp_path)
    world = World(made.repo, Path(marker), made.records)
    assert outcomes(world.install()) == {Outcome.INSTALLED}
    assert world.commit() == ""
    assert world.git("checkout", "-q", "-b", "other").stderr == ""
    done = subprocess.run([world.hook()], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_full_disk_is_silent(tmp_path: Path) -> None:
    """The marker is on a file system that has no inode left, mounted for one command only."""
    made = make_world(tmp_path)
    full = tmp_path / "full"
    full.mkdir()
    world = World(made.repo, full / "marker", made.records)
    world.install()
    mount = f"mount -t tmpfs -o size=4k,nr_inodes=2 none '{full}' && : > '{full}/taken'"
    script = f"{mount} || exit 77; (: > '{full}/more') 2>/dev/null && exit 78; exec {GIT} commit -qam full"
    (world.repo / "file").write_text("new\n")
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False).returncode != 0:
        pytest.skip("needs a mount namespace")
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script], cwd=world.repo, capture_output=True, text=True, check=False
    )
    if done.returncode == 77:
        pytest.skip("a tmpfs can't be mounted here")
    assert (done.returncode, done.stderr) == (0, "")
    assert world.git("log", "-1", "--format=%s").stdout == "full\n"


NAMES = ["plain", "two words", "it's", "new\nline", '"$HOME"`id`\\', "*?[x]", "-n", "ü"]


@pytest.mark.parametrize("name", NAMES)
def test_any_marker_name_is_quoted(tmp_path: Path, name: str) -> None:
    made = make_world(tmp_path)
    world = World(made.repo, tmp_path / "markers" / name, made.records)
    world.install()
    assert world.touches(lambda: world.commit(name))
    assert [path.name for path in world.marker.parent.iterdir()] == [name]


def test_a_marker_name_that_is_not_utf_8_is_quoted(tmp_path: Path) -> None:
    made = make_world(tmp_path)
    world = World(made.repo, tmp_path / "markers" / os.fsdecode(b"\xff\xfe"), made.records)
    world.install()
    assert world.touches(world.commit)
    assert outcomes(world.remove()) == {Outcome.REMOVED}


def test_an_old_marker_is_emptied_and_its_time_renewed(world: World) -> None:
    world.marker.write_text("old")
    os.utime(world.marker, (1, 1))
    world.commit()
    assert world.marker.read_bytes() == b""
    assert world.marker.stat().st_mtime > 1
