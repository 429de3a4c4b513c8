"""Asking about many sites although a server may end meanwhile: another one goes on where it stopped.

What makes a server end is often one file, which would end the next one too. So a batch is asked about twice
at most; what it left open then is unknown, and the next batch has a server again. `MAX_ENDS` times another is
started; when that ends too the rest is unknown, and `is_over` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nibd.repair.relations.resolve import Question, Resolver
from nibd.stores.relation_types import Answer

MAX_ENDS = 3
Answers = list[list[Answer]]
"""For each question, what is said of its sites."""


class Asking:
    """`make` gives the resolver of a server that holds the tree in question; it may raise ServerFailed."""

    def __init__(self, make: Callable[[], Resolver]) -> None:
        self._make = make
        self.resolver = make()
        self.ends = 0
        self._before: str | None = None

    @property
    def is_over(self) -> bool:
        return self.ends > MAX_ENDS

    @property
    def why_over(self) -> str:
        name = self.resolver.server.driver.server
        return f"{name} ended {self.ends} times while it was asked: {self.unanswered}"

    @property
    def unanswered(self) -> str | None:
        """Why a site got no answer, the last time that one got none."""
        return self.resolver.unanswered or self._before

    def ask(self, questions: Sequence[Question]) -> Answers:
        """As `Resolver.ask`."""
        self._has_server()
        answers = self.resolver.ask(questions)
        left = [_unanswered(*each) for each in zip(questions, answers, strict=True)]
        if any(question.indexes for question in left) and not self._is_alive and self._has_server():
            for question, known, more in zip(questions, answers, self.resolver.ask(left), strict=True):
                _fill(question, known, more)
        return answers

    @property
    def _is_alive(self) -> bool:
        return self.resolver.server.is_alive

    def _has_server(self) -> bool:
        """Replace the server if it has ended; whether there is one."""
        if self._is_alive:
            return True
        if not self.is_over:
            self.ends += 1
        if self.is_over:
            return False
        self._before = self.unanswered
        self.resolver = self._make()
        return True


def _unanswered(question: Question, answers: Sequence[Answer]) -> Question:
    indexes = [i for i, answer in zip(question.indexes, answers, strict=True) if answer is None]
    return Question(question.file, indexes)


def _fill(question: Question, known: list[Answer], more: Sequence[Answer]) -> None:
    """Put `more`, the answers of the sites that have none, where they belong."""
    found = iter(more)
    for at in range(len(question.indexes)):
        if known[at] is None:
            known[at] = next(found)
