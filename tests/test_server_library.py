"""ty's own copy of the standard library is there before it is asked anything."""

from __future__ import annotations

from pathlib import Path

from language_servers import require
from nibd.repair.servers import ty_library
from nibd.repair.servers.driver import Options
from nibd.repair.servers.server import LanguageServer
from nibd.stores.types import RepoPath

SAME = 6
"""Requests for one module that are under way together."""


def test_the_first_answers_about_the_standard_library_are_those_of_later(tmp_path: Path) -> None:
    """Without `ty_library`, some of the first ones were empty in each of four runs."""
    driver, installed = require("python")
    names = [name for name in ty_library.modules(installed.program) for _ in range(SAME)]
    tree = tmp_path / "tree"
    tree.mkdir()
    lines = [f"import {name} as m{number}\n" for number, name in enumerate(names)]
    (tree / "app.py").write_text("".join(lines), encoding="utf-8")
    places = [(RepoPath(b"app.py"), number, len("import ")) for number in range(len(names))]

    with LanguageServer.start(driver, installed, tree, Options(cache=tmp_path / "cache")) as server:
        first, later = server.definitions(places), server.definitions(places)

    assert sum(map(bool, first)) > 600 * SAME
    assert first == later


def test_it_is_unpacked_once_for_a_cache(tmp_path: Path) -> None:
    driver, installed = require("python")
    options = Options(cache=tmp_path / "cache")
    assert driver.prepare is not None
    driver.prepare(installed, options)
    unpacked = {path: path.stat().st_ctime_ns for path in options.cache.rglob("*.pyi")}
    source = next(options.cache.glob("library-*/library.py"))
    written = source.stat().st_mtime_ns

    driver.prepare(installed, options)

    assert len(unpacked) > 600
    assert {path: path.stat().st_ctime_ns for path in options.cache.rglob("*.pyi")} == unpacked
    assert source.stat().st_mtime_ns == written
