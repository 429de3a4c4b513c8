"""Which way a search is answered: its plan as far as one publication allows it. Pure.

Whoever names a plan gets it, from an older snapshot if need be. Two plans have a part that can be done
without: hybrid is answered by terms where the query has no vector or no snapshot has vectors, structural
where none has relations. The planner goes by the newest snapshot alone: whether its dense view is whole, and
whether there is a vector to be had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nibd.daemon.views import Wanted, serves
from nibd.query.forms import Form
from nibd.query.planning import Capabilities, Plan, Planned, Wishes, planned
from nibd.stores.snapshot import Publication
from nibd.stores.types import ProfileId, State, View

NEEDS: Mapping[Plan, frozenset[View]] = {
    Plan.LEXICAL: frozenset({View.LEXICAL}),
    Plan.DENSE: frozenset({View.DENSE}),
    Plan.HYBRID: frozenset({View.LEXICAL, View.DENSE}),
    Plan.STRUCTURAL: frozenset({View.LEXICAL, View.STRUCTURAL}),
}
BY_TERMS = Wanted(NEEDS[Plan.LEXICAL])


@dataclass(frozen=True, slots=True)
class Meaning:
    """The query's vector, or why there is none; with neither it can be had, which takes its time.

    `profile` is that of the model.
    """

    profile: ProfileId
    vector: bytes | None = None
    lacking: str | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """How a request is answered: as `plan` says. `asked` is the plan without what was to be done without."""

    plan: Planned
    asked: Plan

    @property
    def uses(self) -> frozenset[View]:
        return NEEDS[self.plan.plan]

    @property
    def without(self) -> frozenset[View]:
        """Views that were asked for."""
        return NEEDS[self.asked] - self.uses

    def awaits(self, meaning: Meaning) -> bool:
        """Whether it can't be gone before the query has its vector."""
        return View.DENSE in self.uses and meaning.vector is None


def wanted(plan: Plan | None, meaning: Meaning) -> Sequence[Wanted]:
    """Which publications answer, by preference; `plan` is the one asked for (`None`: the planner's)."""
    match plan:
        case Plan.DENSE:
            return [Wanted(NEEDS[plan])]
        case Plan.HYBRID if meaning.lacking is None:
            return [Wanted(NEEDS[plan]), BY_TERMS]
        case Plan.STRUCTURAL:
            return [Wanted(NEEDS[plan], has_relations), BY_TERMS]
    return [BY_TERMS]


def way_of(form: Form, wishes: Wishes, meaning: Meaning, publication: Publication) -> Way:
    """The way in a publication that is `wanted`."""
    chosen = planned(form, wishes, Capabilities(_no_dense(meaning, publication)))
    if _can(chosen.plan, meaning, publication):
        return Way(chosen, chosen.plan)
    return Way(replace(chosen, plan=Plan.LEXICAL), chosen.plan)


def has_relations(publication: Publication) -> bool:
    """Of any language family."""
    return any(record.serves for record in publication.snapshot.relations.values())


def _can(plan: Plan, meaning: Meaning, publication: Publication) -> bool:
    if plan is Plan.STRUCTURAL and not has_relations(publication):
        return False
    if plan is Plan.HYBRID and meaning.lacking is not None:
        return False
    return serves(publication, NEEDS[plan], meaning.profile)


def _no_dense(meaning: Meaning, publication: Publication) -> str | None:
    """Why the dense view can't be used for what the planner picks."""
    if meaning.lacking is not None:
        return meaning.lacking
    record = publication.snapshot.views[View.DENSE]
    if record.state is not State.READY or record.profile != meaning.profile:
        return record.reason or "it is not ready for the newest snapshot"
    return None
