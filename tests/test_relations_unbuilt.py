"""Files of the tree that a server does not build: unknown for certain, asked again when that may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from language_servers import Project
from nibd.repair.relations.view_records import Lacking, limits_of, what_lacks
from nibd.repair.servers import Unknown, driver_of_family
from nibd.repair.servers.gopls import may_be_left_out
from nibd.stores.relation_types import UNBUILT
from nibd.stores.snapshot import ViewRecord
from nibd.stores.types import Assurance, RepoPath, State
from relations_world import Made, World

TOOLS = "//go:build tools\n\npackage app\n\nfunc tool() string { return polite() }\n"
BUILT = TOOLS.replace("//go:build tools", "// always")
FILES = {
    "go.mod": "module example.org/app\n\ngo 1.20\n",
    "app.go": "package app\n\nfunc Greet() string { return polite() }\n",
    "lib.go": 'package app\n\nfunc polite() string { return "" }\n',
    "tools.go": TOOLS,
    "app_windows.go": "package app\n\nfunc system() string { return polite() }\n",
    "made.go": "//go:build ignore\n\npackage app\n\nfunc made() string { return polite() }\n",
    "sub/sub.go": 'package sub\n\nimport "example.org/app"\n\nvar X = app.Greet()\n',
}
SITES = 8
"""In each of tools.go and made.go four."""
REASON = (
    "nothing is known of 8 sites in 2 files that the build leaves out "
    "(by build constraints, cgo or names that go passes over), or whose names lead to more than 200 places"
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, "go", FILES) as made:
        yield made


def counted(made: Made) -> tuple[int, int]:
    return made.record.counts["unknown"], made.record.counts["unbuilt"]


def answers(world: World, path: str) -> list[object]:
    return [relation.answer for relation in world.contents()[RepoPath(path.encode())].relations]


def test_what_is_not_built_is_unknown_and_keeps_nothing_from_being_exact(world: World) -> None:
    made = world.relate()
    assert counted(made) == (SITES, SITES)
    assert answers(world, "tools.go") == answers(world, "made.go") == [UNBUILT] * (SITES // 2)
    assert world.targets("app_windows.go", "polite") == ["lib.go:polite:polite"]
    assert made.record.assurance is Assurance.EXACT
    assert not made.record.lacks_answers
    assert made.record.reason is not None
    assert REASON in made.record.reason
    assert made.record.counts["verified"] == made.record.counts["files"] == len(FILES) - 1


def test_it_is_not_asked_again_for_what_cannot_build_it(world: World) -> None:
    world.relate()
    world.commit({"sub/sub.go": FILES["sub/sub.go"] + "\nvar Y = X\n"})
    made = world.relate()
    assert set(made.asked) == {"sub/sub.go"}
    assert made.record.work["asked"] == made.sites_asked
    assert "asked_unknown" not in made.record.work
    assert counted(made) == (SITES, SITES)
    verified, run = world.verify()
    assert run.differences == []
    assert run.unanswered == 0
    assert verified.record.assurance is Assurance.VERIFIED
    assert verified.record.reason is not None
    assert REASON in verified.record.reason
    assert counted(verified) == (SITES, SITES)
    assert world.differences() == []


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"go.mod": FILES["go.mod"] + "\nrequire example.org/absent v1.0.0\n"}, id="go.mod"),
        pytest.param({"lib.go": FILES["lib.go"] + "\nfunc more() {}\n"}, id="beside"),
        pytest.param({"new.go": "package app\n"}, id="came"),
    ],
)
def test_it_is_asked_again_for_configuration_and_for_files_of_its_folder(
    world: World, files: dict[str, str]
) -> None:
    world.relate()
    world.commit(files)
    made = world.relate()
    assert made.record.work["asked_unknown"] == SITES
    assert {"tools.go", "made.go"} <= set(made.asked)
    assert counted(made) == (SITES, SITES)
    assert world.differences() == []


def test_it_is_known_once_it_is_built_and_unknown_again_afterwards(world: World) -> None:
    world.relate()
    world.commit({"tools.go": BUILT})
    made = world.relate()
    assert counted(made) == (SITES // 2, SITES // 2)
    assert world.targets("tools.go", "polite") == ["lib.go:polite:polite"]
    assert world.differences() == []
    world.commit({"tools.go": TOOLS})
    made = world.relate()
    assert counted(made) == (SITES, SITES)
    verified, run = world.verify()
    assert run.differences == []
    assert verified.record.assurance is Assurance.VERIFIED
    assert world.differences() == []


TAGGED = {
    "go.mod": FILES["go.mod"],
    "a.go": "package app\n\nfunc A() string { return helper() }\n",
    "b.go": "package app\n\nfunc B() string { return helper() }\n",
    "c.go": 'package app\n\nfunc helper() string { return "" }\n',
}
CRATE = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n[features]\nx = []\n',
    "src/lib.rs": "pub mod other;\n\npub fn here() -> u8 {\n    other::speak(1)\n}\n",
    "src/other.rs": "mod deep;\n\npub fn speak(n: u8) -> u8 {\n    deep::down(n)\n}\n",
    "src/other/deep.rs": "pub fn down(n: u8) -> u8 {\n    n\n}\n",
    "src/uses.rs": "pub fn twice() -> u8 {\n    crate::other::speak(2)\n}\n",
}
CRATE["src/lib.rs"] = "pub mod uses;\n" + CRATE["src/lib.rs"]


@pytest.mark.parametrize(
    ("family", "files", "path", "begin"),
    [
        pytest.param("go", TAGGED, "c.go", ("package", "//go:build foo\n\npackage"), id="go"),
        pytest.param(
            "rust", CRATE, "src/lib.rs", ("pub mod other", '#[cfg(feature = "x")]\npub mod other'), id="rust"
        ),
    ],
)
def test_what_is_built_or_left_out_by_a_commit_needs_no_verification(
    tmp_path: Path, family: str, files: dict[str, str], path: str, begin: tuple[str, str]
) -> None:
    with World(tmp_path, family, files) as world:
        world.relate()
        for text in (files[path].replace(*begin), files[path]):
            world.commit({path: text})
            world.relate()
            _, run = world.verify()
            assert run.differences == []
            assert world.differences() == []


def test_without_a_reason_in_the_file_it_is_an_accident(tmp_path: Path) -> None:
    with Project(tmp_path, "go", FILES) as project:
        place = project.place("tools.go", "polite")
        (answer,) = project.server.definitions([place])
        assert isinstance(answer, Unknown)
        assert answer.unbuilt
        leaves = project.driver.leaves_out
        assert leaves is not None
        other = replace(leaves, may_be=lambda path, text: False)
        project.server.driver = replace(project.driver, leaves_out=other)
        (answer,) = project.server.definitions([place])
        assert isinstance(answer, Unknown)
        assert not answer.unbuilt


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.go", "package a\n", False),
        ("a.go", "// Copyright\n\n//go:build x && !y\n\npackage a\n", True),
        ("a.go", "// +build x\n\npackage a\n", True),
        ("a.go", "package a\n\n//go:build x\n", False),
        ("a_plan9.go", "package a\n", True),
        ("a_arm64_test.go", "package a\n", True),
        ("linux.go", "package a\n", False),
        ("d/_a.go", "package a\n", True),
        ("_d/a.go", "package a\n", False),
        ("a.go", 'package a\n\nimport "C"\n', True),
        ("a.go", 'package a\n\nimport (\n\t"C"\n\t"fmt"\n)\n', True),
        ("a.go", 'package a\n\nvar c = "C"\n', False),
    ],
)
def test_what_go_may_leave_out(path: str, text: str, expected: bool) -> None:
    assert may_be_left_out(RepoPath(path.encode()), text) is expected


def test_one_site_in_one_file_is_said_in_the_singular() -> None:
    said = what_lacks(driver_of_family("go"), Lacking(1, 1, 1), ())
    assert said is not None
    assert "no answer for 1 site;" in said
    assert "nothing is known of 1 site in 1 file that" in said


def test_what_the_server_says_of_itself_is_also_had_apart() -> None:
    remarks = [f"module {number} is not there" for number in range(7)]
    limits = limits_of(remarks)
    said = what_lacks(driver_of_family("go"), Lacking(1, 1, 1), remarks)
    assert limits == "; ".join([*remarks[:5], "and 2 more of this kind"])
    assert said is not None
    assert said.endswith(f"; {limits}")
    assert limits_of([]) is None


def test_a_record_with_other_unknown_sites_lacks_answers() -> None:
    assert ViewRecord(State.READY, counts={"unknown": 3, "unbuilt": 2}).lacks_answers
    assert ViewRecord(State.READY, counts={"unknown": 1}).lacks_answers
    assert not ViewRecord(State.READY, counts={"unknown": 3, "unbuilt": 3}).lacks_answers
