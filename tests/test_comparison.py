"""What a comparison asks of two snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.query.comparison import queries
from views import Views, quick_folder


@pytest.mark.parametrize(("texts", "count"), [(["alpha beta", "", "gamma"], 200), (["", ""], 0), ([], 0)])
def test_as_many_queries_are_made_as_are_asked_for_where_there_are_terms(
    tmp_path: Path, texts: list[str], count: int
) -> None:
    repo = Repo(tmp_path / "repo")
    for number, text in enumerate(texts):
        repo.write(f"{number}.txt", text)
    repo.commit("one")
    with quick_folder() as folder:
        views = Views(folder, repo)
        views.repair()
        made = queries(views.side(), 200)
        assert made == queries(views.side(), 200)
        views.close()
    assert len(made) == count
    assert {word for query in made for word in query.split()} == set(" ".join(texts).split())
    assert all(1 <= len(query.split()) <= 5 for query in made)
