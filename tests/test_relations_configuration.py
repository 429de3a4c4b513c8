"""How far a changed configuration reaches, also one that nobody can make sense of."""

from __future__ import annotations

from pathlib import Path

import pytest

from nibd.repair.relations.configuration import EVERYTHING, UNTOUCHED, touched
from nibd.stores.types import RepoPath
from relations_world import World

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


def go_mod(version: str, more: str = "") -> str:
    return f"module example.org/app\n\ngo 1.20\n\nrequire example.org/Dep {version}\n{more}"


def test_another_version_of_a_module_reaches_nothing_where_neither_is_there() -> None:
    path, before, after = RepoPath(b"go.mod"), go_mod("v1.0.0").encode(), go_mod("v1.1.0").encode()
    for there in ("v1.0.0", "v1.1.0"):
        found = touched(path, before, after, lambda module, version, there=there: version == there)
        assert found.packages == {"example.org/Dep", "example.org/!dep"}
    assert touched(path, before, after, lambda *_: False) == UNTOUCHED
    assert touched(path, before, before + b"require a.org/b v1.0.0\n", lambda *_: False) == UNTOUCHED


def test_what_is_replaced_counts_as_there() -> None:
    more = "replace example.org/Dep => ./dep\n"
    before, after = go_mod("v1.0.0", more).encode(), go_mod("v1.1.0", more).encode()
    assert touched(RepoPath(b"go.mod"), before, after, lambda *_: False).packages


def test_nothing_is_asked_for_another_version_of_an_absent_module(tmp_path: Path) -> None:
    source = 'package app\n\nimport "example.org/Dep"\n\nfunc Run() { Dep.Run() }\n'
    with World(tmp_path, "go", {"go.mod": go_mod("v1.0.0"), "app.go": source}) as world:
        world.relate()
        world.commit({"go.mod": go_mod("v1.1.0")})
        made = world.relate()
        assert made.asked == {}
        assert made.record.work["asked"] == 0
        _, verified = world.verify()
        assert verified.differences == []
        assert world.differences() == []
