"""Which folder the hooks go to, and whose folders and files are never edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hooks_world import World, make_world, outcomes
from nibd.hooks import HooksError, Outcome, install


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def status(world: World) -> str:
    return world.git("status", "--porcelain", "--untracked-files=all").stdout


def script(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_global_hooks_path_is_never_edited(world: World, isolated_home: Path) -> None:
    hooks = isolated_home / "hooks"
    theirs = script(hooks / "post-commit")
    world.git("config", "--global", "core.hooksPath", str(hooks))
    for reports in (world.install(), world.inspect()):
        assert outcomes(reports) == {Outcome.LEFT_ALONE}
        assert "global configuration" in reports["post-commit"].reason
    assert theirs.read_text() == "#!/bin/sh\n"
    assert [path.name for path in hooks.iterdir()] == ["post-commit"]
    assert outcomes(world.remove()) == {Outcome.ABSENT}


def test_a_global_hooks_path_that_is_relative_is_never_edited_either(world: World) -> None:
    world.git("config", "--global", "core.hooksPath", ".git/hooks")
    assert "global configuration" in world.install()["post-commit"].reason


def test_a_system_hooks_path_is_never_edited(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "system"))
    (tmp_path / "system").write_text(f"[core]\n\thooksPath = {tmp_path / 'hooks'}\n")
    assert "system configuration" in world.install()["post-commit"].reason


def test_the_repository_s_own_hooks_path_overrides_a_global_one(world: World, tmp_path: Path) -> None:
    world.git("config", "--global", "core.hooksPath", str(tmp_path / "hooks"))
    world.git("config", "core.hooksPath", str(world.repo / ".git" / "my-hooks"))
    assert outcomes(world.install()) == {Outcome.INSTALLED}
    assert world.touches(world.commit)
    world.remove()
    assert not (world.repo / ".git" / "my-hooks").exists()


def test_a_folder_outside_the_repository_is_left_alone(world: World, tmp_path: Path) -> None:
    theirs = script(tmp_path / "shared" / "post-commit")
    world.git("config", "core.hooksPath", str(theirs.parent))
    reports = world.install()
    assert outcomes(reports) == {Outcome.LEFT_ALONE}
    assert str(theirs.parent) in reports["post-merge"].reason
    assert theirs.read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("value", ["/dev/null", "", ".git/config", ".git/HEAD/x", "no-such-folder", "../x"])
def test_a_hooks_path_that_is_no_folder_to_write_to_is_reported(world: World, value: str) -> None:
    before = sorted(path.name for path in world.repo.rglob("*"))
    world.git("config", "core.hooksPath", value)
    reports = world.install()
    assert outcomes(reports) <= {Outcome.LEFT_ALONE, Outcome.FAILED}
    assert all(report.reason for report in reports.values())
    assert sorted(path.name for path in world.repo.rglob("*")) == before


@pytest.mark.parametrize("link", [False, True])
def test_hooks_that_the_repository_tracks_are_never_edited(world: World, link: bool) -> None:
    """Both the committed folder that core.hooksPath names, and a link to it in the place of .git/hooks."""
    theirs = script(world.repo / "githooks" / "post-commit")
    world.git("add", ".")
    world.git("commit", "-qm", "hooks")
    if link:
        shutil.rmtree(world.repo / ".git" / "hooks", ignore_errors=True)
        (world.repo / ".git" / "hooks").symlink_to("../githooks")
    else:
        world.git("config", "core.hooksPath", "githooks")
    reports = world.install()
    assert reports["post-commit"].reason == "the repository tracks it"
    assert outcomes(reports) == {Outcome.LEFT_ALONE}
    assert theirs.read_text() == "#!/bin/sh\n"
    assert status(world) == ""


def test_a_tracked_file_is_recognised_whatever_its_name_and_the_ignore_rules(world: World) -> None:
    theirs = script(world.repo / ":(glob)*[hooks] \n" / "post-commit")
    (world.repo / ".gitignore").write_text("*\n")
    world.git("add", "-f", ".")
    world.git("commit", "-qm", "hooks")
    world.git("config", "core.hooksPath", str(theirs.parent))
    reports = world.install()
    assert reports["post-commit"].reason == "the repository tracks it"
    assert theirs.read_text() == "#!/bin/sh\n"


def test_a_name_is_not_taken_for_a_pattern_of_tracked_ones(world: World) -> None:
    script(world.repo / "hka" / "post-commit")
    world.git("add", ".")
    world.git("commit", "-qm", "hooks")
    script(world.repo / "hk[a]" / "post-commit")
    (world.repo / ".git" / "info" / "exclude").write_text("hk?a?\n")
    world.git("config", "core.hooksPath", "hk[a]")
    assert world.install()["post-commit"].outcome is Outcome.CHAINED


def test_an_untracked_hook_in_the_work_tree_is_left_alone(world: World) -> None:
    theirs = script(world.repo / "githooks" / "post-commit")
    world.git("config", "core.hooksPath", "githooks")
    before = status(world)
    reports = world.install()
    assert outcomes(reports) == {Outcome.LEFT_ALONE}
    assert "git status" in reports["post-commit"].reason
    assert theirs.read_text() == "#!/bin/sh\n"
    assert status(world) == before


def test_an_ignored_hook_in_the_work_tree_is_chained(world: World) -> None:
    """The manner of husky: generated hooks in a folder that ignores itself."""
    theirs = script(world.repo / ".husky" / "_" / "post-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    (theirs.parent / ".gitignore").write_text("*\n")
    script(theirs.parent / "h", ": > ran\n")
    world.git("config", "core.hooksPath", ".husky/_")
    before = status(world)
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    assert status(world) == before
    assert world.touches(world.commit)
    assert (world.repo / "ran").exists()
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert sorted(path.name for path in theirs.parent.iterdir()) == [".gitignore", "h", "post-commit"]


def test_a_hook_that_came_under_version_control_since_is_left_to_its_owner(world: World) -> None:
    script(world.repo / "hk" / "post-commit", "#!/bin/sh\nexit\n")
    (world.repo / ".git" / "info" / "exclude").write_text("hk\n")
    world.git("config", "core.hooksPath", "hk")
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    world.git("add", "-f", "hk/post-commit")
    report = world.remove()["post-commit"]
    assert report.outcome is Outcome.LEFT_ALONE
    assert "tracks it" in report.reason


def test_hooks_of_a_repository_inside_the_work_tree_are_left_alone(world: World) -> None:
    inner = make_world(world.repo, "inner")
    theirs = script(inner.repo / "hooks" / "post-commit")
    inner.git("add", "hooks")
    inner.git("commit", "-qm", "hooks")
    (world.repo / ".gitignore").write_text("inner\n")
    world.git("config", "core.hooksPath", "inner/hooks")
    assert "outside" in world.install()["post-commit"].reason
    assert theirs.read_text() == "#!/bin/sh\n"


def test_a_relative_hooks_path_counts_from_the_top_of_each_work_tree(world: World, tmp_path: Path) -> None:
    (world.repo / ".gitignore").write_text("hk\n")
    world.git("add", ".gitignore")
    world.git("commit", "-qm", "ignore")
    world.git("config", "core.hooksPath", "hk")
    linked = tmp_path / "linked"
    world.git("worktree", "add", "-q", str(linked))
    for top in (world.repo, linked):
        (top / "hk").mkdir()
        (top / "sub").mkdir()
        reports = world.install(top / "sub")
        assert {report.path.parent for report in reports.values()} == {top / "hk"}
        assert world.touches(lambda top=top: world.commit(cwd=top))  # type: ignore[misc]
    assert outcomes(world.remove(linked)) == {Outcome.REMOVED}
    assert list((linked / "hk").iterdir()) == []
    assert world.touches(world.commit)


def test_linked_work_trees_of_a_bare_repository_share_its_hooks(world: World, tmp_path: Path) -> None:
    """Even with the work trees inside the bare repository's own folder."""
    bare = tmp_path / "bare.git"
    world.git("clone", "-q", "--bare", str(world.repo), str(bare))
    inside = bare / "tree"
    world.git("worktree", "add", "-q", "-b", "t", str(inside), cwd=bare)
    reports = world.install(inside)
    assert {report.path.parent for report in reports.values()} == {bare / "hooks"}
    assert world.touches(lambda: world.commit(cwd=inside))
    theirs = script(inside / "githooks" / "post-commit")
    world.git("add", ".", cwd=inside)
    world.git("config", "core.hooksPath", "githooks", cwd=inside)
    assert world.install(inside)["post-commit"].reason == "the repository tracks it"
    assert theirs.read_text() == "#!/bin/sh\n"


