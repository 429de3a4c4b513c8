"""Whether a path is a test's, by the names that people of all languages give to tests."""

from __future__ import annotations

import re

from nibd.stores.types import RepoPath

_FOLDERS = frozenset(
    {b"test", b"tests", b"testing", b"__tests__", b"testdata", b"spec", b"specs", b"e2e", b"unittests"}
)
_NAME = re.compile(
    rb"(?:test|tests|conftest)\.\w+|test_.*\.\w+|.*_tests?\.\w+|.*_spec\.\w+|.*[.-](?:test|spec)\.\w+|.+(?:Test|Tests|Spec)\.\w+"
)


def is_test(path: RepoPath) -> bool:
    *folders, name = path.split(b"/")
    return any(folder.lower() in _FOLDERS for folder in folders) or _NAME.fullmatch(name) is not None
