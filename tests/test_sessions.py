"""A session states what it requires, answers from one snapshot, and keeps a trace of what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from daemon_world import NO_DENSE, Daemon, configure, running, running_at_home
from gitrepo import Repo
from made_navigation import publish_relations
from nibd.daemon.reading import Reading
from nibd.daemon.sessions import MAX_TRACE, Sessions
from nibd.daemon.traces import entry_of
from nibd.ipc.client import Client
from nibd.ipc.handlers import Lifetime, RequestContext
from nibd.ipc.messages import ErrorCode, JsonObject, RpcError
from nibd.ipc.session import Session
from nibd.stores.repository import RepositoryFolder
from nibd.stores.types import CheckoutId
from waiting import wait_until

CHECKOUT = CheckoutId("main")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One, in a home of its own, for a repository of each test."""
    with running_at_home(tmp_path_factory.mktemp("home")) as started:
        yield started


def refusal(call: Any, *arguments: Any, **named: Any) -> RpcError:
    with pytest.raises(RpcError) as refused:
        call(*arguments, **named)
    return refused.value


def commits(repo: Repo, daemon: Daemon, *names: str) -> list[str]:
    made = []
    for name in names:
        repo.write("a.py", f"def {name}():\n    return 1\n")
        made.append(repo.commit(name))
        daemon.published(repo.path)
    return made


def names(answer: Any) -> list[str]:
    return [hit["name"] for hit in answer["hits"]]


def test_all_requests_answer_from_the_snapshot_that_the_session_began_with(
    daemon: Daemon, repo: Repo
) -> None:
    daemon.add(repo.path)
    daemon.published(repo.path)
    before = repo.head()
    with Session(daemon.socket, repo.path) as session:
        assert session.snapshot["commit"] == before
        assert set(session.views) == {"lexical", "structural"}
        (after,) = commits(repo, daemon, "gamma")

        found = session.call("search", query="alpha")
        answers = {
            "search": found,
            "symbols": session.call("symbols", name="alpha"),
            "outline": session.call("outline", path=str(repo.path / "a.py")),
            "grep": session.call("grep", pattern="def alpha"),
            "context": session.call("context", query="alpha", budget=200),
        }
        for method, answer in answers.items():
            assert answer["snapshot"] == session.snapshot, method
            assert answer["head"]["commit"] == after, method
        assert names(answers["symbols"]) == ["alpha"]
        assert "def alpha" in answers["context"]["text"]
        assert refusal(session.call, "search", query="x", at=after).code == ErrorCode.INVALID_PARAMS
        missing = refusal(session.call, "search", query="x", plan="dense")
        assert missing.code == ErrorCode.VIEW_ABSENT

        trace = session.trace()
    assert trace["snapshot"] == session.snapshot
    assert trace["dropped"] == 0
    requests = trace["requests"]
    assert [each["method"] for each in requests] == [*answers, "search", "search"]
    assert [each["error"] for each in requests] == [None] * 5 + ["invalid_params", "view_absent"]
    first, packet = requests[0], requests[4]
    assert (first["plan"], first["views"]) == ("lexical", {"lexical": "exact"})
    assert first["providers"] == ["static"]
    assert first["snapshot"] == session.snapshot
    assert (first["hits"], packet["hits"]) == (len(found["hits"]), len(answers["context"]["units"]))
    assert packet["tokens"] == answers["context"]["tokens"]["count"]
    assert all(each["tokens"] > 0 for each in requests[:2])
    assert all(each["milliseconds"] > 0 for each in requests)
    assert names(daemon.call("symbols", path=str(repo.path), name="gamma")) == ["gamma"]


