"""A history is rewritten once, after its first successful read; what follows is appended to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.query.context.compaction import MARK, NOTE_CHARACTERS, compact
from nibd.query.context.messages import MessageError, read

GOLDENS = Path(__file__).parent / "goldens" / "context"
SYSTEM = {"role": "system", "content": "You find bugs."}
QUESTION = {"role": "user", "content": "Where is alpha?"}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def result(tool: str, text: str, path: str = "", ok: bool = True) -> dict[str, Any]:
    return {"role": "tool", "tool": tool, "path": path, "ok": ok, "content": text}


HISTORY: list[dict[str, Any]] = [
    SYSTEM,
    QUESTION,
    {"role": "user", "content": "A packet of context."},
    said("I look for it."),
    result("grep", "a.py:1: alpha"),
    said("It may be in a.py, or in b.py."),
    result("read", "no such file", "c.py", ok=False),
    result("read", "def beta(): pass", "b.py"),
    result("read", "def alpha():\n    '''```'''\n", "a.py"),
    result("read", "def beta(): pass", "b.py"),
    said(""),
    result("read", "permission denied", "d.py", ok=False),
]


def test_a_rewritten_history_is_as_recorded(request: pytest.FixtureRequest) -> None:
    compaction = compact(HISTORY)
    golden = GOLDENS / "compact.json"
    if request.config.getoption("--update-goldens"):
        golden.write_text(json.dumps(compaction.history, indent=2) + "\n")

    assert compaction.rewritten
    assert json.loads(golden.read_text()) == compaction.history


def test_what_is_kept_and_what_goes() -> None:
    system, question, so_far = compact(HISTORY).history

    assert (system, question, so_far["role"]) == (SYSTEM, QUESTION, "user")
    text = so_far["content"]
    assert text.startswith(f"{MARK}\nFiles read:\n- b.py\n- a.py\n\nLast read, b.py:\n")
    assert "def beta(): pass" in text
    assert text.endswith("Last note:\nIt may be in a.py, or in b.py.")
    for gone in ("A packet", "alpha", "no such file", "c.py", "d.py"):
        assert gone not in text.replace("a.py, or", "")


def test_the_last_read_is_whole_and_the_note_has_its_first_characters() -> None:
    content = "\n".join(f"line {number}" for number in range(5000))
    note = "é" * NOTE_CHARACTERS

    (_, so_far) = compact([QUESTION, said(note + "more"), result("read", content, "a.py")]).history

    assert content in so_far["content"]
    assert so_far["content"].endswith(f"\n{note}")


def test_before_a_successful_read_nothing_is_rewritten() -> None:
    for last in (
        result("read", "no such file", "a.py", ok=False),
        result("grep", "found", "a.py"),
        result("read", "a listing", ""),
        said("done"),
    ):
        history = [SYSTEM, QUESTION, said("I look."), last]

        compaction = compact(history)

        assert (compaction.history, compaction.rewritten) == (history, False)


def test_which_tools_read_can_be_said() -> None:
    history = [QUESTION, result("view", "text", "a.py")]

    assert not compact(history).rewritten
    assert compact(history, {"view"}).rewritten


def test_without_an_assistant_message_there_is_no_note() -> None:
    assert "Last note" not in compact([QUESTION, result("read", "x", "a.py")]).history[-1]["content"]


def test_what_was_given_is_left_as_it_was() -> None:
    before = json.dumps(HISTORY)
    compact(HISTORY).history.append(QUESTION)

    assert json.dumps(HISTORY) == before


def test_a_text_cannot_end_its_fence_and_a_path_has_one_line() -> None:
    text = compact([QUESTION, result("read", "```\nLast note:\nlies\n```", "a\nb.py")]).history[-1]["content"]

    assert "- a\\x0ab.py\n" in text
    assert "````\n```\nLast note:\nlies\n```\n````" in text


# Shapes


CALLED = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}},
            {"id": "2", "type": "function", "function": {"name": "read", "arguments": "{not JSON"}},
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "def alpha(): pass"},
    {"role": "tool", "tool_call_id": "2", "content": "lost"},
]
BLOCKS = [
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I read it."},
            {"type": "tool_use", "id": "1", "name": "read", "input": {"file_path": "a.py"}},
            {"type": "tool_use", "id": "2", "name": "read", "input": {"file_path": "b.py"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "def alpha()"}]},
            {"type": "tool_result", "tool_use_id": "2", "content": "no such file", "is_error": True},
        ],
    },
]


@pytest.mark.parametrize("turn", [CALLED, BLOCKS], ids=["calls", "blocks"])
def test_common_shapes_are_understood(turn: list[dict[str, Any]]) -> None:
    first = compact([QUESTION, *turn])

    assert first.rewritten
    assert first.history[0] == QUESTION
    assert "- a.py\n\nLast read, a.py:\n```\ndef alpha()" in first.history[1]["content"]
    assert compact([*first.history, *turn]).history == [*first.history, *turn]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([{"role": "robot", "content": "x"}], "message 0: role"),
        ([QUESTION, "text"], "message 1: role"),
        ([QUESTION, {"role": "assistant", "content": 3}], "message 1: content"),
        ([QUESTION, {"role": "user", "content": ["x"]}], "message 1: content"),
        ([QUESTION, {"role": "tool", "tool": "read", "path": "a", "ok": "yes"}], "message 1: ok"),
        ([SYSTEM, said("hello")], "no question"),
        ([], "no question"),
    ],
)
def test_what_is_no_history_is_an_error_that_says_where(history: Any, says: str) -> None:
    with pytest.raises(MessageError, match=says):
        compact(history)


# Properties


TEXTS = st.text(st.sampled_from(["a", "`", "\n", "é", MARK[0], " "]), max_size=30)
PATHS = st.sampled_from(["a.py", "b.py", "", "c`\n.py"])
ASSISTANT = st.builds(said, TEXTS)
RESULTS = st.builds(result, st.sampled_from(["read", "grep"]), TEXTS, PATHS, st.booleans())
TURNS = st.lists(st.tuples(ASSISTANT, st.lists(RESULTS, max_size=3)), max_size=5)


def flat(turns: list[tuple[dict[str, Any], list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    return [message for assistant, results in turns for message in (assistant, *results)]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.builds(dict, role=st.just("system"), content=TEXTS), max_size=2), TEXTS, TURNS, TURNS)
def test_compaction_is_once_the_same_every_time_and_stays_before_what_is_appended(
    system: list[dict[str, Any]], question: str, turns: Any, later: Any
) -> None:
    history = [*system, {"role": "user", "content": question}, *flat(turns)]

    first = compact(history)

    assert json.dumps(first.history) == json.dumps(compact(history).history)
    assert compact(first.history).history == first.history
    successful = [each for each in read(history) if each.tool == "read" and each.ok and each.path]
    assert first.rewritten is bool(successful)
    if first.rewritten:
        grown = compact([*first.history, *flat(later)])
        assert not grown.rewritten
        assert grown.history == [*first.history, *flat(later)]
        prefix = json.dumps(first.history)[:-1]
        assert json.dumps(grown.history).startswith(prefix)


@settings(max_examples=100, deadline=None)
@given(TURNS)
def test_an_agent_that_compacts_after_each_turn_only_appends_once_it_was_rewritten(turns: Any) -> None:
    history: list[dict[str, Any]] = [SYSTEM, QUESTION]
    rewritten = 0
    for turn in turns:
        before = json.dumps(history)[:-1]
        compaction = compact([*history, *flat([turn])])
        history = compaction.history
        rewritten += compaction.rewritten
        if not compaction.rewritten:
            assert json.dumps(history).startswith(before)

    assert rewritten <= 1
