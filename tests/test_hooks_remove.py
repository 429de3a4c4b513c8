"""Running it again, removing it, and what stays after edits, losses and kills."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hooks_world import World, make_world, outcomes
from nibd.hooks import HOOK_NAMES, HooksError, Outcome
from waiting import wait_until

THEIRS = b"#!/bin/sh\n# mine\nexit 0\n"
OTHER = "\n# also mine\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def with_marker(world: World, name: str) -> World:
    return World(world.repo, world.marker.with_name(name), world.records)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Content, mode and inode of every file: equal only when nothing was written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode, path.stat().st_ino)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_install_inspect_remove_in_a_fresh_repository(world: World) -> None:
    before = snapshot(world.repo)
    assert outcomes(world.inspect()) == {Outcome.ABSENT}
    assert tuple(world.install()) == HOOK_NAMES
    assert outcomes(world.inspect()) == {Outcome.INSTALLED}
    assert all(os.access(world.hook(name), os.X_OK) for name in HOOK_NAMES)
    assert outcomes(world.remove()) == {Outcome.REMOVED}
    assert outcomes(world.inspect()) == {Outcome.ABSENT}
    assert snapshot(world.repo) == before
    assert list(world.records.glob("*.json")) == []


def test_a_second_install_writes_nothing(world: World) -> None:
    world.write_hook(THEIRS)
    world.install()
    hooks, records = snapshot(world.repo / ".git" / "hooks"), snapshot(world.records)
    assert outcomes(world.install()) == {Outcome.UNCHANGED}
    assert snapshot(world.repo / ".git" / "hooks") == hooks
    assert snapshot(world.records) == records


def test_inspect_writes_nothing(world: World) -> None:
    world.inspect()
    assert not world.records.exists()
    assert not world.hook().exists()


def test_another_marker_replaces_the_block_in_its_place(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    moved = with_marker(world, "other")
    assert outcomes(moved.inspect()) == {Outcome.OUTDATED}
    assert outcomes(moved.install()) == {Outcome.UPDATED}
    assert path.read_bytes().count(b">>> nibd >>>") == 1
    assert moved.touches(world.commit)
    assert not world.touches(world.commit)
    reports = world.remove()
    assert reports["post-commit"].outcome is Outcome.RESTORED
    assert path.read_bytes() == THEIRS
    assert not world.hook("post-merge").exists()


def test_the_first_original_is_kept_through_changes_of_the_marker(world: World) -> None:
    path = world.write_hook("#!/bin/sh")
    for name in ("one", "two", "three"):
        with_marker(world, name).install()
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert path.read_text() == "#!/bin/sh"


def test_a_block_that_was_copied_is_made_one_again(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    path.write_bytes(path.read_bytes() + path.read_bytes())
    assert world.install()["post-commit"].outcome is Outcome.UPDATED
    assert path.read_bytes().count(b">>> nibd >>>") == 1
    world.remove()
    assert path.read_bytes() == THEIRS + THEIRS


def test_a_block_that_was_moved_stays_where_the_user_put_it(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    block = path.read_bytes().removeprefix(b"#!/bin/sh\n").removesuffix(b"# mine\nexit 0\n")
    path.write_bytes(b"#!/bin/sh\n# mine\n" + block + b"exit 0\n")
    assert world.install()["post-commit"].outcome is Outcome.UNCHANGED
    assert world.touches(world.commit)
    world.remove()
    assert path.read_bytes() == THEIRS


def test_only_the_block_leaves_a_file_that_was_edited_since(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    for name in ("post-commit", "post-merge"):
        with world.hook(name).open("a") as file:
            file.write(OTHER)
    reports = world.remove()
    for name in ("post-commit", "post-merge"):
        assert reports[name].outcome is Outcome.REMOVED
        assert "edited since" in reports[name].reason
    assert path.read_bytes() == THEIRS + OTHER.encode()
    assert world.hook("post-merge").read_bytes() == b"#!/bin/sh\n" + OTHER.encode()


def test_an_edit_between_two_installs_is_what_is_restored(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    path.write_bytes(path.read_bytes() + OTHER.encode())
    assert world.install()["post-commit"].outcome is Outcome.UNCHANGED
    assert with_marker(world, "other").install()["post-commit"].outcome is Outcome.UPDATED
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert path.read_bytes() == THEIRS + OTHER.encode()


def test_a_hook_that_another_tool_wrote_over_is_chained_anew_and_never_removed(world: World) -> None:
    world.install()
    path = world.write_hook(THEIRS)
    assert world.inspect()["post-commit"].outcome is Outcome.ABSENT
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    path.write_bytes(THEIRS)
    assert world.remove()["post-commit"].outcome is Outcome.ABSENT
    assert path.read_bytes() == THEIRS


def test_a_hook_of_ours_that_is_switched_off_is_not_switched_on_but_can_be_removed(world: World) -> None:
    world.install()
    world.hook().chmod(0o644)
    for reports in (world.inspect(), world.install()):
        assert "not executable" in reports["post-commit"].reason
    assert world.remove()["post-commit"].outcome is Outcome.REMOVED


def test_a_block_without_its_end_is_nobody_s_to_guess(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    broken = path.read_bytes().replace(b"# <<< nibd <<<\n", b"")
    path.write_bytes(broken)
    for reports in (world.install(), world.inspect(), world.remove()):
        assert reports["post-commit"].outcome is Outcome.LEFT_ALONE
        assert "end line" in reports["post-commit"].reason
    assert path.read_bytes() == broken


@pytest.mark.parametrize("damage", ["lost", "torn", "of another shape"])
def test_without_records_the_blocks_still_leave(world: World, damage: str) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    for record in world.records.glob("*.json"):
        if damage == "lost":
            record.unlink()
        else:
            record.write_bytes(b'{"hook":' if damage == "torn" else json.dumps({"hook": 1}).encode())
    report = world.remove()["post-commit"]
    assert (report.outcome, report.reason.partition(";")[0]) == (
        Outcome.REMOVED,
        "the original was not on record",
    )
    assert path.read_bytes() == THEIRS
    assert [entry.name for entry in path.parent.iterdir()] == ["post-commit"]
    assert list(world.records.glob("*.json")) == []


def test_a_record_that_was_lost_is_made_again_by_the_next_install(world: World) -> None:
    path = world.write_hook(THEIRS)
    world.install()
    shutil.rmtree(world.records)
    assert outcomes(world.install()) == {Outcome.UNCHANGED}
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert path.read_bytes() == THEIRS


def test_a_hooks_folder_of_ours_leaves_with_the_last_hook(world: World) -> None:
    shutil.rmtree(world.repo / ".git" / "hooks")
    world.install()
    world.remove()
    assert not (world.repo / ".git" / "hooks").exists()


def test_a_hooks_folder_of_ours_stays_when_something_else_is_in_it(world: World) -> None:
    shutil.rmtree(world.repo / ".git" / "hooks")
    world.install()
    world.write_hook(THEIRS, "pre-commit")
    world.remove()
    assert [path.name for path in (world.repo / ".git" / "hooks").iterdir()] == ["pre-commit"]


def test_an_empty_hooks_folder_of_the_user_stays(world: World) -> None:
    world.install()
    world.remove()
    assert list((world.repo / ".git" / "hooks").iterdir()) == []


@pytest.mark.parametrize("main_first", [True, False])
def test_shared_hooks_stay_until_the_last_checkout_leaves(
    world: World, tmp_path: Path, main_first: bool
) -> None:
    linked = tmp_path / "linked"
    world.git("worktree", "add", "-q", str(linked))
    world.install()
    assert outcomes(world.install(linked)) == {Outcome.UNCHANGED}
    first, last = (world.repo, linked) if main_first else (linked, world.repo)
    reports = world.remove(first)
    assert outcomes(reports) == {Outcome.UNCHANGED}
    assert str(last) in reports["post-commit"].reason
    assert world.touches(lambda: world.commit(cwd=last))
    assert outcomes(world.remove(last)) == {Outcome.REMOVED}
    assert not world.hook().exists()


def test_a_checkout_that_was_deleted_holds_nothing(world: World, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    world.git("worktree", "add", "-q", str(linked))
    world.install()
    world.install(linked)
    shutil.rmtree(linked)
    assert outcomes(world.remove()) == {Outcome.REMOVED}


def test_hooks_can_be_removed_for_a_linked_work_tree_that_is_gone(world: World, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    world.write_hook(THEIRS)
    world.git("worktree", "add", "-q", str(linked))
    world.install(linked)
    shutil.rmtree(linked)
    assert outcomes(world.remove(linked)) == {Outcome.REMOVED, Outcome.RESTORED}
    assert world.hook().read_bytes() == THEIRS


def test_the_records_of_a_repository_that_is_gone_leave(world: World, tmp_path: Path) -> None:
    other = make_world(tmp_path, "other")
    other.install()
    shutil.rmtree(other.repo)
    assert outcomes(other.remove()) == {Outcome.ABSENT}
    with pytest.raises(HooksError):
        other.remove()
    assert list(world.records.glob("*.json")) == []


def test_a_repository_that_moved_is_taken_up_where_it_is(world: World, tmp_path: Path) -> None:
    world.install()
    moved = World(tmp_path / "moved", world.marker, world.records)
    world.repo.rename(moved.repo)
    assert outcomes(moved.inspect()) == {Outcome.INSTALLED}
    assert outcomes(moved.install()) == {Outcome.UNCHANGED}
    assert outcomes(moved.remove()) == {Outcome.REMOVED}
    assert list(world.records.glob("*.json")) == []


def test_hooks_in_a_folder_that_git_no_longer_uses_leave_too(world: World) -> None:
    former = world.repo / ".git" / "former"
    world.git("config", "core.hooksPath", str(former))
    world.install()
    world.git("config", "--unset", "core.hooksPath")
    world.install()
    assert outcomes(world.remove()) == {Outcome.REMOVED}
    assert not former.exists()
    assert not world.hook().exists()


def test_default_hooks_leave_after_a_foreign_hooks_path_was_set(world: World, tmp_path: Path) -> None:
    world.install()
    world.git("config", "core.hooksPath", str(tmp_path))
    assert outcomes(world.remove()) == {Outcome.REMOVED}
    assert not world.hook().exists()


def test_a_block_in_a_folder_shared_through_a_link_is_not_ours_to_take_out(
    world: World, tmp_path: Path
) -> None:
    """Someone else's nibd may have put it there."""
    world.install()
    shared = tmp_path / "shared"
    world.hook().parent.rename(shared)
    world.hook().parent.symlink_to(shared)
    before = snapshot(shared)
    assert "outside" in world.inspect()["post-commit"].reason
    assert outcomes(world.remove()) == {Outcome.LEFT_ALONE}
    assert snapshot(shared) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from nibd.hooks import install, remove
