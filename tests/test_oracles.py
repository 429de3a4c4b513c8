"""What is published is not only equal to a rebuild, it is right: against witnesses that share no code.

Files against git, units and imports of Python against its own `ast`, scores against BM25 by brute
force. The sources are those of the standard library of the Python that runs the tests.
"""

from __future__ import annotations

import ast
import random
import shutil
import sysconfig
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bm25_oracle import OracleDocument, ranked
from gitrepo import Repo
from gitsources import diff_raw, ls_tree
from nibd.query import lexical
from nibd.repair.extract import extract
from nibd.stores.structure import StoredUnit
from nibd.stores.terms import tokenize
from nibd.stores.types import Facts, FileVersion, Import, Level, Skip, Unit, View
from views import Views, quick_folder

LIBRARY = Path(sysconfig.get_path("stdlib"))
PACKAGES = ("asyncio", "concurrent", "email", "http", "importlib", "logging", "unittest", "xml")
NEAR = 1e-9
HITS = 20

Found = tuple[str, str, int, int]
"""Qualified name, kind, the line where decorators or the statement begin, the last line."""


def library_files() -> list[Path]:
    found = [*LIBRARY.glob("*.py")]
    for package in PACKAGES:
        found += (LIBRARY / package).rglob("*.py")
    return sorted(found)


@pytest.mark.parametrize("part", range(4))
def test_units_and_imports_of_python_are_those_of_its_ast(part: int) -> None:
    compared = 0
    for path in library_files()[part::4]:
        data = path.read_bytes()
        facts = extract(data, "python")
        if isinstance(facts, Skip):
            continue
        tree = ast.parse(data)
        lines = data.decode().split("\n")
        units = [unit for unit in facts.units[1:] if unit.kind != "type"]  # this Python may not know them
        assert [_found(unit, lines) for unit in units] == list(_definitions(tree, "", False)), path
        assert sorted(map(_written, facts.imports)) == sorted(_imports(tree)), path
        compared += len(facts.units)
    assert compared > 1000


def _found(unit: Unit, lines: list[str]) -> Found:
    """A unit begins, and may end, with comment lines, which `ast` does not know: they are taken off."""
    first, last = unit.start_line, unit.end_line
    while lines[first - 1].lstrip().startswith("#"):
        first += 1
    while _is_comment(lines[last - 1]):
        last -= 1
    return (unit.qualified, unit.kind, first, last)


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _definitions(node: ast.AST, prefix: str, in_class: bool) -> Iterator[Found]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            is_class = isinstance(child, ast.ClassDef)
            qualified = f"{prefix}{child.name}"
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            kind = "class" if is_class else "method" if in_class else "function"
            yield (qualified, kind, first, child.end_lineno or 0)
            yield from _definitions(child, f"{qualified}.", is_class)
        else:
            yield from _definitions(child, prefix, in_class)


def _written(found: Import) -> tuple[str, int, int]:
    return (found.module, found.start_line, found.end_line)


def _imports(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno, node.end_lineno or 0) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ("." * node.level + (node.module or ""), node.lineno, node.end_lineno or 0)


