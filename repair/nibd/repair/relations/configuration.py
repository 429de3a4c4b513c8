"""Files of the tree that a language server reads as configuration: a change can move any relation.

Of those in which most has nothing to do with a server (a version, a script, a formatter's settings), only
the part that it reads counts, so that an ordinary release does not ask everything again.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

_NAMES: Mapping[str, tuple[bytes, ...]] = {
    "python": (b"pyproject.toml", b"ty.toml"),
    "javascript": (b"package.json", b"tsconfig.json", b"jsconfig.json"),
    "go": (b"go.mod", b"go.work", b"go.sum", b"modules.txt"),
    "rust": (b"Cargo.toml", b"Cargo.lock", b"rust-project.json"),
    "c": (b"compile_commands.json", b"compile_flags.txt", b".clangd"),
}
_ROOTS = (b"src", b"tests", b"python")
_ROOT_DEPTH = 2
"""ty looks at its start for folders that packages are imported from: by a package in one of these."""
_PACKAGE_KEYS = (
    "name", "type", "main", "module", "types", "typings", "typesVersions", "exports", "imports", "workspaces",
    "dependencies", "devDependencies", "peerDependencies", "optionalDependencies",
)  # fmt: skip


def is_configuration(family: str, path: bytes) -> bool:
    """Whether `path` configures the family's server: by its name, or as a variant (`tsconfig.base.json`)."""
    name = path.rsplit(b"/", 1)[-1]
    if family == "python" and name == b"__init__.py" and path.split(b"/", 1)[0] in _ROOTS:
        return path.count(b"/") <= _ROOT_DEPTH
    if family == "javascript" and name.startswith(b"tsconfig.") and name.endswith(b".json"):
        return True
    return name in _NAMES[family]


def what_counts(path: bytes, data: bytes) -> object:
    """The part of a configuration that a server reads, to be compared; all of it when it can't be told."""
    read = _PARTS.get(path.rsplit(b"/", 1)[-1])
    if read is None:
        return data
    try:
        return read(data.decode("utf-8"))
    except (ValueError, AttributeError, RecursionError):  # not what it is called, or of another shape
        return data


def _of_pyproject(text: str) -> Any:
    found = tomllib.loads(text)
    return (found.get("project", {}).get("requires-python"), found.get("tool", {}).get("ty"))


def _of_package(text: str) -> Any:
    found = json.loads(text)
    return {key: found.get(key) for key in _PACKAGE_KEYS}


_PARTS: Mapping[bytes, Callable[[str], Any]] = {
    b"pyproject.toml": _of_pyproject,
    b"package.json": _of_package,
    b"__init__.py": lambda _: None,  # that it is there counts, not what is in it
}
