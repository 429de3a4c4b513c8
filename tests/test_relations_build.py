"""The first relations of a repository: in what order, in what parts, and what a build that ended leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations import parts, relating, repair
from nibd.repair.relations.parts import MAX_PARTS
from nibd.repair.relations.recent import recently_committed
from nibd.repair.relations.relating import Building
from nibd.repair.relations.resolve import Question, Resolver, Targets
from nibd.stores.bitmap import Bitmap
from nibd.stores.snapshot import ViewRecord
from nibd.stores.types import Assurance, RepoPath, State
from relations_world import World, compared, silent

LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\n\ndef use():\n    return greet(1)\n"
FILES = {"lib.py": LIB} | {f"app{number:02}.py": APP for number in range(12)}
NAMES = [f"app{number:02}.py" for number in range(12)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small repository is asked about in several batches, each of one file."""
    monkeypatch.setattr(repair, "BATCH_SITES", 1)


class Stop:
    """Stops a build after so many batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def __call__(self, progress: Progress) -> None:
        if progress.stage == "python":
            self.left -= 1
            if self.left == 0:
                raise Interrupted


@contextmanager
def noted() -> Iterator[list[str]]:
    """The files that the server is asked about, in order."""
    paths: list[str] = []
    ask = Resolver.ask

    def asked(resolver: Resolver, questions: Sequence[Question]) -> list[list[Targets]]:
        paths.extend(question.file.path.decode() for question in questions)
        return ask(resolver, questions)

    with patch.object(Resolver, "ask", asked):
        yield paths


def order_of_build(world: World) -> list[str]:
    with noted() as paths:
        world.relate()
    return paths


def test_files_that_were_committed_lately_are_asked_about_first(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.commit({"app05.py": APP + "\n"})
        world.commit({"app09.py": APP + "\n", "notes.md": "x"})
        world.commit({"app07.py": APP + "\n", "app03.py": None})
        recent = [path.decode() for path in recently_committed(world.relating.source)]
        assert recent == ["app07.py", "app09.py", "notes.md", "app05.py"]
        asked = order_of_build(world)
        assert asked[:3] == ["app07.py", "app09.py", "app05.py"]
        assert asked[3:] == [*(name for name in NAMES if name not in {*asked[:3], "app03.py"}), "lib.py"]


def test_files_come_in_any_order_and_give_the_same(tmp_path: Path) -> None:
    contents = []
    for order in (NAMES, NAMES[::-1], ["lib.py", "app03.py"]):
        with World(tmp_path / str(len(contents)), "python", FILES) as world:
            paths = [RepoPath(name.encode()) for name in order]
            with patch.object(relating, "recently_committed", lambda _, paths=paths: paths):
                assert order_of_build(world)[: len(order)] == order
            contents.append(world.contents())
    for other in contents[1:]:
        assert compared(other, contents[0]) == []


def test_a_build_gives_out_what_it_has_in_a_few_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "FIRST_PART_S", 0.0)
    with World(tmp_path, "python", FILES) as world:
        given: list[ViewRecord] = []
        made = world.relate(building=Building(silent, given.append)).record

        assert (made.state, made.assurance, made.counts["unknown"]) == (State.READY, Assurance.EXACT, 0)
        assert [part.coverage.done for part in given] == list(range(1, MAX_PARTS + 1))
        whole = world.contents()
        for part in given:
            assert (part.state, part.assurance, part.coverage.of) == (
                State.BUILDING,
                Assurance.PARTIAL,
                len(FILES),
            )
            assert part.serves
            assert part.resolution is not None
            found = {f.path: f for _, f in world.relating.store.records(resolution(world, part))}
            assert len(found) == part.coverage.done
            assert found == {path: whole[path] for path in found}
            asked = sum(len(file.relations) for file in found.values())
            assert part.counts["sites"] == made.counts["sites"]
            assert part.counts["unknown"] == part.counts["unasked"] == made.counts["sites"] - asked


def resolution(world: World, record: ViewRecord) -> Bitmap:
    assert record.resolution is not None
    return world.relating.store.resolution(record.resolution)


@pytest.mark.parametrize("batches", [1, 6, 12])
def test_a_build_that_was_stopped_asks_nothing_again(tmp_path: Path, batches: int) -> None:
    with World(tmp_path, "python", FILES) as world:
        with noted() as first, pytest.raises(Interrupted):
            world.relate(report=Stop(batches))
        world.shut()
        world.open()

        second = order_of_build(world)
        assert len(first) == batches
        assert sorted([*first, *second]) == sorted(FILES)
        record = world.current().relations["python"]
        assert (record.assurance, record.counts["files"]) == (Assurance.EXACT, len(FILES))
        wrong = world.differences()
        assert wrong == [], wrong


def test_what_a_server_that_had_moved_was_asked_is_not_exact_when_a_fresh_one_ends_it(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        world.commit({"app05.py": APP + "\n\nuse()\n"})
        with pytest.raises(Interrupted):
            world.relate(base=[], report=Stop(4))  # the server has seen the tree before
        world.shut()
        world.open()

        made = world.relate(base=[]).record
        assert world.relating.workspace.is_fresh("python")
        assert (made.assurance, made.counts["unknown"]) == (Assurance.REPAIRED, 0)
        assert world.verify()[1].differences == []


def test_what_a_newer_tree_came_before_is_what_that_is_repaired_from(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        older = world.publish()
        world.relating.relate(older, "python", [], silent)  # the daemon cannot publish it any more
        world.commit({"app05.py": APP + "\n\nuse()\n"})
        made = world.relate()
        assert 0 < made.sites_asked < 10
        wrong = world.differences()
        assert wrong == [], wrong
