"""Many transitions one after another: back to where they began, and on to what a rebuild gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from nibd.stores.types import Assurance
from relations_world import World, compared

LIB = """def greet(name):
    return polite(name)


def polite(name):
    return name.title()
"""
APP = "from lib import greet\nimport lib\n\n\ndef use():\n    lib.polite(greet(1))\n"
OTHER = "from lib import *\n\npolite(2)\n"


def test_a_deleted_module_leaves_its_importers_unresolved_and_its_return_restores_them(
    tmp_path: Path,
) -> None:
    with World(tmp_path, "python", {"lib.py": LIB, "app.py": APP, "other.py": OTHER}) as world:
        world.relate()
        first = world.contents()

        world.commit({"lib.py": None})
        made = world.relate()
        assert made.asked == {"app.py": "lib greet lib use lib polite greet", "other.py": "lib polite"}
        gone = world.contents()
        assert set(gone) == {b"app.py", b"other.py"}
        assert world.targets("app.py", "polite") == []
        assert world.verify()[1].differences == []

        world.commit({"lib.py": LIB})
        back = world.publish()
        kept = [each for each in world.stores.catalog.snapshots() if each.tree != back.tree]
        made = world.relate(base=kept)
        assert made.asked == {
            "app.py": "lib greet lib use lib polite greet",
            "lib.py": "greet name polite name polite name name title",
            "other.py": "lib polite",
        }
        assert compared(world.contents(), first) == []
        assert world.verify()[1].differences == []


def test_a_branch_switch_back_finds_what_was_stored(tmp_path: Path) -> None:
    with World(tmp_path, "python", {"lib.py": LIB, "app.py": APP}) as world:
        world.relate()
        first, record = world.repo.head(), world.current().relations["python"]
        world.commit({"lib.py": LIB.replace("title", "upper")})
        world.relate()

        made = world.relate(first)
        assert made.asked == {}
        assert world.current().relations["python"].artifact == record.artifact


def test_the_same_transition_forth_and_back_ten_times_ends_where_it_began(tmp_path: Path) -> None:
    with World(tmp_path, "python", {"lib.py": LIB, "app.py": APP, "other.py": OTHER}) as world:
        world.relate()
        one, before = world.publish(), world.contents()
        world.commit({"lib.py": LIB.replace("polite", "gentle"), "more.py": "from lib import gentle\n"})
        world.relate()
        two, after = world.publish(), world.contents()
        commits = {one.tree: world.repo.git("rev-parse", "HEAD~"), two.tree: world.repo.head()}
        resolutions = {each.tree: each.relations["python"].resolution for each in (one, two)}

        for _ in range(10):
            for base, target in ((two, one), (one, two)):
                made = world.relate(commits[target.tree], base=[base])
                assert made.record.resolution == resolutions[target.tree]
        assert compared(world.contents(), after) == []
        world.relate(commits[one.tree], base=[two])
        assert compared(world.contents(), before) == []
        assert world.relating.workspace.starts == 1


def test_a_chain_of_transitions_equals_a_rebuild_at_its_end(tmp_path: Path) -> None:
    chance = random.Random(3)
    edits = _edits(chance)
    with World(tmp_path, "python", {"m0.py": "def f0():\n    pass\n"}) as world:
        world.relate()
        for _ in range(25):
            world.commit(next(edits))
            world.relate()
            world.verify()
        wrong = world.differences()
        assert wrong == [], wrong
        assert world.current().relations["python"].assurance is Assurance.VERIFIED
        assert world.relating.workspace.starts == 1


def test_files_that_no_server_can_name_are_no_trouble(tmp_path: Path) -> None:
    """Odd names, a file without text, one that is broken, and lines that end in every way."""
    files = {
        "lib.py": LIB.replace("\n", "\r\n"),
        "app.py": 'from lib import polite\r\n\r\nx = "é🙂\\u2028"; polite(x)\r\n# \x0c\r\npolite(1)',
        "with space é.py": "from lib import greet\n\ngreet(1)\n",
        "broken.py": "from lib import greet\n\ndef f(:\n    greet(\n",
        "empty.py": "",
    }
    with World(tmp_path, "python", files) as world:
        world.relate()
        world.commit({"lib.py": "# é🙂\r\n" + files["lib.py"], "app.py": files["app.py"] + "\r\n"})
        world.relate()
        assert world.targets("app.py", "polite", 1) == ["lib.py:polite:polite"]
        assert world.targets("with space é.py", "greet", 1) == ["lib.py:greet:greet"]
        assert world.verify()[1].differences == []
        assert world.differences() == []


def _edits(chance: random.Random) -> Iterator[dict[str, str | None]]:
    """Modules that import, call, move, rename and forget each other's functions."""
    modules = {"m0.py": "def f0():\n    pass\n"}
    while True:
        path = f"m{chance.randrange(5)}.py"
        if len(modules) > 2 and path in modules and chance.random() < 0.15:
            del modules[path]
            yield {path: None}
            continue
        of, name = f"m{chance.randrange(5)}", f"f{chance.randrange(3)}"
        star = chance.choice([name, name, name, "*"])
        body = chance.choice([f"return {name}()", f"x = {name}\n    return x", "pass", f"{of}.{name}()"])
        defined = f"f{chance.randrange(3)}"
        parameter = chance.choice(["", name])
        text = f"import {of}\nfrom {of} import {star}\n\n\ndef {defined}({parameter}):\n    {body}\n"
        if chance.random() < 0.5:
            text = f"{modules.get(path, '')}\n\ndef {defined}():  # {chance.random()}\n    {body}\n"
        modules[path] = text
        yield {path: text}


def test_a_package_that_moves_below_src_is_found_there(tmp_path: Path) -> None:
    package = {"pkg/__init__.py": "", "pkg/a.py": "def alpha() -> int:\n    return 1\n"}
    main = "from pkg.a import alpha\n\nalpha()\n"
    with World(
        tmp_path, "python", {**package, "main.py": main, "pyproject.toml": "[project]\nname = 'x'\n"}
    ) as world:
        world.relate()
        moved = {f"src/{path}": text for path, text in package.items()} | dict.fromkeys(package, None)
        world.commit(moved)
        world.relate()
        assert world.differences() == []
