"""Which files of the tree a file imports, as far as that can be told from paths alone.

An import is taken apart as its language writes it; the files whose path ends in its components are its
targets. Of many such files the one whose path is most like the importer's is taken. No language server
is asked: for ranking, most of the imports are enough, and what is wrong now and then does little.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from nibd.query.ranking.outline import Outline, import_components
from nibd.stores.types import RepoPath

FEW = 3
"""So many files with the same ending are all taken."""
LONGEST = 5
_C = frozenset({"c", "cpp"})
_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx"})
_ENDINGS = (
    b"", b".ts", b".tsx", b".js", b".jsx", b".mjs", b".d.ts",
    b"/index.ts", b"/index.tsx", b"/index.js", b"/index.jsx",
)  # fmt: skip
_SEPARATORS = re.compile(rb"::|[./\\]")
_NO_NAMES = frozenset({b"", b"crate", b"self", b"super", b"*", b"@"})
_AROUND = b"\"'<>`; \t"


def imported_files(path: RepoPath, language: str, modules: Iterable[str], outline: Outline) -> list[RepoPath]:
    """In path order, each once, without `path` itself."""
    found: set[RepoPath] = set()
    for module in modules:
        name = module.encode(errors="replace").strip(_AROUND)
        if name:
            found.update(_targets(path, language, name, outline))
    found.discard(path)
    return sorted(found)


def _targets(path: RepoPath, language: str, module: bytes, outline: Outline) -> list[RepoPath]:
    folder = path.rpartition(b"/")[0] if module.startswith(b".") else b""
    key = (language, folder, module)
    found = outline.leading.get(key)
    if found is None:
        found = _leading_to(language, folder, module, outline)
        outline.remember_import(key, found)
    return found if language == "go" else _nearest(path, found)


def _leading_to(language: str, folder: bytes, module: bytes, outline: Outline) -> list[RepoPath]:
    """What an import may mean, whichever file of the folder it stands in (of any, but for a relative one)."""
    if language in _C:
        return _included(module, outline)
    if language in _ECMASCRIPT and module.startswith(b"."):
        return _relative(folder, module, outline)
    if language == "go":
        return _package(module, outline)
    if language == "python" and module.startswith(b"."):
        return _ending_in(_python_relative(folder, module), True, outline)
    components = [part for part in _SEPARATORS.split(module) if part not in _NO_NAMES]
    return _ending_in(components, language == "rust", outline)


def _included(module: bytes, outline: Outline) -> list[RepoPath]:
    """A header by as much of its path as the tree has."""
    parts = module.split(b"/")
    named = outline.by_name.get(parts[-1].lower(), ())
    for length in (LONGEST, 2):
        end = parts[-length:]
        found = [path for path in named if path.split(b"/")[-len(end) :] == end]
        if found or len(parts) == 1:
            return [RepoPath(path) for path in found]
    return []


def _relative(folder: bytes, module: bytes, outline: Outline) -> list[RepoPath]:
    target = os.path.normpath(folder + b"/" + module) if folder else os.path.normpath(module)
    compiled = target.removesuffix(b".js")
    tried = [target + ending for ending in _ENDINGS]
    if compiled != target:
        tried += [compiled + b".ts", compiled + b".tsx"]
    found = next((each for each in tried if outline.has(each)), None)
    return [] if found is None else [RepoPath(found)]


def _package(module: bytes, outline: Outline) -> list[RepoPath]:
    """The files of the folder that the import's path ends in."""
    parts = module.split(b"/")
    named = outline.folders.get(parts[-1], ())
    for length in range(min(len(parts), LONGEST), 0 if len(parts) == 1 else 1, -1):
        end = parts[-length:]
        found = [folder for folder in named if folder.split(b"/")[-length:] == end]
        if found:
            inside = outline.inside(min(found, key=lambda folder: (len(folder), folder)))
            return [path for path in inside if path.endswith(b".go") and not path.endswith(b"_test.go")]
    return []


def _python_relative(folder: bytes, module: bytes) -> list[bytes]:
    dots = len(module) - len(module.lstrip(b"."))
    base = [part for part in folder.split(b"/") if part]
    return [*base[: len(base) - (dots - 1)], *(part for part in module[dots:].split(b".") if part)]


def _ending_in(components: Sequence[bytes], single: bool, outline: Outline) -> list[RepoPath]:
    """Files whose path ends in the components, or in most of them: the last may be a name in the file, the
    first those of the package's root. One component alone has to be the whole import, unless `single`."""
    for end in range(len(components), max(len(components) - 3, 0), -1):
        for start in range(min(end, 3)):
            wanted = list(components[max(start, end - LONGEST) : end])
            if len(wanted) == 1 and end - start != len(components) and not single:
                continue
            named = outline.by_import.get(wanted[-1], ())
            found = [p for p in named if import_components(RepoPath(p))[-len(wanted) :] == wanted]
            if found:
                return [RepoPath(path) for path in found]
    return []


def _nearest(path: RepoPath, found: list[RepoPath]) -> list[RepoPath]:
    if len(found) <= FEW:
        return found
    return [min(found, key=lambda each: (-_common(path, each), each))]


def _common(path: RepoPath, other: RepoPath) -> int:
    """How many bytes two paths begin with together."""
    return next((at for at, (a, b) in enumerate(zip(path, other, strict=False)) if a != b), len(path))
