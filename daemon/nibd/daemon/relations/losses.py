"""Relations that can't be read, or were found wrong: they are *lost* until they were made anew.

Who found that out may say so late, when they are being made anew, or were meanwhile. What they have found is
*stale* then: it is of relations that are gone, and would have them made once more. So who reads notes before
how often they had been made anew (`remade`), and says that with what was found.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nibd.stores.types import RepositoryId


@dataclass(frozen=True, slots=True)
class Lost:
    """Why relations can't be read, and whether what is stored of them is to be discarded."""

    reason: str
    discard: bool


class Losses:
    """By repository. For one thread."""

    def __init__(self) -> None:
        self._lost: dict[RepositoryId, Lost] = {}
        self._remade: Counter[RepositoryId] = Counter()

    def lose(self, repository: RepositoryId, reason: str, *, discard: bool) -> bool:
        """Have them made anew, from nothing stored if it is to be discarded; whether that is news.

        What is lost already is being made anew: it is lost once more only when more is to be discarded.
        """
        before = self._lost.get(repository)
        if before is not None and (before.discard or not discard):
            return False
        self._lost[repository] = Lost(reason, discard)
        return True

    def of(self, repository: RepositoryId) -> Lost | None:
        return self._lost.get(repository)

    def remade(self, repository: RepositoryId) -> int:
        """How often they were made anew after they were lost: what was read before that is gone."""
        return self._remade[repository]

    def made(self, repository: RepositoryId, known: Lost | None) -> None:
        """They were made by work that began when `known` was. What has been lost since then still is.

        Until that is published what is shown is what was lost (`Unpublished.instead_of`).
        """
        if known is not None:
            self._remade[repository] += 1
            if self._lost.get(repository) is known:
                del self._lost[repository]

    def remove(self, repository: RepositoryId) -> None:
        self._lost.pop(repository, None)
