"""What nibd remembers of each hook file it wrote, so that removal can restore it byte for byte.

One JSON file per hook in the records folder, named by a digest of the hook's path and written before the
hook itself. A record that is lost or unreadable only means that removal takes out the block instead of
putting back the original; the report then says so.

*Users* are the checkouts that asked for the hook. Linked work trees share their hooks folder, so a hook
stays until its last user is gone.
"""

from __future__ import annotations

import base64
import binascii
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nibd.hooks import files


@dataclass(frozen=True, slots=True)
class Record:
    """One hook file. `original` is `None` when nibd made the file; `written` is the digest of our text."""

    hook: Path
    common_dir: Path
    original: bytes | None
    written: str
    folder_created: bool
    users: tuple[Path, ...]

    def is_unedited(self, text: bytes) -> bool:
        return digest(text) == self.written


class Records:
    """The records folder. Only used under `locked`, which keeps other processes out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder, making it when missing; waits for another process that holds it."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            files.sweep(self._folder)
            yield
        finally:
            os.close(descriptor)

    def find(self, hook: Path) -> Record | None:
        return _load(self._path(hook))

    def all(self) -> list[Record]:
        loaded = (_load(path) for path in sorted(self._folder.glob("*.json")))
        return [record for record in loaded if record is not None]

    def save(self, record: Record) -> None:
        files.write_private(self._path(record.hook), _dump(record))

    def drop(self, hook: Path) -> None:
        self._path(hook).unlink(missing_ok=True)

    def drop_orphans(self) -> None:
        """Forget hooks that are gone together with every checkout that used them."""
        for record in self.all():
            if not any(path.exists() for path in (record.hook, *record.users)):
                self.drop(record.hook)

    def _path(self, hook: Path) -> Path:
        return self._folder / f"{digest(os.fsencode(hook))[:32]}.json"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _dump(record: Record) -> bytes:
    original = None if record.original is None else base64.b64encode(record.original).decode()
    return json.dumps(
        {
            "hook": str(record.hook),
            "common_dir": str(record.common_dir),
            "original": original,
            "written": record.written,
            "folder_created": record.folder_created,
            "users": [str(user) for user in record.users],
        },
        indent=1,
    ).encode()


def _load(path: Path) -> Record | None:
    """The record, or `None` when there is none or it can't be understood (see the module's text)."""
    try:
        content = json.loads(path.read_bytes())
        original = content["original"]
        return Record(
            Path(content["hook"]),
            Path(content["common_dir"]),
            None if original is None else base64.b64decode(original, validate=True),
            content["written"],
            content["folder_created"],
            tuple(Path(user) for user in content["users"]),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, binascii.Error):
        return None
