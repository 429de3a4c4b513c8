"""A search is planned on the one snapshot that it is answered from, found in one look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.daemon.views import RepositoryViews, Wanted
from nibd.daemon.ways import BY_TERMS, NEEDS, Meaning, Way, wanted, way_of
from nibd.query.forms import Form
from nibd.query.planning import Plan, Wishes
from nibd.stores.snapshot import Publication
from nibd.stores.types import ProfileId, View
from views import DENSE_PROFILE, MAIN, Views, quick_folder

AUTO = Wishes(None, {})
UNASKED = Meaning(DENSE_PROFILE)
KNOWN = Meaning(DENSE_PROFILE, b"a vector")
COLD = Meaning(DENSE_PROFILE, lacking="its model is being loaded")


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


@pytest.fixture
def made(folder: Path, repo: Repo) -> Iterator[Views]:
    with closing(Views(folder, repo)) as views:
        yield views


def two_published(made: Views) -> tuple[Publication, Publication]:
    """A commit with all views, then one whose texts have no vectors yet."""
    whole = made.repair().publication
    made.repo.write("b.py", "def beta():\n    return 'another text'\n")
    made.repo.commit("two")
    return whole, made.repair(embed=False).publication


def way(wishes: Wishes, meaning: Meaning, publication: Publication, form: Form = Form.PROSE) -> Way:
    return way_of(form, wishes, meaning, publication)


def test_the_planner_goes_by_the_snapshot_that_answers(made: Views) -> None:
    whole, pending = two_published(made)

    assert way(AUTO, UNASKED, whole).plan.plan is Plan.HYBRID
    assert way(AUTO, KNOWN, whole).plan.plan is Plan.HYBRID
    for meaning in (UNASKED, KNOWN):
        planned = way(AUTO, meaning, pending).plan
        assert planned.plan is Plan.LEXICAL
        assert planned.why[0].startswith("prose, but the dense view can't be used: ")
    assert way(AUTO, COLD, whole).plan.why == (
        "prose, but the dense view can't be used: its model is being loaded",
    )
    other = Meaning(ProfileId("another"), b"a vector")
    assert way(AUTO, other, whole).plan.plan is Plan.LEXICAL
    assert way(AUTO, KNOWN, whole, Form.IDENTIFIER).plan.plan is Plan.LEXICAL


@pytest.mark.parametrize(
    ("plan", "meaning", "used", "without"),
    [
        (Plan.LEXICAL, UNASKED, {View.LEXICAL}, set()),
        (Plan.DENSE, KNOWN, {View.DENSE}, set()),
        (Plan.HYBRID, KNOWN, {View.LEXICAL, View.DENSE}, set()),
        (Plan.HYBRID, COLD, {View.LEXICAL}, {View.DENSE}),
        (Plan.STRUCTURAL, UNASKED, {View.LEXICAL}, {View.STRUCTURAL}),
    ],
)
def test_what_can_be_done_without_is_known_to_be_missing(
    made: Views, plan: Plan, meaning: Meaning, used: set[View], without: set[View]
) -> None:
    found = way(Wishes(plan, {}), meaning, made.repair().publication)

    assert (set(found.uses), set(found.without)) == (used, without)
    assert found.asked is plan


def test_only_a_way_by_vectors_awaits_one(made: Views) -> None:
    whole, pending = two_published(made)

    assert way(AUTO, UNASKED, whole).awaits(UNASKED)
    assert not way(AUTO, KNOWN, whole).awaits(KNOWN)
    assert not way(AUTO, UNASKED, pending).awaits(UNASKED)
    assert not way(Wishes(Plan.HYBRID, {}), COLD, whole).awaits(COLD)


@pytest.mark.parametrize(
    ("plan", "meaning", "serves"),
    [
        (None, KNOWN, "newest"),
        (Plan.LEXICAL, KNOWN, "newest"),
        (Plan.HYBRID, KNOWN, "whole"),
        (Plan.HYBRID, COLD, "newest"),
        (Plan.DENSE, KNOWN, "whole"),
        (Plan.STRUCTURAL, UNASKED, "newest"),
    ],
)
def test_who_names_a_plan_may_get_an_older_snapshot_and_the_planner_never(
    made: Views, plan: Plan | None, meaning: Meaning, serves: str
) -> None:
    whole, pending = two_published(made)
    commit = {"whole": whole, "newest": pending}[serves].commit

    with (
        closing(RepositoryViews(made.stores.folder)) as views,
        views.preferred(MAIN, wanted(plan, meaning), None, DENSE_PROFILE) as reading,
    ):
        assert reading is not None
        assert reading.publication.commit == commit
        assert way(Wishes(plan, {}), meaning, reading.publication).uses <= {
            view for view in View if reading.snapshot.views[view].serves
        }


def test_the_first_wish_that_any_snapshot_meets_decides(made: Views) -> None:
    whole, pending = two_published(made)
    nothing = Wanted(NEEDS[Plan.DENSE], lambda _: False)

    with closing(RepositoryViews(made.stores.folder)) as views:
        for wishes, commit in (
            ([nothing, Wanted(NEEDS[Plan.DENSE]), BY_TERMS], whole.commit),
            ([nothing, BY_TERMS], pending.commit),
            ([nothing], None),
        ):
            with views.preferred(MAIN, wishes, None, DENSE_PROFILE) as reading:
                assert (reading and reading.publication.commit) == commit
