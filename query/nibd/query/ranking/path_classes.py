"""What a file is by its path and language: a test, an example, generated, no code, and so on.

Folders and names are those that people of all languages give. One class never excludes another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from nibd.stores.types import RepoPath

CODE = frozenset(
    ["python", "typescript", "tsx", "javascript", "go", "rust", "c", "cpp", "java", "csharp", "ruby", "php",
     "kotlin", "swift", "scala", "bash"]
)  # fmt: skip
_FOLDERS: Mapping[str, frozenset[str]] = {
    name: frozenset(folders.split())
    for name, folders in {
        "test": """test tests testing __tests__ spec specs e2e testdata fixtures fixture __mocks__ mocks mock
            t testsuite unittest unittests integration_tests integration-tests test_data snapshots
            __snapshots__ testutil testutils""",
        "example": """example examples _examples sample samples demo demos tutorial tutorials docs_src
            playground cookbook""",
        "doc": "doc docs documentation website man site",
        "bench": """bench benches benchmark benchmarks asv_bench perf fuzz fuzzing oss-fuzz fuzzers""",
        "vendored": """vendor vendored third_party third-party thirdparty external externals extern
            node_modules _vendor deps 3rdparty bundled""",
        "build": """dist build out target amalgamation single_include single-header singleheader min
            minified""",
        "legacy": "legacy compat _compat deprecated",
    }.items()
}
_TOP_FOLDERS_OF_TOOLS = frozenset(
    ["tools", "tool", "scripts", "script", "ci", ".github", ".circleci", "hack", "build-scripts", "support",
     "util-scripts", "packaging", ".ci", "utils-dev", "cmake"]
)  # fmt: skip
_TEST_FOLDER = re.compile(r"(?:^|[-_.]|self|unit)tests?$|^tests?[-_]")
_BENCH_STEM = re.compile(r"(?:bench|benchmark)(?:[_-].*)?$|.*[_-](?:bench|benchmark)$")
_GENERATED = re.compile(
    r"(?:\.pb\.(?:gw\.)?go|_pb2(?:_grpc)?\.pyi?|\.pb\.(?:cc|h)|\.gen\.(?:go|ts)|_generated\.\w+"
    r"|\.generated\.\w+|^zz_generated.*|_gen\.go|_string\.go|bindata\.go|[._-](?:min|bundle)\.(?:js|css)"
    r"|.*amalgamat\w*\.\w+)$"
)
_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx"})
_TEST_PREFIX = frozenset({"python", "c", "cpp"})
_TEST_SUFFIX = frozenset({"python", "go", "c", "cpp", "rust", "ruby", "bash"}) | _ECMASCRIPT
_TEST_WHOLE = frozenset({"python", "rust", "go", "c", "cpp", "ruby"}) | _ECMASCRIPT
_TEST_CAMEL = frozenset({"java", "kotlin", "scala", "csharp", "php", "swift"})
_SUFFIX = re.compile(r"(?:_tests?|_spec)$")
_ECMASCRIPT_SUFFIX = re.compile(r"[.\-](?:tests?|spec|e2e|cy|stories)$")
_CAMEL_SUFFIX = re.compile(r"(?:Tests?|Spec|Suite|TestCase)$")

_ASKED_FOR = {
    name: re.compile(rf"(?<!::)\b(?:{words})\b(?!::)", re.IGNORECASE)
    for name, words in {
        "test": "tests?|testing|spec",
        "example": "examples?",
        "doc": "docs?|documentation",
        "bench": "bench(?:mark)?s?",
        "tool": "scripts?|tools?",
    }.items()
}
"""Not as a component of a name: whoever writes of `tokio::test` asks for no test. A point stands in names of
files too, such as `date.test.ts`, which is asked for."""


@lru_cache(maxsize=1 << 14)
def path_classes(path: RepoPath, language: str) -> frozenset[str]:
    """Its classes: `test`, `example`, `doc`, `bench`, `vendored`, `build`, `legacy`, `tool`, `noncode`,
    `generated`; none for an ordinary file."""
    *folders, name = path.decode(errors="replace").split("/")
    folders = [folder.lower() for folder in folders]
    original = name.rpartition(".")[0] or name
    stem = original.lower()
    found = {kind for kind, names in _FOLDERS.items() if not names.isdisjoint(folders)}
    if any(_TEST_FOLDER.search(folder) for folder in folders) or _is_test_name(stem, original, language):
        found.add("test")
    if stem in ("example", "examples"):
        found.add("example")
    if _BENCH_STEM.match(stem):
        found.add("bench")
    if folders and folders[0] in _TOP_FOLDERS_OF_TOOLS:
        found.add("tool")
    if language not in CODE:
        found.add("noncode")
    if _GENERATED.search(name.lower()):
        found.add("generated")
    return frozenset(found)


def is_test(path: RepoPath, language: str) -> bool:
    return "test" in path_classes(path, language)


def asked_for(title: str) -> frozenset[str]:
    """Classes that the first line of a query names: they are no fault of a file then."""
    return frozenset(name for name, pattern in _ASKED_FOR.items() if pattern.search(title))


def _is_test_name(stem: str, original: str, language: str) -> bool:
    """By the conventions of its language: `test_functions.bash` is no test."""
    return (
        stem.endswith((".test", ".tests"))
        or (language in _TEST_PREFIX and (stem.startswith("test_") or stem == "conftest"))
        or (language in _TEST_SUFFIX and _SUFFIX.search(stem) is not None)
        or (language in _ECMASCRIPT and _ECMASCRIPT_SUFFIX.search(stem) is not None)
        or (language in _TEST_WHOLE and stem in {"test", "tests"})
        or (language in _TEST_CAMEL and _CAMEL_SUFFIX.search(original) is not None)
    )
