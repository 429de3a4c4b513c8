"""The files of a lexical generation: shared with the one before, recorded, checked, made durable.

A generation is a folder with a Tantivy index per population and a *record*, `generation.json`. The
record is written last, so a folder without a whole one is a half-made generation and is ignored. It
holds the totals, and the size and CRC-32 of every file; a file shared with the base keeps the base's
CRC, since Tantivy never writes to a file twice (it replaces `meta.json` and `.managed.json` by
rename, which leaves the base's copies alone).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.lexical_documents import Field, Population, Totals

RECORD = "generation.json"
RECORD_FORMAT = 1

_NO_HARD_LINKS = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EACCES}
_REPLACED = {"meta.json", ".managed.json"}
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileRecord:
    size_bytes: int
    crc32: int


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """What a generation is meant to hold; `files` by path relative to its folder."""

    totals: Mapping[Population, Totals]
    files: Mapping[str, FileRecord]


@dataclass(frozen=True, slots=True)
class Shared:
    """How many files of the base the next generation took over, and how."""

    linked: int
    copied: int


def share_files(base: Path, target: Path, hard_links: bool) -> Shared:
    """Give `target` the index files of `base`, by hard link or, where there are none, by copy."""
    linked = copied = 0
    for population in Population:
        folder = target / population.value
        folder.mkdir()
        for source in sorted((base / population.value).iterdir()):
            if _is_lock(source.name):
                continue
            replaced = source.name in _REPLACED
            hard_links = hard_links and (replaced or _link(source, folder / source.name))
            if replaced or not hard_links:
                shutil.copyfile(source, folder / source.name)
                copied += 1
            else:
                linked += 1
    return Shared(linked, copied)


def _link(source: Path, target: Path) -> bool:
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            return False
        raise
    return True


def _is_lock(name: str) -> bool:
    return name.startswith(".tantivy-")


def list_files(root: Path, base: GenerationRecord | None) -> dict[str, FileRecord]:
    """Record every index file under `root`; those that the base has too are not read again."""
    known = {} if base is None else base.files
    return {
        name: known[name]
        if name in known and path.name not in _REPLACED
        else FileRecord(path.stat().st_size, _crc32(path))
        for name, path in sorted(_index_files(root).items())
    }


def make_durable(root: Path, record: GenerationRecord, base: GenerationRecord | None) -> None:
    """Write the record as the last thing, with everything that is new on the disk before it."""
    known = set() if base is None else set(base.files)
    for name in record.files:
        if name not in known or Path(name).name in _REPLACED:
            _fsync(root / name)
    for population in Population:
        _fsync(root / population.value)
    _write_record(root / RECORD, record)
    _fsync(root)
    _fsync(root.parent)


def read_record(root: Path) -> GenerationRecord:
    """Read the record. Raises `CorruptStore` when it is missing, cut short or changed."""
    try:
        envelope = json.loads((root / RECORD).read_bytes())
        body, checksum = envelope["body"], envelope["crc32"]
        if zlib.crc32(body.encode()) != checksum or envelope["format"] != RECORD_FORMAT:
            raise CorruptStore(f"{root / RECORD} is not what was written")
        content = json.loads(body)
        totals = {Population(name): _totals(found) for name, found in content["totals"].items()}
        files = {name: FileRecord(*found) for name, found in content["files"].items()}
    except OSError as error:
        raise CorruptStore(f"{root} is no finished generation: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptStore(f"{root / RECORD} is not what was written: {error}") from error
    return GenerationRecord(totals, files)


def check_files(root: Path, record: GenerationRecord, contents: bool) -> None:
    """Compare files with the record: names and sizes, and with `contents` their CRC-32.

    Raises `CorruptStore` naming the first that differs.
    """
    found = _index_files(root)
    for name in sorted(record.files.keys() | found.keys()):
        if name not in found or name not in record.files:
            raise CorruptStore(f"{root / name} is {'missing' if name in record.files else 'not recorded'}")
        expected = record.files[name]
        size_bytes = found[name].stat().st_size
        if size_bytes != expected.size_bytes:
            raise CorruptStore(f"{root / name} has {size_bytes} bytes instead of {expected.size_bytes}")
        if contents and _crc32(found[name]) != expected.crc32:
            raise CorruptStore(f"{root / name} has other contents than were written")


def new_folder(target: Path) -> None:
    try:
        target.mkdir(parents=True)
    except FileExistsError as error:
        raise StoreError(f"{target} exists; a generation is never written twice") from error


def _index_files(root: Path) -> dict[str, Path]:
    return {
        f"{population.value}/{path.name}": path
        for population in Population
        if (root / population.value).is_dir()
        for path in (root / population.value).iterdir()
        if not _is_lock(path.name)
    }


def _totals(found: dict[str, int]) -> Totals:
    return Totals(found["documents"], {field: found[field.value] for field in Field})


def _write_record(path: Path, record: GenerationRecord) -> None:
    totals = {
        population.value: {"documents": total.documents}
        | {field.value: length for field, length in total.lengths.items()}
        for population, total in record.totals.items()
    }
    files = {name: [found.size_bytes, found.crc32] for name, found in record.files.items()}
    body = json.dumps({"totals": totals, "files": files})
    envelope = {"format": RECORD_FORMAT, "crc32": zlib.crc32(body.encode()), "body": body}
    path.write_text(json.dumps(envelope))
    _fsync(path)


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