def test_a_submodule_has_hooks_of_its_own(world: World, tmp_path: Path) -> None:
    other = make_world(tmp_path, "other")
    world.git("submodule", "--quiet", "add", str(other.repo), "sub")
    reports = world.install(world.repo / "sub")
    assert {report.path.parent for report in reports.values()} == {world.repo / ".git/modules/sub/hooks"}
    assert outcomes(reports) == {Outcome.INSTALLED}
    assert world.touches(lambda: world.commit(cwd=world.repo / "sub"))


def test_a_separate_git_directory_and_odd_names_are_followed(world: World, tmp_path: Path) -> None:
    top = tmp_path / "odd \n 'name'"
    world.git("init", "-q", "--separate-git-dir", str(tmp_path / "git \n dir"), str(top))
    reports = world.install(top)
    assert {report.path.parent for report in reports.values()} == {tmp_path / "git \n dir" / "hooks"}
    assert world.touches(lambda: world.commit(cwd=top))


def test_a_work_tree_around_its_git_directory_is_no_work_tree_file(world: World, tmp_path: Path) -> None:
    """A home folder under version control by a Git directory of another name."""
    home = tmp_path / "house"
    home.mkdir()
    world.git("init", "-q", "--bare", str(home / ".dotfiles"))
    for setting in (("core.bare", "false"), ("core.worktree", str(home))):
        world.git("--git-dir", str(home / ".dotfiles"), "config", *setting)
    (home / ".git").write_text("gitdir: .dotfiles\n")
    assert outcomes(world.install(home)) == {Outcome.INSTALLED}
    assert world.touches(lambda: world.commit(cwd=home))


