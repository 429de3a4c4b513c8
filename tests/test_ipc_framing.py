"""Frames: what is taken, what is refused, and that the cut of the bytes never matters."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nibd.ipc.framing import Frame, Malformed, Parser, encode
from nibd.ipc.messages import (
    ErrorCode,
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
    progress,
    progress_of,
)

LIMIT = 1000


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def parse(data: bytes) -> list[Frame]:
    return Parser(max_body_bytes=LIMIT, max_header_bytes=100).feed(data)


def only_fault(data: bytes) -> Malformed:
    frames = parse(data)
    assert len(frames) == 1
    fault = frames[0]
    assert isinstance(fault, Malformed), fault
    return fault


def comparable(frames: list[Frame]) -> list[Any]:
    """Errors compare by identity; their text may name what had come in by then."""
    return [
        (type(one), one.id, one.error.code, getattr(one, "fatal", None))
        if isinstance(one, Malformed | ErrorResponse)
        else one
        for one in frames
    ]


def feed_in_chunks(data: bytes, cuts: list[int], parser: Parser) -> list[Frame]:
    frames: list[Frame] = []
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        frames += parser.feed(data[start:end])
    return frames


undecodable = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)  # as os.fsdecode leaves them
texts = st.text(st.characters(exclude_categories=["Cs"]) | undecodable, max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
ids = st.integers(-(2**53), 2**53) | texts
params = st.none() | st.dictionaries(texts, values, max_size=4) | st.lists(values, max_size=4)
methods = st.text(min_size=1, max_size=30)
messages = (
    st.builds(Request, ids, methods, params)
    | st.builds(Notification, methods, params)
    | st.builds(Response, ids, values)
)
whatever_the_load = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

cuts = st.lists(st.integers(0, 3000), max_size=30)


@whatever_the_load
@given(st.lists(messages, max_size=6), cuts)
def test_messages_survive_any_cut_of_their_bytes(sent: list[Message], where: list[int]) -> None:
    parser = Parser()
    assert feed_in_chunks(b"".join(map(encode, sent)), where, parser) == sent
    assert not parser.partial


pieces = st.sampled_from(
    [
        b"Content-Length: ",
        b"content-length:",
        b"2",
        b"0",
        b"9999999",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"{}",
        b"x: y\r\n",
        b"5",
        frame(b'{"jsonrpc":"2.0","method":"a","id":1}'),
        frame(b"x" * (LIMIT + 1)),
    ]
) | st.binary(max_size=5)


@whatever_the_load
@given(st.lists(pieces, max_size=25), cuts)
def test_hostile_bytes_mean_the_same_however_they_are_cut(parts: list[bytes], where: list[int]) -> None:
    data = b"".join(parts)
    whole = comparable(parse(data))
    parser = Parser(max_body_bytes=LIMIT, max_header_bytes=100)
    assert comparable(feed_in_chunks(data, where, parser)) == whole
    single = Parser(max_body_bytes=LIMIT, max_header_bytes=100)
    assert comparable(feed_in_chunks(data, list(range(len(data))), single)) == whole


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"a"}\n', "a header was expected"),
        (b"\x00\x01", "a header was expected"),
        (b"\r\n\r\n", "a header was expected"),
        (b"Content-Length: 2\n\n{}", "LF alone"),
        (b"Content-Length: -2\r\n\r\n{}", "not a size"),
        (b"Content-Length: +2\r\n\r\n{}", "not a size"),
        (b"Content-Length: 0x2\r\n\r\n{}", "not a size"),
        (b"Content-Length: 2 2\r\n\r\n{}", "not a size"),
        ("Content-Length: ٢\r\n\r\n{}".encode(), "not a size"),
        (b"Content-Length: \r\n\r\n{}", "not a size"),
        (b"Content-Length: 1" + b"0" * 50 + b"\r\n\r\n{}", "not a size"),
        (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "2 Content-Length headers"),
        (b"Content-Type: application/json\r\n\r\n{}", "0 Content-Length headers"),
        (b"Content-Length 2\r\n\r\n{}", "no colon"),
        (b"Content-Length: 2\r\nContent-Type: a; charset=latin-1\r\n\r\n{}", "charset"),
        (b"X: " + b"y" * 200, "longer than 100 bytes"),
    ],
)
def test_a_stream_that_lost_its_frames_is_broken_for_good(data: bytes, says: str) -> None:
    parser = Parser(max_body_bytes=LIMIT, max_header_bytes=100)
    (fault,) = parser.feed(data)
    assert isinstance(fault, Malformed)
    assert fault.fatal
    assert fault.id is None
    assert fault.error.code == ErrorCode.PARSE_ERROR
    assert says in fault.error.message
    assert parser.broken
    assert parser.feed(encode(Notification("a"))) == []
    assert not parser.partial


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"", ErrorCode.PARSE_ERROR, None),
        (b"garbage", ErrorCode.PARSE_ERROR, None),
        (b"\xff\xfe", ErrorCode.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}', ErrorCode.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":-Infinity}}', ErrorCode.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1e999}}', ErrorCode.PARSE_ERROR, None),
        (b"5", ErrorCode.INVALID_REQUEST, None),
        (b"null", ErrorCode.INVALID_REQUEST, None),
        (b'"a"', ErrorCode.INVALID_REQUEST, None),
        (b"[]", ErrorCode.INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"a"}]', ErrorCode.INVALID_REQUEST, None),
        (b"{}", ErrorCode.INVALID_REQUEST, None),
        (b'{"id":7,"method":"a"}', ErrorCode.INVALID_REQUEST, 7),
        (b'{"jsonrpc":"1.0","id":"x","method":"a"}', ErrorCode.INVALID_REQUEST, "x"),
        (b'{"jsonrpc":"2.0","id":7}', ErrorCode.INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', ErrorCode.INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":""}', ErrorCode.INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"a","params":5}', ErrorCode.INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"a","result":5}', ErrorCode.INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"a"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"a"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"a"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":"%b","method":"a"}' % (b"x" * 300), ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}}', ErrorCode.INVALID_REQUEST, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}', ErrorCode.INVALID_REQUEST, 1),
    ],
)
def test_a_bad_body_is_refused_and_the_next_frame_is_read(
    body: bytes, code: ErrorCode, request_id: int | str | None
) -> None:
    fault, after = parse(frame(body) + encode(Notification("next")))
    assert isinstance(fault, Malformed)
    assert (fault.error.code, fault.id, fault.fatal) == (code, request_id, False)
    assert after == Notification("next")


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[", b"")])
def test_nesting_without_end_is_refused(opening: bytes, closing: bytes) -> None:
    depth = 200_000
    (fault,) = Parser().feed(frame(opening * depth + b"1" + closing * depth))
    assert isinstance(fault, Malformed)
    assert fault.error.code == ErrorCode.PARSE_ERROR


def test_an_oversized_body_is_skipped_and_refused_at_its_header() -> None:
    parser = Parser(max_body_bytes=LIMIT)
    (fault,) = parser.feed(b"Content-Length: %d\r\n\r\nxxx" % (LIMIT + 1))
    assert isinstance(fault, Malformed)
    assert fault.error.code == ErrorCode.TOO_LARGE
    assert not fault.fatal
    assert parser.partial
    assert parser.feed(b"y" * (LIMIT - 2) + encode(Notification("next"))) == [Notification("next")]
    assert not parser.partial


def test_a_huge_length_is_fatal() -> None:
    fault = only_fault(b"Content-Length: 99999999999\r\n\r\n")
    assert fault.error.code == ErrorCode.TOO_LARGE
    assert fault.fatal


def test_headers_are_case_insensitive_and_others_are_passed_over() -> None:
    body = b'{"jsonrpc":"2.0","method":"a","params":null}'
    head = (
        b"CONTENT-type: application/vscode-jsonrpc; charset=utf8\r\nX-Other: 1\r\ncontent-LENGTH:%d  \r\n\r\n"
    )
    assert parse(head % len(body) + body) == [Notification("a")]


def test_an_error_keeps_its_code_message_and_data() -> None:
    for code in (ErrorCode.VIEW_ABSENT, -1):
        (got,) = Parser().feed(encode(ErrorResponse(3, RpcError(code, "no view", {"view": "dense"}))))
        assert isinstance(got, ErrorResponse)
        assert (got.id, got.error.code, got.error.message) == (3, code, "no view")
        assert got.error.data == {"view": "dense"}


@pytest.mark.parametrize("result", [math.nan, math.inf, b"bytes", object()])
def test_what_json_lacks_is_not_sent(result: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(Response(1, result))


def test_progress_names_its_request() -> None:
    assert progress_of(progress("a", "built", [1])) == ("a", [1])
    assert progress_of(Notification("built", {"request": 1})) is None


def test_error_codes_are_distinct_and_named() -> None:
    assert len({int(code) for code in ErrorCode}) == len(ErrorCode.__members__)
    assert ErrorCode.VIEW_NOT_READY.wire_name == "view_not_ready"
