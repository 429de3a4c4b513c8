"""What is installed counts for the family that uses it, and for no other; shared caches count by module."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from nibd.repair.private_tree import Dependencies, ModuleCaches, find_dependencies, stamp
from nibd.stores.types import RepoPath

GO_SUM = (
    b"example.org/Mixed v1.2.0 h1:abc=\n"
    b"example.org/Mixed v1.2.0/go.mod h1:def=\n"
    b"example.org/other v0.1.0/go.mod h1:ghi=\n"
)
CARGO_LOCK = b"""version = 3
[[package]]
name = "app"
version = "0.1.0"
[[package]]
name = "serde"
version = "1.0.1"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""


class Machine:
    """A checkout with files of a tree, and caches beside it."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.caches = ModuleCaches(folder / "go", folder / "cargo")
        self.download = folder / "go" / "cache" / "download"
        self.crates = folder / "cargo" / "registry" / "cache" / "index-1"
        for made in (self.checkout, self.download, self.crates):
            made.mkdir(parents=True)
        self.files: dict[bytes, bytes] = {}

    def find(self) -> Dependencies:
        return find_dependencies(
            self.checkout,
            lambda: [RepoPath(path) for path in self.files],
            self.checkout.parent / "work",
            now_s=4e9,
            caches=self.caches,
            read=self.files.get,
        )

    def changed_by(self, before: Dependencies) -> set[str]:
        """The families whose identity is another one now."""
        now = self.find().parts
        return {family for family, part in before.parts.items() if now[family].identity != part.identity}

    def noticed(self, before: Dependencies) -> set[str]:
        """The families of which something that is watched has changed."""
        return {
            family
            for family, part in before.parts.items()
            if any(stamp(path) != was for path, was in part.watched.items())
        }

    def put(self, path: Path, text: str = "") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_install_counts_for_its_own_family(machine: Machine) -> None:
    before = machine.find()
    machine.put(machine.checkout / "node_modules" / "left" / "package.json", "{}")

    assert machine.changed_by(before) == {"javascript"}
    assert machine.noticed(before) == {"javascript"}

    before = machine.find()
    machine.put(machine.checkout / ".venv" / "pyvenv.cfg", "version = 3.11.2\n")

    assert machine.changed_by(before) == {"python"}
    assert machine.noticed(before) == {"python"}

    before = machine.find()
    machine.put(machine.checkout / "compile_commands.json", "[]")

    assert machine.changed_by(before) == machine.noticed(before) == {"c"}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("example.org/!mixed/@v/v1.2.0.zip", {"go"}),
        ("example.org/other/@v/v0.1.0.zip", set()),  # of this only the go.mod is needed
        ("example.org/stranger/@v/v1.0.0.zip", set()),
    ],
)
def test_a_go_module_counts_where_the_tree_names_it(machine: Machine, name: str, counts: set[str]) -> None:
    machine.files = {b"go.mod": b"module app\n", b"go.sum": GO_SUM}
    before = machine.find()

    machine.put(machine.download / name)

    assert machine.changed_by(before) == counts
    assert machine.noticed(before) >= counts
    assert machine.find().go_modules == machine.caches.go_modules


def test_a_vendored_go_tree_needs_no_cache(machine: Machine) -> None:
    machine.files = {b"go.sum": GO_SUM, b"vendor/modules.txt": b""}
    before = machine.find()

    machine.put(machine.download / "example.org/!mixed/@v/v1.2.0.zip")

    assert machine.changed_by(before) == set()
    assert before.go_modules is None


@pytest.mark.parametrize(
    ("files", "crate", "counts"),
    [
        ({b"Cargo.toml": b"", b"Cargo.lock": CARGO_LOCK}, "serde-1.0.1.crate", {"rust"}),
        ({b"Cargo.toml": b"", b"Cargo.lock": CARGO_LOCK}, "serde-1.0.2.crate", set()),
        ({b"Cargo.toml": b""}, "serde-1.0.2.crate", {"rust"}),
        ({b"Cargo.toml": b"", b"Cargo.lock": b"[[package]]\nname = 1"}, "serde-1.0.2.crate", {"rust"}),
        ({b"a.py": b""}, "serde-1.0.1.crate", set()),
    ],
    ids=["locked", "another version", "not locked", "a lock file that can't be read", "no Rust"],
)
def test_a_crate_counts_where_the_tree_can_use_it(
    machine: Machine, files: Mapping[bytes, bytes], crate: str, counts: set[str]
) -> None:
    machine.files = dict(files)
    before = machine.find()

    machine.put(machine.crates / crate)

    assert machine.changed_by(before) == counts
    assert machine.noticed(before) >= counts


def test_hostile_lock_files_name_nothing_outside_the_cache(machine: Machine, tmp_path: Path) -> None:
    machine.files = {
        b"go.sum": b"../../../secret v1 h1:a=\n/etc v1 h1:b=\n" + b"a" * 5000 + b" v1 h1:c=\n\xff \0 x\n",
        b"Cargo.toml": b"",
        b"Cargo.lock": b"[" * 100_000,
    }

    watched = machine.find().parts["go"].watched

    assert all(Path(path).is_relative_to(tmp_path / "go") for path in watched), watched
    assert not any(".." in os.path.normpath(path) for path in watched)
