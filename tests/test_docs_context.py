"""The documents say of packets, histories and sessions what is so."""

from __future__ import annotations

from daemon_world import Daemon
from gitrepo import Repo
from nibd.ipc.session import Session
from nibd.query.context.compaction import MARK, NOTE_CHARACTERS, READ_TOOLS
from nibd.query.context.messages import PATH_ARGUMENTS
from nibd.query.context.packet import LeftOutReason
from nibd.query.context.tokens import ESTIMATED_BYTES
from test_docs import GLOSSARY, ROOT, keys, meaning, quoted, section, without_examples

CONTEXT = (ROOT / "docs" / "context.md").read_text()


def test_every_key_of_a_packet_and_of_a_trace_is_in_the_protocol(daemon: Daemon, repo: Repo) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    packet = daemon.call("context", path=str(repo.path), query="alpha", budget=60)
    nothing = daemon.call("context", path=str(repo.path), query="alpha", budget=1)
    history = [{"role": "user", "content": "x"}]
    compacted = daemon.call("context.compact", messages=history)
    with Session(daemon.socket, repo.path) as session:
        opened = session._client.call("session.open", {"path": str(repo.path)})
        session.call("search", query="alpha")
        trace = session.trace()

    assert keys("Context") | {"plan", "reranker"} | keys("Answers") - {"hits"} == set(packet)
    assert meaning("Context", "tokens") == set(packet["tokens"])
    of_hit = keys("Hits") - {"level", "parent", "snippet", "snippet_line", "matches"}
    assert set(packet["units"][0]) == of_hit | {"tokens", "also"}
    assert set(nothing["left_out"][0]) == of_hit | {"tokens", "reason"}
    assert set(compacted) == {"messages", "rewritten", "tokens"} <= quoted(section("Context"))
    assert set(compacted["tokens"]) == set(packet["tokens"]) - {"budget"}
    assert set(opened) <= quoted(section("Sessions"))
    assert set(opened["views"]["lexical"]) == keys("Views") - {"used", "work"}
    assert set(trace["requests"][0]) == keys("Sessions")


def test_the_reasons_why_a_hit_is_left_out_are_explained() -> None:
    reasons = {reason.value for reason in LeftOutReason}

    assert reasons <= quoted(GLOSSARY)
    for reason in reasons:
        assert f"\n| `{reason}` | " in CONTEXT


def test_what_a_compaction_goes_by_is_as_documented() -> None:
    assert {MARK, *READ_TOOLS, *PATH_ARGUMENTS} <= quoted(without_examples(CONTEXT))
    assert f"the first {NOTE_CHARACTERS} characters" in CONTEXT
    assert ESTIMATED_BYTES == 3
    assert "a third of the bytes" in CONTEXT
