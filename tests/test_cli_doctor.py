"""Each check of `nibd doctor`: what it finds, how bad that is, and what it advises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.daemon import doctor
from nibd.daemon.doctor import Verdict, diagnose
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout, Registry, checkout_id, repository_id
from nibd.daemon.settings import Settings, parse
from nibd.hooks import install
from nibd.ipc.sockets import socket_path


@pytest.fixture
def paths(isolated_home: Path) -> Paths:
    return Paths.from_environment(os.environ, os.getuid())


@pytest.fixture
def checkout(tmp_path: Path, paths: Paths) -> Checkout:
    """A registered checkout without hooks."""
    top = Repo(tmp_path / "repo").path
    git_dir = top / ".git"
    checkout = Checkout(checkout_id(git_dir), repository_id(git_dir), top, git_dir, git_dir, 0.0)
    Registry(paths.registry_file).add(checkout)
    return checkout


def test_on_a_sound_machine_without_a_daemon_nothing_is_a_problem(paths: Paths) -> None:
    found = diagnose(paths, os.environ, "0.1.0")

    assert [check for check in found.checks if check.verdict is Verdict.PROBLEM] == []
    daemon = next(check for check in found.checks if check.name == "daemon")
    assert (daemon.verdict, daemon.found) == (Verdict.WARNING, "does not run")
    assert found.daemon is None
    assert not paths.cache_dir.exists(), "looking changes nothing"


def test_every_finding_that_is_not_ok_says_what_to_do(paths: Paths, checkout: Checkout) -> None:
    for check in diagnose(paths, os.environ, "0.1.0").checks:
        assert check.verdict is Verdict.OK or check.advice, check


def test_git_that_is_missing_or_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.check_git().verdict is Verdict.PROBLEM

    git = tmp_path / "git"
    git.write_text("#!/bin/sh\necho git version 2.11.0\n")
    git.chmod(0o755)
    old = doctor.check_git()
    assert (old.verdict, old.advice) == (Verdict.WARNING, "upgrade to 2.25 or newer")


def test_settings_with_a_mistake(paths: Paths) -> None:
    paths.config_file.parent.mkdir()
    paths.config_file.write_text("[index]\nworker = 2\n")

    settings, check = doctor.check_settings(paths.config_file)

    assert settings == Settings()
    assert check.verdict is Verdict.PROBLEM
    assert "index.worker" in check.found


def test_a_socket_outside_the_runtime_folder() -> None:
    check = doctor.check_socket(socket_path(None, 1000))

    assert check.verdict is Verdict.WARNING
    assert "XDG_RUNTIME_DIR is not set" in check.found


def test_a_folder_that_cannot_be_used(paths: Paths) -> None:
    paths.cache_dir.write_text("a file")

    checks = {check.name: check for check in doctor.check_folders(paths)}

    assert checks["state folder"].verdict is Verdict.OK
    assert checks["cache folder"].verdict is Verdict.PROBLEM
    assert str(paths.cache_dir) in checks["cache folder"].advice


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_disk(tmp_path / "not" / "there").found.endswith(str(tmp_path / "not" / "there"))
    monkeypatch.setattr(doctor, "FREE_BYTES_WARNING", 1 << 60)
    assert doctor.check_disk(tmp_path).verdict is Verdict.WARNING
    monkeypatch.setattr(doctor, "FREE_BYTES_PROBLEM", 1 << 60)
    assert doctor.check_disk(tmp_path).verdict is Verdict.PROBLEM


def test_limits_of_inotify(tmp_path: Path) -> None:
    (tmp_path / "max_user_watches").write_text("100\n")
    (tmp_path / "max_user_instances").write_text("128\n")
    few, enough = doctor.check_inotify(tmp_path)

    assert (few.verdict, few.advice) == (Verdict.WARNING, "sudo sysctl fs.inotify.max_user_watches=8192")
    assert enough.verdict is Verdict.OK
    assert all(check.verdict is Verdict.WARNING for check in doctor.check_inotify(tmp_path / "none"))


def test_the_dense_view_switched_off_or_without_its_model() -> None:
    off = parse(b"[dense]\nenabled = false\n", "config.toml")
    assert doctor.check_dense(off).verdict is Verdict.OK
    nowhere = parse(b'[dense]\nmodel = "/no/such/model"\n', "config.toml")
    check = doctor.check_dense(nowhere)
    assert (check.verdict, bool(check.advice)) == (Verdict.WARNING, True)


def test_each_familys_server_is_named_or_its_install_command(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ty").write_text("#!/bin/sh\necho ty 9.9\n")
    (tools / "ty").chmod(0o755)
    settings = parse(f'[relations]\nservers = "{tools}"\n'.encode(), "config.toml")

    found = {check.name: check for check in doctor.check_relations(settings, {"PATH": str(tmp_path)})}

    assert list(found) == [f"relations {family}" for family in ("python", "javascript", "go", "rust", "c")]
    python, rust = found["relations python"], found["relations rust"]
    assert (python.verdict, python.found) == (Verdict.OK, f"ty 9.9 ({tools / 'ty'})")
    assert (rust.verdict, rust.found) == (Verdict.NOTE, "rust-analyzer is not installed")
    assert rust.advice == "rustup component add rust-analyzer rust-src"


def test_a_folder_of_servers_that_holds_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gopls").write_text("not executable")
    for folder, what in ((tmp_path / "bin", "holds no language server"), (tmp_path / "no", "is no folder")):
        settings = parse(f'[relations]\nservers = "{folder}"\n'.encode(), "config.toml")
        first = next(doctor.check_relations(settings, {"PATH": str(tmp_path)}))
        assert (first.verdict, first.found) == (Verdict.WARNING, f"[relations] servers: {folder} {what}")
        assert "gopls" in first.advice


def test_relations_switched_off() -> None:
    settings = parse(b"[relations]\nenabled = false\n", "config.toml")

    found = [(check.verdict, check.found) for check in doctor.check_relations(settings, {})]

    assert found == [(Verdict.OK, "switched off by the settings")]


UNITS = """#!/bin/sh
cat <<END
Id=nibd.service
LoadState=loaded
UnitFileState=enabled
ActiveState={state}
SubState=x
Result={result}
FragmentPath=/units/nibd.service
NeedDaemonReload={reload}
MainPID={pid}
END
"""


@pytest.mark.parametrize(
    ("state", "result", "reload", "pid", "verdict", "says"),
    [
        ("active", "success", "no", 77, Verdict.OK, "nibd.service is enabled, active"),
        ("active", "success", "yes", 77, Verdict.WARNING, "daemon-reload"),
        ("failed", "exit-code", "no", 0, Verdict.PROBLEM, "journalctl --user -u nibd.service"),
        ("active", "success", "no", 78, Verdict.PROBLEM, "another daemon (process 77) answers"),
    ],
)
def test_units_as_systemd_has_them(
    tmp_path: Path, state: str, result: str, reload: str, pid: int, verdict: Verdict, says: str
) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(UNITS.format(state=state, result=result, reload=reload, pid=pid))
    systemctl.chmod(0o755)

    (check,) = doctor.check_systemd({"PATH": f"{tmp_path}:/usr/bin:/bin"}, daemon_pid=77)

    assert check.verdict is verdict
    assert says in f"{check.found} {check.advice}"


def test_without_systemd_nothing_is_wrong(tmp_path: Path) -> None:
    (check,) = doctor.check_systemd({"PATH": str(tmp_path)}, daemon_pid=None)

    assert check.verdict is Verdict.OK
    assert "nibd serve" in check.found


def test_hooks_of_each_checkout(paths: Paths, checkout: Checkout) -> None:
    missing = doctor.check_hooks(checkout, paths.marker(checkout.repository))
    assert (missing.verdict, missing.found) == (Verdict.NOTE, f"{checkout.work_tree}: no hooks of nibd's")
    assert f"nibd init {checkout.work_tree}" in missing.advice

    marker = paths.marker(checkout.repository)
    install(checkout.work_tree, marker, paths.hook_records_dir)
    assert doctor.check_hooks(checkout, paths.marker(checkout.repository)).verdict is Verdict.OK

    (checkout.git_dir / "hooks" / "post-rewrite").unlink()
    lost = doctor.check_hooks(checkout, marker)
    assert (lost.verdict, "post-rewrite absent" in lost.found) == (Verdict.WARNING, True)
    install(checkout.work_tree, marker, paths.hook_records_dir)

    theirs = checkout.git_dir / "hooks" / "post-merge"
    theirs.write_text("#!/usr/bin/env python3\n")
    left = doctor.check_hooks(checkout, paths.marker(checkout.repository))
    assert (left.verdict, left.advice) == (Verdict.NOTE, "commits are noticed a little later there")
    assert "post-merge left alone (it is run by python3" in left.found


def test_a_checkout_that_is_gone(paths: Paths, checkout: Checkout) -> None:
    checkout.work_tree.rename(checkout.work_tree.with_name("moved"))

    (check,) = doctor.check_repositories(paths, [f"{checkout.work_tree}: HEAD can't be read"])

    assert check.verdict is Verdict.PROBLEM
    assert f"nibd remove {checkout.work_tree}" in check.advice


def test_what_the_daemon_says_of_a_checkout_is_the_checkout_s(paths: Paths, checkout: Checkout) -> None:
    trouble = f"{checkout.work_tree}: disk full"

    found = [
        (c.name, c.found, c.advice)
        for c in doctor.check_repositories(paths, [trouble, "embedding: no memory", "reranker: none"])
    ]

    advice = f"'nibd init {checkout.work_tree}' tries again at once; {paths.log_file} may say more"
    assert found[1:] == [("repository", trouble, advice), ("daemon", "embedding: no memory", "")]


def test_what_of_a_repository_is_not_honoured_is_a_warning(paths: Paths, checkout: Checkout) -> None:
    note = f"{checkout.work_tree}: .nibd.toml: index.workers = 3: only the user's own file sets this"

    *_, check = doctor.check_repositories(paths, [], [note])

    assert (check.verdict, check.found) == (Verdict.WARNING, note)


def test_a_registry_that_cannot_be_read(paths: Paths) -> None:
    paths.state_dir.mkdir()
    paths.registry_file.write_text("{")

    (check,) = doctor.check_repositories(paths)

    assert check.verdict is Verdict.PROBLEM
    assert "move it away" in check.found
