"""An outline of a tree: its files by folder, by name and by how imports name them.

    by_folder   folder: the names of its indexed files
    by_name     file name in lower case: paths
    by_import   what an import of the file has as its last component: paths
    folders     last component of a folder: folders
    modules     path: what the file imports, as it is written
    importing   last component of an import: how many files have such an import

The *import name* of a file is its name without ending; of a file that stands for its folder (`__init__.py`,
`index.ts`, `mod.rs`), and of any Go file, that of the folder. `by_import` has no Go file: a Go import names
a folder.

An outline is made from the one of another tree by the difference of the two listings, so a commit costs what
it changes (and a copy of six tables). It is the same whatever it was made from, and never changes; it only
remembers what was worked out from it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from nibd.stores.bitmap import Bitmap
from nibd.stores.structure import FileRow, StructureStore
from nibd.stores.types import RepoPath

Sets = Mapping[bytes, tuple[bytes, ...]]
"""Each ascending."""

Targets = dict[RepoPath, list[RepoPath]]
Leading = dict[tuple[str, bytes, bytes], list[RepoPath]]

REMEMBERED_FILES = 4096
REMEMBERED_IMPORTS = 4096
STANDS_FOR_FOLDER = frozenset({b"__init__", b"index", b"mod", b"lib", b"main", b"package"})
_ENDING = re.compile(rb"\.\w{1,5}$")
_COMPONENT = re.compile(rb"[^./\\:]+")
_AROUND = b"\"'<>`; \t"


@dataclass(frozen=True, slots=True)
class Outline:
    by_folder: Sets
    by_name: Sets
    by_import: Sets
    folders: Sets
    modules: Mapping[RepoPath, tuple[str, ...]]
    importing: Mapping[bytes, int]
    targets: Targets = field(default_factory=dict, compare=False)
    """What files were found to import, for whoever asks again; at most `REMEMBERED_FILES`."""
    leading: Leading = field(default_factory=dict, compare=False)
    """What imports were found to lead to, by language, folder and text, for the next file that has one of
    them (see `imports`); at most `REMEMBERED_IMPORTS`."""

    def remember(self, path: RepoPath, targets: list[RepoPath]) -> None:
        if len(self.targets) >= REMEMBERED_FILES:
            self.targets.clear()
        self.targets[path] = targets

    def remember_import(self, key: tuple[str, bytes, bytes], found: list[RepoPath]) -> None:
        if len(self.leading) >= REMEMBERED_IMPORTS:
            self.leading.clear()
        self.leading[key] = found

    def has(self, path: bytes) -> bool:
        folder, _, name = path.rpartition(b"/")
        names = self.by_folder.get(folder, ())
        at = bisect_left(names, name)
        return at < len(names) and names[at] == name

    def inside(self, folder: bytes) -> list[RepoPath]:
        """The files that lie in it, not deeper."""
        before = folder + b"/" if folder else b""
        return [RepoPath(before + name) for name in self.by_folder.get(folder, ())]


NOTHING = Outline({}, {}, {}, {}, {}, {})


def outline(
    structure: StructureStore, listing: Bitmap, base: tuple[Bitmap, Outline] = (Bitmap(), NOTHING)
) -> Outline:
    """The outline of `listing`, made from that of another one.

    Raises `CorruptStructure`, also where rows of the other listing were collected.
    """
    before, old = base
    gone, come = before.minus(listing), listing.minus(before)
    removed, added = _modules(structure, gone), _modules(structure, come)
    importing = Counter(old.importing)
    importing.subtract(_importing(removed))
    importing.update(_importing(added))
    kept = {path: modules for path, modules in old.modules.items() if path not in removed}
    by_folder = _changed(old.by_folder, map(_in_folder, removed), map(_in_folder, added))
    touched = {_in_folder(path)[0] for path in (*removed, *added)}
    folders = _changed(
        old.folders,
        (_named_folder(folder) for folder in touched if folder not in by_folder),
        (_named_folder(folder) for folder in touched if folder in by_folder),
    )
    return Outline(
        by_folder,
        _changed(old.by_name, map(_by_name, removed), map(_by_name, added)),
        _changed(old.by_import, _by_import(removed), _by_import(added)),
        folders,
        kept | {path: modules for path, modules in added.items() if modules},
        +importing,
        *_still_known(old, removed.keys(), added.keys()),
    )


def import_name(path: RepoPath) -> bytes:
    """What an import of the file has as its last component."""
    folder, _, name = path.rpartition(b"/")
    stem, _, ending = name.rpartition(b".")
    stem = stem or name
    if (stem in STANDS_FOR_FOLDER or ending == b"go") and folder:
        return folder.rpartition(b"/")[2]
    return stem


def import_components(path: RepoPath) -> list[bytes]:
    """A path's components as an import has them."""
    *folders, name = path.split(b"/")
    stem, _, ending = name.rpartition(b".")
    stem = stem or name
    return folders if (stem in STANDS_FOR_FOLDER or ending == b"go") and folders else [*folders, stem]


def imported_name(module: str) -> bytes:
    """The last component of an import as it is written; empty where it has none."""
    text = module.encode(errors="replace").strip(_AROUND)
    if b"/" in text:
        text = _ENDING.sub(b"", text.rpartition(b"/")[2])
    found = _COMPONENT.findall(text)
    return found[-1] if found else b""


def _modules(structure: StructureStore, rows: Bitmap) -> dict[RepoPath, tuple[str, ...]]:
    """The paths of the indexed files of these rows, each with what it imports."""
    found: dict[FileRow, list[str]] = {}
    for row, module in structure.modules(rows):
        found.setdefault(row, []).append(module)
    files = (each for each in structure.files(rows) if each[1].skip is None)
    return {file.path: tuple(dict.fromkeys(found.get(row, ()))) for row, file in files}


def _importing(modules: Mapping[RepoPath, tuple[str, ...]]) -> Counter[bytes]:
    """Each last component once a file."""
    return Counter(name for each in modules.values() for name in set(map(imported_name, each)) if name)


def _still_known(
    old: Outline, removed: Collection[RepoPath], added: Collection[RepoPath]
) -> tuple[Targets, Leading]:
    """What imports lead to depends on the file and on which paths there are."""
    if set(removed) != set(added):
        return {}, {}
    targets = {path: targets for path, targets in dict(old.targets).items() if path not in removed}
    return targets, dict(old.leading)


def _in_folder(path: RepoPath) -> tuple[bytes, bytes]:
    folder, _, name = path.rpartition(b"/")
    return folder, name


def _by_name(path: RepoPath) -> tuple[bytes, bytes]:
    return path.rpartition(b"/")[2].lower(), path


def _by_import(paths: Iterable[RepoPath]) -> Iterator[tuple[bytes, bytes]]:
    return ((import_name(path), path) for path in paths if not path.endswith(b".go"))


def _named_folder(folder: bytes) -> tuple[bytes, bytes]:
    return folder.rpartition(b"/")[2], folder


def _changed(
    old: Sets, removed: Iterable[tuple[bytes, bytes]], added: Iterable[tuple[bytes, bytes]]
) -> dict[bytes, tuple[bytes, ...]]:
    """`old` without the members `removed` and with those `added`, which are pairs (key, member)."""
    sets: dict[bytes, set[bytes]] = {}
    for key, member in removed:
        sets.setdefault(key, set(old.get(key, ()))).discard(member)
    for key, member in added:
        sets.setdefault(key, set(old.get(key, ()))).add(member)
    new = dict(old)
    for key, members in sets.items():
        if members:
            new[key] = tuple(sorted(members))
        else:
            new.pop(key, None)
    return new
