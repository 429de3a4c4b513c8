"""Unknown is not empty: servers that die, repairs that are stopped, and what verification finds wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations import asking, repair
from nibd.repair.relations.resolve import Question, Resolver, Targets
from nibd.repair.servers.errors import ServerFailed
from nibd.stores.relation_types import Relation, Target
from nibd.stores.types import Assurance, RepoPath, State
from relations_world import World, compared
from waiting import wait_until

LIB = "def greet(name):\n    return name\n"
APP = "from lib import greet\n\n\ndef use():\n    return greet(1)\n"
FILES = {"lib.py": LIB} | {f"app{number}.py": APP for number in range(6)}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small repository is asked about in several batches."""
    monkeypatch.setattr(repair, "BATCH_SITES", 5)


def kill(world: World) -> None:
    """Kill its server and wait until that is known, so that what is asked next meets a dead one."""
    server = world.relating.workspace._running[world.family].server
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not server.is_alive)


class Stop:
    """A reporter that stops after so many batches, by raising or by what `act` does."""

    def __init__(self, batches: int, act: object = None) -> None:
        self.left = batches
        self.act = act

    def __call__(self, progress: Progress) -> None:
        if progress.stage != "python":
            return
        self.left -= 1
        if self.left == 0:
            if callable(self.act):
                self.act()
            else:
                raise Interrupted


@contextmanager
def killing_at(world: World, *paths: str) -> Iterator[None]:
    """The server dies whenever it is asked about one of these files."""
    ask = Resolver.ask

    def asked(resolver: Resolver, questions: Sequence[Question]) -> list[list[Targets]]:
        if any(question.file.path.decode() in paths and question.indexes for question in questions):
            kill(world)
        return ask(resolver, questions)

    with patch.object(Resolver, "ask", asked):
        yield


def test_what_a_server_said_before_another_took_its_place_counts_as_its_own(tmp_path: Path) -> None:
    """Of a build by one that has seen another tree, and that ends between two answers."""
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        world.commit({"lib.py": "import os\n" + LIB})
        ask, first = Resolver.ask, world.relating.workspace.pids()

        def asked(resolver: Resolver, questions: Sequence[Question]) -> list[list[Targets]]:
            if world.relating.workspace.pids() != first:
                return ask(resolver, questions)
            answers = ask(resolver, questions[:1])
            kill(world)
            return answers + ask(resolver, questions[1:])

        with patch.object(Resolver, "ask", asked):
            made = world.relate(base=[])
        assert world.relating.workspace.pids() != first
        assert (made.record.counts["unknown"], made.record.assurance) == (0, Assurance.REPAIRED)


