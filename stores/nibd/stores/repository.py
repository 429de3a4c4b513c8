"""The folder of one repository's views, and its stores opened for writing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nibd.stores.catalog import Catalog
from nibd.stores.facts import FactStore
from nibd.stores.structure import StructureStore


@dataclass(frozen=True, slots=True)
class RepositoryFolder:
    """Where the views of a repository lie. Deleting it, even while serving, loses only time."""

    root: Path

    @property
    def catalog(self) -> Path:
        return self.root / "catalog.db"

    @property
    def facts(self) -> Path:
        return self.root / "facts.db"

    @property
    def structure(self) -> Path:
        return self.root / "structure.db"

    @property
    def lexical(self) -> Path:
        return self.root / "lexical"

    @property
    def dense(self) -> Path:
        return self.root / "dense"


@dataclass(frozen=True, slots=True)
class RepositoryStores:
    """The stores of one repository, open in the one process that writes them."""

    folder: RepositoryFolder
    catalog: Catalog
    facts: FactStore
    structure: StructureStore
    _identity: tuple[tuple[int, int] | None, ...]

    @staticmethod
    def open(folder: RepositoryFolder, extractor: str) -> RepositoryStores:
        """`extractor` is the profile under which facts are kept."""
        folder.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        facts = FactStore.open(folder.facts, extractor)
        structure = StructureStore.open(folder.structure)
        catalog = Catalog.open(folder.catalog)  # last: readers take it for the sign that all are there
        return RepositoryStores(folder, catalog, facts, structure, _identity(folder))

    def is_in_place(self) -> bool:
        """Whether the files that are open are still those of the folder: none was deleted or replaced."""
        return None not in self._identity and self._identity == _identity(self.folder)

    def close(self) -> None:
        self.catalog.close()
        self.facts.close()
        self.structure.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _identity(folder: RepositoryFolder) -> tuple[tuple[int, int] | None, ...]:
    return tuple(file_identity(path) for path in (folder.catalog, folder.facts, folder.structure))


def file_identity(path: Path) -> tuple[int, int] | None:
    """What tells one file from another of the same name; `None` when there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def fsync_folder(path: Path) -> None:
    """Make the names in `path` survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: RepositoryFolder, catalog: Catalog) -> list[Path]:
    """Remove the artifacts that no kept snapshot names: what a crash or a retirement left.

    Only for the process that writes, between two jobs: a job's unfinished artifact is named by
    nothing either.
    """
    live, _ = catalog.live()
    removed = []
    for artifact in _artifacts(folder):
        if str(artifact.relative_to(folder.root)) not in live:
            shutil.rmtree(artifact) if artifact.is_dir() else artifact.unlink()
            removed.append(artifact)
    return removed


def _artifacts(folder: RepositoryFolder) -> Iterator[Path]:
    if folder.lexical.is_dir():
        yield from sorted(folder.lexical.iterdir())
    if folder.dense.is_dir():
        yield from sorted(folder.dense.glob("*/*.rows"))
