"""Writing and removing the units in a folder such as `~/.config/systemd/user`.

A unit is *as written* (sealed, unchanged), *edited* (sealed, then changed by a person) or *foreign*
(not ours, or a symbolic link, which is how systemd masks a unit). Only the first is replaced or
removed without being told to; the others are left alone and reported. A person's settings belong
in a drop-in (`systemctl --user edit nibd`), which nothing here touches.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nibd.systemd.units import UNIT_NAMES, has_seal, is_as_written, render


class UnitChange(StrEnum):
    """What was done with a unit file, or why nothing was."""

    WRITTEN = "written"
    UPDATED = "updated"
    CURRENT = "current"
    REMOVED = "removed"
    ABSENT = "absent"
    KEPT_EDITED = "kept, edited"
    KEPT_FOREIGN = "kept, not written by nibd"


@dataclass(frozen=True, slots=True)
class UnitReport:
    """One unit file after `install` or `uninstall`."""

    name: str
    path: Path
    change: UnitChange

    @property
    def refused(self) -> bool:
        """Whether the file was left as it is although something else was asked for."""
        return self.change in (UnitChange.KEPT_EDITED, UnitChange.KEPT_FOREIGN)


def unit_folder(config_home: Path) -> Path:
    """Where a user's own units are, given the XDG configuration folder."""
    return config_home / "systemd" / "user"


def install(
    folder: Path,
    executable: Path,
    environment: Mapping[str, str] | None = None,
    *,
    replace_edited: bool = False,
) -> list[UnitReport]:
    """Write the units into `folder`, each by one rename; `replace_edited` gives up a person's edits.

    A foreign unit is kept even then. Raises UnitTextError before anything is written, OSError.
    """
    texts = render(executable, environment)
    folder.mkdir(parents=True, exist_ok=True)
    return [_install_one(folder / name, text, replace_edited) for name, text in texts.items()]


def uninstall(folder: Path, *, remove_edited: bool = False) -> list[UnitReport]:
    """Remove the units from `folder`; an edited one only with `remove_edited`, a foreign one never."""
    return [_uninstall_one(folder / name, remove_edited) for name in UNIT_NAMES]


def _install_one(path: Path, text: str, replace_edited: bool) -> UnitReport:
    present = _standing(path)
    if present is None or (present is UnitChange.KEPT_EDITED and replace_edited):
        _write(path, text)
        return UnitReport(path.name, path, UnitChange.WRITTEN if present is None else UnitChange.UPDATED)
    if present is not UnitChange.CURRENT:
        return UnitReport(path.name, path, present)
    if path.read_bytes() == text.encode():
        return UnitReport(path.name, path, UnitChange.CURRENT)
    _write(path, text)
    return UnitReport(path.name, path, UnitChange.UPDATED)


def _uninstall_one(path: Path, remove_edited: bool) -> UnitReport:
    present = _standing(path)
    if present is None:
        return UnitReport(path.name, path, UnitChange.ABSENT)
    if present is UnitChange.CURRENT or (present is UnitChange.KEPT_EDITED and remove_edited):
        path.unlink()
        return UnitReport(path.name, path, UnitChange.REMOVED)
    return UnitReport(path.name, path, present)


def _standing(path: Path) -> UnitChange | None:
    """Return CURRENT for a unit as written, how an other one is kept, `None` where there is none."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return UnitChange.KEPT_FOREIGN
    if not path.exists():
        return None
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    if not has_seal(text):
        return UnitChange.KEPT_FOREIGN
    return UnitChange.CURRENT if is_as_written(text) else UnitChange.KEPT_EDITED


def _write(path: Path, text: str) -> None:
    """Put `text` at `path` so that a crash leaves the old unit or the new one."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), 0o644)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
