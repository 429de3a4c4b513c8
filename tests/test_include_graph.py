"""What a change of a C or C++ file can reach by what is included, and what it costs to find that."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from nibd.repair.relations.include_graph import IncludeGraph
from nibd.repair.relations.includes import Includes
from nibd.stores.structure import FileRow, StructureStore
from nibd.stores.types import RepoPath
from relations_world import World

INCLUDES = {
    "src/app.c": ['"lib.h"', "<stdio.h>"],
    "src/lib.c": ['"lib.h"'],
    "src/other.c": ["<string.h>"],
    "include/lib.h": ['"types.h"'],
    "include/types.h": [],
    "tests/deep/test.c": ['"../../include/lib.h"'],
    "src/generated.c": ["CONFIG_FILE"],
}


def reached(
    changed: Iterable[str], includes: Mapping[str, Sequence[str]], opaque: Iterable[str] = ()
) -> set[str]:
    graph = IncludeGraph()
    for path, modules in includes.items():
        graph.put(RepoPath(path.encode()), modules)
    for path in opaque:
        graph.put(RepoPath(path.encode()), None)
    return {path.decode() for path in graph.reached(RepoPath(each.encode()) for each in changed)}


def reach(*changed: str, opaque: tuple[str, ...] = ()) -> set[str]:
    """Left out is what includes by a macro, which everything reaches."""
    return reached(changed, INCLUDES, opaque) - {"src/generated.c"}


def test_a_source_that_nobody_includes_reaches_itself() -> None:
    assert reach("src/app.c") == {"src/app.c"}


def test_a_header_reaches_who_includes_it_by_any_way() -> None:
    users = {"include/lib.h", "src/app.c", "src/lib.c", "tests/deep/test.c"}
    assert reach("include/types.h") == {"include/types.h", *users}


def test_a_header_of_the_system_that_the_tree_has_too_may_be_meant() -> None:
    assert reach("compat/string.h") == {"compat/string.h", "src/other.c"}


def test_an_include_that_is_a_macro_may_mean_each_file() -> None:
    includes = {"a.c": ["CONFIG_FILE"], "b.h": ['"a.c"'], "c.c": ['"d.h"']}
    assert reached(["new.h"], includes) == {"new.h", "a.c", "b.h"}


def test_what_includes_a_list_of_unknown_content_is_always_reached() -> None:
    includes = {"a.c": ['"opcodes.def"'], "b.c": ['"b.h"']}
    assert "a.c" in reached(["x.h"], includes, ["lib/opcodes.def"])
    assert "b.c" not in reached(["x.h"], includes, ["lib/opcodes.def"])


def test_a_graph_that_files_came_to_and_went_from_is_that_of_those_that_are_left() -> None:
    graph = IncludeGraph()
    chance = random.Random(7)
    names = ["a.h", "b.h", "lib/a.h", "lib/list.def", "c.c", "lib/c.c"]
    written = ['"a.h"', '"lib/a.h"', '"list.def"', "<b.h>", '"../c.c"', "MACRO"]
    there: dict[str, list[str] | None] = {}
    for _ in range(400):
        name = chance.choice(names)
        if name in there:
            graph.drop(RepoPath(name.encode()))
        if there.pop(name, "none") == "none" or chance.random() < 0.5:
            there[name] = None if name.endswith(".def") else chance.sample(written, chance.randrange(4))
            graph.put(RepoPath(name.encode()), there[name])
        known = {path: modules for path, modules in there.items() if modules is not None}
        changed = chance.sample(names, 1)
        expected = reached(changed, known, there.keys() - known.keys())
        assert {
            path.decode() for path in graph.reached(RepoPath(each.encode()) for each in changed)
        } == expected


FILES = {
    "lib.h": "int greet(int n);\n",
    "inner/deep.h": '#include "../lib.h"\n',
} | {f"app{n}.c": '#include "inner/deep.h"\nint use(void) { return greet(1); }\n' for n in range(8)}


def test_a_repair_reads_the_includes_of_changed_files_alone(tmp_path: Path) -> None:
    with World(tmp_path, "c", FILES) as world:
        world.relate()
        read: list[int] = []
        imports = StructureStore.imports

        def noted(store: StructureStore, row: FileRow) -> object:
            read.append(row)
            return imports(store, row)

        with patch.object(StructureStore, "imports", noted):
            for n in range(2):
                world.commit({"lib.h": f"int greet(int n);\nint more{n};\n"})
                asked = world.relate().asked
                assert "lib.h" in asked
                assert len({*read}) == n + 2  # the versions of lib.h
        assert world.differences() == []


def test_what_was_known_of_a_tree_that_is_kept_no_more_is_not_used(tmp_path: Path) -> None:
    """The numbers of its files may have become those of others."""
    with World(tmp_path, "c", FILES) as world:
        world.relate()
        known = world.relating._included
        assert known is not None
        assert world.relating._taken_includes(world.kept()) is known[1]
        world.relating._included = known
        assert world.relating._taken_includes([]) is not known[1]


def test_what_is_known_of_one_tree_becomes_that_of_any_other(tmp_path: Path) -> None:
    with World(tmp_path, "c", FILES) as world:
        snapshots = [world.publish()]
        for files in (
            {"lib.h": None, "src/lib.h": "int greet(int n);\n"},
            {"inner/deep.h": "int greet(int n);\n", "app0.c": '#include "list.def"\n', "list.def": "X(1)\n"},
            {f"app{n}.c": None for n in range(8)} | {"other.cpp": '#include "deep.h"\n'},
        ):
            world.commit(files)
            snapshots.append(world.publish())
        structure = world.relating.structure
        listings = [structure.listing(snapshot.listing) for snapshot in snapshots]
        includes = Includes(structure)
        for old, new in [(0, 1), (1, 0), (0, 3), (3, 2), (2, 1), (1, 3)]:
            fresh = Includes(structure)
            found = includes.reached_between(listings[old], listings[new])
            assert found == fresh.reached_between(listings[old], listings[new])
            for listing in listings:
                assert includes.guesses(listing) == Includes(structure).guesses(listing)
        assert includes.guesses(listings[1]) != includes.guesses(listings[3])
        assert includes.reached_between(listings[0], listings[1]) == {
            b"lib.h", b"src/lib.h", b"inner/deep.h", *(f"app{n}.c".encode() for n in range(8))
        }  # fmt: skip
