"""What travels between a client and the daemon: JSON-RPC 2.0 messages, error codes, the errors.

Terms: a *request* has an id and is answered once, by a *response* or an *error response*; a
*notification* has no id and is never answered. An id is a string or an integer, never null.
Errors of this package:

    IpcError
      RpcError            a request was refused or failed; crosses the wire, has a code
      DaemonUnavailable   (client) no daemon could be reached, or the connection was lost
      SocketError         (sockets) the socket or its folder can't be used
        SocketInUse       another daemon listens there
      ChildDied           (children) the child process ended with calls unanswered

Imported by every client, so it stays light: no dataclasses (they import inspect: 10 ms), no asyncio.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

PROTOCOL_VERSION = 1
"""Raised when a client written for the version before could misread an answer."""

Json: TypeAlias = Any
"""A value that JSON has: None, bool, int, finite float, str, list or tuple, dict with string keys."""
JsonObject: TypeAlias = dict[str, Any]
RequestId: TypeAlias = str | int

CANCEL_METHOD = "$/cancelRequest"
"""Notification with `{"id": …}`: that request is no longer wanted. It is still answered, once."""


class ErrorCode(IntEnum):
    """Codes of error responses. `wire_name` is how documents and `--json` output call them.

    The first five are JSON-RPC's; CANCELLED is LSP's; ours start at -32010, clear of the codes that
    LSP took from JSON-RPC's reserved range.
    """

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    CANCELLED = -32800
    UNKNOWN_REPOSITORY = -32010
    UNPUBLISHED_COMMIT = -32011
    VIEW_ABSENT = -32012
    VIEW_NOT_READY = -32013
    UNSUPPORTED = -32014
    BUSY = -32015
    TIMEOUT = -32016
    TOO_LARGE = -32017
    SHUTTING_DOWN = -32018
    NOT_FOUND = -32019
    MOVING = -32020
    NOT_STORED = -32021

    @property
    def wire_name(self) -> str:
        return self.name.lower()


class IpcError(Exception):
    """Root of this package's errors."""


class RpcError(IpcError):
    """The one error that handlers raise and clients receive.

    `message` says what failed, where, and what to do. `data` is JSON for programs. `code` is an
    `ErrorCode` where it is one of ours, else the peer's integer.
    """

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = ErrorCode(code) if code in _KNOWN_CODES else code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"RpcError({self.code!r}, {self.message!r}, {self.data!r})"


_KNOWN_CODES = frozenset(int(code) for code in ErrorCode)


class Request(NamedTuple):
    """`params` is None when the frame had none (or null)."""

    id: RequestId
    method: str
    params: JsonObject | list[Json] | None = None


class Notification(NamedTuple):
    method: str
    params: JsonObject | list[Json] | None = None


class Response(NamedTuple):
    id: RequestId
    result: Json


class ErrorResponse(NamedTuple):
    """`id` is None when the sender couldn't tell which request it answers."""

    id: RequestId | None
    error: RpcError


Message: TypeAlias = Request | Notification | Response | ErrorResponse


def progress(request_id: RequestId, method: str, value: Json) -> Notification:
    """A notification that belongs to a running request, so that a client with several can tell."""
    return Notification(method, {"request": request_id, "value": value})


def progress_of(message: Notification) -> tuple[RequestId, Json] | None:
    """Undo `progress`; None for a notification that belongs to no request."""
    params = message.params
    if isinstance(params, dict) and params.keys() == {"request", "value"}:
        return params["request"], params["value"]
    return None
