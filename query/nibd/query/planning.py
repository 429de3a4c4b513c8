"""The planner: which plan answers a query, and how wide each of its stages looks.

It goes by the *form* of the query (`forms`), by what can be had (`Capabilities`) and by how long the answer
may take. It is a table, and a function of these alone: equal questions to equal snapshots are planned alike.
Whoever asks may name the plan and any width; what is asked for and can't be had is not planned around here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from nibd.query.forms import Form


class Plan(StrEnum):
    """What ranks: terms; vectors; both, fused; or terms and what the best hits are related to, fused."""

    LEXICAL = "lexical"
    DENSE = "dense"
    HYBRID = "hybrid"
    STRUCTURAL = "structural"


AUTO = "auto"
"""In place of a plan: the planner's choice."""

DENSE_MS = 25.0
"""What a hybrid answer takes longer than a lexical one: a query is embedded in 9 to 20 ms."""


@dataclass(frozen=True, slots=True)
class Widths:
    """`widening` multiplies the candidates of the ranking; of lists that are fused the first `fused` are;
    relations are followed from `seeds` hits over `hops`, and `neighbours` of what is found are ranked."""

    widening: int = 1
    fused: int = 50
    seeds: int = 5
    hops: int = 1
    neighbours: int = 50


LARGEST = Widths(64, 1000, 50, 2, 1000)
USUAL: Mapping[Form, Widths] = {
    Form.IDENTIFIER: Widths(seeds=3),
    Form.PATH: Widths(seeds=3),
    Form.TRACE: Widths(),
    Form.PROSE: Widths(),
    Form.MIXED: Widths(),
}
WITH_MEANING = frozenset({Form.PROSE})
"""The forms that are answered better with the dense view, where it is there."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Why the dense view can't be used at once; `None` where it can. No plan that is picked needs more."""

    dense: str | None


@dataclass(frozen=True, slots=True)
class Wishes:
    """What whoever asks wants: a plan (`None`: the planner's), widths by name, milliseconds to take."""

    plan: Plan | None
    widths: Mapping[str, int]
    time_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """`why` says in words what led to the plan."""

    plan: Plan
    form: Form
    widths: Widths
    why: tuple[str, ...]


def planned(form: Form, wishes: Wishes, there_is: Capabilities) -> Planned:
    widths = replace(USUAL[form], **wishes.widths)
    forced = tuple(f"{name} {wishes.widths[name]}: asked for" for name in sorted(wishes.widths))
    if wishes.plan is not None:
        return Planned(wishes.plan, form, widths, (f"{wishes.plan.value}: asked for", *forced))
    plan, why = _chosen(form, wishes.time_ms, there_is)
    return Planned(plan, form, widths, (why, *forced))


def _chosen(form: Form, time_ms: float | None, there_is: Capabilities) -> tuple[Plan, str]:
    if form not in WITH_MEANING:
        return Plan.LEXICAL, f"a query of the form {form.value} is found by its terms"
    if there_is.dense is not None:
        return Plan.LEXICAL, f"{form.value}, but the dense view can't be used: {there_is.dense}"
    if time_ms is not None and time_ms < DENSE_MS:
        return Plan.LEXICAL, f"{form.value}, but a vector takes longer than {time_ms:g} ms"
    return Plan.HYBRID, f"{form.value} is found by its meaning too"


def widths_by_name(widths: Widths) -> dict[str, int]:
    return asdict(widths)
