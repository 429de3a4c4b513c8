"""Installing and removing units beside what a person wrote."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nibd.systemd.errors import UnitTextError
from nibd.systemd.files import UnitChange, UnitReport, install, uninstall, unit_folder
from nibd.systemd.units import SERVICE, SOCKET, render

PROGRAM = Path("/opt/nibd/bin/nibd")


def _changes(reports: list[UnitReport]) -> dict[str, UnitChange]:
    return {report.name: report.change for report in reports}


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unit_folder(tmp_path / "config")


def test_install_writes_both_units_and_uninstall_leaves_the_folder_as_it_was(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "other.service").write_text("[Service]\n")

    assert set(_changes(install(folder, PROGRAM)).values()) == {UnitChange.WRITTEN}
    assert {name: (folder / name).read_text() for name in (SERVICE, SOCKET)} == render(PROGRAM)
    assert stat.S_IMODE((folder / SERVICE).stat().st_mode) == 0o644
    assert set(_changes(uninstall(folder)).values()) == {UnitChange.REMOVED}
    assert _names(folder) == ["other.service"]


def test_installing_again_changes_nothing_and_a_moved_program_updates_only_the_service(folder: Path) -> None:
    install(folder, PROGRAM)
    before = (folder / SERVICE).stat().st_ino

    assert set(_changes(install(folder, PROGRAM)).values()) == {UnitChange.CURRENT}
    assert (folder / SERVICE).stat().st_ino == before
    assert _changes(install(folder, Path("/elsewhere/nibd"))) == {
        SERVICE: UnitChange.UPDATED,
        SOCKET: UnitChange.CURRENT,
    }
    assert '"/elsewhere/nibd"' in (folder / SERVICE).read_text()


def test_an_edited_unit_is_kept_and_reported_until_told_otherwise(folder: Path) -> None:
    install(folder, PROGRAM)
    edited = (folder / SERVICE).read_text() + "# mine\n"
    (folder / SERVICE).write_text(edited)

    kept = install(folder, Path("/elsewhere/nibd"))
    assert _changes(kept)[SERVICE] is UnitChange.KEPT_EDITED
    assert [report.name for report in kept if report.refused] == [SERVICE]
    assert _changes(uninstall(folder)) == {SERVICE: UnitChange.KEPT_EDITED, SOCKET: UnitChange.REMOVED}
    assert (folder / SERVICE).read_text() == edited

    assert _changes(install(folder, PROGRAM, replace_edited=True))[SERVICE] is UnitChange.UPDATED
    assert (folder / SERVICE).read_text() == render(PROGRAM)[SERVICE]


def test_an_edited_unit_is_removed_when_told_to(folder: Path) -> None:
    install(folder, PROGRAM)
    (folder / SOCKET).write_bytes((folder / SOCKET).read_bytes() + b"# not UTF-8: \xff\n")

    assert _changes(uninstall(folder))[SOCKET] is UnitChange.KEPT_EDITED
    assert _changes(uninstall(folder, remove_edited=True))[SOCKET] is UnitChange.REMOVED
    assert not (folder / SOCKET).exists()


def test_a_unit_of_someone_else_is_never_touched(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / SERVICE).write_text("[Service]\nExecStart=/bin/true\n")
    (folder / SOCKET).symlink_to("/dev/null")

    for reports in (install(folder, PROGRAM, replace_edited=True), uninstall(folder, remove_edited=True)):
        assert set(_changes(reports).values()) == {UnitChange.KEPT_FOREIGN}
    assert (folder / SERVICE).read_text() == "[Service]\nExecStart=/bin/true\n"
    assert (folder / SOCKET).readlink() == Path("/dev/null")


def test_uninstalling_what_was_never_installed_says_absent(folder: Path) -> None:
    assert set(_changes(uninstall(folder)).values()) == {UnitChange.ABSENT}


def test_a_program_that_cannot_be_started_leaves_nothing_behind(folder: Path) -> None:
    with pytest.raises(UnitTextError):
        install(folder, Path('/quo"te/nibd'))

    assert not folder.exists()


def test_a_failed_write_leaves_the_old_unit_and_no_temporary_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(folder, PROGRAM)
    before = (folder / SERVICE).read_text()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        install(folder, Path("/elsewhere/nibd"))

    assert (folder / SERVICE).read_text() == before
    assert _names(folder) == [SERVICE, SOCKET]
