"""How far a changed configuration reaches, also one that nobody can make sense of."""

from __future__ import annotations

import pytest

from nibd.repair.relations.configuration import EVERYTHING, UNTOUCHED, touched
from nibd.stores.types import RepoPath

DEEP = b"[" * 100_000
LOCK = b'[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "registry"\n'


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("Cargo.lock", LOCK.replace(b'version = "1.0.0"\n', b"")),
        ("Cargo.lock", b"package = 7\n"),
        ("Cargo.toml", b"[[bin]]\n"),
        ("Cargo.toml", b"[dependencies]\na = 1\n"),
        ("Cargo.toml", b"bin = {}\nlib = [[\n"),
        ("package.json", DEEP),
        ("package.json", b"[]"),
        ("pyproject.toml", b"project = 1\n"),
        ("go.mod", b"require\nreplace =>\ngo\n\xff"),
    ],
)
def test_what_has_another_shape_reaches_everything(name: str, odd: bytes) -> None:
    path, usual = RepoPath(name.encode()), LOCK if name == "Cargo.lock" else b""
    assert touched(path, usual, odd) == touched(path, odd, usual) == EVERYTHING
    assert touched(path, odd, odd) == UNTOUCHED


def test_another_version_of_a_crate_reaches_what_refers_into_it() -> None:
    found = touched(RepoPath(b"Cargo.lock"), LOCK, LOCK.replace(b"1.0.0", b"1.1.0"))
    assert found.packages == {"a"}
    assert found.has_package("a-1.0.0")
    assert found.has_package("a-1.0.0-rc.1")
    assert not found.has_package("b-1.0.0")
    assert not found.has_package("a-b-1.0.0")
