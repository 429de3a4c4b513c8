"""The *eager* packet: the best units whole, each text once, within a budget of tokens.

Hits are taken in their order. One that lies in a unit that is in already, or shares lines with one, is left
out; one whose text is in already adds its address to that unit; one that does not fit is left out and smaller
ones after it may still come in. No unit is ever cut. What was left out is said, with the reason.

A packet's text as a whole has at most `budget` tokens. Units are chosen by the sum of their own counts, which
for some tokenizers is a little less than the count of the whole: then they are chosen again for less room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from nibd.query.context import rendering
from nibd.query.context.tokens import TokenCounter
from nibd.query.hits import Hit
from nibd.stores.types import CommitId

COUNTED_CHARACTERS = 32_768
"""A text is counted whole up to here, which takes some 25 ms. A longer one first in parts of this size."""
FAR_TIMES = 2
"""A text is far larger than the budget when its parts so far have so many times its tokens. Parts may have
a few tokens more than the text as a whole, never twice as many."""


class LeftOutReason(StrEnum):
    """Why a hit is not in a packet."""

    INSIDE = "inside"
    OVERLAPS = "overlaps"
    SAME_TEXT = "same_text"
    NO_ROOM = "no_room"
    LARGER_THAN_BUDGET = "larger_than_budget"
    NO_TEXT = "no_text"


@dataclass(frozen=True, slots=True)
class Piece:
    """A hit with the text of its lines; `None` when that can't be had."""

    hit: Hit
    text: str | None


@dataclass(frozen=True, slots=True)
class PacketUnit:
    """What a packet has of one hit. `tokens` are those of all that is shown of it.

    `also` are hits of other places with the same text.
    """

    hit: Hit
    text: str
    tokens: int
    also: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`tokens` are what it would take; `None` where that was not asked, or is far more than the budget."""

    hit: Hit
    reason: LeftOutReason
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Packet:
    """`text` is what goes into a prompt, of `tokens` tokens; it is empty when no unit came in."""

    text: str
    tokens: int
    units: tuple[PacketUnit, ...]
    left_out: tuple[LeftOut, ...]


def eager(pieces: Sequence[Piece], commit: CommitId, budget: int, counter: TokenCounter) -> Packet:
    """The packet of `pieces`, which are best first and of one commit."""
    room = budget
    while True:
        chosen = _Choice(rendering.head(commit), room, budget, counter)
        for piece in pieces:
            chosen.offer(piece)
        text = chosen.text()
        tokens = counter.count(text) if text else 0
        if tokens <= budget or not text:
            return Packet(text, tokens, tuple(chosen.units), tuple(chosen.left_out))
        room -= tokens - budget


class _Choice:
    """Units chosen so far, and the room that is left."""

    def __init__(self, head: str, room: int, budget: int, counter: TokenCounter) -> None:
        self.units: list[PacketUnit] = []
        self.left_out: list[LeftOut] = []
        self._head = head
        self._counter = counter
        self._budget = budget - counter.count(head)
        self._left = room - counter.count(head)

    def text(self) -> str:
        parts = [rendering.unit(unit.hit, unit.text, unit.also) for unit in self.units]
        return "".join([self._head, *parts]) if parts else ""

    def offer(self, piece: Piece) -> None:
        hit = piece.hit
        if not piece.text or not piece.text.strip():
            self.left_out.append(LeftOut(hit, LeftOutReason.NO_TEXT))
            return
        shared = _shared(hit, self._places())
        if shared is not None:
            self.left_out.append(LeftOut(hit, shared))
            return
        for number, unit in enumerate(self.units):
            if unit.text == piece.text:
                self._add_address(number, hit)
                return
        self._add(hit, piece.text)

    def _places(self) -> Iterable[Hit]:
        for unit in self.units:
            yield unit.hit
            yield from unit.also

    def _add(self, hit: Hit, text: str) -> None:
        if self._is_far_larger(text):
            self.left_out.append(LeftOut(hit, LeftOutReason.LARGER_THAN_BUDGET))
            return
        tokens = self._counter.count(rendering.unit(hit, text))
        if tokens <= self._left:
            self._left -= tokens
            self.units.append(PacketUnit(hit, text, tokens))
            return
        larger = tokens > self._budget
        reason = LeftOutReason.LARGER_THAN_BUDGET if larger else LeftOutReason.NO_ROOM
        self.left_out.append(LeftOut(hit, reason, tokens))

    def _is_far_larger(self, text: str) -> bool:
        """Whether the budget can't hold it, found out without counting all of a very long text."""
        if len(text) <= COUNTED_CHARACTERS:
            return False
        tokens = 0
        for start in range(0, len(text), COUNTED_CHARACTERS):
            tokens += self._counter.count(text[start : start + COUNTED_CHARACTERS])
            if tokens > FAR_TIMES * max(self._budget, 0):
                return True
        return False

    def _add_address(self, number: int, hit: Hit) -> None:
        unit = self.units[number]
        also = (*unit.also, hit)
        tokens = self._counter.count(rendering.unit(unit.hit, unit.text, also))
        if tokens - unit.tokens > self._left:
            self.left_out.append(LeftOut(hit, LeftOutReason.SAME_TEXT))
            return
        self._left -= tokens - unit.tokens
        self.units[number] = replace(unit, tokens=tokens, also=also)


def _shared(hit: Hit, places: Iterable[Hit]) -> LeftOutReason | None:
    """How a hit shares lines with what is in already; the same place counts as inside."""
    overlaps = None
    for place in places:
        if place.path != hit.path or hit.start_line > place.end_line or place.start_line > hit.end_line:
            continue
        if place.start_line <= hit.start_line and hit.end_line <= place.end_line:
            return LeftOutReason.INSIDE
        overlaps = LeftOutReason.OVERLAPS
    return overlaps


def lines_of(content: str, start_line: int, end_line: int) -> str:
    """The text of a range of lines, without line ends behind it. Lines end at `\\n`, as for Git."""
    return "\n".join(content.split("\n", end_line)[start_line - 1 : end_line]).rstrip("\r\n")
