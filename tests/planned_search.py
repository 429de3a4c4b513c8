"""A repository's published views as ranked search reads them, and searches of each plan.

    with searchable(folder, repo) as views:
        views.hits("how is a parcel weighed", Plan.HYBRID, k=5)

Vectors are those of `views.vector_of`, of a query that of its own text; relations are `made_navigation`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from gitrepo import Repo
from made_navigation import PYTHON, add_relations
from nibd.query.expansion import Related
from nibd.query.filters import Filters, select
from nibd.query.forms import form_of
from nibd.query.hits import Hit
from nibd.query.navigation_view import CachedRelations
from nibd.query.planning import Capabilities, Plan, Wishes, planned
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.understanding import understand
from nibd.query.search import Found, Question, search
from nibd.stores.bitmap import Bitmap
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import read_rows
from nibd.stores.relations import RelationStore
from nibd.stores.structure import StructureStore
from nibd.stores.types import Level, TextId, View
from ranked_tree import tree_of
from views import Views, vector_of

ANYTHING = Filters()
ALL_IS_THERE = Capabilities(None)


@dataclass
class Searchable:
    """One snapshot. `related` is empty without relations."""

    tree: Tree
    dense: tuple[DenseStore, Bitmap] | None
    related: Related

    @property
    def structure(self) -> StructureStore:
        return self.tree.structure

    @property
    def listing(self) -> Bitmap:
        return self.tree.listing

    @cached_property
    def paths(self) -> list[bytes]:
        return sorted(path for _, path, _ in self.structure.paths(self.listing))

    def search(
        self,
        query: str,
        plan: Plan,
        level: Level | None = None,
        k: int = 10,
        offset: int = 0,
        filters: Filters = ANYTHING,
        widths: Mapping[str, int] | None = None,
    ) -> Found:
        form = form_of(query, understand(query))
        chosen = planned(form, Wishes(plan, widths or {}), ALL_IS_THERE)
        within = select(self.structure, self.listing, filters)
        digest = TextId(blake2b(query.encode(), digest_size=16).digest())
        vector = np.frombuffer(vector_of(digest), "<f4")
        return search(self, Question(query, chosen, level, k, offset, within, vector))

    def hits(self, *asked: Any, **more: Any) -> list[Hit]:
        """Those of `search`, which is asked the same."""
        return [*self.search(*asked, **more).hits]


def opened(views: Views, relations: RelationStore | None, resolution: int | None) -> Searchable:
    side = views.side()
    record = views.current().views[View.DENSE]
    dense = None
    if record.artifact is not None and record.coverage.done:
        path = views.folder.root / record.artifact.location
        dense = (DenseStore.open_reader(path.parent), read_rows(path))
    families = {} if relations is None else {PYTHON: (CachedRelations(relations), resolution)}
    related = Related(side.structure, side.listing, side.facts, families)  # type: ignore[arg-type]
    return Searchable(tree_of(side), dense, related)


@contextmanager
def with_relations(views: Views) -> Iterator[Searchable]:
    """What `views` shows, with relations."""
    snapshot = add_relations(views.folder, views.repo.path, views.current())
    with closing(RelationStore.open_reader(views.folder.relations)) as store:
        yield opened(views, store, snapshot.resolutions()[PYTHON])


@contextmanager
def searchable(folder: Path, repo: Repo) -> Iterator[Searchable]:
    """HEAD, all its views built."""
    with closing(Views(folder, repo)) as views:
        views.repair()
        with with_relations(views) as found:
            yield found
