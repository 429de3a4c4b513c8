"""Existing hooks: both run and the old one notices nothing, or it is left alone with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hooks_world import World, make_world, plain_environment
from nibd.hooks import Outcome


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def log_of(world: World) -> Path:
    return world.repo.parent / "log"


def both_ran(world: World) -> bool:
    log_of(world).unlink(missing_ok=True)
    return world.touches(world.commit) and log_of(world).exists()


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "exit\n",
        "exit 0",
        "exec true\n",
        "kill -9 $$\n",
        "set -e\nfalse\n",
        "return 1\n",
        "if\n",
        "cat <<'E'\nopen",
    ],
)
def test_both_run_however_the_existing_hook_ends(world: World, ending: str) -> None:
    path = world.write_hook(f"#!/bin/sh\n: > '{log_of(world)}'\n{ending}")
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    assert both_ran(world)
    assert path.read_text().startswith("#!/bin/sh\n# >>> nibd >>>")


@pytest.mark.parametrize(
    "first_line",
    [
        "#!/bin/sh\n",
        "#! /bin/sh -e\n",
        "#!/bin/sh -eu\n",
        "#!/bin/sh -C\n",
        "#!/usr/bin/env bash\n",
        "#!/usr/bin/env -S bash -euo pipefail\n",
        "#!/bin/bash --norc\n",
        "",
        "\n",
        "# no shebang: Git hands it to sh\n",
    ],
)
def test_any_shell_of_the_family_with_any_options(world: World, first_line: str) -> None:
    world.marker.touch()
    world.write_hook(f"{first_line}set -C -e -u\necho ran > '{log_of(world)}'\n")
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    assert world.commit() == ""
    assert log_of(world).read_text() == "ran\n"
    assert both_ran(world)


def test_noclobber_does_not_stop_the_block_when_the_marker_exists(world: World) -> None:
    world.write_hook("#!/bin/sh -Ceu\nexit 0\n")
    world.install()
    world.marker.write_text("old")
    assert world.commit() == ""
    assert world.marker.read_text() == ""


def test_errexit_does_not_stop_the_existing_hook_when_the_marker_cannot_be_written(world: World) -> None:
    world.write_hook(f"#!/bin/sh -eu\n: > '{log_of(world)}'\n")
    world.install()
    shutil.rmtree(world.marker.parent)
    assert world.commit() == ""
    assert log_of(world).exists()


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "ksh", "mksh", "yash"])
@pytest.mark.parametrize("options", [[], ["-e"], ["-eu"], ["-C"]])
@pytest.mark.parametrize("writable", [True, False])
def test_the_block_leaves_no_trace_in_any_shell(
    world: World, tmp_path: Path, shell: str, options: list[str], writable: bool
) -> None:
    """Status, arguments, folder, options, variables and stdin are what they are without the block."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    # The names of all variables, since some values are of the process and the moment.
    body = "#!/bin/sh\n" + 'echo $? $# "$@" "$-" "$IFS"; pwd; umask; set | sed "s/=.*//"; cat\n'
    path = world.write_hook(body)

    def run() -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [program, *options, path, "a b", "*"],
            input=b"from stdin\n",
            env={"PATH": os.environ["PATH"]},
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    before = run()
    assert before[1].endswith(b"from stdin\n")
    world.install()
    if not writable:
        shutil.rmtree(world.marker.parent)
    assert run() == before
    assert world.marker.exists() == writable


def test_the_exit_status_of_an_existing_hook_is_kept(world: World) -> None:
    hook = world.write_hook("#!/bin/sh\nexit 7\n", "post-checkout")
    without = world.git("checkout", "-q", "--detach", ok=False).returncode
    world.install()
    assert world.touches(lambda: world.git("checkout", "-q", "main", ok=False))
    assert world.git("checkout", "-q", "--detach", ok=False).returncode == without != 0
    assert subprocess.run([hook], check=False).returncode == 7


