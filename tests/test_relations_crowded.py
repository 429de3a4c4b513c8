"""A name that is bound again and again, each site of which leads to all bindings in ty's answers.

They are not asked about, and no long answer is kept; all else of the file is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from language_servers import Project
from nibd.repair.servers import Unknown
from nibd.repair.servers.server import MOST_PLACES
from nibd.stores.relation_types import UNBUILT
from nibd.stores.types import Assurance
from relations_world import World

TIMES = MOST_PLACES + 20
CROWDED = "from lib import greet\n" + "word = greet(word)\n" * TIMES
FILES = {
    "lib.py": "def greet(name):\n    return name\n",
    "app.py": "from lib import greet\n\ngreet(greet)\n",
    "made.py": CROWDED,
    "user.py": "import made\n\nmade.word\n",
}
REASON = "sites in 2 files whose names lead to more than 200 places"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, "python", FILES) as made:
        yield made


def unbuilt(world: World) -> dict[str, set[str]]:
    """By file the names of the sites of which nothing is known."""
    found = {
        path.decode(): {each.site.name for each in file.relations if each.answer is UNBUILT}
        for path, file in world.contents().items()
    }
    return {path: names for path, names in found.items() if names}


def test_what_is_bound_too_often_is_unknown_and_hardly_asked_about(world: World) -> None:
    world.commit({"made.py": "from lib import greet\n"})
    world.relate()
    server = world.relating.workspace.running("python")
    assert server is not None
    before = server.requests["textDocument/definition"]
    world.commit({"made.py": CROWDED})
    made = world.relate()
    assert server.requests["textDocument/definition"] - before < 2 * TIMES  # of `greet`, and probes
    assert unbuilt(world) == {"made.py": {"word"}, "user.py": {"word"}}
    assert made.record.counts["unknown"] == made.record.counts["unbuilt"] == 2 * TIMES + 1
    assert made.record.assurance is Assurance.REPAIRED  # not partial: asked again it would be the same
    assert made.record.reason is not None
    assert REASON in made.record.reason
    assert world.targets("made.py", "greet") == ["lib.py:greet:greet"]


def test_it_is_known_when_it_is_bound_less_often_as_a_rebuild_knows_it(world: World) -> None:
    world.relate()
    world.commit({"made.py": "from lib import greet\n" + "word = greet(word)\n" * 3})
    world.relate()
    assert world.differences() == []
    world.commit({"made.py": CROWDED + "\n"})
    world.relate()
    assert world.differences() == []
    assert unbuilt(world)["made.py"] == {"word"}


def test_a_long_answer_is_not_kept(tmp_path: Path) -> None:
    with Project(tmp_path, "python", FILES) as project:
        few, many = project.server.definitions(
            [project.place("made.py", "greet", 3), project.place("made.py", "word", 3)]
        )
    assert len(few) == 1
    assert isinstance(many, Unknown)
    assert many.unbuilt
