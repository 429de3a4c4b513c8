"""A small repository and what ranked search says of it.

    tree = ranked_tree(tmp_path, {"src/a.py": "def f(): ..."})
    tree.files("how is f done")       # paths, best first
    tree.units("f")                   # (path, qualified name), best first
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gitrepo import Repo
from nibd.query.comparison import Side
from nibd.query.hits import Hit
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.outline import outline
from nibd.query.ranking.rank import Ranking, rank
from nibd.stores.types import Level
from views import Views, quick_folder


def tree_of(side: Side) -> Tree:
    return Tree(
        side.lexical, side.facts, side.structure, side.listing, outline(side.structure, side.listing)
    )


class RankedTree:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def rank(
        self,
        query: str,
        level: Level | None = None,
        k: int = 20,
        widening: int = 1,
        without: Iterable[str] = (),
    ) -> Ranking:
        return rank(self.tree, query, level, k, widening=widening, without=frozenset(without))

    def files(self, query: str) -> list[str]:
        return [hit.path.decode() for hit in self.rank(query, Level.FILE).hits]

    def units(self, query: str, level: Level | None = Level.CALLABLE) -> list[tuple[str, str]]:
        return [named(hit) for hit in self.rank(query, level).hits]

    def evidence(self, query: str, path: str, without: Iterable[str] = ()) -> dict[str, float]:
        """Of one file."""
        ranking = self.rank(query, Level.FILE, without=without)
        at = [hit.path.decode() for hit in ranking.hits].index(path)
        return ranking.evidence()[at]


def named(hit: Hit) -> tuple[str, str]:
    return hit.path.decode(), hit.name


@contextmanager
def ranked_tree(tmp_path: Path, files: Mapping[str, str]) -> Iterator[RankedTree]:
    repo = Repo(tmp_path / "repo")
    for path, text in files.items():
        repo.write(path, text)
    repo.commit("one")
    with quick_folder() as folder:
        views = Views(folder, repo)
        views.repair(embed=False)
        yield RankedTree(tree_of(views.side()))
        views.close()