def test_our_own_hook_leaves_the_status_of_checkout_alone(world: World) -> None:
    world.install()
    shutil.rmtree(world.marker.parent)
    assert world.git("checkout", "-q", "--detach").returncode == 0


def test_an_existing_hook_gets_its_stdin_and_arguments(world: World) -> None:
    log = log_of(world)
    world.write_hook(f"#!/bin/sh\necho \"$@\" > '{log}'\ncat >> '{log}'\n", "post-rewrite")
    world.install()
    before = world.git("rev-parse", "HEAD").stdout.strip()
    assert world.touches(lambda: world.git("commit", "-q", "--amend", "-m", "other"))
    after = world.git("rev-parse", "HEAD").stdout.strip()
    assert log.read_text() == f"amend\n{before} {after}\n"


def test_mode_and_time_stay_as_git_and_people_expect(world: World) -> None:
    path = world.write_hook("#!/bin/sh\n", mode=0o750)
    world.install()
    assert path.stat().st_mode & 0o7777 == 0o750
    path.chmod(0o711)
    world.remove()
    assert path.stat().st_mode & 0o7777 == 0o711


LEFT_ALONE = {
    "python": (b"#!/usr/bin/env python3\nprint()\n", "python3"),
    "node": (b"#!/usr/bin/node\n", "node"),
    "fish": (b"#!/usr/bin/fish\n", "fish"),
    "program": (b"\x7fELF\x02\x01\x01\0\0", "a program"),
    "byte order mark": (b"\xef\xbb\xbf#!/bin/sh\n", "byte order mark"),
    "CRLF": (b"#!/bin/sh\r\nexit 0\r\n", "CRLF"),
    "restricted": (b"#!/bin/bash -r\n", "option -r"),
    "nothing named": (b"#!\n", "without a name"),
    "python in sh": (b'#!/bin/sh\n"exec" "python3" "$0" "$@"\nprint()\n', "$0"),
    "perl in sh": (b"#!/bin/sh\neval 'exec perl -x -S $0 ${1+\"$@\"}'\n  if 0;\n", "$0"),
    "archive": (b'#!/bin/sh\ntail -n +4 "${0}" | tar x\nexit\ndata', "$0"),
    "archive in bash": (b'#!/bin/bash\nsed 1,3d "${BASH_SOURCE[0]}" | sh\nexit\ndata', "$0"),
    "too large": (b"#!/bin/sh\n" + b"# padding\n" * 110_000, "too large"),
}


@pytest.mark.parametrize("kind", LEFT_ALONE)
def test_what_a_block_could_break_is_left_alone_with_the_reason(world: World, kind: str) -> None:
    text, reason = LEFT_ALONE[kind]
    path = world.write_hook(text)
    for reports in (world.install(), world.inspect()):
        assert reports["post-commit"].outcome is Outcome.LEFT_ALONE
        assert reason in reports["post-commit"].reason
        assert reports["post-merge"].outcome is Outcome.INSTALLED
    world.remove()
    assert path.read_bytes() == text
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["post-commit"]


def test_scripts_that_only_ask_where_they_are_are_chained(world: World) -> None:
    uses = (
        'cd "$(dirname "$0")"',
        'here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)',
        "name=${0##*/}",
        'echo "usage: $0"',
        "# $0 is this file",
    )
    for use in uses:
        world.write_hook(f"#!/bin/bash\n{use}\n: > '{log_of(world)}'\n")
        assert world.install()["post-commit"].outcome is Outcome.CHAINED, use
        assert both_ran(world), use


def test_a_python_hook_still_runs_after_it_was_left_alone(world: World) -> None:
    world.write_hook(f"#!{sys.executable}\nopen({str(log_of(world))!r}, 'w').close()\n")
    world.install()
    world.commit()
    assert log_of(world).exists()
    assert world.touches(lambda: world.git("checkout", "-q", "--detach"))


