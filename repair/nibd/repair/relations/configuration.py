"""Files of the tree that a language server reads as configuration, and how far a change of them reaches.

A changed configuration can move any relation. But in most of these files most has nothing to do with
what names mean (a version, a script, a formatter's settings), and what has can be limited:

- to what a *package* outside the tree is: sites that refer into it, and unresolved ones in files that import
  it. That of which packages are installed is no part of the tree, and known elsewhere;
- to files, each with all of its sites, such as those below a folder that has a tsconfig.json of its own.

What can't be read as what it is called counts whole.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from nibd.repair.private_tree.module_caches import escaped
from nibd.repair.servers.go_mod_text import statements
from nibd.stores.types import RepoPath

_NAMES: Mapping[str, tuple[bytes, ...]] = {
    "python": (b"pyproject.toml", b"ty.toml"),
    "javascript": (b"package.json", b"tsconfig.json", b"jsconfig.json"),
    "go": (b"go.mod", b"go.work", b"modules.txt"),
    "rust": (b"Cargo.toml", b"Cargo.lock", b"rust-project.json"),
    "c": (b"compile_commands.json", b"compile_flags.txt", b".clangd"),
}
_ROOTS = (b"src", b"tests", b"python")
_ROOT_DEPTH = 2
"""ty looks at its start for folders that packages are imported from: by a package in one of these."""
_PACKAGE_KEYS = ("name", "type", "main", "module", "types", "typings", "typesVersions", "exports", "imports")
"""What of a package.json decides where an import leads. Dependencies lead to what is installed."""
_CARGO_KEYS = ("name", "edition", "autobins", "autoexamples", "autotests", "autobenches", "build", "links")
_CARGO_SECTIONS = ("workspace", "features", "lib", "patch", "replace", "target")
_CARGO_TARGETS = {"bin": "src/bin", "example": "examples", "test": "tests", "bench": "benches"}
_CRATE_VERSION = re.compile(r"-\d+\.\d+\.\d+")
"""Where it begins behind a crate's name: `md-5-0.11.0-rc.1`."""
_DEPENDENCIES = ("dependencies", "dev-dependencies", "build-dependencies")


@dataclass(frozen=True, slots=True)
class Touched:
    """How far changed configuration reaches. `files` ends with a slash where it means all below a folder."""

    everything: bool = False
    packages: frozenset[str] = frozenset()
    files: frozenset[RepoPath] = frozenset()

    def plus(self, other: Touched) -> Touched:
        return Touched(
            self.everything or other.everything, self.packages | other.packages, self.files | other.files
        )

    def has(self, path: RepoPath) -> bool:
        """Whether all sites of a file are touched."""
        return path in self.files or any(
            folder == b"/" or path.startswith(folder) for folder in self.files if folder.endswith(b"/")
        )

    def has_package(self, package: str) -> bool:
        """Whether a target's package is one of these, in any version: `module@v1.2.3`, `crate-1.2.3`."""
        return bool(self.packages) and not self.packages.isdisjoint(
            (package, package.partition("@")[0], _CRATE_VERSION.split(package, maxsplit=1)[0])
        )

    def imports(self, module: str) -> bool:
        """Whether an import, as it is written, leads into one of these packages."""
        parts, imported = re.split("::|/", module), self._imported
        return any("/".join(parts[:end]) in imported for end in range(1, len(parts) + 1))

    @property
    def _imported(self) -> frozenset[str]:
        """In Rust a dash is written as a line."""
        return self.packages | {name.replace("-", "_") for name in self.packages}


IsThere = Callable[[str, str], bool]
"""Whether a version of a package is on this machine."""
UNTOUCHED = Touched()
EVERYTHING = Touched(everything=True)


def is_configuration(family: str, path: bytes) -> bool:
    """Whether `path` configures the family's server: by its name, or as a variant (`tsconfig.base.json`)."""
    name = path.rsplit(b"/", 1)[-1]
    if family == "python" and name == b"__init__.py" and path.split(b"/", 1)[0] in _ROOTS:
        return path.count(b"/") <= _ROOT_DEPTH
    if family == "javascript" and name.startswith(b"tsconfig.") and name.endswith(b".json"):
        return True
    return name in _NAMES[family]


def touched(
    path: RepoPath, before: bytes | None, after: bytes | None, is_there: IsThere = lambda *_: True
) -> Touched:
    """How far a configuration reaches that was changed, or that came or went (`None`).

    Another version of a package reaches nothing when neither this nor that one `is_there`.
    """
    name = path.rsplit(b"/", 1)[-1]
    compared = partial(_go_mod, is_there=is_there) if name == b"go.mod" else _PARTS.get(name)
    if compared is None or before == after:
        return EVERYTHING if before != after else UNTOUCHED
    try:
        return compared(path, _text(before), _text(after))
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError):  # of another shape
        return EVERYTHING


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8")


