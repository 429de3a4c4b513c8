"""One transition of a small repository: the relations that it ends at, and the work that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nibd.stores.types import Assurance
from relations_world import Files, World, compared

CLASSES = """class A:
    def run(self):
        pass


class B:
    def run(self):
        pass
"""
"""What is reached through a thing of Python tells which of the two it is of."""


@dataclass(frozen=True)
class Scenario:
    """A transition, and the work that it takes.

    `asks` names the sites that the server is asked about, by path in the order of the text. `left` of the
    relations are not what a rebuild says when they are published as repaired: so many verification finds.
    `refers` has what some sites refer to afterwards: by `path name nth`, as `World.targets` says it.
    """

    name: str
    before: Files
    edits: Files
    asks: Mapping[str, str]
    left: int = 0
    refers: Mapping[tuple[str, str, int], list[str]] = field(default_factory=dict)
    family: str = "python"

    def __str__(self) -> str:
        return self.name


def play(scenario: Scenario, folder: Path) -> None:
    """Make the transition, compare its relations and its work, verify, and compare again."""
    with World(folder, scenario.family, scenario.before) as world:
        first = world.relate()
        assert first.record.assurance is Assurance.EXACT, first.record
        world.commit(scenario.edits)
        made = world.relate()
        repaired = world.contents()
        assert made.record.assurance is Assurance.REPAIRED, made.record
        _, verified = world.verify()
        with world.rebuilt() as fresh:
            expected = fresh.contents()
        wrong = compared(world.contents(), expected)
        assert wrong == [], wrong
        left = compared(repaired, expected)
        assert len(left) == len(verified.differences) == scenario.left, (left, verified.differences)
        assert made.asked == scenario.asks, made.asked
        assert made.record.work["asked"] == made.sites_asked
        for (path, name, nth), targets in scenario.refers.items():
            assert world.targets(path, name, nth) == targets, world.targets(path, name, nth)