@pytest.fixture(scope="module")
def history() -> Iterator[Views]:
    """Three commits of a small repository, each repaired from the one before: tags c1, c2, c3."""
    with quick_folder() as folder:
        repo = Repo(folder / "repo")
        for package in ("json", "logging"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(LIBRARY / package, repo.path / package, ignore=ignored)
        repo.write("NOTES.md", "# Notes\n\nHow to encode.\n\n## Handlers\n\nA handler has a formatter.\n" * 9)
        repo.write("log.txt", "".join(f"line {number} of the log file\n" for number in range(130)))
        repo.write("image.bin", b"\x89PNG\x00\x01")
        repo.write("notes.link", "to be a link")
        commits = [repo.commit("first")]
        repo.move("json/tool.py", "tools/json_tool.py")
        repo.remove("json/scanner.py")
        source = repo.file("logging/__init__.py").read_text()
        repo.write("logging/__init__.py", source.replace("def getLevelName", "def level_name_of"))
        repo.symlink("notes.link", "NOTES.md")
        commits.append(repo.commit("second"))
        repo.write("logging/extra.py", source.replace("Handler", "Receiver"))
        repo.write(".gitattributes", "logging/config.py linguist-generated\n")
        repo.file("json/encoder.py").chmod(0o755)
        commits.append(repo.commit("third"))
        with closing(Views(folder / "views", repo)) as views:
            for number, commit in enumerate(commits, 1):
                repo.git("tag", f"c{number}", commit)
                views.repair(commit)
            yield views


TAGS = ["c1", "c2", "c3"]


@pytest.fixture(params=TAGS)
def shown(request: pytest.FixtureRequest, history: Views) -> Views:
    """The history's views showing one of the commits, as repaired then."""
    assert history.repair(request.param).kept
    return history


def files_of(views: Views) -> list[tuple[FileVersion, list[StoredUnit]]]:
    structure, listing = views.stores.structure, views.side().listing
    return [(file, structure.units(file, row)) for row, file in structure.files(listing)]


def test_the_files_of_a_listing_are_those_that_git_lists(shown: Views) -> None:
    tree = shown.current().tree
    files = [file for file, _ in files_of(shown)]
    listed = sorted((file.path, file.mode, file.blob) for file in files)
    assert listed == [(entry.path, entry.mode, entry.blob) for entry in ls_tree(shown.repo, tree)]
    skipped = {file.path: file.skip for file in files if file.skip}
    expected = {b"image.bin": Skip.BINARY}
    if shown.repo.tree("c1") != tree:
        expected[b"notes.link"] = Skip.SYMLINK
    if shown.repo.tree("c3") == tree:
        expected[b"logging/config.py"] = Skip.GENERATED
    assert skipped == expected


@pytest.mark.parametrize(("old", "new"), [("c1", "c2"), ("c2", "c3"), ("c3", "c1")])
def test_what_changes_between_two_listings_is_what_git_says(history: Views, old: str, new: str) -> None:
    """And what a rule made of it: of the paths that Git doesn't name only the generated one differs."""
    versions = []
    for tag in (old, new):
        history.repair(tag)
        versions.append({file.path: file for file, _ in files_of(history)})
    before, after = versions
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    changed = {path for _, path, *_ in diff_raw(history.repo, old, new)}
    assert changed <= paths
    assert paths - changed == ({b"logging/config.py"} if "c3" in (old, new) else set())


def test_the_record_counts_what_is_there(shown: Views) -> None:
    files = files_of(shown)
    units = Counter(f"units:L{int(unit.level)}" for _, found in files for unit in found)
    languages = Counter(f"language:{file.language}" for file, _ in files if not file.skip)
    skips = Counter(f"skip:{file.skip.value}" for file, _ in files if file.skip)
    texts = {path: _text(shown, path) for path in (file.path for file, _ in files if not file.skip)}
    python = [text for path, text in texts.items() if path.endswith(b".py")]
    imports = [found for text in python for found in _imports(ast.parse(text))]
    lines = sum(text.count("\n") + (text[-1:] not in {"", "\n"}) for text in texts.values())
    snapshot = shown.current()
    counts = snapshot.views[View.STRUCTURAL].counts
    assert counts == {**units, **languages, **skips, "lines": lines, "imports": len(imports)}
    assert snapshot.files == {"total": len(files), "indexed": len(texts)}
    assert snapshot.views[View.LEXICAL].counts["files"] == len(texts)
    assert snapshot.views[View.LEXICAL].counts["documents"] == len(_unit_documents(shown))
    distinct = {unit.text_id for _, found in files for unit in found if unit.text_id}
    assert snapshot.views[View.DENSE].counts["texts"] == len(distinct)


@pytest.mark.parametrize("level", [None, *Level], ids=str)
def test_scores_and_order_are_those_of_brute_force(shown: Views, level: Level | None) -> None:
    documents = _file_documents(shown) if level is Level.FILE else _unit_documents(shown)
    side = shown.side()
    for query in _queries(documents):
        expected = ranked(documents, query, None if level is Level.FILE else level)
        hits = lexical.search(side.lexical, side.facts, query, level, HITS)
        assert len(hits) == min(HITS, len(expected)), query
        # Equal numbers summed in another order differ in their last bits, and ties with them.
        scores = dict(expected)
        for hit, (_, score) in zip(hits, expected, strict=False):
            assert hit.score == pytest.approx(score, abs=NEAR), query
            assert hit.score == pytest.approx(scores[hit.address.key], abs=NEAR), query
        order = [(-hit.score, hit.address.key) for hit in hits]
        assert order == sorted(order), query


def _queries(documents: list[OracleDocument]) -> list[str]:
    chosen = random.Random(7)
    made = ["encode", "handler formatter", "getLevelName level", "log", "json", "self self name"]
    for document in chosen.choices(documents, k=8):
        terms = [term for field in document.fields for term in field]
        made.append(" ".join(chosen.choices(terms, k=chosen.randint(1, 4))))
    return made


def _unit_documents(views: Views) -> list[OracleDocument]:
    """A document for each unit whose own lines have a term: those that no unit inside it has."""
    found = []
    for file, units in files_of(views):
        if file.skip:
            continue
        lines = _text(views, file.path).split("\n")
        path = _terms(file.path.decode())
        for unit in units:
            inside = (u for u in units if u.parent == unit.ordinal)
            taken = {number for u in inside for number in range(u.start_line, u.end_line + 1)}
            last = len(lines) if unit.level is Level.FILE else unit.end_line
            own = (lines[n - 1] for n in range(unit.start_line, last + 1) if n not in taken)
            body = _terms("\n".join(own))
            if body:
                fields = (body, _terms(unit.qualified), path)
                found.append(OracleDocument(unit.address_key, unit.level, fields))
    return found


def _file_documents(views: Views) -> list[OracleDocument]:
    return [
        OracleDocument(
            units[0].address_key,
            Level.FILE,
            (
                _terms(_text(views, file.path)),
                _terms("\n".join(unit.name for unit in units[1:])),
                _terms(file.path.decode()),
            ),
        )
        for file, units in files_of(views)
        if not file.skip
    ]


def _text(views: Views, path: bytes) -> str:
    tree = views.current().tree
    return views.repo.git_bytes("cat-file", "blob", tree.encode() + b":" + path).decode()


def _terms(text: str) -> list[str]:
    return list(tokenize(text))


def test_facts_know_the_lines_of_their_text() -> None:
    for path in library_files()[::40]:
        data = path.read_bytes()
        facts = extract(data, "python")
        if isinstance(facts, Facts):
            assert facts.lines == len(data.splitlines())
