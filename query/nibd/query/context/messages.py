"""Messages of an agent's history, as JSON has them, read for what a compaction needs.

The format:

    {"role": "system" | "user" | "assistant", "content": TEXT}
    {"role": "tool", "tool": NAME, "path": PATH, "ok": true | false, "content": TEXT}

`path` is there for tools that read a file. Two common shapes are understood as well. OpenAI's: a `tool`
message names a call of an assistant message before it (`tool_call_id`, `tool_calls`). Anthropic's: content is
a list of blocks, calls are `tool_use`, results are `tool_result` in a message of the user. There the path is
the argument of one of the names in PATH_ARGUMENTS, and a result that does not say otherwise (`ok`,
`is_error`) has succeeded. Keys that are not named here are left alone.

Error: MessageError, which names the message by its position from 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PATH_ARGUMENTS = ("path", "file_path", "file", "filename")
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}

Raw = Mapping[str, Any]


class MessageError(Exception):
    """A history can't be read."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message, or one tool's result of a message that has several. `source` is its position."""

    source: int
    role: str
    text: str
    tool: str = ""
    path: str = ""
    ok: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    path: str


def read(history: Sequence[Raw]) -> list[Message]:
    """Raises MessageError."""
    calls: dict[str, _Call] = {}
    found: list[Message] = []
    for position, raw in enumerate(history):
        role = _ROLES.get(str(raw.get("role"))) if isinstance(raw, Mapping) else None
        if role is None:
            raise MessageError(f"message {position}: role is to be one of {', '.join(_ROLES)}")
        content = raw.get("content")
        if not isinstance(content, str | list | None) or not _are_blocks(content):
            raise MessageError(f"message {position}: content is to be text, or a list of blocks")
        calls |= _calls(raw, content)
        if role == "tool":
            found.append(_result(position, raw, calls))
            continue
        found.append(Message(position, role, _text(content)))
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if block.get("type") == "tool_result"]
        found += [_result(position, block, calls) for block in results]
    return found


def _are_blocks(content: Any) -> bool:
    return not isinstance(content, list) or all(isinstance(block, Mapping) for block in content)


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(
        str(block.get("text", ""))
        for block in content
        if isinstance(block, Mapping) and block.get("type") == "text"
    )


def _result(position: int, raw: Raw, calls: Mapping[str, _Call]) -> Message:
    call = calls.get(str(raw.get("tool_call_id", raw.get("tool_use_id", ""))), _Call("", ""))
    is_named = "tool" in raw
    tool = str(raw.get("tool") or call.tool)
    # In our own format success is said; the others only say failure.
    ok = raw.get("ok", not is_named and not raw.get("is_error", False))
    if not isinstance(ok, bool):
        raise MessageError(f"message {position}: ok is to be true or false")
    return Message(position, "tool", _text(raw.get("content")), tool, str(raw.get("path") or call.path), ok)


def _calls(raw: Raw, content: Any) -> dict[str, _Call]:
    return {identity: _Call(name, _path(arguments)) for identity, name, arguments in _named(raw, content)}


def _named(raw: Raw, content: Any) -> Iterator[tuple[str, str, Any]]:
    """Identity, name and arguments of the calls that a message makes."""
    given = raw.get("tool_calls")
    for call in given if isinstance(given, list) else []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield str(call.get("id")), str(function.get("name")), function.get("arguments")
    for block in content if isinstance(content, list) else []:
        if block.get("type") == "tool_use":
            yield str(block.get("id")), str(block.get("name")), block.get("input")


def _path(arguments: Any) -> str:
    """The path among a call's arguments, which may be JSON in a text; empty when there is none."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return ""  # a model wrote it: a call that can't be read reads no file
    if not isinstance(arguments, Mapping):
        return ""
    paths = (arguments.get(name) for name in PATH_ARGUMENTS)
    return next((path for path in paths if isinstance(path, str) and path), "")
