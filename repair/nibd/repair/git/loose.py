"""Loose objects, read without libgit2, which never returns from one that was cut off (1.9.7).

A crash or a full disk leaves such files behind, so every loose object is read here and only what
is packed is left to libgit2.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from pathlib import Path

from nibd.repair.git.objects import Header, RawObject
from nibd.repair.git.types import Absence

_HEADER = re.compile(rb"(blob|tree|commit|tag) (\d+)\0")
_MAX_HEADER_BYTES = 64
_CHUNK_BYTES = 4096
_MAX_ALTERNATES = 100


def object_folders(common_dir: Path) -> tuple[str, ...]:
    """The repository's folder of objects and those it borrows from, each once."""
    found: list[str] = []
    waiting = [str(common_dir / "objects")]
    while waiting and len(found) < _MAX_ALTERNATES:
        folder = waiting.pop(0)
        if folder in found:
            continue
        found.append(folder)
        try:
            lines = Path(folder, "info", "alternates").read_bytes().splitlines()
        except OSError:  # borrows from nobody
            continue
        waiting += [
            os.path.normpath(os.path.join(folder, os.fsdecode(line)))  # noqa: PTH118 - may be absolute
            for line in lines
            if line and not line.startswith(b"#")
        ]
    return tuple(found)


def is_loose(folder: str, oid: str) -> bool:
    # Most objects are packed: this answers without the cost of an exception.
    return os.access(f"{folder}/{oid[:2]}/{oid[2:]}", os.F_OK)


def read_loose(folder: str, oid: str) -> RawObject | Absence:
    """The object, checked against its (SHA-1) id; `MISSING` when no such file is there."""
    if not is_loose(folder, oid):
        return Absence.MISSING
    try:
        with open(f"{folder}/{oid[:2]}/{oid[2:]}", "rb") as file:  # noqa: PTH123 - on a hot path
            packed = file.read()
    except FileNotFoundError:
        return Absence.MISSING
    except OSError:
        return Absence.CORRUPT
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(packed)
    except zlib.error:
        return Absence.CORRUPT
    header = _HEADER.match(data)
    fits = hashlib.sha1(data, usedforsecurity=False).hexdigest() == oid
    if header is None or not inflater.eof or not fits or len(data) != header.end() + int(header[2]):
        return Absence.CORRUPT
    return RawObject(header[1].decode(), data[header.end() :])


def loose_header(folder: str, oid: str) -> Header | Absence:
    """The object's header, from the file's first bytes."""
    if not is_loose(folder, oid):
        return Absence.MISSING
    try:
        with open(f"{folder}/{oid[:2]}/{oid[2:]}", "rb") as file:  # noqa: PTH123 - on a hot path
            start = file.read(_CHUNK_BYTES)
    except FileNotFoundError:
        return Absence.MISSING
    except OSError:
        return Absence.CORRUPT
    try:
        header = _HEADER.match(zlib.decompressobj().decompress(start, _MAX_HEADER_BYTES))
    except zlib.error:
        return Absence.CORRUPT
    return Header(header[1].decode(), int(header[2])) if header is not None else Absence.CORRUPT