@pytest.mark.parametrize("options", [["--object-format=sha256"], ["--template="]])
def test_other_kinds_of_repositories(world: World, tmp_path: Path, options: list[str]) -> None:
    top = tmp_path / "other"
    world.git("init", "-q", *options, str(top))
    assert outcomes(world.install(top)) == {Outcome.INSTALLED}
    assert world.touches(lambda: world.commit(cwd=top))


@pytest.mark.parametrize("place", ["bare", "plain", "missing", ".git"])
def test_what_is_no_checkout_is_an_error(world: World, tmp_path: Path, place: str) -> None:
    world.git("init", "-q", "--bare", str(tmp_path / "bare"))
    (tmp_path / "plain").mkdir()
    path = world.repo / ".git" if place == ".git" else tmp_path / place
    for action in (world.install, world.inspect, world.remove):
        with pytest.raises(HooksError):
            action(path)


def test_a_marker_that_cannot_be_named_in_a_script_is_an_error(world: World) -> None:
    for marker in ("relative", "/x\n# <<< nibd <<<\nrm -rf", "/x\n# >>> nibd >>>"):
        with pytest.raises(HooksError):
            install(world.repo, Path(marker), world.records)
    assert not world.hook().exists()


@contextmanager
def as_someone_unprivileged(*folders: Path) -> Iterator[None]:
    """Give up root's rights for a while: permissions mean nothing to root."""
    if os.geteuid() != 0:
        yield
        return
    for folder in folders:
        subprocess.run(["chown", "-R", "65534", folder], check=True)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("trouble", ["read-only folder", "unreadable hook", "read-only records"])
def test_what_permissions_forbid_is_reported_and_nothing_is_lost(
    trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "T")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "T")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@example.org")
    # Not in pytest's own folder, which only its owner may enter.
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder))
        Path(folder).chmod(0o755)
        hook = world.write_hook("#!/bin/sh\nexit 0\n")
        world.records.mkdir()
        target = {
            "read-only folder": hook.parent,
            "unreadable hook": hook,
            "read-only records": world.records,
        }
        target[trouble].chmod(0o111 if trouble == "unreadable hook" else 0o555)
        with as_someone_unprivileged(world.repo, world.records):
            if trouble == "read-only records":
                with pytest.raises(HooksError, match="Permission denied"):
                    world.install()
            else:
                reports = world.install()
                assert reports["post-commit"].outcome is Outcome.FAILED
                assert reports["post-commit"].reason == "Permission denied"
                others = Outcome.FAILED if trouble == "read-only folder" else Outcome.INSTALLED
                assert reports["post-merge"].outcome is others
        hook.parent.chmod(0o755)
        hook.chmod(0o755)
        assert hook.read_text() == "#!/bin/sh\nexit 0\n"
