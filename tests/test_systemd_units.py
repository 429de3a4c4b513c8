"""The rendered units, judged by systemd itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nibd.systemd.errors import UnitTextError
from nibd.systemd.units import SERVICE, SOCKET, is_as_written, passed_environment, render

ODD_NAMES = [
    "plain",
    "with space",
    "per%cent %h",
    "dol$HOME ${X} $$x",
    "semi;colon # x",
    "ünïcode",
    "-dash @at",
    "st*r?[x]",
]
ANALYZE = shutil.which("systemd-analyze")
needs_analyze = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is missing")


def _program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program = folder / "nibd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def _verify(folder: Path, texts: dict[str, str]) -> str:
    """Return what `systemd-analyze verify` complains about; it exits 0 for much of it."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *(str(folder / name) for name in texts)],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    own = [line for line in done.stderr.splitlines() if str(folder) in line or "nibd" in line]
    return "\n".join([*own, *([f"exit {done.returncode}: {done.stderr}"] if done.returncode else [])])


@needs_analyze
@pytest.mark.parametrize("name", ODD_NAMES)
def test_systemd_accepts_the_units_wherever_nibd_is_installed(tmp_path: Path, name: str) -> None:
    program = _program(tmp_path / name)

    complaints = _verify(tmp_path / "units", render(program, {"XDG_CACHE_HOME": f'/{name} "q" back\\slash'}))

    assert complaints == ""


@needs_analyze
def test_the_judge_finds_an_unknown_setting_and_a_missing_program(tmp_path: Path) -> None:
    texts = render(_program(tmp_path / "bin"))
    misspelt = {**texts, SERVICE: texts[SERVICE].replace("WatchdogSec=", "WatchdogSecs=")}

    assert "WatchdogSecs" in _verify(tmp_path / "misspelt", misspelt)
    assert "absent" in _verify(tmp_path / "missing", render(tmp_path / "absent"))


@needs_analyze
def test_the_security_review_counts_what_a_user_manager_applies(tmp_path: Path) -> None:
    unit = tmp_path / SERVICE
    unit.write_text(render(_program(tmp_path / "bin"))[SERVICE])

    review = subprocess.run(
        ["systemd-analyze", "security", "--user", "--offline=true", "--no-pager", str(unit)],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    good = {line.split()[1] for line in review.splitlines() if line.startswith("✓")}
    assert {
        "NoNewPrivileges=",
        "LockPersonality=",
        "RestrictRealtime=",
        "RestrictSUIDSGID=",
        "SystemCallArchitectures=",
        "RestrictNamespaces=~user",
        "RestrictAddressFamilies=~AF_PACKET",
        "UMask=",
    } <= good


@pytest.mark.parametrize("name", ['quo"te', "apo'strophe", "back\\slash", "new\nline", "not-utf8-\udcff"])
def test_a_program_path_that_systemd_cannot_start_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnitTextError) as refusal:
        render(tmp_path / name / "nibd")

    assert repr(str(tmp_path / name / "nibd")) in str(refusal.value)


def test_a_relative_program_and_an_odd_variable_name_are_refused() -> None:
    with pytest.raises(UnitTextError, match="absolute path"):
        render(Path("bin/nibd"))
    with pytest.raises(UnitTextError, match="variable"):
        render(Path("/usr/bin/nibd"), {"A B": "x"})


def test_environment_values_are_escaped_for_the_unit_file() -> None:
    text = render(Path("/usr/bin/nibd"), {"XDG_STATE_HOME": '/a b/100%/$x "y" \\z\n'})[SERVICE]

    assert 'Environment="XDG_STATE_HOME=/a b/100%%/$x \\"y\\" \\\\z\\x0a"\n' in text


def test_only_xdg_folders_that_differ_from_their_defaults_are_passed_on() -> None:
    home = Path("/home/ann")
    environment = {
        "XDG_CONFIG_HOME": "/home/ann/.config",
        "XDG_STATE_HOME": "/data/state",
        "XDG_CACHE_HOME": "relative/cache",
        "XDG_RUNTIME_DIR": "/run/user/7",
        "PATH": "/usr/bin",
    }

    assert passed_environment(environment, home) == {"XDG_STATE_HOME": "/data/state"}


def test_the_socket_is_private_and_a_crash_of_a_child_does_not_end_the_service() -> None:
    texts = render(Path("/usr/bin/nibd"))

    socket_lines, service_lines = (set(texts[name].splitlines()) for name in (SOCKET, SERVICE))
    assert {"ListenStream=%t/nibd/nibd.sock", "SocketMode=0600", "DirectoryMode=0700"} <= socket_lines
    assert {"Type=notify", "OOMPolicy=continue", "UMask=0077"} <= service_lines
    assert 'ExecStart=:"/usr/bin/nibd" serve' in service_lines


def test_settings_that_stop_a_user_unit_from_starting_or_hide_repositories_are_absent() -> None:
    settings = {line.split("=")[0] for line in render(Path("/usr/bin/nibd"))[SERVICE].splitlines()}

    assert not settings & {
        "CapabilityBoundingSet",
        "MemoryDenyWriteExecute",
        "PrivateDevices",
        "PrivateTmp",
        "PrivateUsers",
        "ProtectClock",
        "ProtectHome",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectSystem",
    }


def test_a_seal_matches_its_text_and_no_other() -> None:
    text = render(Path("/usr/bin/nibd"))[SERVICE]

    assert is_as_written(text)
    assert not is_as_written(text.replace("MemoryHigh=3G", "MemoryHigh=1G"))
    assert not is_as_written(text.split("\n", 1)[1])
