"""A file whose name is not UTF-8: unknown for certain, said, and in nobody's way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from nibd.repair.relations.repair import MIN_ANSWERED, _require_answers
from nibd.repair.relations.resolve import Resolver
from nibd.repair.relations.view_records import Lacking, what_lacks
from nibd.repair.servers import ServerFailed, driver_of_family
from nibd.stores.relation_types import UNBUILT, Answer, FileRelations, Relation, RelationKind, Site
from nibd.stores.relations import RecordId, UnknownSites
from nibd.stores.types import Assurance, BlobId, RepoPath
from relations_world import World

ODD = b"b\xffd.py"
NAME = os.fsdecode(ODD)
FILES = {
    "lib.py": "def greet(name):\n    return name\n",
    "app.py": "from lib import greet\n\ngreet('you')\n",
    NAME: "from lib import greet\n\ngreet('me')\n",
}
SITES, SITES_OF_C = 3, 2
"""In the odd file."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, "python", FILES) as made:
        yield made


def answers(world: World, path: bytes) -> set[object]:
    return {relation.answer for relation in world.contents()[RepoPath(path)].relations}


def test_it_is_unknown_for_certain_and_all_else_is_known_as_if_it_were_not_there(world: World) -> None:
    made = world.relate()
    record = made.record
    assert answers(world, ODD) == {UNBUILT}
    assert world.targets("app.py", "greet") == ["lib.py:greet:greet"]
    assert record.assurance is Assurance.EXACT
    assert (record.counts["files"], record.counts["unknown"], record.counts["unbuilt"]) == (3, SITES, SITES)
    assert "3 sites in 1 file with a name that is not UTF-8" in str(record.reason)
    assert "UTF-8" not in str(record.limits)  # that is of no concern to other files

    world.repo.move("app.py", b"a\xffp.py")  # to such a name
    world.repo.move(ODD, "bad.py")  # and from one
    world.commit({os.fsdecode(b"d\xffr/new.py"): "import lib\n"})  # in such a folder, and later
    made = world.relate()
    assert answers(world, b"a\xffp.py") == answers(world, b"d\xffr/new.py") == {UNBUILT}
    assert world.targets("bad.py", "greet") == ["lib.py:greet:greet"]
    assert world.differences() == []

    verified, run = world.verify()
    assert (run.differences, run.unanswered) == ([], 0)
    assert verified.record.assurance is Assurance.VERIFIED
    assert "4 sites in 2 files with a name that is not UTF-8" in str(verified.record.reason)


def test_no_process_is_started_for_it_where_each_file_has_one(tmp_path: Path) -> None:
    use = '#include "lib.h"\nint {}(void) {{ return greet(1); }}\n'
    files = {"lib.h": "int greet(int);\n", "app.c": use.format("run"), "b\udcffd.c": use.format("odd")}
    with World(tmp_path, "c", files) as world:
        made = world.relate()
        server = world.relating.workspace.running("c")
        assert server is not None
        assert server.requests["textDocument/definition"] == made.sites_asked - SITES_OF_C
        assert answers(world, b"b\xffd.c") == {UNBUILT}
        assert world.targets("app.c", "greet") == ["lib.h:greet:greet"]
        assert made.record.assurance is Assurance.EXACT


def test_a_server_is_not_given_up_for_a_batch_of_such_files_alone() -> None:
    def batch(*answers: Answer) -> list[FileRelations]:
        site = Site(0, 1, "x", RelationKind.READ, 0)
        relations = tuple(Relation.of(site, answer) for answer in answers)
        return [FileRelations(RepoPath(ODD), BlobId("0" * 40), "python", relations)]

    class Unasked:
        unanswered = "not loaded"
        server = SimpleNamespace(driver=driver_of_family("python"))

    resolver = cast(Resolver, Unasked())
    _require_answers(batch(*[UNBUILT] * MIN_ANSWERED), resolver)
    _require_answers(batch(*[None] * (MIN_ANSWERED - 1)), resolver)
    with pytest.raises(ServerFailed, match=f"any of the first {MIN_ANSWERED} sites: not loaded"):
        _require_answers(batch(*[None] * MIN_ANSWERED, *[UNBUILT] * 9), resolver)


def test_what_a_build_leaves_out_and_what_has_such_a_name_are_told_apart() -> None:
    go = driver_of_family("go")
    unknown = [
        UnknownSites(RecordId(1), RepoPath(b"tools.go"), 0, 4),
        UnknownSites(RecordId(2), RepoPath(b"b\xffd.go"), 0, 3),
    ]
    told = what_lacks(go, Lacking.of(unknown), [])
    assert told is not None
    assert told.startswith("nothing is known of 4 sites in 1 file that the build leaves out (")
    assert told.endswith(
        "; nothing is known of 3 sites in 1 file with a name that is not UTF-8, which no server is told of"
    )
    python = driver_of_family("python")
    crowded = "nothing is known of 4 sites in 1 file whose names lead to more than 200 places"
    assert what_lacks(python, Lacking.of(unknown[:1]), []) == crowded
    assert Lacking.of(unknown).counts == {"unknown": 7, "unbuilt": 7}