def _existence(_: RepoPath, before: str | None, after: str | None) -> Touched:
    """That it is there counts, not what is in it."""
    return EVERYTHING if before is None or after is None else UNTOUCHED


def _pyproject(_: RepoPath, before: str | None, after: str | None) -> Touched:
    return EVERYTHING if _of_pyproject(before) != _of_pyproject(after) else UNTOUCHED


def _of_pyproject(text: str | None) -> Any:
    found = tomllib.loads(text or "")
    return (text is None, found.get("project", {}).get("requires-python"), found.get("tool", {}).get("ty"))


def _package_json(_: RepoPath, before: str | None, after: str | None) -> Touched:
    return EVERYTHING if _of_package(before) != _of_package(after) else UNTOUCHED


def _of_package(text: str | None) -> Any:
    if text is None:
        return None
    found = json.loads(text)
    return {key: found.get(key) for key in _PACKAGE_KEYS}


def _go_mod(_: RepoPath, before: str | None, after: str | None, is_there: IsThere) -> Touched:
    """Another version of a required module touches what is imported from it.

    A module that is absent is left out of what is loaded. Which version of it others require decides then,
    and that is the same before and after.
    """
    if before is None or after is None:
        return EVERYTHING
    sides = [set(statements(text)) for text in (before, after)]
    kept = [{each for each in side if each.verb in ("module", "replace", "exclude")} for side in sides]
    if kept[0] != kept[1]:
        return EVERYTHING
    versions = [{each.words[:2] for each in side if each.verb == "require"} for side in sides]
    replaced = {each.module for each in kept[0] if each.verb == "replace"}
    modules = {
        words[0]
        for words in versions[0] ^ versions[1]
        if len(words) < 2 or words[0] in replaced or is_there(*words)
    }
    return Touched(packages=frozenset((*modules, *map(escaped, modules))))  # as imports and as paths say it


def _cargo_toml(path: RepoPath, before: str | None, after: str | None) -> Touched:
    """A target that comes, goes or moves touches its file; another version of a crate what is its."""
    if before is None or after is None:
        return EVERYTHING
    old, new = tomllib.loads(before), tomllib.loads(after)
    if _of_cargo(old) != _of_cargo(new):
        return EVERYTHING
    crates = [_crates(each) for each in (old, new)]
    targets = [_targets(each) for each in (old, new)]
    folder = posixpath.dirname(path.decode("utf-8"))
    files = (posixpath.normpath(posixpath.join(folder, file)) for file in targets[0] ^ targets[1])
    return Touched(
        packages=frozenset(name for name, _ in crates[0] ^ crates[1]),
        files=frozenset(RepoPath(file.encode()) for file in files),
    )


def _cargo_lock(_: RepoPath, before: str | None, after: str | None) -> Touched:
    """Crates of the tree itself have no source there."""
    if before is None or after is None:
        return EVERYTHING
    found = (tomllib.loads(text).get("package", ()) for text in (before, after))
    locked = [{(each["name"], each["version"]) for each in crates if "source" in each} for crates in found]
    return Touched(packages=frozenset(name for name, _ in locked[0] ^ locked[1]))


def _of_cargo(found: Mapping[str, Any]) -> Any:
    package = found.get("package", {})
    dependencies = {
        kind: {name: _without_version(each) for name, each in found.get(kind, {}).items()}
        for kind in _DEPENDENCIES
    }
    return (
        {key: package.get(key) for key in _CARGO_KEYS},
        {key: found.get(key) for key in _CARGO_SECTIONS},
        dependencies,
    )


def _without_version(dependency: Any) -> Any:
    """A table of nothing but a version says the same as a string."""
    table = {} if isinstance(dependency, str) else dict(dependency)
    table.pop("version", None)
    return table


def _crates(found: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {
        (name, each if isinstance(each, str) else str(each.get("version")))
        for kind in _DEPENDENCIES
        for name, each in found.get(kind, {}).items()
    }


def _targets(found: Mapping[str, Any]) -> set[str]:
    """The files of the targets that are listed. Where one says no path, by cargo's rule."""
    return {
        each.get("path") or f"{folder}/{each['name']}.rs"
        for kind, folder in _CARGO_TARGETS.items()
        for each in found.get(kind, ())
    }


def _tsconfig(path: RepoPath, before: str | None, after: str | None) -> Touched:
    """It reaches what is below it. One at the top is extended by others."""
    if before is None or after is None or path.count(b"/") == 0:
        return EVERYTHING
    return Touched(files=frozenset((RepoPath(path.rsplit(b"/", 1)[0] + b"/"),)))


_PARTS: Mapping[bytes, Callable[[RepoPath, str | None, str | None], Touched]] = {
    b"pyproject.toml": _pyproject,
    b"package.json": _package_json,
    b"__init__.py": _existence,
    b"Cargo.toml": _cargo_toml,
    b"Cargo.lock": _cargo_lock,
    b"tsconfig.json": _tsconfig,
}
