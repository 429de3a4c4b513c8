"""Bytes to messages and back: LSP's base protocol, checked before anything is dispatched.

A frame is header lines ended by CRLF, an empty line, and `Content-Length` bytes of UTF-8 JSON.
`Parser` does no I/O: bytes go in as they arrive, messages come out, and how the bytes were cut never
matters. What is wrong comes out as `Malformed`, with the error to answer. It is `fatal` when the
place where the next frame begins is unknown: answer, then close; the parser takes nothing more.

Never: a frame past the limits is not held in memory (an oversized body is skipped and answered, one
more than `SKIP_FACTOR` times the limit is fatal); NaN and infinities are not JSON; a batch is refused
as a whole.
"""

from __future__ import annotations

import json
from typing import NamedTuple, NoReturn, TypeAlias, TypeGuard

from nibd.ipc.messages import (
    ErrorCode,
    ErrorResponse,
    Json,
    JsonObject,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    RpcError,
)

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_HEADER_BYTES = 4096
MAX_METHOD_CHARS = 200
MAX_ID_CHARS = 200
MAX_ID_INT = 2**53
SKIP_FACTOR = 16

_HEADER_END = b"\r\n\r\n"


class Malformed(NamedTuple):
    """A frame that is no message. `id` is the request's where it could be read, for the answer."""

    id: RequestId | None
    error: RpcError
    fatal: bool


Frame: TypeAlias = Message | Malformed


def encode(message: Message) -> bytes:
    """The frame of a message. ASCII only, so that lone surrogates (undecodable paths) survive.

    Raises TypeError, ValueError or RecursionError for what JSON can't carry, NaN included.
    """
    body = _ENCODER.encode(_envelope(message)).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _envelope(message: Message) -> JsonObject:
    envelope: JsonObject = {"jsonrpc": "2.0"}
    if isinstance(message, Request | Notification):
        if isinstance(message, Request):
            envelope["id"] = message.id
        envelope["method"] = message.method
        if message.params is not None:
            envelope["params"] = message.params
    elif isinstance(message, Response):
        envelope |= {"id": message.id, "result": message.result}
    else:
        error = message.error
        fields = {"code": int(error.code), "message": error.message}
        data = {} if error.data is None else {"data": error.data}
        envelope |= {"id": message.id, "error": fields | data}
    return envelope


class Parser:
    """One direction of one connection. Not thread-safe."""

    def __init__(
        self, max_body_bytes: int = MAX_BODY_BYTES, max_header_bytes: int = MAX_HEADER_BYTES
    ) -> None:
        self._max_body = max_body_bytes
        self._max_header = max_header_bytes
        self._buffer = bytearray()
        self._body_length: int | None = None  # known: the header of the frame in work was read
        self._to_skip = 0  # bytes of an oversized body still to come
        self.broken = False
        """A fatal `Malformed` came out: nothing more will."""

    @property
    def partial(self) -> bool:
        """Part of a frame was received, the rest is awaited."""
        return bool(self._buffer) or self._body_length is not None or self._to_skip > 0

    def feed(self, data: bytes) -> list[Frame]:
        """Take received bytes; return the frames that they complete, in order."""
        frames: list[Frame] = []
        if self.broken:
            return frames
        self._buffer += data
        try:
            while (frame := self._next()) is not None:
                frames.append(frame)
        except _LostError as lost:
            self.broken = True
            self._buffer.clear()
            self._body_length = None
            frames.append(Malformed(None, lost.error, fatal=True))
        return frames

    def _next(self) -> Frame | None:
        self._skip()
        if self._body_length is None:
            self._body_length = self._header()
            if self._body_length is None:
                return None
            if self._body_length > self._max_body:
                return self._refuse_body(self._body_length)
        if len(self._buffer) < self._body_length:
            return None
        body = bytes(self._buffer[: self._body_length])
        del self._buffer[: self._body_length]
        self._body_length = None
        return parse_body(body)

    def _skip(self) -> None:
        skipped = min(self._to_skip, len(self._buffer))
        del self._buffer[:skipped]
        self._to_skip -= skipped

    def _refuse_body(self, length: int) -> Malformed:
        error = RpcError(
            ErrorCode.TOO_LARGE,
            f"the message has {length} bytes, at most {self._max_body} are taken; send less at once",
            {"limit_bytes": self._max_body},
        )
        if length > self._max_body * SKIP_FACTOR:
            raise _LostError(error)
        self._to_skip = length
        self._body_length = None
        return Malformed(None, error, fatal=False)

    def _header(self) -> int | None:
        """Take the header lines off the buffer; the body's length, or None while they are incomplete."""
        if self._to_skip or not self._buffer:
            return None
        room = self._max_header + len(_HEADER_END)
        end = self._buffer.find(_HEADER_END, 0, room)
        lines = bytes(self._buffer[: end if end >= 0 else room])
        _check_line_ends(lines)
        if end < 0:
            if len(self._buffer) >= room:
                _lose(f"the header is longer than {self._max_header} bytes")
            return None
        length = _content_length(lines)
        del self._buffer[: end + len(_HEADER_END)]
        return length


