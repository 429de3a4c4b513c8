"""The caches in which Go and Cargo keep modules, outside of any checkout: what a tree can use of them.

What counts for a tree is which of the modules that it names are there. Where nothing in the tree names
versions (no go.sum, no Cargo.lock) cargo picks among all that are there, so all of them count.
A vendored tree needs no cache.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nibd.repair.private_tree.installed import Checkout, Findings, entries, stamp
from nibd.stores.types import RepoPath

ReadFile = Callable[[RepoPath], bytes | None]
"""Gives the bytes of a file of the tree; `None` when it has none."""
LOCK_FILES = frozenset({b"go.sum", b"Cargo.lock"})
"""Names of the files of a tree whose content says what of a cache counts."""
_VENDORED = b"vendor/modules.txt"
_MAX_BYTES = 4 << 20
"""A larger lock file is nobody's."""


@dataclass(frozen=True, slots=True)
class ModuleCaches:
    """Where they are, if the caller has any: `GOMODCACHE`, `CARGO_HOME`."""

    go_modules: Path | None = None
    cargo_home: Path | None = None


def find_go_modules(
    checkout: Checkout, caches: ModuleCaches, read: ReadFile, findings: Findings
) -> Path | None:
    """The module cache, identified by those of the modules of the tree's go.sum files that it has."""
    cache = caches.go_modules
    if cache is None or _VENDORED in checkout.tracked:
        return None
    download = cache / "cache" / "download"
    findings.watch(download)
    for path in _named(checkout, b"go.sum"):
        for module, version in _summed(_small(read, path)):
            archive = download / escaped(module) / "@v" / f"{escaped(version)}.zip"
            is_there = stamp(archive) != ""  # of a hostile name no more can be asked
            findings.identify(module, version, is_there)
            if not is_there:
                findings.watch(archive)
    return cache if cache.is_dir() else None


def find_crates(
    checkout: Checkout, caches: ModuleCaches, read: ReadFile, findings: Findings
) -> Path | None:
    """Cargo's home, identified by its configuration and the crates that the tree can use."""
    home = caches.cargo_home
    if home is None or not list(_named(checkout, b"Cargo.toml")):
        return None
    locked = {crate for path in _named(checkout, b"Cargo.lock") for crate in _locked(_small(read, path))}
    for configuration in (home / "config.toml", home / "config"):
        findings.watch(configuration)
        findings.identify_file(configuration)
    for folder in (home / "registry" / "cache", home / "git" / "checkouts"):
        findings.watch(folder)
        for inner in entries(folder):
            path = Path(inner.path)
            findings.watch(path)
            names = (each.name.removesuffix(".crate") for each in entries(path))
            usable = [name for name in names if folder.name == "checkouts" or not locked or name in locked]
            findings.identify(inner.name, *usable)
    return home if home.is_dir() else None


def escaped(name: str) -> str:
    """As Go's module cache writes upper-case letters: `!` and the lower-case one."""
    return re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", name)


def _named(checkout: Checkout, name: bytes) -> Iterator[RepoPath]:
    for path in sorted(checkout.tracked):
        if path == name or path.endswith(b"/" + name):
            yield RepoPath(path)


def _small(read: ReadFile, path: RepoPath) -> bytes:
    data = read(path) or b""
    return data if len(data) <= _MAX_BYTES else b""


def _summed(data: bytes) -> Iterable[tuple[str, str]]:
    """Modules whose code a go.sum has a checksum of, not only their go.mod."""
    found: dict[tuple[str, str], None] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        module, _, rest = line.partition(" ")
        version = rest.partition(" ")[0]
        is_plain = module and version and "\0" not in line and ".." not in f"{module}/{version}".split("/")
        if is_plain and not version.endswith("/go.mod") and not os.path.isabs(module):  # noqa: PTH117
            found[module, version] = None
    return found


def _locked(data: bytes) -> Iterator[str]:
    """Crates of a Cargo.lock, as the registry's cache calls them."""
    try:
        packages = tomllib.loads(data.decode("utf-8")).get("package", [])
        yield from [f"{each['name']}-{each['version']}" for each in packages if "source" in each]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return  # a lock file that cargo can't read either