def test_a_symlink_is_left_alone_even_when_its_target_is_a_shell_script(world: World, tmp_path: Path) -> None:
    target = tmp_path / "shared-hook"
    target.write_text("#!/bin/sh\n")
    target.chmod(0o755)
    world.hook().parent.mkdir(exist_ok=True)
    world.hook().symlink_to(target)
    world.hook("post-merge").symlink_to(tmp_path / "nowhere")
    world.hook("post-checkout").symlink_to("post-checkout")
    reports = world.install()
    for name in ("post-commit", "post-merge", "post-checkout"):
        assert reports[name].outcome is Outcome.LEFT_ALONE
        assert "symlink" in reports[name].reason
        assert world.hook(name).is_symlink()
    assert target.read_text() == "#!/bin/sh\n"
    world.remove()
    assert world.hook().is_symlink()


def test_a_hook_that_is_not_executable_is_not_made_to_run(world: World) -> None:
    path = world.write_hook(f"#!/bin/sh\n: > '{log_of(world)}'\n", mode=0o644)
    report = world.install()["post-commit"]
    assert report.outcome is Outcome.LEFT_ALONE
    assert "not executable" in report.reason
    world.commit()
    assert not log_of(world).exists()
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_hook_with_another_hard_link_is_left_alone(world: World) -> None:
    path = world.write_hook("#!/bin/sh\n")
    other = world.repo.parent / "other-name"
    other.hardlink_to(path)
    assert "hard link" in world.install()["post-commit"].reason
    assert other.samefile(path)


def test_folders_and_pipes_in_a_hook_s_place_are_left_alone(world: World) -> None:
    world.hook().mkdir(parents=True)
    os.mkfifo(world.hook("post-merge"))
    reports = world.install()
    assert reports["post-commit"].outcome is Outcome.LEFT_ALONE
    assert reports["post-merge"].outcome is Outcome.LEFT_ALONE
    assert reports["post-checkout"].outcome is Outcome.INSTALLED
    assert {report.outcome for report in world.remove().values()} == {Outcome.ABSENT, Outcome.REMOVED}


def test_an_empty_hook_is_chained_and_restored_empty(world: World) -> None:
    path = world.write_hook("")
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    assert world.touches(world.commit)
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert path.read_bytes() == b""


def test_lines_of_a_hook_may_end_in_crlf_below_its_first_line(world: World) -> None:
    text = b"#!/bin/sh\ntrue \r\n# caf\xe9\r\nexit 0"
    path = world.write_hook(text)
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    assert world.touches(world.commit)
    world.remove()
    assert path.read_bytes() == text


def test_a_hook_without_a_final_newline_is_restored_without_one(world: World) -> None:
    path = world.write_hook("#!/bin/sh")
    assert world.install()["post-commit"].outcome is Outcome.CHAINED
    assert world.touches(world.commit)
    assert world.remove()["post-commit"].outcome is Outcome.RESTORED
    assert path.read_text() == "#!/bin/sh"


def test_hooks_of_other_tools_keep_working(world: World, tmp_path: Path) -> None:
    """A hook in the manner of Git LFS and pre-commit, which look for their program and run it by exec."""
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho \"$1\" > '{log_of(world)}'\n")
    tool.chmod(0o755)
    world.write_hook(
        "#!/usr/bin/env bash\n"
        'HERE="$(cd "$(dirname "$0")" && pwd)"\n'
        'command -v tool >/dev/null 2>&1 || { echo >&2 "tool was not found"; exit 2; }\n'
        'exec tool "$HERE"\n'
    )
    world.install()
    environment = plain_environment(PATH=f"{tool.parent}:{os.environ['PATH']}")
    assert world.touches(lambda: world.git("commit", "-q", "--allow-empty", "-m", "x", env=environment))
    assert log_of(world).read_text().strip() == str(world.hook().parent)
