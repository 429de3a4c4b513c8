"""A family's files in which two listings differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nibd.repair.relations.change import FileChange, compare
from nibd.repair.relations.families import FAMILIES
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.stores.structure import StructureStore
from nibd.stores.types import FileVersion, RepoPath

Versions = Mapping[RepoPath, FileVersion]


def family_files(structure: StructureStore, family: str, rows: Iterable[int]) -> dict[RepoPath, FileVersion]:
    """The family's files among rows of listings."""
    languages = FAMILIES[family]
    return {
        file.path: file
        for _, file in structure.files(rows)
        if file.skip is None and file.language in languages
    }


def changed_files(sources: SourceFiles, gone: Versions, come: Versions) -> dict[RepoPath, FileChange]:
    """Of what can be read: of the rest there is nothing to ask, and nothing that is referred to."""
    found = {}
    for path in sorted(gone.keys() | come.keys()):
        before, after = (_source(sources, side.get(path)) for side in (gone, come))
        if before or after:
            found[path] = compare(before, after)
    return found


def _source(sources: SourceFiles, file: FileVersion | None) -> SourceFile | None:
    return None if file is None else sources.get(file.path, file.blob, file.language)