class _LostError(Exception):
    """The next frame's beginning is unknown."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


def _lose(what: str) -> NoReturn:
    advice = "frames are 'Content-Length: N', an empty line (both ended by CRLF) and N bytes of JSON"
    raise _LostError(RpcError(ErrorCode.PARSE_ERROR, f"{what}; {advice}"))


def _check_line_ends(lines: bytes) -> None:
    """Refuse at once what can't become a header (bare JSON, bare LF) instead of waiting for its end."""
    if not lines[:1].isalpha():
        _lose(f"a header was expected, not {lines[:20]!r}")
    if lines.count(b"\n") != lines.count(b"\r\n"):
        _lose("a header line ends with LF alone")


def _content_length(lines: bytes) -> int:
    lengths = []
    for line in lines.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            _lose(f"no colon in the header line {line[:60]!r}")
        match name.strip().lower():
            case b"content-length":
                lengths.append(value.strip(b" \t"))
            case b"content-type":
                _check_charset(value)
    if len(lengths) != 1:
        _lose(f"{len(lengths)} Content-Length headers where there is to be one")
    if not lengths[0].isdigit() or len(lengths[0]) > 18:
        _lose(f"Content-Length is not a size: {lengths[0][:60]!r}")
    return int(lengths[0])


def _check_charset(content_type: bytes) -> None:
    for parameter in content_type.lower().split(b";")[1:]:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"charset" and value.strip(b' \t"') not in (b"utf-8", b"utf8"):
            _lose(f"the charset {value[:60]!r} is not spoken here, only utf-8")


def parse_body(body: bytes) -> Frame:
    """The message that a frame's body holds."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except RecursionError:
        return _malformed(ErrorCode.PARSE_ERROR, "the JSON is nested too deeply")
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are among them
        return _malformed(ErrorCode.PARSE_ERROR, f"the body is not UTF-8 JSON: {error}")
    return check_message(value)


def check_message(value: Json) -> Frame:
    """The message that a decoded JSON value is."""
    if isinstance(value, list):
        return _invalid("batches are refused: send each request as a frame")
    if not isinstance(value, dict):
        return _invalid("a message is a JSON object")
    given = value.get("id")
    request_id = given if is_request_id(given) else None
    if value.get("jsonrpc") != "2.0":
        return _invalid('a message says "jsonrpc": "2.0"', request_id)
    if "method" in value:
        return _check_call(value, request_id)
    return _check_reply(value, request_id)


def is_request_id(given: Json) -> TypeGuard[RequestId]:
    """Whether a decoded value may be an id: a short string or an integer that a double holds."""
    if isinstance(given, str):
        return len(given) <= MAX_ID_CHARS
    return isinstance(given, int) and not isinstance(given, bool) and abs(given) <= MAX_ID_INT


def _check_call(value: JsonObject, request_id: RequestId | None) -> Frame:
    method, params = value["method"], value.get("params")
    if not isinstance(method, str) or not 0 < len(method) <= MAX_METHOD_CHARS:
        return _invalid("the method is to be a short string", request_id)
    if "result" in value or "error" in value:
        return _invalid("a call has a method and no result", request_id)
    if params is not None and not isinstance(params, dict | list):
        return _invalid("params are to be an object or an array", request_id)
    if "id" not in value:
        return Notification(method, params)
    if request_id is None:
        return _invalid("a request's id is to be a short string or an integer")
    return Request(request_id, method, params)


def _check_reply(value: JsonObject, request_id: RequestId | None) -> Frame:
    if ("result" in value) == ("error" in value):
        return _invalid("a message has a method, or a result, or an error", request_id)
    if "result" in value:
        if request_id is None:
            return _invalid("a response's id is to be the request's")
        return Response(request_id, value["result"])
    error = value["error"]
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        return _invalid("an error has a code and a message", request_id)
    return ErrorResponse(
        request_id, RpcError(error["code"], str(error.get("message", "")), error.get("data"))
    )


def _invalid(message: str, request_id: RequestId | None = None) -> Malformed:
    return _malformed(ErrorCode.INVALID_REQUEST, message, request_id)


def _malformed(code: ErrorCode, message: str, request_id: RequestId | None = None) -> Malformed:
    return Malformed(request_id, RpcError(code, message), fatal=False)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0.0:  # true of infinity alone, as which 1e999 reads
        raise ValueError(f"{digits[:40]} is too large a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
