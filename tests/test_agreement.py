"""How far static answers equal live ones: what is sampled, how it is counted, that it is kept and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from language_servers import FAMILIES, SAMPLES
from live_world import WAIT_S, LiveHome
from nibd.daemon.relations.agreeing import Agreeing
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations.agreement import OPERATIONS, Sampled, Tally, sample
from nibd.repair.relations.live import Live, LiveFiles
from nibd.repair.relations.source_file import SourceFile
from nibd.repair.syntax.units import file_unit
from nibd.stores.agreement import Agreement, Rate
from nibd.stores.facts import FactStore
from nibd.stores.relation_types import Relation, RelationKind
from nibd.stores.snapshot import ViewRecord, decode_view, encode_view
from nibd.stores.structure import StructureStore
from nibd.stores.types import BlobId, CommitId, FileVersion, RepoPath, State, TreeId
from relations_world import World, silent
from waiting import wait_until

LIB = """class Shape:
    def area(self):
        return helper(self)


def helper(shape):
    return shape
"""
APP = """from lib import Shape, helper


class Square(Shape):
    def area(self):
        return helper(self)
"""
FILES = {"lib.py": LIB, "app.py": APP}
TREE = TreeId("1" * 40)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world"), "python", FILES) as made:
        made.relate()
        yield made


def agreement(world: World, report: Any = silent) -> Agreement:
    files = LiveFiles(
        open_source(world.repo.path),
        StructureStore.open_reader(world.folder.structure),
        FactStore.open_reader(world.folder.facts, EXTRACTOR),
    )
    live = Live(world.relating.workspace.holding, files)
    try:
        snapshot = world.current()
        resolution = snapshot.relations[world.family].resolution
        assert resolution is not None
        agreeing = Agreeing(world.relating, live, snapshot, world.family, report)
        return agreeing.run(resolution, CommitId(world.repo.head()))
    finally:
        live.close()


def rate(found: Agreement, operation: str) -> Rate:
    (one,) = [each for each in found.rates if each.operation == operation]
    return one


def test_static_answers_equal_live_ones_where_every_site_was_asked(world: World) -> None:
    found = agreement(world)

    assert (found.tree, found.commit) == (world.current().tree, world.repo.head())
    assert {each.operation for each in found.rates} == set(OPERATIONS)
    for each in found.rates:
        assert (each.language, each.equal, each.unanswered) == ("python", each.asked, 0)
        assert each.asked > 0


def test_a_wrong_record_lowers_the_rate_and_how_is_counted(world: World) -> None:
    before = agreement(world)
    file = world.contents()[RepoPath(b"app.py")]
    index = next(
        n
        for n, each in enumerate(file.relations)
        if each.site.name == "helper" and each.site.kind is RelationKind.CALL
    )
    right = file.relations[index]
    try:
        world.plant("app.py", index, Relation(right.site, ()))
        after = agreement(world)
    finally:
        world.plant("app.py", index, right)

    definition = rate(after, "definition")
    assert definition.equal == rate(before, "definition").equal - 1
    assert (definition.fewer, definition.more, definition.other) == (1, 0, 0)
    assert rate(after, "references").fewer == 1
    assert rate(after, "references").asked == rate(before, "references").asked


def test_it_stops_between_two_places(world: World) -> None:
    told: list[Progress] = []

    def stop(progress: Progress) -> None:
        told.append(progress)
        if progress.stage == "agreement" and progress.done == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        agreement(world, stop)
    assert told[-1].done == 2


def test_a_server_that_does_not_offer_an_operation_has_no_rate_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = world.relating.workspace._running["python"].server
    monkeypatch.setattr(server, "_capabilities", {"referencesProvider": True})

    assert {each.operation for each in agreement(world).rates} == {"definition", "references"}


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "python"])
def test_each_server_says_live_what_was_stored_of_it(family: str, tmp_path: Path) -> None:
    with World(tmp_path, family, SAMPLES[family].files) as other:
        other.relate()
        found = agreement(other)

    for operation in ("definition", "references"):
        (one,) = [each for each in found.rates if each.operation == operation and each.asked]
        assert (one.equal, one.unanswered) == (one.asked, 0), found


# The plan, without a server


def source(path: bytes, names: int) -> SourceFile:
    """A file with as many functions."""
    content = b"".join(b"def f%d(): pass\n" % n for n in range(names))
    return SourceFile(RepoPath(path), BlobId(""), "python", content, (file_unit(content),))


def sampled(files: dict[bytes, int], size: int, tree: TreeId = TREE) -> list[Sampled]:
    sources = {path: source(path, names) for path, names in files.items()}
    versions = [FileVersion(RepoPath(path), BlobId(""), 0o100644, "python", None) for path in files]
    return sample(tree, "python", versions, lambda each: sources[each.path], ("definition",), size)


def test_places_are_spread_over_files_and_chosen_by_the_tree_alone() -> None:
    files = {b"%d.py" % n: 5 for n in range(8)}

    first = sampled(files, 8)
    again = sampled(dict(reversed(files.items())), 8)
    other = sampled(files, 8, TreeId("2" * 40))
    places = [[(each.file.path, each.site.start_byte) for each in some] for some in (first, again, other)]
    assert places[0] == places[1]
    assert places[0] != places[2]
    assert len({path for path, _ in places[0]}) == 8
    assert len(sampled({b"one.py": 3, b"two.py": 1}, 50)) == 4


def test_answers_are_compared_as_sets_of_lines() -> None:
    tally = Tally()
    (place,) = sampled({b"one.py": 1}, 1)
    a, b = (b"a.py", 1), (b"b.py", 2)
    for static, live in (({a}, {a}), ({a}, {a, b}), ({a, b}, {b}), ({a}, {b}), ({a}, None)):
        tally.compare(place, frozenset(static), None if live is None else frozenset(live))

    assert tally.rates() == (Rate("python", "definition", 4, 1, 1, 1, 1, 1),)


def test_records_with_and_without_an_agreement_are_read_again() -> None:
    plain = ViewRecord(State.READY)
    measured = replace(
        plain, agreement=Agreement(TREE, CommitId("c" * 40), (Rate("go", "references", 9, 8),))
    )

    for record in (plain, measured):
        assert decode_view(json.loads(json.dumps(encode_view(record)))) == record
    assert "agreement" not in encode_view(plain)


# The whole way


def test_it_is_measured_once_in_quiet_kept_and_handed_on(tmp_path: Path) -> None:
    with LiveHome(tmp_path) as home:
        repo = home.repository(FILES)
        home.related(repo)
        first = repo.head()

        def measured() -> Any:
            return home.relations(repo)["agreement"]

        wait_until(lambda: measured() is not None, WAIT_S, "agreement to be measured")
        found = measured()
        assert (found["commit"], found["tree"]) == (first, home.status(repo)["snapshot"]["tree"])
        assert {(each["language"], each["operation"]) for each in found["rates"]} == {
            ("python", operation) for operation in OPERATIONS
        }
        assert all(each["equal"] == each["asked"] for each in found["rates"])
        text = home.nibd("status", repo.path).out
        assert "relations python: static equalled live on 100% of" in text
        generation = home.status(repo)["snapshot"]["generation"]

        repo.write("more.py", "import lib\n\nlib.helper(1)\n")
        second = repo.commit()
        home.related(repo)
        assert measured()["commit"] in (first, second)
        wait_until(lambda: measured()["commit"] == second, WAIT_S, "agreement to be measured again")
        assert home.status(repo)["snapshot"]["generation"] > generation