@pytest.mark.usefixtures("small_batches")
def test_a_server_that_is_killed_in_mid_repair_is_replaced_and_asked_what_it_left(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        world.commit({path: str(text).replace("greet", "hello") for path, text in FILES.items()})
        made = world.relate(report=Stop(2, lambda: kill(world)))
        assert (made.record.assurance, made.record.counts["unknown"]) == (Assurance.REPAIRED, 0)
        assert world.relating.workspace.starts == 2
        wrong = world.differences()
        assert wrong == [], wrong


@pytest.mark.usefixtures("small_batches")
def test_a_file_that_ends_the_server_each_time_leaves_its_batch_unknown_and_no_other(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        with killing_at(world, "app3.py"):
            made = world.relate()
        assert made.record.state is State.READY
        assert made.record.assurance is Assurance.PARTIAL
        left = {path.decode(): file.unknown for path, file in world.contents().items() if file.unknown}
        assert "app3.py" in left
        assert sum(left.values()) == made.record.counts["unknown"] < made.record.counts["sites"] / 2
        assert "the server is gone: it ended with signal 9" in str(made.record.reason)

        again = world.relate()
        assert again.sites_asked == sum(left.values())
        assert again.record.counts["unknown"] == 0
        wrong = world.differences()
        assert wrong == [], wrong


@pytest.mark.usefixtures("small_batches")
def test_a_build_whose_servers_all_end_fails_and_keeps_what_was_answered(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        with killing_at(world, *(f"app{number}.py" for number in range(2, 6))):
            made = world.relate()
        assert (made.record.state, made.record.artifact) == (State.FAILED, None)
        assert made.record.profile == world.relating.profile("python")
        assert "ty ended 4 times while it was asked" in str(made.record.reason)
        assert "signal 9" in str(made.record.reason)

        again = world.relate()
        assert "app0.py" not in again.asked
        assert again.record.state is State.READY
        assert again.record.counts["unknown"] == sum(file.unknown for file in world.contents().values())


@pytest.mark.usefixtures("small_batches")
def test_sites_that_a_server_left_unanswered_are_unknown_and_the_next_try_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MAX_ENDS", 0)
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        renamed = {path: str(text).replace("greet", "hello") for path, text in FILES.items()}
        world.commit(renamed)
        made = world.relate(report=Stop(2, lambda: kill(world)))

        assert made.record.state is State.READY
        assert made.record.assurance is Assurance.PARTIAL
        unknown = sum(file.unknown for file in world.contents().values())
        assert 0 < unknown == made.record.counts["unknown"] < made.record.counts["sites"]
        assert f"the language server gave no answer for {unknown} sites" in str(made.record.reason)

        again = world.relate()
        assert again.sites_asked == unknown
        assert (again.record.assurance, again.record.counts["unknown"]) == (Assurance.REPAIRED, 0)
        assert world.verify()[1].differences == []
        wrong = world.differences()
        assert wrong == [], wrong


def test_a_server_that_is_killed_between_two_trees_is_replaced(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        kill(world)
        world.commit({"lib.py": "import os\n" + LIB})
        made = world.relate()
        assert made.record.assurance is Assurance.REPAIRED
        assert world.relating.workspace.starts == 2
        kill(world)
        _, verified = world.verify()
        assert (verified.unanswered, verified.differences) == (0, [])


def test_a_verification_whose_server_dies_is_a_failure_and_changes_nothing(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        world.commit({"lib.py": "import os\n" + LIB})
        world.relate()
        before, ask = world.contents(), Resolver.ask

        def killing(resolver: Resolver, questions: object) -> object:
            kill(world)
            return ask(resolver, questions)  # type: ignore[arg-type]

        with patch.object(Resolver, "ask", killing), pytest.raises(ServerFailed, match="ty died"):
            world.verify()
        assert compared(world.contents(), before) == []


def test_a_file_that_the_clock_stopped_is_a_failure_and_not_one_without_sites(tmp_path: Path) -> None:
    long = {"long.py": "".join(f"name_{i} = {i}\n" for i in range(2_000))}  # the parser looks at the clock
    with World(tmp_path, "python", FILES | long) as world:
        world.publish()
        with patch("nibd.repair.syntax.parse.MAX_PARSE_SECONDS", -1.0):
            made = world.relate()
        assert (made.record.state, made.record.artifact) == (State.FAILED, None)
        assert "no time to parse long.py" in str(made.record.reason)

        assert world.relate().record.assurance is Assurance.EXACT


def test_a_server_that_does_not_start_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        broken = tmp_path / "ty"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o755)
        installed = world.relating.workspace._installed
        sound = installed["python"]
        installed["python"] = type(sound)(broken, sound.version)
        made = world.relate()
        assert (made.record.state, made.record.artifact) == (State.FAILED, None)
        assert "ty" in str(made.record.reason)

        installed["python"] = sound
        assert world.relate().record.assurance is Assurance.EXACT


@pytest.mark.usefixtures("small_batches")
def test_a_build_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        with pytest.raises(Interrupted):
            world.relate(report=Stop(3))
        assert world.publish().relations["python"].state is State.BUILDING
        world.shut()
        world.open()

        made = world.relate()
        assert made.record.state is State.READY
        assert 0 < made.sites_asked < made.record.counts["sites"]
        assert made.record.counts["files"] == len(FILES)
        wrong = world.differences()
        assert wrong == [], wrong


@pytest.mark.usefixtures("small_batches")
def test_a_repair_that_was_stopped_leaves_nothing_wrong(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        first, before = world.repo.head(), world.contents()
        world.commit({path: str(text).replace("greet", "hello") for path, text in FILES.items()})
        with pytest.raises(Interrupted):
            world.relate(report=Stop(2))
        assert world.current().relations["python"].state is State.BUILDING

        world.relate(first)
        assert compared(world.contents(), before) == []
        world.repo.git("checkout", "-q", "main")
        world.relate()
        assert world.verify()[1].differences == []


def test_a_wrong_relation_is_found_repaired_and_counted(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        before = world.contents()
        relations = before[RepoPath(b"app3.py")].relations
        last = len(relations) - 1
        wrong = Target("", RepoPath(b"app3.py"), "use", 0, "use", 0)
        world.plant("app3.py", last, Relation(relations[last].site, (wrong,)))
        assert len(compared(world.contents(), before)) == 1

        made, verified = world.verify()
        (difference,) = verified.differences
        assert (difference.file.path, difference.relation.targets) == (b"app3.py", (wrong,))
        assert difference.found == relations[last].targets
        assert made.record.work["differences"] == 1
        assert made.record.work["verify_asked"] == made.record.counts["sites"]
        assert compared(world.contents(), before) == []
        assert world.verify()[0].record.work["differences"] == 0


@pytest.mark.parametrize(
    ("edited", "all_is_asked"),
    [
        ('[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.12"\n', True),
        ('[project]\nname = "x"\nversion = "2"\nrequires-python = ">=3.9"\n', False),
    ],
)
def test_configuration_asks_everything_where_the_server_reads_it(
    edited: str, all_is_asked: bool, tmp_path: Path
) -> None:
    project = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.9"\n'
    app = "import sys\nfrom lib import greet\n\nif sys.version_info >= (3, 11):\n    greet(1)\n"
    with World(tmp_path, "python", {"pyproject.toml": project, "lib.py": LIB, "app.py": app}) as world:
        world.relate()
        world.commit({"pyproject.toml": edited})
        made = world.relate()
        assert made.sites_asked == (made.record.counts["sites"] if all_is_asked else 0)
        _, verified = world.verify()
        assert verified.differences == []
        wrong = world.differences()
        assert wrong == [], wrong
