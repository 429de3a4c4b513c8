"""What no type checker or linter says about how the code is laid out."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PORTIONS = ("bench", "daemon", "hooks", "ipc", "query", "repair", "stores", "systemd")
LOWER = tuple(portion for portion in PORTIONS if portion not in ("bench", "daemon"))
MOST_LINES = 600

READS_ENVIRONMENT = {
    "repair/nibd/repair/git/command.py": "git needs PATH, HOME and its configuration; the rest is removed",
    "repair/nibd/repair/git/source.py": "the same, for the children that read objects",
    "hooks/nibd/hooks/git.py": "the same: it decides which configuration counts",
}
"""Modules of the lower layers that may read the process's environment, each with the reason."""

MODULE_OF = {
    "pylsp_jsonrpc": "python-lsp-jsonrpc", "faiss": "faiss-cpu", "re2": "google-re2", "Stemmer": "pystemmer"
}  # fmt: skip
"""Imports whose distribution has another name."""
BROUGHT_ALONG = {"torch", "transformers", "huggingface_hub"}
"""By sentence-transformers: it is chosen, and these come with it."""


def modules(*portions: str) -> list[Path]:
    found = [file for portion in portions for file in sorted((ROOT / portion / "nibd").rglob("*.py"))]
    assert found
    return found


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def loaded_by(module: str) -> set[str]:
    """The top-level names of all modules that a fresh interpreter has after importing `module`."""
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("portion", PORTIONS)
def test_each_portion_shares_the_namespace_and_has_types(portion: str) -> None:
    root = ROOT / portion

    assert not (root / "__init__.py").exists()
    assert not (root / "nibd" / "__init__.py").exists(), "it would hide the other portions"
    assert [folder.name for folder in (root / "nibd").iterdir() if folder.name != "__pycache__"] == [portion]
    assert (root / "nibd" / portion / "__init__.py").is_file()
    assert (root / "nibd" / portion / "py.typed").is_file()


def test_the_portions_are_those_that_are_packaged() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]

    assert build["dev-mode-dirs"] == list(PORTIONS)
    assert build["targets"]["wheel"]["packages"] == [f"{portion}/nibd" for portion in PORTIONS]


def test_modules_are_short_and_say_what_they_are_for() -> None:
    for file in modules(*PORTIONS):
        text = file.read_text()
        assert text.count("\n") <= MOST_LINES, f"{relative(file)} is longer than {MOST_LINES} lines"
        if text.strip():
            assert ast.get_docstring(parsed(file)), f"{relative(file)} has no docstring"


@pytest.mark.parametrize("module", ["nibd.daemon.main", "nibd.daemon.cli", "nibd.daemon.indexer"])
def test_processes_load_no_model_library(module: str) -> None:
    assert not loaded_by(module) & {"torch", "transformers", "sentence_transformers", "faiss", "tokenizers"}


def test_the_embedder_loads_its_model_only_when_told() -> None:
    assert not loaded_by("nibd.daemon.embedder") & {"torch", "transformers", "sentence_transformers"}


def test_lower_layers_read_no_environment() -> None:
    reading = {relative(file) for file in modules(*LOWER) if any(_environment_reads(parsed(file)))}

    assert reading == set(READS_ENVIRONMENT)


def test_no_exception_is_swallowed_unseen() -> None:
    swallowed = [
        f"{relative(file)}:{handler.lineno}"
        for file in modules(*PORTIONS)
        for handler in ast.walk(parsed(file))
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler) and _does_nothing(handler)
    ]

    assert swallowed == []


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        re.split(r"[<>=\[ ]", each)[0].replace("-", "_")
        for each in [*project["dependencies"], *project["optional-dependencies"]["dense"]]
    }
    imported = {name for file in modules(*PORTIONS) for name in _imported(parsed(file))}
    foreign = imported - set(sys.stdlib_module_names) - {"nibd"} - BROUGHT_ALONG

    assert {MODULE_OF.get(name, name).replace("-", "_") for name in foreign} <= declared


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("import os\nos.environ['HOME']", True),
        ("import os\nos.getenv('HOME')", True),
        ("from os import environ", True),
        ("import os\nos.path.join('a', 'b')", False),
        ("environment['HOME']", False),
    ],
)
def test_reading_the_environment_is_recognised(source: str, reads: bool) -> None:
    assert any(_environment_reads(ast.parse(source))) is reads


@pytest.mark.parametrize(
    ("handler", "swallows"),
    [
        ("except Exception: pass", True),
        ("except: pass", True),
        ("except (ValueError, BaseException): ...", True),
        ("except Exception: continue", True),
        ("except Exception as error: report(error)", False),
        ("except ValueError: pass", False),
    ],
)
def test_a_swallowed_exception_is_recognised(handler: str, swallows: bool) -> None:
    tree = ast.parse(f"for x in y:\n try: f()\n {handler}")
    found = next(node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))

    assert (_is_broad(found) and _does_nothing(found)) is swallows


def _environment_reads(tree: ast.Module) -> Iterator[int]:
    names = {"environ", "environb", "getenv", "getenvb"}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in names:
                yield node.lineno
            case ast.ImportFrom(module="os", names=aliases) if names & {each.name for each in aliases}:
                yield node.lineno


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(each, ast.Name) and each.id in ("Exception", "BaseException") for each in caught)


def _does_nothing(handler: ast.ExceptHandler) -> bool:
    return all(
        isinstance(statement, ast.Pass | ast.Continue | ast.Break)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in handler.body
    )


def _imported(tree: ast.Module) -> Iterator[str]:
    """Top-level names of what a module imports anywhere, but for what `importlib` is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
