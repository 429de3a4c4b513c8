"""Published relations beside those of fresh servers: what differs, what varies, what can't be compared."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from language_servers import search
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.relations.aside import aside
from nibd.repair.relations.comparison import Told
from nibd.repair.relations.rebuild import Rebuild, Verdict
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.resolve import Resolver
from nibd.stores.facts import FactStore
from nibd.stores.relation_types import Relation, Target
from nibd.stores.structure import StructureStore
from nibd.stores.types import RepoPath
from relations_world import World, silent

LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\n\ndef use():\n    return greet(1)\n"
FILES = {"lib.py": LIB} | {f"app{number}.py": APP for number in range(3)}


class Fresh:
    """Rebuilds of a world's tree, and how many there were."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.runs = 0

    @contextmanager
    def made(self) -> Iterator[Relating]:
        self.runs += 1
        world = self.world
        structure = StructureStore.open_reader(world.folder.structure)
        facts = FactStore.open_reader(world.folder.facts, EXTRACTOR)
        source = open_source(world.repo.path)
        with tempfile.TemporaryDirectory(dir=world.folder.root) as folder:
            where = Path(folder)
            with aside(where, source, structure, facts, search(world.repo.path, where)) as relating:
                yield relating

    def verdict(self) -> Verdict:
        world, snapshot = self.world, self.world.current()
        record = snapshot.relations[world.family]
        assert record.resolution is not None
        store = world.relating.store
        told = Told(store, store.resolution(record.resolution))
        return Rebuild(snapshot, self.made, silent).compare(told, record, world.family)


def test_equal_relations_are_equal_in_records_and_in_requests(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        world.commit({"lib.py": "import os\n" + LIB})
        made = world.relate()
        fresh = Fresh(world)
        found = fresh.verdict()
        assert found.is_equal is True
        assert (found.compared.files, found.compared.sites) == (4, made.record.counts["sites"])
        assert found.compared.requests > 0
        assert fresh.runs == 1


def test_a_wrong_relation_is_named_and_a_third_run_shows_that_it_is_no_doing_of_the_server(
    tmp_path: Path,
) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        relations = world.contents()[RepoPath(b"app1.py")].relations
        wrong = Target("", RepoPath(b"app1.py"), "use", 0, "use", 3)
        world.plant("app1.py", len(relations) - 1, Relation(relations[-1].site, (wrong,)))
        fresh = Fresh(world)
        found = fresh.verdict()
        assert found.is_equal is False
        (difference,) = found.compared.listed
        assert (difference.path, difference.name, difference.kind) == ("app1.py", "greet", "other")
        assert (difference.ours, difference.theirs) == (
            ("app1.py::use#0 use@3",),
            ("lib.py::greet#0 greet@0",),
        )
        assert (fresh.runs, found.varying.count) == (2, 0)


def test_sites_in_which_two_fresh_servers_differ_are_left_out_and_named(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        fresh, ask = Fresh(world), Resolver.ask

        def fickle(resolver: Resolver, questions: object) -> object:
            answers = ask(resolver, questions)  # type: ignore[arg-type]
            if fresh.runs == 1:
                answers[0][0] = ()
            return answers

        with patch.object(Resolver, "ask", fickle):
            found = fresh.verdict()
        assert found.is_equal is True
        assert (fresh.runs, found.varying.count) == (2, 1)


def test_references_that_are_lost_between_equal_records_are_found(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        database = sqlite3.connect(world.folder.relations)
        of_file = "DELETE FROM mention WHERE file IN (SELECT id FROM file WHERE path = ?)"
        database.execute(of_file, (b"app2.py",))
        database.commit()
        database.close()
        found = Fresh(world).verdict()
        assert found.is_equal is False
        assert {each.kind for each in found.compared.listed} == {"request"}
        assert {each.path for each in found.compared.listed} == {"app2.py"}


def test_relations_of_other_tools_are_not_compared(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        with patch.object(Relating, "profile", lambda *_: "another"):
            found = Fresh(world).verdict()
        assert found.is_equal is None
        assert found.reason == "something else is installed now than what they were made with"
