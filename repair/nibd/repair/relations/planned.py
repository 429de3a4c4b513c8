"""What a plan says is to be asked: of files that changed, and of those that did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nibd.stores.relation_records import RelationRecord
from nibd.stores.types import RepoPath


@dataclass(slots=True)
class Asked:
    """The sites of one file that have to be asked, by index, with the rule that says so."""

    record: RelationRecord
    why: dict[int, str] = field(default_factory=dict)
    tells: set[int] = field(default_factory=set)
    later: dict[int, str] = field(default_factory=dict)
    """To be asked too when one of `tells`, which is asked, turns out to refer to something else."""

    def add(self, indexes: Iterable[int], rule: str) -> None:
        for index in indexes:
            self.why.setdefault(index, rule)


@dataclass(frozen=True, slots=True)
class Plan:
    """`elsewhere` holds unchanged files; `within` the sites of changed files, by index in the new version."""

    elsewhere: Mapping[RepoPath, Asked]
    within: Mapping[RepoPath, Mapping[int, str]]
    cut: int = 0
    room: int = 0
    """How many sites more may be asked for what is answered."""

    def counts(self) -> Counter[str]:
        """How many sites each rule wants asked."""
        found: Counter[str] = Counter()
        for asked in self.elsewhere.values():
            found.update(asked.why.values())
        for why in self.within.values():
            found.update(why.values())
        return found
