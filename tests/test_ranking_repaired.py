"""Ranked answers of repaired views are those of a fresh build, to the last bit; so is the outline."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.query.comparison import queries
from nibd.query.hits import Hit
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.outline import Outline, outline
from nibd.query.ranking.rank import rank
from nibd.stores.bitmap import Bitmap
from nibd.stores.types import Level, RepoPath
from ranked_tree import tree_of
from views import Views, quick_folder

NAMES = ("parcel", "ledger", "queue", "worker", "index", "__init__", "plan", "test_plan", "zone")
FOLDERS = ("", "src/", "src/pkg/", "tests/", "web/", "docs/")
ENDINGS = ("py", "ts", "go", "h", "md")
IMPORTS = ("pkg.parcel", "./ledger", "src/pkg", "queue.h", "zone")
WORDS = ("load", "parsing", "Parcel", "weigh_parcel", "queue", "flush", "worker", "retries", "ledgerTotal")
ISSUE = """parsing of a parcel fails in `weigh_parcel`

See src/pkg/ledger.py and the queue worker.

```
  File "src/queue.py", line 3, in load
```
"""


def text(source: random.Random, ending: str) -> str:
    words = " ".join(source.choices(WORDS, k=source.randint(1, 20)))
    name, module = source.choice(WORDS), source.choice(IMPORTS)
    match ending:
        case "py":
            return f"import {module.strip('./').replace('/', '.')}\n\ndef {name}(x):\n    '''{words}'''\n"
        case "ts":
            return f"import x from '{module}';\nexport function {name}() {{ return '{words}'; }}\n"
        case "go":
            return f'package a\n\nimport "example.org/{module}"\n\n// {words}\nfunc {name}() {{}}\n'
        case "h":
            return f'#include "{module}"\n/* {words} */\nint {name}(void);\n'
        case _:
            return f"# {name}\n\n{words}\n"


def edit(repo: Repo, source: random.Random) -> None:
    """Some files are written, some removed, as one commit."""
    tracked = repo.git("ls-files").split()
    for _ in range(source.randint(1, 6)):
        ending = source.choice(ENDINGS)
        path = f"{source.choice(FOLDERS)}{source.choice(NAMES)}.{ending}"
        repo.write(path, text(source, ending))
    for path in source.sample(tracked, min(len(tracked), source.randint(0, 2))):
        repo.git("rm", "-q", "--ignore-unmatch", "-f", path)
    repo.commit(f"edit {source.random()}")


def answers(tree: Tree, asked: list[str]) -> list[list[Hit]]:
    return [rank(tree, query, level, 30).hits for query in asked for level in (None, *Level)]


@pytest.mark.parametrize("seed", range(3))
def test_after_many_transitions_answers_and_outline_are_those_of_a_fresh_build(
    tmp_path: Path, seed: int
) -> None:
    source = random.Random(seed)
    repo = Repo(tmp_path / "repo")
    for _ in range(4):
        edit(repo, source)
    with quick_folder() as folder:
        views = Views(folder, repo)
        before: tuple[Bitmap, Outline] | None = None
        for _ in range(5):
            edit(repo, source)
            views.repair(embed=False)
            side = views.side()
            made = outline(side.structure, side.listing)
            if before:
                remade = outline(side.structure, side.listing, before)
                assert remade == made
                made = remade  # with what it remembers
            before = (side.listing, made)
            tree = Tree(side.lexical, side.facts, side.structure, side.listing, made)
            asked = [*queries(side, 12), "how are parcels weighed", "weigh_parcel", ISSUE]
            found = answers(tree, asked)
        fresh = views.rebuilt()
        assert found == answers(tree_of(fresh.side()), asked)
        assert sum(map(len, found)) > 100
        fresh.close()
        views.close()


def test_an_outline_tells_what_lies_where_and_how_it_is_imported(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("pkg/__init__.py", "from pkg import job\nfrom pkg import job as other\n")
    repo.write("pkg/job.py", "import os.path\n")
    repo.write("Main.py", "import pkg.job\n")
    repo.commit("one")
    with quick_folder() as folder:
        views = Views(folder, repo)
        views.repair(embed=False)
        side = views.side()
        found = outline(side.structure, side.listing)
        views.close()
    assert found.by_folder == {b"": (b"Main.py",), b"pkg": (b"__init__.py", b"job.py")}
    assert found.by_name == {
        b"main.py": (b"Main.py",), b"__init__.py": (b"pkg/__init__.py",), b"job.py": (b"pkg/job.py",)
    }  # fmt: skip
    assert found.by_import == {
        b"Main": (b"Main.py",), b"pkg": (b"pkg/__init__.py",), b"job": (b"pkg/job.py",)
    }  # fmt: skip
    assert found.folders == {b"": (b"",), b"pkg": (b"pkg",)}
    assert found.modules[RepoPath(b"Main.py")] == ("pkg.job",)
    assert found.importing[b"job"] == 1
    assert found.has(b"pkg/job.py")
    assert not found.has(b"pkg/other.py")
