"""Which server may be asked about which tree, while its owner moves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from language_servers import Project
from nibd.repair.relations.holding import Holding, NotHeld
from nibd.repair.servers.server import LanguageServer
from nibd.stores.types import TreeId

OLD, NEW = TreeId("a" * 40), TreeId("b" * 40)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path, "python") as project:
        yield project


def ask(holding: Holding, tree: TreeId, meanwhile: Callable[[], None] = lambda: None) -> LanguageServer:
    """The server that is asked, while something else happens."""
    with holding.asking("python", tree) as server:
        meanwhile()
    return server


def test_a_question_that_is_out_while_the_server_moves_and_settles_has_no_answer(project: Project) -> None:
    def moved() -> None:
        holding.close("python", 0)
        holding.open("python", NEW, project.server)

    holding = Holding()
    holding.open("python", OLD, project.server)
    with pytest.raises(NotHeld, match="moved to another tree"):
        ask(holding, OLD, moved)
    assert ask(holding, NEW) is project.server


def test_so_it_is_when_the_server_came_back_to_the_tree(project: Project) -> None:
    def moved() -> None:
        for tree in (NEW, OLD):
            holding.close("python", 0)
            holding.open("python", tree, project.server)

    holding = Holding()
    holding.open("python", OLD, project.server)
    with pytest.raises(NotHeld, match="moved to another tree"):
        ask(holding, OLD, moved)


def test_a_server_that_is_found_at_the_same_tree_again_was_not_moved(project: Project) -> None:
    holding = Holding()
    holding.open("python", OLD, project.server)
    assert ask(holding, OLD, lambda: holding.open("python", OLD, project.server)) is project.server
    with pytest.raises(NotHeld, match="holds the tree aaaaaaaaaa, not bbbbbbbbbb"):
        ask(holding, NEW)


def test_a_dead_server_is_not_asked(project: Project) -> None:
    holding = Holding()
    holding.open("python", OLD, project.server)
    project.server.kill()
    with pytest.raises(NotHeld, match="being replaced"):
        ask(holding, OLD)
