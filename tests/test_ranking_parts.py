"""Classes of paths, imports told from paths, and BM25F against its formula taken word by word."""

from __future__ import annotations

import pytest

from nibd.query.ranking.imports import imported_files
from nibd.query.ranking.outline import Outline, import_name, imported_name
from nibd.query.ranking.path_classes import asked_for, is_test, path_classes
from nibd.stores.types import RepoPath


@pytest.mark.parametrize(
    ("path", "language", "expected"),
    [
        ("src/app.py", "python", ""), ("tests/helper.py", "python", "test"),
        ("pkg/test_a.py", "python", "test"),
        ("a_test.go", "go", "test"), ("App.test.tsx", "tsx", "test"), ("src/AppTest.java", "java", "test"),
        ("a_spec.rb", "ruby", "test"), ("conftest.py", "python", "test"), ("latest.py", "python", ""),
        ("contest.py", "python", ""), ("testing_tools.py", "python", ""), ("attest/a.py", "python", ""),
        ("src/Latest.java", "java", ""), ("test_functions.bash", "bash", ""),
        ("SelfTest/a.cpp", "cpp", "test"),
        ("README.md", "markdown", "noncode"), ("examples/a.py", "python", "example"),
        ("docs/conf.py", "python", "doc"), ("asv_bench/a.py", "python", "bench"),
        ("vendor/a.go", "go", "vendored"), ("api/a.pb.go", "go", "generated"),
        ("dist/a.js", "javascript", "build"), ("js/a.min.js", "javascript", "generated"),
        ("extras/lib_amalgamated.hpp", "cpp", "generated"), ("src/admin.js", "javascript", ""),
        ("scripts/a.py", "python", "tool"), ("src/scripts/a.py", "python", ""),
        ("lib/legacy/a.ts", "typescript", "legacy"),
        ("docs/examples/a.md", "markdown", "doc example noncode"),
    ],
)  # fmt: skip
def test_a_path_has_classes(path: str, language: str, expected: str) -> None:
    classes = path_classes(RepoPath(path.encode()), language)
    assert classes == frozenset(expected.split())
    assert is_test(RepoPath(path.encode()), language) is ("test" in classes)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("add a test for it", "test"), ("the latest contest", ""), ("example in the docs", "example doc"),
        ("Benchmark of the script", "bench tool"), ("tokio::test does nothing", ""),
        ("date.test.ts fails", "test"), ("Run the tests. Twice", "test"),
    ],
)  # fmt: skip
def test_a_title_asks_for_classes(title: str, expected: str) -> None:
    assert asked_for(title) == frozenset(expected.split())


PATHS = (
    "pkg/__init__.py", "pkg/job.py", "pkg/sub/__init__.py", "pkg/sub/run.py", "other/job.py",
    "web/app.ts", "web/lib/index.ts", "web/view.tsx", "include/nib/queue.h", "src/queue.h", "src/queue.c",
    "cmd/main.go", "internal/store/a.go", "internal/store/a_test.go", "internal/store/b.go",
    "crates/x/src/lib.rs", "crates/x/src/plan.rs",
)  # fmt: skip


def outline_of(paths: tuple[str, ...]) -> Outline:
    folders: dict[bytes, list[bytes]] = {}
    names: dict[bytes, list[bytes]] = {}
    imports: dict[bytes, list[bytes]] = {}
    for path in sorted(path.encode() for path in paths):
        folder, _, name = path.rpartition(b"/")
        folders.setdefault(folder, []).append(name)
        names.setdefault(name.lower(), []).append(path)
        imports.setdefault(import_name(RepoPath(path)), []).append(path)
    by_last: dict[bytes, list[bytes]] = {}
    for folder in sorted(folders):
        by_last.setdefault(folder.rpartition(b"/")[2], []).append(folder)
    tables = [{k: tuple(v) for k, v in table.items()} for table in (folders, names, imports, by_last)]
    return Outline(*tables, {}, {})


@pytest.mark.parametrize(
    ("path", "language", "module", "expected"),
    [
        ("a.py", "python", "pkg.job", "pkg/job.py"),
        ("a.py", "python", "pkg.job.Job", "pkg/job.py"),
        ("a.py", "python", "pkg", "pkg/__init__.py"),
        ("a.py", "python", "os.path", ""),
        ("pkg/sub/run.py", "python", "..job", "pkg/job.py"),
        ("pkg/job.py", "python", ".sub", "pkg/sub/__init__.py"),
        ("web/app.ts", "typescript", "./lib", "web/lib/index.ts"),
        ("web/lib/index.ts", "typescript", "../view", "web/view.tsx"),
        ("web/app.ts", "typescript", "./view.js", "web/view.tsx"),
        ("web/app.ts", "typescript", "react", ""),
        ("src/queue.c", "c", "nib/queue.h", "include/nib/queue.h"),
        ("src/queue.c", "c", "queue.h", "include/nib/queue.h src/queue.h"),
        ("src/queue.c", "c", "<stdio.h>", ""),
        ("cmd/main.go", "go", "example.org/nib/internal/store", "internal/store/a.go internal/store/b.go"),
        ("cmd/main.go", "go", "fmt", ""),
        ("crates/x/src/lib.rs", "rust", "crate::plan::Plan", "crates/x/src/plan.rs"),
    ],
)
def test_imports_lead_to_files(path: str, language: str, module: str, expected: str) -> None:
    found = imported_files(RepoPath(path.encode()), language, [module], outline_of(PATHS))
    assert [each.decode() for each in found] == expected.split()


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("pkg.job", "job"), ("./lib/view.js", "view"), ("nib/queue.h", "queue"),
        ("crate::a::b", "b"), ("<x>", "x"),
        ("", ""), ("...", ""), ("example.org/x", "x"),
    ],
)  # fmt: skip
def test_the_last_component_of_an_import(module: str, expected: str) -> None:
    assert imported_name(module).decode() == expected
