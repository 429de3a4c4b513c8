"""Questions put to a commit's views by one plan, in this process, as the daemon puts them.

A plan is one of `nibd.query.planning`, or `auto`: the planner's choice by what is there. A plan that needs a
vector embeds the query by the loaded model, and that counts as its stage `embed`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from nibd.bench.retrieve_rows import Question
from nibd.bench.retrieve_views import Embedding, Opened
from nibd.query import search
from nibd.query.filters import Filters, Selection, select
from nibd.query.forms import Form, form_of
from nibd.query.hits import Hit
from nibd.query.planning import AUTO, Capabilities, Plan, Planned, Wishes, planned
from nibd.query.ranking.understanding import understand
from nibd.stores.types import Level

PLANS = (*(plan.value for plan in Plan), AUTO)
NEED_VECTORS = frozenset({Plan.DENSE.value, Plan.HYBRID.value, AUTO})


@dataclass(frozen=True, slots=True)
class Answer:
    """`stages` are milliseconds by the clock."""

    hits: list[Hit]
    form: Form
    plan: Plan
    milliseconds: float
    processor_ms: float
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Asker:
    """`plan` by name; `embedding` for one that needs vectors."""

    opened: Opened
    plan: str
    embedding: Embedding | None

    def ask(self, question: Question, level: Level | None, k: int) -> Answer:
        """Hits below the question's root alone, at a level or at any."""
        started, computed = time.perf_counter(), time.process_time()
        form = form_of(question.query, understand(question.query))
        chosen = self._planned(form)
        stages = {}
        vector = None
        if chosen.plan in (Plan.DENSE, Plan.HYBRID) and self.embedding:
            vector = self.embedding.embedder.embed_queries([question.query])[0]
            stages["embed"] = (time.perf_counter() - started) * 1000
        asked = search.Question(
            question.query, chosen, level, k, within=within(self.opened, question), vector=vector
        )
        found = search.search(self.opened, asked)
        took, processor = time.perf_counter() - started, time.process_time() - computed
        stages |= found.trace.milliseconds
        return Answer([*found.hits], form, chosen.plan, took * 1000, processor * 1000, stages)

    def _planned(self, form: Form) -> Planned:
        plan = None if self.plan == AUTO else Plan(self.plan)
        dense = None if self.embedding else "no model is loaded"
        return planned(form, Wishes(plan, {}), Capabilities(dense))


def within(opened: Opened, question: Question) -> Selection | None:
    filters = Filters(Below(question.root.encode())) if question.root else Filters()
    return select(opened.structure, opened.listing, filters)


@dataclass(frozen=True, slots=True)
class Below:
    """Paths below a folder."""

    folder: bytes

    def accept(self, path: bytes) -> bool:
        return path.startswith(self.folder.rstrip(b"/") + b"/")
