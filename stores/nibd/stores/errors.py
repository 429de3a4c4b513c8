"""The errors of nibd.stores.

StoreError            a store cannot be opened, read or written; the message names the file
└── CorruptStore      what is stored is not what was written: mark it, report it, rebuild it
"""

from __future__ import annotations


class StoreError(Exception):
    """A store cannot be opened, read or written."""


class CorruptStore(StoreError):  # noqa: N818 - the name says what it is, as the glossary does
    """What is stored is not what was written. Never served on; the caller rebuilds it."""
