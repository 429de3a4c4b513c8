"""relations.db does not grow with history: what only dropped snapshots held goes, and nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from language_servers import require
from live_world import LiveHome
from nibd.stores.collection import collect_relations
from nibd.stores.relations import RelationStore
from relation_stores import rows
from relations_world import World, compared
from test_relations_lifecycle import folder_of, logged
from waiting import wait_until

COMMITS = 50
KEPT = 2
LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\n\ndef use():\n    return greet(1)\n"
FILES = {"lib.py": LIB} | {f"app{number}.py": APP for number in range(4)}


def test_rows_are_bounded_over_fifty_commits(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        counted = []
        for number in range(COMMITS):
            world.commit({f"app{number % 4}.py": f"{APP}\n\nnumber_{number} = use()\n"})
            world.relate()
            world.stores.catalog.retire(world.stores.catalog.unneeded(KEPT))
            collect_relations(world.stores.catalog, world.relating.store)
            counted.append(rows(world.folder.relations))
        assert counted[-1]["resolution"] <= 2 * (KEPT + 2)
        for table, count in counted[-1].items():
            assert count <= 1.2 * counted[9][table] + 2, table
        wrong = world.differences()
        assert wrong == [], wrong


def test_what_was_made_and_is_not_published_yet_survives_a_collection(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        world.commit({"app1.py": f"{APP}\n\nuse()\n"})
        snapshot = world.publish()
        record = world.relating.relate(snapshot, "python", world.kept(), lambda _: None)
        collect_relations(world.stores.catalog, world.relating.store)
        world.put(record)
        with world.rebuilt() as fresh:
            assert compared(world.contents(), fresh.contents()) == []


@pytest.fixture
def home(tmp_path: Path) -> LiveHome:
    made = LiveHome(tmp_path, "python")
    settings = made.config.read_text().replace("[daemon]\n", "[daemon]\nkeep_snapshots = 0\n")
    made.config.write_text(settings)
    return made


def test_a_navigator_that_has_nothing_else_to_do_collects(home: LiveHome) -> None:
    require("python")
    with home:
        repo = home.repository({"lib.py": LIB, "app0.py": APP})
        home.related(repo)
        number = 0

        def has_collected() -> bool:
            nonlocal number
            number += 1
            repo.write("app0.py", f"{APP}\n\nnumber_{number} = use()\n")
            repo.commit()
            home.related(repo)
            return any(entry["resolutions"] for entry in logged(home, "relations_collected"))

        wait_until(has_collected, 240.0, "a collection")
        assert number <= 12
        wait_until(lambda: rows(folder_of(home).relations)["resolution"] <= 6, 60.0, "few resolutions")
        found = home.ask(repo, "references", name="greet", provider="static")
        assert found["total"] == 2
        with closing(RelationStore.open_reader(folder_of(home).relations)) as store:
            assert store.check() is None
