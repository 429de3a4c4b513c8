"""A method's parameters are taken by name and type, and nothing is overlooked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nibd.daemon.parameters import Parameters
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.types import Level


def test_what_is_given_is_taken() -> None:
    given = Parameters(
        {"path": "/tmp/../tmp", "query": "x", "k": 5, "level": "L2", "at": "a" * 40, "views": ["lexical"]}
    )
    assert given.path("path") == Path("/tmp").resolve()
    assert given.text("query") == "x"
    assert given.integer("k", 10, 1, 100) == 5
    assert given.level("level") is Level.CALLABLE
    assert given.commit("at") == "a" * 40
    assert given.choices("views", ["lexical", "dense"]) == ["lexical"]
    given.done()


def test_what_is_not_given_has_its_default() -> None:
    given = Parameters({})
    assert given.integer("k", 10, 1, 100) == 10
    assert given.level("level") is None
    assert given.commit("at") is None
    assert given.choice("plan", ["lexical"], "lexical") == "lexical"
    assert given.choices("views", ["lexical", "dense"]) == ["lexical", "dense"]
    assert given.number("timeout_s", 2.0) == 2.0
    assert Parameters({"time_s": 25}).number("time_s", 3.0, 25.0) == 25.0
    given.done()


@pytest.mark.parametrize(
    ("method", "arguments", "value"),
    [
        ("path", (), None),
        ("path", (), "relative"),
        ("path", (), "/a\0b"),
        ("text", (), "  "),
        ("text", (), 5),
        ("text", (), "x" * 200_001),
        ("integer", (10, 1, 100), 0),
        ("integer", (10, 1, 100), True),
        ("integer", (10, 1, 100), "5"),
        ("level", (), "L3"),
        ("level", (), 1),
        ("commit", (), "abc"),
        ("commit", (), "A" * 40),
        ("choice", (["a", "b"], None), "c"),
        ("choices", (["a", "b"],), []),
        ("choices", (["a", "b"],), [{}]),
        ("number", (1.0,), -1),
        ("number", (1.0, 25.0), 25.5),
        ("number", (1.0,), float("inf")),
    ],
)
def test_a_bad_value_is_refused_by_name(method: str, arguments: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(RpcError, match=r"^it: ") as raised:
        getattr(Parameters({"it": value}), method)("it", *arguments)
    assert raised.value.code == ErrorCode.INVALID_PARAMS


def test_a_refusal_says_what_was_found_and_what_is_allowed() -> None:
    for call, said in (
        (lambda: Parameters({"s": 26.0}).number("s", 1.0, 25.0), "s: found 26; allowed: a number, 0 to 25"),
        (lambda: Parameters({"l": "x"}).choice("l", ["a", "b"], None), "l: found 'x'; allowed: a, b"),
        (
            lambda: Parameters({"w": {"x": 1}}).widths("w", {"a": 2, "b": 2}),
            "w: found 'x'; allowed: any of a, b",
        ),
        (
            lambda: Parameters({"w": {"a": 3}}).widths("w", {"a": 2}),
            "w.a: found 3; allowed: a whole number from 1 to 2",
        ),
    ):
        with pytest.raises(RpcError) as refused:
            call()
        assert refused.value.message == said


def test_a_misspelt_parameter_is_not_ignored() -> None:
    given = Parameters({"qeury": "x"})
    with pytest.raises(RpcError, match="qeury"):
        given.done()


def test_what_is_null_is_not_given_and_what_is_left_goes_to_another_method() -> None:
    given = Parameters({"session": None, "query": "x", "messages": [{"role": "user"}]})

    assert not given.has("session")
    assert given.has("query")
    assert given.objects("messages", 1) == [{"role": "user"}]
    assert given.rest() == {"query": "x"}
    given.done()


@pytest.mark.parametrize("value", [None, [], "x", [1], [{}, {}]])
def test_a_list_of_objects_is_that(value: Any) -> None:
    with pytest.raises(RpcError, match="a list of 1 to 1 objects"):
        Parameters({"messages": value}).objects("messages", 1)