def test_what_a_session_pins_is_kept_until_its_connection_closes(repo: Repo) -> None:
    configure(NO_DENSE + "[daemon]\nkeep_snapshots = 0\n")
    with running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)
        session = Session(daemon.socket, repo.path)
        pinned = session.snapshot["commit"]
        second, _, _ = commits(repo, daemon, "beta", "gamma", "delta")

        def is_gone(commit: str) -> bool:
            try:
                daemon.call("symbols", path=str(repo.path), name="x", at=commit)
            except RpcError as error:
                return error.code == ErrorCode.UNPUBLISHED_COMMIT
            return False

        wait_until(lambda: is_gone(second), 60, "the collection of what nobody pins")
        why = refusal(daemon.call, "symbols", path=str(repo.path), name="x", at=second).message
        assert "or no longer kept (keep_snapshots = 0); check it out" in why
        assert names(session.call("symbols", name="alpha")) == ["alpha"]
        assert names(session.call("search", query="alpha")) == ["alpha"]
        assert not is_gone(pinned)

        session.close()
        commits(repo, daemon, "epsilon", "zeta")
        wait_until(lambda: is_gone(pinned), 60, "the collection of what was pinned")


def test_a_session_fails_at_its_start_when_what_it_requires_is_missing(
    daemon: Daemon, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(**required: Any) -> RpcError:
        return refusal(Session, daemon.socket, repo.path, **required)

    daemon.add(repo.path)
    daemon.published(repo.path)

    dense = opened(views=["lexical", "dense"])
    assert dense.code == ErrorCode.VIEW_ABSENT
    assert "no dense view: switched off" in dense.message
    relations = opened(relations=["python"])
    assert relations.code == ErrorCode.VIEW_ABSENT
    assert "no relations of python" in relations.message
    assert opened(at="0" * 40).code == ErrorCode.UNPUBLISHED_COMMIT
    assert opened(views=["other"]).code == ErrorCode.INVALID_PARAMS
    assert "allowed: python" in opened(relations=["cobol"]).message
    assert refusal(Session, daemon.socket, "/").code == ErrorCode.UNKNOWN_REPOSITORY
    monkeypatch.chdir(repo.path)
    with Session(daemon.socket, Path(), views=["structural"], at=repo.head()) as session:
        assert set(session.views) == {"structural"}


def test_a_session_is_its_connections_alone_and_of_its_checkout(daemon: Daemon, repo: Repo) -> None:
    linked = repo.worktree(repo.path.parent / "linked", "-b", "other")
    for checkout in (repo, linked):
        daemon.add(checkout.path)
        daemon.published(checkout.path)
    with Session(daemon.socket, repo.path) as session, Client(daemon.socket) as other:
        where = {"path": str(repo.path), "session": session.id}
        assert refusal(other.call, "search", {**where, "query": "x"}).code == ErrorCode.NOT_FOUND
        assert refusal(other.call, "session.close", {"session": session.id}).code == ErrorCode.NOT_FOUND
        elsewhere = refusal(session.call, "search", query="x", path=str(linked.path))
        assert "another checkout" in elsewhere.message

        assert session._client.call("session.close", {"session": session.id}) == {
            "closed": True, "requests": 1,
        }  # fmt: skip
        gone = refusal(session.call, "search", query="x")
        assert gone.code == ErrorCode.NOT_FOUND
        assert "open another" in gone.message


def test_a_session_whose_files_are_gone_says_so_and_damages_nothing(daemon: Daemon, repo: Repo) -> None:
    added = daemon.add(repo.path)
    daemon.published(repo.path)
    with Session(daemon.socket, repo.path) as session:
        folder = daemon.cache / "repositories" / added["repository"]
        folder.rename(folder.with_name("moved-away"))

        error = refusal(session.call, "search", query="alpha")

        assert error.code == ErrorCode.VIEW_NOT_READY
        assert "open another session" in error.message
        daemon.published(repo.path)
    with Session(daemon.socket, repo.path) as session:
        assert names(session.call("symbols", name="alpha")) == ["alpha"]


def test_what_a_tree_has_no_files_of_is_not_waited_for(tmp_path: Path) -> None:
    configure(NO_DENSE.replace("[relations]\nenabled = false\n", ""))
    notes = Repo(tmp_path / "notes")
    notes.write("notes.md", "# Alpha\n\nwhat is alpha\n")
    commit = notes.commit("one")
    with running() as daemon:
        daemon.add(notes.path)
        daemon.published(notes.path)
        absent = refusal(Session, daemon.socket, notes.path, relations=["javascript"])
        answer = daemon.call("search", path=str(notes.path), query="alpha", plan="structural")
    assert absent.code == ErrorCode.VIEW_ABSENT
    languages = "javascript or typescript or tsx"
    assert f"no relations of javascript: it has no files in {languages} at {commit[:10]}" in absent.message
    structural = answer["views"]["structural"]
    assert structural["reason"] == "it has no files of a language that has relations"


def test_relations_that_came_later_are_not_a_sessions_until_it_requires_them(
    daemon: Daemon, repo: Repo
) -> None:
    repo.write("b.py", "from a import alpha\n\n\ndef use():\n    return alpha()\n")
    repo.commit("two")
    added = daemon.add(repo.path)
    daemon.published(repo.path)
    folder = RepositoryFolder(daemon.cache / "repositories" / added["repository"])
    asked = {"operation": "callers", "name": "alpha"}
    with Session(daemon.socket, repo.path) as before:
        publish_relations(folder, repo.path, CheckoutId(added["checkout"]))
        with Session(daemon.socket, repo.path, relations=["python"]) as after:
            answer = after.call("navigate", **asked)
            error = refusal(before.call, "navigate", **asked)
            latest = daemon.call("navigate", path=str(repo.path), **asked)
            trace = after.trace()["requests"]

    assert set(after.views) == {"lexical", "structural", "python"}
    assert answer["snapshot"] == after.snapshot == latest["snapshot"]
    assert after.snapshot["commit"] == before.snapshot["commit"]
    assert after.snapshot["generation"] > before.snapshot["generation"]
    assert names(answer) == ["use"]
    assert error.code == ErrorCode.UNPUBLISHED_COMMIT
    assert f"the session's snapshot of {repo.head()[:10]} is not published with what is" in error.message
    assert [(each["method"], each["providers"], each["hits"]) for each in trace] == [
        ("navigate", ["static"], 1)
    ]


def test_of_a_dense_plan_the_embedder_is_a_provider() -> None:
    def view(used: bool) -> JsonObject:
        return {"used": used, "assurance": "exact"}

    def entry(dense: bool) -> Any:
        answer = {"hits": [], "views": {"lexical": view(True), "dense": view(dense)}}
        return entry_of("search", {"plan": "hybrid"}, answer, None)

    assert (entry(True).plan, entry(True).providers) == ("hybrid", ("static", "embedder"))
    assert set(entry(True).views) == {"lexical", "dense"}
    assert (set(entry(False).views), entry(False).providers) == ({"lexical"}, ("static",))


# Without a daemon: bounds, ends, traces


class Pin:
    """What a session lets go of, once."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.let_go = 0
        self.gone = asyncio.Event()
        self.stack.callback(self._let_go)

    def _let_go(self) -> None:
        self.let_go += 1
        self.gone.set()


async def _nothing(*_: Any) -> None:
    return None


async def _counted(texts: list[str]) -> int:
    return sum(len(text) for text in texts)


def context_of(lifetime: Lifetime, method: str = "search") -> RequestContext:
    return RequestContext(1, method, cast("Any", None), _nothing, lifetime)


READING = cast("Reading", object())


def test_how_many_there_are_is_bounded_and_each_pin_is_let_go_once() -> None:
    async def scenario() -> None:
        sessions, lifetime, pins = Sessions(2, 60, _counted), Lifetime(), [Pin(), Pin()]
        first, _ = (sessions.open(CHECKOUT, READING, pin.stack, lifetime) for pin in pins)
        assert refusal(sessions.admit).code == ErrorCode.BUSY
        sessions.close(first)
        sessions.admit()
        lifetime.end()
        lifetime.end()
        sessions.close(first)
        assert len(sessions) == 0
        assert [pin.let_go for pin in pins] == [1, 1]

    asyncio.run(scenario())


def test_one_that_is_opened_after_its_connection_was_lost_ends_at_once() -> None:
    async def scenario() -> None:
        sessions, lifetime, pin = Sessions(2, 60, _counted), Lifetime(), Pin()
        lifetime.end()
        sessions.open(CHECKOUT, READING, pin.stack, lifetime)
        assert (len(sessions), pin.let_go) == (0, 1)

    asyncio.run(scenario())


def test_one_that_is_idle_ends_and_one_at_work_does_not() -> None:
    async def scenario() -> None:
        sessions, lifetime, pins = Sessions(2, 0.01, _counted), Lifetime(), [Pin(), Pin()]
        idle, busy = (sessions.open(CHECKOUT, READING, pin.stack, lifetime) for pin in pins)
        gate = asyncio.Event()

        async def handler(params: JsonObject, context: RequestContext) -> JsonObject:
            await gate.wait()
            return {"hits": []}

        asked = {"session": busy.id}
        task = asyncio.ensure_future(sessions.traced(handler)(asked, context_of(lifetime)))
        async with asyncio.timeout(30):
            await pins[0].gone.wait()
        assert idle.ended
        assert (pins[0].let_go, pins[1].let_go, busy.ended) == (1, 0, False)
        sessions.close(busy)
        assert pins[1].let_go == 0, "a request reads it"
        gate.set()
        await task
        assert pins[1].let_go == 1

    asyncio.run(scenario())


def test_a_request_that_fails_or_is_cancelled_is_in_the_trace_and_holds_nothing() -> None:
    async def scenario() -> None:
        sessions, lifetime, pin = Sessions(2, 60, _counted), Lifetime(), Pin()
        session = sessions.open(CHECKOUT, READING, pin.stack, lifetime)

        async def refuse(params: JsonObject, context: RequestContext) -> JsonObject:
            raise RpcError(ErrorCode.TIMEOUT, "late")

        hanging = asyncio.Event()

        async def hang(params: JsonObject, context: RequestContext) -> JsonObject:
            hanging.set()
            await asyncio.Event().wait()
            return {}

        async def crash(params: JsonObject, context: RequestContext) -> JsonObject:
            raise ValueError("a mistake")

        asked = {"session": session.id}
        for handler, error in ((refuse, RpcError), (crash, ValueError)):
            with pytest.raises(error):
                await sessions.traced(handler)(asked, context_of(lifetime))
        task = asyncio.ensure_future(sessions.traced(hang)(asked, context_of(lifetime)))
        await hanging.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [each.error for each in session.trace] == ["timeout", "internal", "cancelled"]
        sessions.close(session)
        assert pin.let_go == 1

    asyncio.run(scenario())


def test_a_trace_keeps_the_newest_requests_with_the_tokens_of_their_texts() -> None:
    async def scenario() -> None:
        sessions, lifetime = Sessions(2, 60, _counted), Lifetime()
        session = sessions.open(CHECKOUT, READING, Pin().stack, lifetime)

        async def handler(params: JsonObject, context: RequestContext) -> JsonObject:
            return {"hits": [{"snippet": "four"}, {"before": ["a"], "text": "bc", "after": ["d", "e"]}]}

        for _ in range(MAX_TRACE + 3):
            await sessions.traced(handler)({"session": session.id}, context_of(lifetime, "grep"))
        assert (len(session.trace), session.requests) == (MAX_TRACE, MAX_TRACE + 3)
        assert (session.trace[0].tokens, session.trace[0].hits, session.trace[0].plan) == (9, 2, None)

    asyncio.run(scenario())


def test_another_connections_session_is_not_traced_into() -> None:
    async def scenario() -> None:
        sessions, mine = Sessions(2, 60, _counted), Lifetime()
        session = sessions.open(CHECKOUT, READING, Pin().stack, mine)

        async def handler(params: JsonObject, context: RequestContext) -> JsonObject:
            return {"hits": []}

        await sessions.traced(handler)({"session": session.id}, context_of(Lifetime()))
        assert list(session.trace) == []
        sessions.close_all()

    asyncio.run(scenario())
