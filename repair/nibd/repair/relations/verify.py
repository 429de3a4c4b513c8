"""Asking every site again at the same tree, on the server that is running, and repairing what differs.

In batches, and what was asked is remembered: by file, at which tree and when. A verification may be stopped
after any batch, and goes on from there while the tree is the same. Order:

1. files that transitions can have reached and that were not asked since (`reach`), nearest first;
2. all others, those verified longest ago first.

One batch in `SHARE` is of the second kind, counted over all verifications of the family. So a stream of
commits that stops each of them after its first batch delays the files that it doesn't reach, but every file
comes to its turn.

It also stops by itself when it has found differences and has gone on for `PUBLISH_S` since: then what it has
corrected is published, and the caller begins again. So it does when something was installed meanwhile: what
was asked last counts as not asked then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nibd.repair.progress import Interrupted, Progress, Reporter
from nibd.repair.relations.ask_again import AskedAgain, AskingAgain, Confirmed, Difference, Stored, filled
from nibd.repair.relations.repair import Side
from nibd.stores.bitmap import Bitmap
from nibd.stores.relations import RecordId
from nibd.stores.types import ProfileId, RepoPath
from nibd.stores.verifications import VerificationStore, digest_of

__all__ = ["Difference", "Verification", "Verified"]

SHARE = 4
PUBLISH_S = 10.0


@dataclass(slots=True)
class Verified(AskedAgain):
    """`done` of the `of` files were asked at this very tree by now, in this run or an earlier one.

    `left` of their sites got no answer. `fresh`: all by servers that have seen no other tree.
    """

    of: int = 0
    done: int = 0
    left: int = 0
    fresh: bool = True

    @property
    def is_whole(self) -> bool:
        return self.done == self.of


@dataclass(slots=True)
class Verification:
    """Of the relations of one family at the tree that the server of `asking` holds.

    `fresh`: that server has seen no other tree. `is_as_found`: whether nothing was installed since that was
    looked up.
    """

    family: str
    profile: ProfileId
    side: Side
    memory: VerificationStore
    asking: AskingAgain
    fresh: bool
    is_as_found: Callable[[], bool]
    report: Reporter

    def run(self, records: Bitmap) -> Verified:
        """Ask all files of `records` that were not asked at this tree. `Interrupted` ends it early."""
        verified = Verified(records, of=len(records))
        begun = time.monotonic()
        for batch in self._batches(verified):
            found = len(verified.differences)
            confirmed = self.asking.ask(batch, verified)
            if verified.died or not self.is_as_found():
                break
            self._note(confirmed, verified, len(verified.differences) - found)
            try:
                self.report(Progress("verify", verified.done, verified.of))
            except Interrupted:
                break
            if verified.differences and time.monotonic() - begun >= PUBLISH_S:
                break
        if verified.is_whole:
            self.memory.ended(self.family, self.side.tree)
        return verified

    def _note(self, confirmed: list[Confirmed], verified: Verified, differing: int) -> None:
        self.memory.note(
            self.family,
            self.profile,
            self.side.tree,
            [(each.record, each.unanswered) for each in confirmed],
            self.fresh,
        )
        if differing:
            self.memory.differed(self.family, self.side.tree, differing)
        verified.done += len(confirmed)
        verified.left += sum(each.unanswered for each in confirmed)
        verified.fresh &= self.fresh

    def _batches(self, verified: Verified) -> Iterator[list[Stored]]:
        near, rest = (self.asking.stored(rows) for rows in self._order(verified))
        turn = self.memory.turn(self.family)
        while batch := filled(rest, near) if turn % SHARE == SHARE - 1 else filled(near, rest):
            yield batch
            turn += 1

    def _order(self, verified: Verified) -> tuple[list[RecordId], list[RecordId]]:
        """The records that are reached, and the others; those asked at this tree are counted and left out."""
        asked = self.memory.asked(self.family, self.profile)
        reached = self.memory.reached(self.family)
        near: list[tuple[int, int, RepoPath, RecordId]] = []
        rest: list[tuple[int, RepoPath, RecordId]] = []
        gone = asked.keys() | reached.keys()
        for row, record in self.asking.store.packed(verified.records):
            path, known = record.path, asked.get(record.path)
            gone.discard(path)
            turn = known.turn if known else 0
            if known and known.tree == self.side.tree and known.digest == digest_of(record):
                verified.done += 1
                verified.left += known.unanswered
                verified.fresh &= known.fresh
            elif path in reached:
                near.append((reached[path], turn, path, row))
            else:
                rest.append((turn, path, row))
        self.memory.drop(self.family, gone)
        return [row for *_, row in sorted(near)], [row for *_, row in sorted(rest)]
