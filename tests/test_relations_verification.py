"""Verification of relations in steps: what is asked first, what an interruption keeps, what audits find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from nibd.repair.private_tree import ModuleCaches
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations import ask_again, audit, verify
from nibd.repair.relations.audit import Auditing
from nibd.repair.servers import room
from nibd.repair.servers.errors import Unknown
from nibd.repair.servers.registry import driver_of_family
from nibd.repair.servers.room import NoRoom
from nibd.repair.servers.server import LanguageServer
from nibd.stores.relation_types import Relation, Target
from nibd.stores.types import Assurance, RepoPath, TreeId
from nibd.stores.verifications import Account
from relations_world import World, compared

LIB = "def greet(name: str) -> str:\n    return name\n"
APP = "from lib import greet\n\n\ndef use():\n    greet('a')\n"
FILES = {"lib.py": LIB} | {f"app{number}.py": APP for number in range(5)}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a batch."""
    monkeypatch.setattr(ask_again, "BATCH_SITES", 1)


class Stop:
    """A reporter that has a verification stop after so many batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches
        self.asked = 0

    def __call__(self, progress: Progress) -> None:
        if progress.stage in ("verify", "audit"):
            self.asked += 1
            self.left -= 1
            if self.left == 0:
                raise Interrupted


def wrong(world: World, path: str) -> Relation:
    """Have the store say something wrong of the last site of a file; what it should say."""
    relations = world.contents()[RepoPath(path.encode())].relations
    target = Target("", RepoPath(path.encode()), "use", 0, "nobody", 7)
    world.plant(path, len(relations) - 1, Relation(relations[-1].site, (target,)))
    return relations[-1]


def repaired(world: World) -> None:
    """Have relations that were repaired, and nothing of them verified."""
    world.relate()
    world.commit({"other.txt": "words\n"})
    world.relate()


def account(world: World) -> Account:
    return world.relating.memory.accounts()["python"]


class TestInSteps:
    def test_an_interruption_keeps_what_was_corrected_and_says_how_far_it_came(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            right = world.contents()
            wrong(world, "app0.py")
            made, verified = world.verify(Stop(1))

            (difference,) = verified.differences
            assert difference.file.path == b"app0.py"
            assert made.record.assurance is Assurance.REPAIRED
            assert (made.record.counts["verified"], made.record.counts["files"]) == (1, 6)
            assert list(made.asked) == ["app0.py"]
            assert compared(world.contents(), right) == []

            made, verified = world.verify()
            assert "app0.py" not in made.asked
            assert len(made.asked) == 5
            assert verified.differences == []
            assert made.record.assurance is Assurance.VERIFIED
            assert made.record.counts["verified"] == 6
            assert made.record.work["differences"] == 1
            assert made.record.work["verify_asked"] == made.record.counts["sites"]

    def test_what_was_corrected_is_the_base_of_the_next_tree_also_where_nobody_published_it(
        self, tmp_path: Path
    ) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            right = world.contents()
            wrong(world, "app0.py")
            world.verifying.verify(world.current(), "python", Stop(1), world.kept())
            assert compared(world.contents(), right) != []

            world.commit({"more.txt": "words\n"})
            world.shut()
            world.open()
            world.relate()
            assert compared(world.contents(), right) == []

    def test_what_was_verified_whole_is_told_once_more_when_it_was_not_published_yet(
        self, tmp_path: Path
    ) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            wrong(world, "app0.py")
            snapshot = world.current()
            records = [
                world.verifying.verify(snapshot, "python", lambda _: None, world.kept())[0] for _ in range(2)
            ]
            assert records[0] == records[1]
            assert records[1].work["differences"] == 1

    def test_what_is_verified_already_is_verified_anew_when_that_is_asked_for(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            assert len(world.verify()[0].asked) == 6
            assert len(world.verify()[0].asked) == 6

    def test_what_was_published_and_is_right_after_all_is_the_newest_again(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            record = world.current().relations["python"]
            wrong(world, "app0.py")
            world.put(record)
            assert [len(world.verify()[1].differences) for _ in range(2)] == [1, 0]

    def test_what_was_made_while_something_was_installed_is_only_repaired(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            relating = world.relating
            world.relate()
            tree, caches = world.current().tree, ModuleCaches(tmp_path / "go", tmp_path / "cargo")
            relating.look(tree, world.repo.path, caches)
            made, _ = world.verify()
            assert relating.as_installed("python", tree, made.record) == made.record
            (world.repo.path / ".venv").mkdir()
            (world.repo.path / ".venv" / "pyvenv.cfg").write_text("home = /nonexistent\n")
            record = relating.as_installed("python", tree, made.record)
            assert (record.assurance, record.counts["verified"]) == (Assurance.REPAIRED, 0)
            world.put(record)
            relating.look(tree, world.repo.path, caches)
            assert len(world.verify()[0].asked) == 6

    def test_differences_are_published_before_all_is_verified(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world, patch.object(verify, "PUBLISH_S", 0.0):
            repaired(world)
            wrong(world, "app0.py")
            made, verified = world.verify()
            assert len(verified.differences) == 1
            assert made.record.counts["verified"] == 1
            assert world.verify()[0].record.assurance is Assurance.VERIFIED


class TestOrder:
    def test_what_a_transition_can_have_reached_comes_first_and_nearest(self, tmp_path: Path) -> None:
        files = {
            "lib.py": LIB,
            "through.py": "from lib import greet\n\n\ndef hello():\n    return greet('a')\n",
            "far.py": "from through import hello\n\n\ndef call():\n    hello()\n",
            "aside.py": "def none():\n    pass\n",
            "a_first.py": "x = 1\n",
        }
        with World(tmp_path, "python", files) as world:
            world.relate()
            world.commit({"lib.py": LIB.replace("-> str", "-> bytes")})
            world.relate()
            asked = [next(iter(world.verify(Stop(1))[0].asked)) for _ in range(3)]
            assert asked == ["lib.py", "through.py", "far.py"]

    def test_a_body_that_gives_back_the_same_reaches_nobody(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            world.relate()
            world.commit({"lib.py": LIB.replace("    return", "    print(name)\n    return")})
            world.relate()
            reached = world.verifying.reach(
                world.current(), "python", world.kept(), world.relating.known(world.current(), "python")
            )
            assert reached == {b"lib.py": 0}

    def test_what_was_reached_stays_first_when_a_newer_commit_comes(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES | {"a.py": "x = 1\n"}) as world:
            world.relate()
            world.commit({"lib.py": LIB + "\n\ndef more():\n    pass\n", "app3.py": APP + "\nuse()\n"})
            world.relate()
            asked = [*world.verify(Stop(1))[0].asked]
            world.commit({"a.py": "y = 2\n"})
            world.relate()
            asked += [path for _ in range(2) for path in world.verify(Stop(1))[0].asked]
            assert asked == ["app3.py", "a.py", "lib.py"]

    def test_a_stream_of_commits_starves_no_file(self, tmp_path: Path) -> None:
        files = {f"file{number:02}.py": f"value = {number}\n" for number in range(4)}
        with World(tmp_path, "python", files | {"busy.py": "n = 0\n", "user.py": "import busy\n"}) as world:
            world.relate()
            seen: set[str] = set()
            for number in range(1, 21):
                world.commit({"busy.py": f"n = {number}\nm{number} = n\n"})
                world.relate()
                made, verified = world.verify(Stop(1))
                assert not verified.is_whole
                seen.update(made.asked)
            assert seen == {*files, "busy.py", "user.py"}


class TestAccounts:
    def test_how_often_repair_alone_was_right_is_counted_across_restarts(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            world.verify()
            assert account(world) == Account(transitions=1, verified=1, right=1)

            world.commit({"more.txt": "words\n"})
            world.relate()
            wrong(world, "app0.py")
            world.verify()
            world.shut()
            world.open()
            assert account(world) == Account(transitions=2, verified=2, right=1, differing=1)

    def test_a_transition_that_is_not_verified_whole_is_neither_right_nor_wrong(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            wrong(world, "app0.py")
            world.verify(Stop(1))
            world.commit({"more.txt": "words\n"})
            world.relate()
            world.verify()
            assert account(world) == Account(transitions=2, verified=1, right=1, differing=1)


def audited(world: World, report: Callable[[Progress], None] = lambda _: None) -> audit.Audited:
    record, result = Auditing(world.verifying).audit(world.current(), "python", report, world.kept())
    world.put(record)
    return result


class TestAudits:
    def test_a_fresh_server_that_agrees_on_everything_makes_relations_exact(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            world.commit({"lib.py": "import os\n" + LIB})
            world.relate()
            world.verify()
            record = world.current().relations["python"]
            assert record.assurance is Assurance.VERIFIED
            auditing = Auditing(world.verifying)
            assert auditing.is_due(record, "python", 2)
            assert not auditing.is_due(record, "python", 3)
            assert not auditing.is_due(record, "python", 0)
            starts = world.relating.workspace.starts

            result = audited(world)
            assert (result.files, result.asked, result.differences) == (6, record.counts["sites"], [])
            record = world.current().relations["python"]
            assert record.assurance is Assurance.EXACT
            assert world.relating.workspace.starts == starts + 1
            assert world.relating.workspace.pids().keys() == {"python"}
            assert not auditing.is_due(replace(record, assurance=Assurance.VERIFIED), "python", 1)
            assert account(world).audits == account(world).audits_right == 1

    def test_what_a_fresh_server_says_otherwise_is_stored_and_the_warm_one_ends(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            world.verify()
            right, before = world.contents(), world.relating.workspace.pids()
            wrong(world, "app0.py")
            result = audited(world)
            (difference,) = result.differences
            assert difference.file.path == b"app0.py"
            assert compared(world.contents(), right) == []
            assert world.relating.workspace.pids() == {}
            assert world.current().relations["python"].assurance is Assurance.EXACT
            assert (account(world).audits, account(world).audits_right) == (1, 0)
            assert account(world).audit_differing == 1
            world.verify()
            assert world.relating.workspace.pids() != before

    def test_of_a_larger_family_what_was_reached_and_a_sample_is_asked(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world, patch.object(audit, "AUDIT_SITES", 12):
            world.relate()
            world.commit({"app4.py": APP + "\nuse()\n"})
            world.relate()
            world.verify()
            result = audited(world)
            assert 1 < result.files < 6
            assert world.current().relations["python"].assurance is Assurance.VERIFIED

            wrong(world, "app4.py")
            result = audited(world)
            assert [each.file.path for each in result.differences] == [b"app4.py"]
            record = world.current().relations["python"]
            assert (record.assurance, record.counts["verified"]) == (Assurance.REPAIRED, 0)
            made, _ = world.verify()
            assert (made.record.assurance, len(made.asked)) == (Assurance.EXACT, 6)

    def test_a_commit_stops_it_and_what_it_found_is_kept(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            world.verify()
            with pytest.raises(Interrupted):
                audited(world, Stop(2))
            assert account(world).audits == 0
            for path in FILES:
                if path != "lib.py":
                    wrong(world, path)
            assert audited(world, Stop(2)).differences
            assert world.current().relations["python"].assurance is Assurance.REPAIRED

    def test_what_it_found_and_nobody_published_is_no_more_verified(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            world.verify()
            right = world.contents()
            wrong(world, "app0.py")
            snapshot, kept = world.current(), world.kept()
            assert snapshot.relations["python"].assurance is Assurance.VERIFIED
            assert world.relating.corrected(snapshot, "python") is None
            _, found = Auditing(world.verifying).audit(snapshot, "python", lambda _: None, kept)
            assert len(found.differences) == 1

            record = world.relating.relate(snapshot, "python", kept, lambda _: None)
            assert record == world.relating.corrected(snapshot, "python")
            assert (record.assurance, record.counts["verified"]) == (Assurance.REPAIRED, 0)
            assert audited(world).differences == []
            assert world.current().relations["python"].assurance is Assurance.EXACT
            assert compared(world.contents(), right) == []
            assert world.relating.corrected(world.current(), "python") is None

    def test_it_is_not_begun_without_memory_for_a_second_server(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            world.verify()
            starts = world.relating.workspace.starts
            scarce = patch.object(room, "available_bytes", lambda: 100 << 20)
            with scarce, pytest.raises(NoRoom, match="100 MiB"):
                audited(world)
            assert world.relating.workspace.starts == starts
            assert world.current().relations["python"].assurance is Assurance.VERIFIED

    def test_a_driver_asks_for_one_after_a_change_of_many_files(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            world.relate()
            driver = replace(driver_of_family("python"), audit_after=1)
            with patch("nibd.repair.relations.relating.driver_of_family", lambda _: driver):
                world.commit({"app0.py": APP + "\nuse()\n"})
                world.relate()
                world.verify()
                auditing = Auditing(world.verifying)
                assert not auditing.is_due(world.current().relations["python"], "python", 20)
                world.commit({"app0.py": APP, "app1.py": APP + "\nuse()\n"})
                world.relate()
                world.verify()
                assert auditing.is_due(world.current().relations["python"], "python", 20)


class TestUnanswered:
    def test_sites_without_an_answer_keep_what_was_known_and_are_counted_apart(self, tmp_path: Path) -> None:
        with World(tmp_path, "python", FILES) as world:
            repaired(world)
            right, definitions = world.contents(), LanguageServer.definitions

            def some(server: LanguageServer, requests: object, **more: object) -> object:
                answers = definitions(server, requests, **more)  # type: ignore[arg-type]
                return [Unknown("it was busy") if n == 0 else each for n, each in enumerate(answers)]

            with patch.object(LanguageServer, "definitions", some):
                made, verified = world.verify()
            assert verified.unanswered == 6
            assert made.record.assurance is Assurance.PARTIAL
            assert (made.record.counts["unknown"], made.record.counts["unanswered"]) == (0, 6)
            assert "6 more could not be verified" in str(made.record.reason)
            assert compared(world.contents(), right) == []


def test_a_server_that_was_not_told_of_a_move_is_not_asked(tmp_path: Path) -> None:
    with World(tmp_path, "python", FILES) as world:
        world.relate()
        workspace = world.relating.workspace
        first = workspace.pids()["python"]
        world.commit({"lib.py": "def other():\n    pass\n"})
        snapshot = world.publish()

        def failing(server: LanguageServer, *_: object) -> None:
            raise OSError("no room to write its settings")

        with patch.object(LanguageServer, "changed", failing), pytest.raises(OSError, match="no room"):
            workspace.move(TreeId(snapshot.tree), lambda _: None)
        assert workspace.tree.holds(snapshot.tree)
        world.relate()
        assert workspace.pids()["python"] != first
        assert world.targets("app0.py", "greet") == []
