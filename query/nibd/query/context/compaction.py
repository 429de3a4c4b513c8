"""*Compaction*: a message history rewritten once, after its first successful read.

What is kept: the messages of the system and the question as they are, then one message of the user that has
the paths read, each once; the last successful read whole; and the first 600 characters of the last assistant
message that is not empty. All else goes: what was searched for, what failed, older reads.

The rewritten history takes the place of the old one, and later turns are appended to it. From then on
`compact` leaves it as it is, so its beginning stays the same to the byte and a prefix cache holds. It is
recognised by the first line of what follows the question, MARK. A history without a successful read is left
as it is too.

The *question* is the first message of the user. Call it between turns, when the results of a turn's tools are
all there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from nibd.query.context.messages import Message, MessageError, Raw, read
from nibd.query.context.rendering import fenced, one_line

READ_TOOLS = frozenset({"read", "read_file"})
MARK = "[nibd: what was done so far]"
NOTE_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Compaction:
    """`rewritten` is whether this call did it; otherwise `history` is what was given."""

    history: list[dict[str, Any]]
    rewritten: bool


def compact(history: Sequence[Raw], read_tools: Collection[str] = READ_TOOLS) -> Compaction:
    """Raises MessageError for what is no history, also for one without a question."""
    messages = read(history)
    question = next((message.source for message in messages if message.role == "user"), None)
    if question is None:
        raise MessageError("no message of the user: there is no question")
    kept = [dict(raw) for raw in history]
    reads = [each for each in messages if _is_read(each, read_tools)]
    if not reads or _is_rewritten(messages, question):
        return Compaction(kept, rewritten=False)
    system = [message.source for message in messages if message.role == "system"]
    beginning = [kept[source] for source in dict.fromkeys([*system, question])]
    return Compaction([*beginning, {"role": "user", "content": _so_far(messages, reads)}], rewritten=True)


def _is_read(message: Message, read_tools: Collection[str]) -> bool:
    """Whether it is what a file's successful read gave."""
    return message.role == "tool" and message.tool in read_tools and message.ok and bool(message.path)


def _is_rewritten(messages: Sequence[Message], question: int) -> bool:
    after = next((message for message in messages if message.source > question), None)
    return after is not None and after.role == "user" and after.text.startswith(f"{MARK}\n")


def _so_far(messages: Sequence[Message], reads: Sequence[Message]) -> str:
    last = reads[-1]
    paths = dict.fromkeys(one_line(message.path) for message in reads)
    parts = [MARK, "Files read:", *(f"- {path}" for path in paths), ""]
    parts += [f"Last read, {one_line(last.path)}:", fenced(last.text)]
    notes = [message.text for message in messages if message.role == "assistant" and message.text.strip()]
    if notes:
        parts += ["", "Last note:", notes[-1][:NOTE_CHARACTERS]]
    return "\n".join(parts)
