"""Which of a stored answer and a live one is the better: for `auto`.

A stored answer is as good where every site was asked at its tree, for a server would say the same. A live
one must leave no more open than what is stored, and list all of it that is of its tree: a server need not
list all that refers to something, though it says of each, when asked, that it does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nibd.daemon.navigation.question import OF_ALL_FILES, Navigated, Question
from nibd.daemon.navigation.shown_places import Answered
from nibd.stores.snapshot import ViewRecord
from nibd.stores.types import Assurance


def is_sure(record: ViewRecord, navigated: Navigated) -> bool:
    """Whether the running server would say what is stored.

    So it is where every site was asked again at this tree, on the running server (`verified`) or a fresh one
    (`exact`): asked once more it has no other answer. Where it left some sites open (`partial`), so it is for
    answers that none of these can belong to.
    """
    if record.assurance in (Assurance.EXACT, Assurance.VERIFIED):
        return True
    was_asked = record.counts.get("verified", 0) >= record.counts.get("files", 1)
    asked = navigated.asked
    is_known = navigated.answer.unknown == 0 and (asked is None or asked.targets is not None)
    return record.assurance is Assurance.PARTIAL and was_asked and is_known


def left_open(answered: Answered) -> int:
    """How many sites could belong to the answer, or not: a server that has just moved leaves some."""
    return answered.navigated.answer.unknown


@dataclass(frozen=True, slots=True)
class Weighed:
    """A live answer beside what is stored, of whose hits it is `lacking` so many."""

    live: Answered
    lacking: int
    is_better: bool


def weighed(question: Question, live: Answered, stored: Answered, *, is_older: bool) -> Weighed:
    """`is_older`: what is stored is of an older tree."""
    live = _at_least(live, stored) if is_older else live
    lacking = _lacking(question, live, stored)
    more = left_open(live) - left_open(stored)
    return Weighed(live, lacking, more < 0 or (more == 0 and not lacking))


def _at_least(live: Answered, older: Answered) -> Answered:
    """With what is known from an older tree that the server does not build: it lists nothing of that."""
    if older.navigated.family is None:
        return live
    record = older.publication.snapshot.relations[older.navigated.family]
    unknown = max(left_open(live), min(left_open(older), record.counts.get("unbuilt", 0)))
    answer = replace(live.navigated.answer, unknown=unknown)
    return replace(live, navigated=replace(live.navigated, answer=answer))


def _lacking(question: Question, live: Answered, stored: Answered) -> int:
    """How many stored hits of the same tree the server does not list."""
    if question.operation not in OF_ALL_FILES:
        return 0
    if live.publication.snapshot.tree != stored.publication.snapshot.tree:
        return 0
    return len(_found(stored) - _found(live))


def _found(answered: Answered) -> set[tuple[object, int]]:
    """The hits, each once for each line of its calls."""
    return {(each.key, line) for each in answered.navigated.answer.found for line in each.calls or (0,)}