action, step, repo, marker, records = sys.argv[1:]
left = int(step)
def die_at(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.mkdir"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(die_at)
if action == "install":
    install(Path(repo), Path(marker), Path(records))
else:
    remove(Path(repo), Path(records))
"""


@pytest.mark.parametrize("action", ["install", "remove"])
def test_a_kill_at_any_step_leaves_every_hook_whole_and_can_be_undone(tmp_path: Path, action: str) -> None:
    """Kills the process before its first, third, ... change of a name on disk, until one run survives."""
    for step in range(0, 60, 2):
        folder = tmp_path / str(step)
        folder.mkdir()
        world = make_world(folder)
        world.write_hook(THEIRS)
        before = {name: content for name, (content, *_) in snapshot(world.repo / ".git" / "hooks").items()}
        if action == "remove":
            world.install()
        arguments = [action, str(step), str(world.repo), str(world.marker), str(world.records)]
        done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
        assert done.returncode in ((-signal.SIGKILL,) if step == 0 else (-signal.SIGKILL, 0))
        assert world.hook().read_bytes().startswith(b"#!/bin/sh\n")
        assert world.hook().read_bytes().endswith(b"# mine\nexit 0\n")
        assert world.commit() == ""
        if step % 4:
            world.install()
        world.remove()
        after = {name: content for name, (content, *_) in snapshot(world.repo / ".git" / "hooks").items()}
        assert after == before
        assert [path.name for path in world.records.iterdir()] == ["lock"]
        if done.returncode == 0:
            return
    pytest.fail("no run survived")


@pytest.mark.parametrize("folder", ["hooks", "records"])
def test_what_a_killed_process_left_is_swept_by_the_next_install(world: World, folder: str) -> None:
    world.records.mkdir()
    place = world.records if folder == "records" else world.hook().parent
    place.mkdir(exist_ok=True)
    (place / ".nibd-hook-1").write_text("half")
    world.install()
    assert not (place / ".nibd-hook-1").exists()


def installing(world: World) -> subprocess.Popen[bytes]:
    code = "import sys, nibd.hooks as h; from pathlib import Path; h.install(*map(Path, sys.argv[1:]))"
    arguments = (world.repo, world.marker, world.records)
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)])


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs /proc/locks")
def test_an_install_waits_for_another_one_to_finish(world: World) -> None:
    world.records.mkdir()
    with (world.records / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = installing(world)
        waiting = re.compile(rf"-> FLOCK .* {process.pid} ")
        wait_until(lambda: waiting.search(Path("/proc/locks").read_text()), what="the other to wait")
        assert not world.hook().exists()
    assert process.wait() == 0
    assert world.hook().exists()


def test_two_installs_at_once_place_one_block(world: World) -> None:
    world.write_hook(THEIRS)
    running = [installing(world) for _ in range(4)]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    assert outcomes(world.install()) == {Outcome.UNCHANGED}
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert world.hook().read_bytes() == THEIRS
