"""Manifests that a server's launch reads, made to hurt: each is said, and none stops the others."""

from __future__ import annotations

from pathlib import Path

from nibd.repair.servers.driver import Installed, Options
from nibd.repair.servers.go_mod_text import copy, is_newer, statements
from nibd.repair.servers.typescript import launch


def test_a_package_json_that_is_nested_too_deep_is_said(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_bytes(b"[" * 100_000)
    made = launch(Installed(tmp_path / "tsc", "typescript 7"), tmp_path, Options(tmp_path / "cache"))
    assert made.limits == ("package.json is not JSON",)


def test_a_go_directive_with_any_number_of_digits_is_newer() -> None:
    digits = "9" * 10_000
    assert is_newer(f"1.{digits}", "1.24.4")
    assert is_newer(f"1.24.{digits}", "1.24.4")
    found = tuple(statements(f"module a.org/b\ngo 1.{digits}\n"))
    assert copy(found, "1.24.4", ()) == 'module "a.org/b"\ngo 1.24\n'
