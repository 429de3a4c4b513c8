"""One issue answered by the scripted agent under one policy, and what that took in tokens.

grep-read   the history is the system's message and the issue, and grows by what the agent does
eager       an eager packet comes after the issue
compact     as eager; after the first successful read the history is rewritten, once (`compaction`)

A turn's *prompt* is the whole history so far. `fresh` tokens are those of its messages behind what the prompt
before it began with: what a prefix cache would not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nibd.bench.agent import SYSTEM, Step, next_step
from nibd.bench.agent_tools import Tools
from nibd.query.context.compaction import compact
from nibd.query.context.tokens import TokenCounter
from nibd.query.hits import Hit

MOST_TURNS = 24


class Policy(StrEnum):
    GREP_READ = "grep-read"
    EAGER = "eager"
    COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """`prompt`, `fresh` and `written` tokens are sums over the turns, `largest` is one prompt's."""

    answer: tuple[str, ...]
    turns: int
    greps: int
    reads: int
    prompt: int
    fresh: int
    written: int
    largest: int
    packet: int
    rewritten: bool


def run(
    policy: Policy,
    issue: str,
    hits: Sequence[Hit],
    tools: Tools,
    counter: TokenCounter,
    budget: int,
    silent: bool = False,
) -> Trajectory:
    """`hits` are what a packet is made of."""
    counting = _Counting(counter)
    history: list[dict[str, Any]] = [_message("system", SYSTEM), _message("user", issue)]
    packet = "" if policy is Policy.GREP_READ else tools.packet(hits, budget, counter)
    if packet:
        history.append(_message("user", packet))
    steps: list[Step] = []
    before: list[dict[str, Any]] = []
    rewritten = False
    while True:
        counting.sent(before, history)
        before = list(history)
        step = next_step(history, silent)
        steps.append(step)
        history.append(_message("assistant", step.note))
        counting.written += counting.of(history[-1:])
        if step.tool == "answer" or len(steps) == MOST_TURNS:
            break
        history.append(_result(step, tools))
        if policy is Policy.COMPACT:
            compaction = compact(history)
            history, rewritten = compaction.history, rewritten or compaction.rewritten
    return Trajectory(
        answer=steps[-1].answer,
        turns=len(steps),
        greps=sum(step.tool == "grep" for step in steps),
        reads=sum(step.tool == "read" for step in steps),
        prompt=counting.prompt,
        fresh=counting.fresh,
        written=counting.written,
        largest=counting.largest,
        packet=counter.count(packet) if packet else 0,
        rewritten=rewritten,
    )


class _Counting:
    """Tokens so far. A text is counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._counts: dict[str, int] = {}
        self.prompt = self.fresh = self.written = self.largest = 0

    def sent(self, before: Sequence[dict[str, Any]], history: Sequence[dict[str, Any]]) -> None:
        same = 0
        for old, new in zip(before, history, strict=False):
            if old != new:
                break
            same += 1
        whole = self.of(history)
        self.prompt += whole
        self.fresh += self.of(history[same:])
        self.largest = max(self.largest, whole)

    def of(self, messages: Sequence[dict[str, Any]]) -> int:
        return sum(self._count(message["content"]) for message in messages)

    def _count(self, text: str) -> int:
        if text not in self._counts:
            self._counts[text] = self._counter.count(text)
        return self._counts[text]


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _result(step: Step, tools: Tools) -> dict[str, Any]:
    if step.tool == "grep":
        ok, content = tools.grep(step.text)
        return {"role": "tool", "tool": "grep", "pattern": step.text, "ok": ok, "content": content}
    ok, content = tools.read(step.text, step.line)
    return {"role": "tool", "tool": "read", "path": step.text, "ok": ok, "content": content}
