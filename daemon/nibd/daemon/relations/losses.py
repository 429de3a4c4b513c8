"""Relations that can't be read, or were found wrong: they are *lost* until they were made anew.

Who found that out may say so late, when they were made anew meanwhile: `remade` tells.
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

    def lose(self, repository: RepositoryId, reason: str, *, discard: bool) -> None:
        """Have them made anew, from nothing stored if it is to be discarded."""
        before = self._lost.get(repository)
        self._lost[repository] = Lost(reason, discard or (before is not None and before.discard))

    def of(self, repository: RepositoryId) -> Lost | None:
        return self._lost.get(repository)

    def remade(self, repository: RepositoryId) -> int:
        """How often they were made anew after they were lost: what was read before that is gone."""
        return self._remade[repository]

    def made(self, repository: RepositoryId, known: Lost | None) -> None:
        """They were made by work that began when `known` was. What was lost since then still is."""
        if known is not None:
            self._remade[repository] += 1
            if self._lost.get(repository) is known:
                del self._lost[repository]

    def remove(self, repository: RepositoryId) -> None:
        self._lost.pop(repository, None)
