"""The errors of nibd.stores.

StoreError                a store cannot be opened, read or written; the message names the file
└── CorruptStore          what is stored is not what was written: mark it, report it, rebuild it
    ├── CorruptStructure  structure.db, on which every view stands: rebuild all of them
    └── CorruptFacts      of one blob, named in the error: compute them again and put them over it
"""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """A store cannot be opened, read or written."""


class CorruptStore(StoreError):  # noqa: N818 - the name says what it is, as the glossary does
    """What is stored is not what was written. Never served on; the caller rebuilds it."""


class CorruptStructure(CorruptStore):
    """structure.db is not what was written."""


class CorruptFacts(CorruptStore):
    """The facts of one blob are not what was put."""

    def __init__(self, path: Path, blob: str, language: str) -> None:
        super().__init__(f"{path}: the facts of {blob} as {language or 'text'} are not what was put")
        self.blob = blob
        self.language = language
