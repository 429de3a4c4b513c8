"""A family's files in which two listings differ, and those that differing files have built or left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from nibd.repair.relations.built import switched_modules
from nibd.repair.relations.change import compare
from nibd.repair.relations.families import FAMILIES
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import Site
from nibd.stores.structure import StructureStore
from nibd.stores.types import FileVersion, RepoPath

Versions = Mapping[RepoPath, FileVersion]
_NONE_KEPT: Mapping[RepoPath, tuple[Site, ...]] = MappingProxyType({})


def family_files(structure: StructureStore, family: str, rows: Iterable[int]) -> dict[RepoPath, FileVersion]:
    """The family's files among rows of listings."""
    languages = FAMILIES[family]
    return {
        file.path: file
        for _, file in structure.files(rows)
        if file.skip is None and file.language in languages
    }


def changed_files(
    sources: SourceFiles,
    structure: StructureStore,
    listing: Bitmap,
    gone: Versions,
    come: Versions,
    sites: Mapping[RepoPath, tuple[Site, ...]] = _NONE_KEPT,
) -> dict[RepoPath, FileChange]:
    """Of what can be read: of the rest there is nothing to ask, and nothing that is referred to.

    `listing` is the new tree's, `gone` and `come` a family's files in which the trees differ, `sites` are
    those of `gone`, where they are kept.
    """
    found, places = {}, set[RepoPath]()
    for path in sorted(gone.keys() | come.keys()):
        before = _source(sources, gone.get(path), sites.get(path))
        after = _source(sources, come.get(path))
        if before or after:
            found[path] = compare(before, after)
            places |= switched_modules(before, after)
    for file in _at(structure, listing, places) if gone else ():  # a build asks about all files
        if file.path in come and file.path not in gone:
            continue
        before, after = _source(sources, gone.get(file.path, file)), _source(sources, file)
        if before and after:
            found[file.path] = compare(before, after, is_switched=True)
    return found


def _at(structure: StructureStore, listing: Bitmap, places: Iterable[RepoPath]) -> Iterator[FileVersion]:
    """The files of Rust at these paths, and in these folders."""
    for place in sorted(places):
        if place.endswith(b"/"):
            found = [file for _, file in structure.under(listing, place)]
        else:
            at = structure.at_path(listing, place)
            found = [at[1]] if at else []
        yield from (file for file in found if file.language == "rust" and file.skip is None)


def _source(
    sources: SourceFiles, file: FileVersion | None, sites: tuple[Site, ...] | None = None
) -> SourceFile | None:
    return None if file is None else sources.get(file.path, file.blob, file.language, sites)
